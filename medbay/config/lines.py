"""Where each key of a TOML text stands: the standard parser gives values, not lines.

It reads a text that parsed; for any other text it answers what it can and never raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

Path = tuple[str, ...]

_PARTS_MAX = 32
_MANY_DOTS = re.compile(rf"(?:\.[^.\n]*+){{{_PARTS_MAX + 1}}}")
_DEPTH_MAX = 8  # deeper keys are found by the line of what holds them

_TOKEN = re.compile(
    r"""
    (?P<string> \"{3}(?:\\.|[^\\])*?\"{3,5} | '{3}.*?'{3,5} | "(?:\\.|[^"\\\n])*" | '[^'\n]*' )
  | (?P<comment> \#[^\n]* )
  | (?P<newline> \n )
  | (?P<mark> [\[\]{}=,.] )
  | (?P<space> [ \t\r]+ )
  | (?P<word> [^\s\[\]{}=,.\#"']+ )
  | (?P<other> . )
    """,
    re.DOTALL | re.VERBOSE,
)


@dataclass(slots=True)
class Document:
    """The text of a file, and the line of each key in it: looked for when it is first asked for."""

    file: str
    text: str
    lines: Mapping[Path, int] | None = None

    def line(self, path: Path) -> int:
        """The line of a path, or of what holds it."""
        if self.lines is None:
            self.lines = locate(self.text)
        return nearest(self.lines, path)

    def place(self, path: Path) -> str:
        """`medbay.toml:12`."""
        return f"{self.file}:{self.line(path)}"


def locate(text: str) -> Mapping[Path, int]:
    """The line of every table and key by its path; entries of a list by their number as the last part."""
    scan = _Scan()
    line = 1
    for found in _TOKEN.finditer(text):
        kind, token = found.lastgroup, found.group()
        if kind == "newline":
            scan.end_line()
        elif kind not in ("space", "comment"):
            scan.take(token, line, is_mark=kind == "mark")
        line += token.count("\n")
    return scan.lines


def is_too_deep(text: str) -> bool:
    """Whether a key has more parts than any setting could; the standard parser takes the square of their number."""
    if not _MANY_DOTS.search(text):
        return False
    parts = 0
    for found in _TOKEN.finditer(text):
        if found.group() == ".":
            parts += 1
            if parts > _PARTS_MAX:
                return True
        elif found.lastgroup not in ("space", "word", "string"):
            parts = 0
    return False


def nearest(lines: Mapping[Path, int], path: Path) -> int:
    """The line of a path, or of what holds it when it was not found itself."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


@dataclass(slots=True)
class _Open:
    """A list or an inline table that is not closed yet."""

    mark: str
    path: Path
    index: int = 0


@dataclass(slots=True)
class _Scan:
    """What the scan knows between two tokens."""

    lines: dict[Path, int] = field(default_factory=dict)
    table: Path = ()  # the header in force
    key: list[str] = field(default_factory=list)  # parts of the key being read
    value: Path = ()  # the key whose value is being read
    mode: str = "key"  # key, header or value
    opened: list[_Open] = field(default_factory=list)

    def take(self, token: str, line: int, *, is_mark: bool) -> None:
        if self.mode == "value":
            self._take_value(token, line)
        elif not is_mark:
            self.key.append(_unquoted(token))
        elif self.mode == "header":
            self._take_header(token, line)
        else:
            self._take_key(token, line)

    def end_line(self) -> None:
        if not self.opened:
            self.mode, self.key = "key", []

    def _take_key(self, token: str, line: int) -> None:
        if token == "=":
            base = self.opened[-1].path if self.opened else self.table
            self.value = (*base, *self.key)[:_DEPTH_MAX]
            self._record(self.value, line)
            self.mode, self.key = "value", []
        elif token == "[" and not self.opened:
            self.mode, self.key = "header", []
        elif token == "}":
            self._close()

    def _take_header(self, token: str, line: int) -> None:
        if token == "]" and self.key:
            self.table, self.key = tuple(self.key[:_DEPTH_MAX]), []
            self._record(self.table, line)

    def _take_value(self, token: str, line: int) -> None:
        within = self.opened[-1] if self.opened else None
        if within and within.mark == "[" and token not in ("]", ","):
            self._record((*within.path, str(within.index)), line)
        match token:
            case "{":
                self.opened.append(_Open("{", self.value))
                self.mode, self.key = "key", []
            case "[":
                self.opened.append(_Open("[", self.value))
            case "," if within and within.mark == "{":
                self.mode, self.key = "key", []
            case "," if within:
                within.index += 1
            case "]" | "}":
                self._close()

    def _close(self) -> None:
        if self.opened:
            self.value = self.opened.pop().path
        self.mode = "value"

    def _record(self, path: Path, line: int) -> None:
        for size in range(len(path), 0, -1):
            if path[:size] in self.lines:
                break
            self.lines[path[:size]] = line


def _unquoted(token: str) -> str:
    if token[0] not in "\"'":
        return token
    import tomllib  # for what stands in quotes only

    try:
        return str(tomllib.loads(f"key = {token}")["key"])
    except (ValueError, RecursionError):
        return token
