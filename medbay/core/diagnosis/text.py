"""Bounded, clean text for the rules: a head and a tail window without colours, control bytes or log stamps."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, count
from operator import add
from typing import Final

from medbay.core.diagnosis.rule import compiled

HEAD_CHARS: Final = 8_192
TAIL_CHARS: Final = 32_768
LINE_CHARS: Final = 2_000
ALIKE: Final = 2
UNREADABLE_FROM: Final = 4  # one character of so many
GAP: Final = "\n[...]\n"

_ANSI: Final = (
    r"\x1b(?:\[[0-?]{0,60}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)?|[()][A-Z0-9]|[@-Z\\^_=>])"
    r"|\x9b[0-?]{0,60}[@-~]"
    r"|\[(?:\d{1,3}(?:;\d{1,3}){0,4})m"  # colours whose escape byte a log collector dropped
)
_BARE_COLOUR: Final = re.compile(r"\[(?:\d{1,3}(?:;\d{1,3}){0,4})m")
_CLOCK: Final = re.compile(r"-\d\d[T ]\d\d:")  # without one of these there is no stamp
_STEP: Final = re.compile(r"#\d{1,4} \d{1,5}\.")
# Bytes are searched and translated many times faster than text, whatever script it has.
_CONTROL: Final = bytes(n for n in range(128) if n == 127 or (n < 32 and chr(n) not in "\t\n"))
# Zero-width and bidirectional marks would hide words from the rules: U+200B.. U+202A.. U+2060.. U+FEFF.
_MARKS: Final = re.compile(rb"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xa9])|\xef\xbb\xbf")
_MAY_BE_MARKS: Final = (b"\xe2\x80", b"\xe2\x81", b"\xef\xbb\xbf")
_STAMP: Final = (
    r"(?:(?:\[(?:task )?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]{5,20}(?:Z|[+-][0-9]{2}:?[0-9]{2})?\]|"
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)"
    r"[ \t]{0,4}(?:[0-9]{2}:[0-9]{2}:[0-9]{2}(?=\s|$))?"
    r"|#[0-9]{1,4} [0-9]{1,5}\.[0-9]{1,3} )"  # docker build: step, seconds
)
_STAMPS: Final = rf"\n{_STAMP}"
_STAMPS_OF_JOBS: Final = rf"\n(?:[\w.-]{{1,60}}\t[^\t\n]{{1,80}}\t)?{_STAMP}"  # gh run view: job, step
FRAMES: Final = "│╷╵┃"  # the frame that some tools draw around messages
_WARNING_BOX: Final = r"(?m)^╷\n│ Warning: (?:[^\n╵]{0,400}\n){1,40}?╵"
# The same without a frame: a heading, an empty line, and all that stands before the error.
_WARNING_BLOCK: Final = (
    r"(?m)^Warning: [^\n]{1,400}\n\n(?:(?!Error: |Warning: )[^\n]{0,400}\n){1,40}?(?=(?:Error|Warning): )"
)
_FRAME: Final = rf"(?m)^[{FRAMES}] ?"
_DIGITS: Final = b"0123456789"
_TO_ZEROS: Final = bytes.maketrans(_DIGITS, b"0000000000")
# With zeros for digits, what holds a position, and what may hold one.
_POSITIONS: Final = (
    "[0", '", 0', "line 0", "lines 0", "line: 0", "zeile 0", "ligne 0", "línea 0", "riga 0", "строка 0"
)  # fmt: skip
_MAY_BE_POSITION: Final = re.compile(r"[:\",;] ?0{1,7}(?:[:./|\s]|$)")  # begins with a set: skips ahead
_AFTER_FILE: Final = re.compile(r"\.[a-z]\w{0,9} {1,4}0{1,7}(?:[:\s]|$)")
_FOREIGN: Final = r"[^\W\d_\x00-\x7f]"
_WORD: Final = re.compile(r"[^\W_]+")
_TO_WORDS: Final = bytes(n if n > 127 or chr(n).isalnum() or n == 10 else 32 for n in range(256))


@dataclass(frozen=True)
class CleanText:
    """The text that rules read. Offsets into `body` are what matches mean."""

    body: str

    @cached_property
    def lowered(self) -> str:
        """The body in lower case, of the same length."""
        return self.body.lower()

    @cached_property
    def plain(self) -> bool:
        """Whether the text is ASCII only, so that rules for other scripts need not look."""
        return self.body.isascii()

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their breaks; an empty text has one."""
        return self.body.split("\n")

    @cached_property
    def lows(self) -> list[str]:
        """The lines in lower case."""
        return self.lowered.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins, and at the end where a further one would."""
        return list(map(add, accumulate(map(len, self.lines), initial=0), count()))

    @property
    def line_count(self) -> int:
        """How many lines there are; an empty text has one."""
        return len(self.lines)

    def bounds(self, line: int) -> tuple[int, int]:
        """Start and end of a line by its number; past the last, the end of the text."""
        starts = self.starts
        return (starts[line], starts[line + 1] - 1) if line + 1 < len(starts) else (len(self.body), len(self.body))

    def line_number(self, position: int) -> int:
        """The number of the line that holds a position, from 0."""
        return bisect_right(self.starts, position) - 1

    def line(self, number: int) -> str:
        """A line by its number, without its line break."""
        return self.lines[number]

    @cached_property
    def _encoded(self) -> bytes:
        """In lower case, as bytes: they are translated many times faster than text, whatever script it has."""
        return self.lowered.encode("utf-8", "surrogatepass")

    @cached_property
    def zeroed(self) -> str:
        """In lower case, with zeros for all digits."""
        return self._encoded.translate(_TO_ZEROS).decode("utf-8", "surrogatepass")

    @cached_property
    def zeros(self) -> list[str]:
        """The lines of it."""
        return self.zeroed.split("\n")

    @cached_property
    def cased_zeroed(self) -> str:
        """As it is written, but with zeros for all digits."""
        encoded = self.body.encode("utf-8", "surrogatepass")
        return encoded.translate(_TO_ZEROS).decode("utf-8", "surrogatepass")

    @cached_property
    def cased_zeros(self) -> list[str]:
        """The lines of it."""
        return self.cased_zeroed.split("\n")

    @cached_property
    def telling(self) -> list[int]:
        """The lines worth reading: of lines that differ in their numbers only, the first and last few."""
        alike: dict[bytes, list[int]] = {}
        lines = self._encoded.translate(None, _DIGITS).split(b"\n")
        for number, line in enumerate(lines):
            alike.setdefault(line, []).append(number)
        alike.pop(b"", None)
        if max(map(len, alike.values()), default=0) <= 2 * ALIKE:
            return [number for number, line in enumerate(lines) if line]
        few = (lines if len(lines) <= 2 * ALIKE else lines[:ALIKE] + lines[-ALIKE:] for lines in alike.values())
        return sorted(chain.from_iterable(few))

    @cached_property
    def told(self) -> str:
        """The telling lines in lower case, as one text to look for words in."""
        lows = self.lows
        return "\n".join([lows[number] for number in self.telling])

    def low(self, number: int) -> str:
        """A line by its number, in lower case."""
        return self.lows[number]

    @cached_property
    def positioned(self) -> list[int]:
        """The numbers of the lines with a number after a colon or bracket, as positions in files have."""
        zeros = self.zeros
        return [number for number in self.telling if "0" in (line := zeros[number]) and _holds_position(line)]

    @cached_property
    def may_have_position(self) -> frozenset[int]:
        """The same as a set."""
        return frozenset(self.positioned)

    @cached_property
    def foreign(self) -> list[int]:
        """The numbers of the lines with letters beyond ASCII."""
        lines, search = self.lines, compiled(_FOREIGN).search
        return [number for number in self.telling if not lines[number].isascii() and search(lines[number])]

    def lines_by_word(self, words: frozenset[str]) -> dict[str, list[int]]:
        """The numbers of the lines with each of these words, in the order in which the text first holds them."""
        lines: dict[str, list[int]] = {}
        for number, held in self.words_of_lines.items():
            for word in words.intersection(held):
                if word in lines:
                    lines[word].append(number)
                else:
                    lines[word] = [number]
        return lines

    @cached_property
    def words_of_lines(self) -> dict[int, set[str]]:
        """The words of each telling line in lower case; of plain ASCII without a slower regular expression."""
        lines = self._encoded.translate(_TO_WORDS).decode("utf-8", "surrogatepass").split("\n")
        if self.plain:
            return dict(zip(self.telling, map(set, map(str.split, map(lines.__getitem__, self.telling))), strict=True))
        lows = self.lows
        return {
            number: set(line.split() if (line := lines[number]).isascii() else _WORD.findall(lows[number]))
            for number in self.telling
        }

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


def _holds_position(zeros: str) -> bool:
    """Whether a line with zeros for digits has what may be a position; what most positions look like is asked first."""
    if ":0" in zeros or "(0" in zeros or any(map(zeros.__contains__, _POSITIONS)) or _MAY_BE_POSITION.search(zeros):
        return True
    return " 0" in zeros and bool(_AFTER_FILE.search(zeros))


def clean(text: str | bytes, added: str = "") -> CleanText:
    """Window first, so that the cost never depends on the size of the output; then clean. `added` stands after it."""
    return clean_window(window(text), added)


def clean_window(body: str, added: str = "") -> CleanText:
    """The same for a text that was cut to its window already."""
    if added:
        body = f"{body}\n{window(added)}"
    if "\x1b" in body or "\x9b" in body:
        body = compiled(_ANSI).sub("", body)
    elif "[" in body:
        body = _BARE_COLOUR.sub("", body)
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    if "\u0130" in body:
        body = body.replace("\u0130", "I")  # the one letter whose lower case is longer
    body = _without_control(body)
    if _CLOCK.search(body) or ("#" in body and _STEP.search(body)):
        body = compiled(_STAMPS_OF_JOBS if "\t" in body else _STAMPS).sub("\n", f"\n{body}")[1:]
    if not body.isascii() and any(mark in body for mark in FRAMES):
        body = compiled(_WARNING_BOX).sub("", body) if "│ Warning: " in body else body
        body = compiled(_FRAME).sub("", body)
    if "Warning: " in body and "\nError: " in body:
        body = compiled(_WARNING_BLOCK).sub("", body)
    text = CleanText(body)
    if len(body) > LINE_CHARS and max(map(len, text.lines)) > LINE_CHARS:
        return CleanText("\n".join(map(_shorten, text.lines)))
    return text


def _without_control(body: str) -> str:
    if body.isascii():
        return body.encode("ascii").translate(None, _CONTROL).decode("ascii")
    encoded = body.encode("utf-8", "surrogatepass").translate(None, _CONTROL)
    if any(map(encoded.__contains__, _MAY_BE_MARKS)):
        encoded = _MARKS.sub(b"", encoded)
    return encoded.decode("utf-8", "surrogatepass")


def window(text: str | bytes) -> str:
    """The head and the tail of a text, or all of a short one."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return _decode(text)
    return _decode(text[:HEAD_CHARS]) + GAP + _decode(text[-TAIL_CHARS:])


def lines_cut(text: str | bytes) -> int:
    """How many line breaks stand in what is left out between head and tail."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return 0
    if isinstance(text, str):
        return text.count("\n", HEAD_CHARS, len(text) - TAIL_CHARS)
    return text.count(b"\n", HEAD_CHARS, len(text) - TAIL_CHARS)


def _decode(piece: str | bytes) -> str:
    # UTF-16 becomes readable once its NULs are dropped with the other control bytes.
    return piece if isinstance(piece, str) else bytes(piece).decode("utf-8", "replace")


def readable(piece: str) -> str:
    """The piece, or two words for unreadable bytes."""
    garbage = sum(char == "\ufffd" or not char.isprintable() for char in piece)
    return "binary output" if garbage * UNREADABLE_FROM > len(piece) else piece


def _shorten(line: str) -> str:
    if len(line) <= LINE_CHARS:
        return line
    return line[: LINE_CHARS - 800] + " ... " + line[-800:]
