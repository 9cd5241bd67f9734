"""Where output goes and what it may look like: a terminal with glyphs and colours, or plain lines for programs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

from medbay.views import glyphs
from medbay.views.glyphs import Token
from medbay.views.status import Phrase
from medbay.views.text import clean, clean_json

# Only the 16 colours of every terminal, readable on light and dark grounds.
COLOURS: Final[Mapping[Token, str]] = {
    "run": "1;36",
    "wait": "33",
    "held": "36",
    "you": "1;35",
    "fail": "31",
    "done": "32",
    "idle": "2",
}

_ASCII: Final = str.maketrans(  # for terminals that have no other letters
    {
        glyphs.RUNNING: ">",
        glyphs.VERIFYING: "%",
        glyphs.WAITING: "~",
        glyphs.AFTER: "^",
        glyphs.HELD: "=",
        glyphs.FAILED: "x",
        glyphs.DONE: "+",
        glyphs.READY: "o",
        glyphs.CANCELLED: "-",
        glyphs.LOST: "?",
        glyphs.JUDGED: "#",
        "·": "-",
        "…": "~",
        "→": ">",
        "├": "|",
        "│": "|",
        "└": "`",
        "─": "-",
    }
)

BOLD: Final = "1"
DIM: Final = "2"
_NARROWEST: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What one stream can show."""

    terminal: bool
    width: int
    colour: bool
    unicode: bool

    def paint(self, text: str, codes: str) -> str:
        """The text in a colour, where colours are shown."""
        return f"\x1b[{codes}m{text}\x1b[0m" if self.colour and text and codes else text

    def token(self, text: str, token: Token) -> str:
        """The text in the colour of a token."""
        return self.paint(text, COLOURS[token])

    def plain(self, text: str) -> str:
        """Our own glyphs as this stream can show them."""
        return text if self.unicode else text.translate(_ASCII)

    def phrase(self, phrase: Phrase) -> str:
        """Glyph and words of a status, in its colour."""
        return self.paint(self.plain(f"{phrase.glyph} {phrase.words}"), COLOURS[phrase.token])


def screen(stream: TextIO | None = None) -> Screen:
    """Return what this stream (default: stdout) can show."""
    stream = stream or sys.stdout
    terminal = stream.isatty()
    dumb = os.environ.get("TERM") == "dumb"
    return Screen(
        terminal=terminal,
        width=max(_NARROWEST, shutil.get_terminal_size((100, 24)).columns),
        colour=terminal and not dumb and not os.environ.get("NO_COLOR"),
        unicode=_speaks_unicode(stream, os.environ),
    )


def say(line: str = "") -> None:
    """One line of the result."""
    _write(sys.stdout, line)


def note(line: str) -> None:
    """One line on stderr: progress, a hint, the next command to type."""
    _write(sys.stderr, screen(sys.stderr).plain(line))


def fields(*cells: object) -> None:
    """One line for programs: cells between tabs, none of them with a tab or a line break inside."""
    say("\t".join("" if cell is None else clean(str(cell)) for cell in cells))


def print_json(value: object) -> None:
    """A whole result as JSON, indented for people."""
    say(to_json(value, indent=2))


def print_json_lines(values: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object per line."""
    for value in values:
        say(to_json(value))


def to_json(value: object, *, indent: int | None = None) -> str:
    """JSON as this stdout can carry it."""
    return clean_json(json.dumps(value, indent=indent, ensure_ascii=not _encodes_all(sys.stdout), default=str))


def flush() -> None:
    """Everything said so far reaches its reader."""
    sys.stdout.flush()


def _write(stream: TextIO, line: str) -> None:
    try:
        stream.write(line + "\n")
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _encodes_all(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "").replace("_", "") == "utf8"


def _speaks_unicode(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Python prints UTF-8 even under LC_ALL=C; a terminal of that locale would not show it."""
    said = environ.get("LC_ALL", "")
    return _encodes_all(stream) and (not said or "utf" in said.lower())
