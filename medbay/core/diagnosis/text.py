"""Bounded, clean text for the rules: a head and a tail window without colours, control bytes or log stamps."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Final

HEAD_CHARS: Final = 8_192
TAIL_CHARS: Final = 32_768
LINE_CHARS: Final = 2_000
GAP: Final = "\n[...]\n"

_ANSI: Final = re.compile(
    r"\x1b(?:\[[0-?]{0,60}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)?|[()][A-Z0-9]|[@-Z\\^_=>])"
    r"|\x9b[0-?]{0,60}[@-~]"
    r"|\[(?:\d{1,3}(?:;\d{1,3}){0,4})m"  # colours whose escape byte a log collector dropped
)
# Zero-width and bidirectional marks would hide words from the rules.
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")
_STAMP: Final = re.compile(
    r"^(?:[\w.-]{1,60}\t[^\t\n]{1,80}\t)?"  # gh run view: job, step
    r"(?:\[(?:task )?\d{4}-\d\d-\d\d[T ][\d:.,]{5,20}(?:Z|[+-]\d\d:?\d\d)?\]|"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)[ \t]{0,4}"
    r"(?:\d\d:\d\d:\d\d(?=\s))?",
    re.MULTILINE,
)
_FRAME: Final = re.compile(r"^[│╷╵┃] ?", re.MULTILINE)  # the frame that some tools draw around messages
_POSITION: Final = re.compile(r"[:(]\d| line \d")
_BREAK: Final = re.compile(r"\n")
_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class CleanText:
    """The text that rules read. Offsets into `body` are what matches mean."""

    body: str

    @cached_property
    def lowered(self) -> str:
        """The body in lower case, of the same length."""
        return self.body.lower()

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word in lower case: the cheap filter in front of the regular expressions."""
        return frozenset(_WORD.findall(self.lowered))

    @cached_property
    def plain(self) -> bool:
        """Whether the text is ASCII only, so that rules for other scripts need not look."""
        return self.body.isascii()

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins."""
        return [0, *(match.end() for match in _BREAK.finditer(self.body))]

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where each line begins and ends."""
        starts = self.starts
        return list(zip(starts, [start - 1 for start in starts[1:]] + [len(self.body)], strict=True))

    @property
    def line_count(self) -> int:
        """How many lines there are; an empty text has one."""
        return len(self.starts)

    def bounds(self, line: int) -> tuple[int, int]:
        """Start and end of a line by its number; past the last, the end of the text."""
        return self.spans[line] if line < len(self.spans) else (len(self.body), len(self.body))

    def line_number(self, position: int) -> int:
        """The number of the line that holds a position, from 0."""
        return bisect_right(self.starts, position) - 1

    def line(self, number: int) -> str:
        """A line by its number, without its line break."""
        start, end = self.bounds(number)
        return self.body[start:end]

    @cached_property
    def positioned(self) -> list[int]:
        """The numbers of the lines with a number after a colon or bracket, as positions in files have."""
        return sorted({self.line_number(match.start()) for match in _POSITION.finditer(self.body)})

    @cached_property
    def foreign(self) -> list[int]:
        """The numbers of the lines with letters beyond ASCII."""
        return [number for number in range(self.line_count) if not self.line(number).isascii()]

    def lines_with(self, word: str) -> list[int]:
        """The numbers of the lines that hold a text in lower case, each once."""
        lines: list[int] = []
        at = self.lowered.find(word)
        while at >= 0:
            number = self.line_number(at)
            lines.append(number)
            if number + 1 == self.line_count:
                break
            at = self.lowered.find(word, self.starts[number + 1])
        return lines


def clean(text: str | bytes, added: str = "") -> CleanText:
    """Window first, so that the cost never depends on the size of the output; then clean. `added` stands after it."""
    body = _window(text)
    if added:
        body = f"{body}\n{_window(added)}"
    if "\x1b" in body or "\x9b" in body or ("m" in body and "[" in body):
        body = _ANSI.sub("", body)
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    if "\u0130" in body:
        body = body.replace("\u0130", "I")  # the one letter whose lower case is longer
    if _CONTROL.search(body):
        body = _CONTROL.sub("", body)
    body = _STAMP.sub("", body)
    if not body.isascii():
        body = _FRAME.sub("", body)
    if len(body) > LINE_CHARS:
        body = "\n".join(map(_shorten, body.split("\n")))
    return CleanText(body)


def _window(text: str | bytes) -> str:
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return _decode(text)
    return _decode(text[:HEAD_CHARS]) + GAP + _decode(text[-TAIL_CHARS:])


def _decode(piece: str | bytes) -> str:
    # UTF-16 becomes readable once its NULs are dropped with the other control bytes.
    return piece if isinstance(piece, str) else bytes(piece).decode("utf-8", "replace")


def _shorten(line: str) -> str:
    if len(line) <= LINE_CHARS:
        return line
    return line[: LINE_CHARS - 800] + " ... " + line[-800:]
