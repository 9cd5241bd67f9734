"""Text that others wrote, made safe to print: control characters escaped, cells measured and cut. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# What can move a cursor, recolour a screen or turn a line around: C0, DEL, C1, bidi and line separators.
_CONTROL: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
ELLIPSIS: Final = "…"

_COLOUR: Final = re.compile("\x1b\\[[0-9;:]*m")
_SEQUENCE: Final = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]"  # CSI
    "|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?"  # OSC, DCS, SOS, PM, APC with what they carry
    "|\x1b[ -/]*[0-~]"  # two characters and more
    "|\x1b"
)
_UNFINISHED_NOW: Final = re.compile("\x1b(?:\\[[0-?]*[ -/]*|[\\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\\Z")
_UNFINISHED: Final = re.compile(f"(?:{_UNFINISHED_NOW.pattern}|\r\\Z)")
_UNSAFE_IN_LOG: Final = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_ALONE: Final = re.compile("\r+(?!\n)")  # what follows would stand over what came before
_UNSAFE_IN_JSON: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_PENDING_MAX: Final = 4_096


def clean(text: str) -> str:
    """One line without control characters: each is shown as its escape."""
    return _CONTROL.sub(_escape, text)


def clean_json(text: str) -> str:
    """JSON that says the same, with what could control a terminal written as an escape."""
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def clean_lines(text: str) -> list[str]:
    """The lines of a longer text, each one clean."""
    return [clean(line) for line in text.splitlines()]


def width(text: str) -> int:
    """How many columns a clean text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def cut(text: str, columns: int) -> str:
    """At most so many columns; what was cut off is shown by an ellipsis."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for char in text:
        used += _columns(char)
        if used > columns - 1:
            break
        kept.append(char)
    return "".join(kept).rstrip() + ELLIPSIS if columns > 0 else ""


def wrap(text: str, columns: int, *, below: int | None = None) -> list[str]:
    """A clean text in lines of at most so many columns, broken between words, and inside one that is longer.

    `below` is the room of the lines after the first, where it is another one.
    """
    lines: list[str] = []
    line, room = "", columns
    for word in text.split(" "):
        if line and width(line) + 1 + width(word) > room:
            lines.append(line)
            line, room = "", below or columns
        line = f"{line} {word}" if line else word
        while width(line) > room:
            fits = next(size for size in range(len(line), 0, -1) if width(line[:size]) <= room or size == 1)
            lines.append(line[:fits])
            line, room = line[fits:], below or columns
    return [*lines, line]


def pad(text: str, columns: int) -> str:
    """Filled with blanks up to so many columns."""
    return text + " " * (columns - width(text))


class ColoursOnly:
    """Passes the text of a log with its colours; every other escape sequence is taken out.

    A sequence may be cut between two pieces, so an unfinished one waits for the next piece.
    """

    def __init__(self, *, colours: bool = True, redraws: bool = False) -> None:
        """`redraws` lets a command that runs now write over its own line, as progress bars do."""
        self._colours = colours
        self._redraws = redraws
        self._pending = ""

    def feed(self, piece: str) -> str:
        """What may be printed of the next piece."""
        text = self._pending + piece
        begun = (_UNFINISHED if not self._redraws else _UNFINISHED_NOW).search(text)
        self._pending = text[begun.start() :] if begun and len(text) - begun.start() <= _PENDING_MAX else ""
        done = text[: len(text) - len(self._pending)]
        shown = _SEQUENCE.sub(self._keep, done)
        return _UNSAFE_IN_LOG.sub(_escape, shown if self._redraws else _ALONE.sub("\n", shown))

    def _keep(self, found: re.Match[str]) -> str:
        return found[0] if self._colours and _COLOUR.fullmatch(found[0]) else ""


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    return _NAMED.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
