"""The lines of a log by number, however long it is: ranges, search and errors, without reading more than is asked for.

An index holds how many lines begin before each block of the file; it grows with the file. What was dropped from the
middle of a log is one line of its own.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from medbay.places.logs import Hole, dropped

BLOCK: Final = 262_144
LINE_MAX: Final = 8_192  # bytes of one line that are given out
ERRORS: Final = re.compile(
    rb"(?i)\b(?:error|failed|failure|fatal|exception|traceback|panic|refused|denied|cannot|killed|econn[a-z]+|enoent)\b"
)


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line: its number from 1, its text, and whether that is all of it; `dropped` are bytes that are gone."""

    number: int
    text: str
    cut: bool = False
    dropped: int = 0


@dataclass(slots=True)
class LogIndex:
    """Where the lines of one log are. Read again, it takes in what was added."""

    path: Path
    size: int = 0
    breaks: int = 0  # line breaks so far
    hole: Hole | None = None
    _starts: list[int] = field(default_factory=lambda: [0])  # offset of each block
    _before: list[int] = field(default_factory=lambda: [0])  # line breaks before it
    _ends_open: bool = False  # the last line has no line break yet

    def refresh(self) -> None:
        """Take in what was written since; a file that shrank is read from its beginning."""
        size = os.stat(self.path).st_size
        hole = dropped(self.path) if size else None
        if size < self.size or hole != self.hole:
            self.size, self.breaks, self._starts, self._before = 0, 0, [0], [0]
        self.hole = hole
        with open(self.path, "rb", buffering=0) as file:
            while self.size < size:
                self._take(file.fileno(), size)

    def _take(self, descriptor: int, size: int) -> None:
        """Count one more block; the hole has one line, and so has what it cut off on either side."""
        at, hole = self.size, self.hole
        if hole and hole.begin <= at < hole.end:
            self.size = hole.end
            self.breaks += 2
        else:
            room = hole.begin - at if hole and at < hole.begin else size - at
            raw = os.pread(descriptor, min(BLOCK, room), at)
            if not raw:
                self.size = size
                return
            self.size += len(raw)
            self.breaks += raw.count(b"\n")
            self._ends_open = not raw.endswith(b"\n")
        self._starts.append(self.size)
        self._before.append(self.breaks)

    @property
    def lines(self) -> int:
        """How many lines there are, the last one counted though its end is still to come."""
        return self.breaks + (1 if self.size and self._ends_open else 0)

    def read(self, first: int, count: int) -> list[LogLine]:
        """Some lines from a number on."""
        found: list[LogLine] = []
        for each in self._from(max(1, first)):
            if len(found) >= count:
                break
            found.append(each)
        return found

    def search(self, matches: Callable[[bytes], bool], *, limit: int) -> tuple[list[int], int]:
        """The numbers of the first lines that match, and how many match in all."""
        found: list[int] = []
        total = 0
        for number, raw in self._raw(1):
            if raw is not None and matches(raw):
                total += 1
                if len(found) < limit:
                    found.append(number)
        return found, total

    def near(self, line: int, matches: Callable[[bytes], bool], *, back: bool) -> int | None:
        """The next line that matches after a line, or the last one before it."""
        if not back:
            return next((number for number, raw in self._raw(line + 1) if raw is not None and matches(raw)), None)
        for block in range(len(self._before) - 2, -1, -1):
            begin, end = self._before[block] + 1, min(line - 1, self._before[block + 1] + 1)
            last = None
            for number, raw in self._raw(begin) if begin <= end else ():
                if number > end:
                    break
                last = number if raw is not None and matches(raw) else last
            if last is not None:
                return last
        return None

    def _from(self, first: int) -> Iterator[LogLine]:
        for number, raw in self._raw(first):
            if raw is None:
                assert self.hole is not None
                yield LogLine(number, "", dropped=self.hole.end - self.hole.begin)
            else:
                text = raw[:LINE_MAX].decode("utf-8", "replace").replace("\0", "\ufffd")
                yield LogLine(number, text, cut=len(raw) > LINE_MAX)

    def _raw(self, first: int) -> Iterator[tuple[int, bytes | None]]:
        """Lines from a number on, without their line breaks; None for what was dropped."""
        block = max(0, bisect_right(self._before, first - 1) - 1)
        while block > 0 and self._before[block] >= first - 1:
            block -= 1  # the line begins in a block before
        number, rest, whole = self._before[block] + 1, b"", block == 0
        with open(self.path, "rb", buffering=0) as file:
            for at in range(block, len(self._starts) - 1):
                begin, end = self._starts[at], self._starts[at + 1]
                if self.hole and begin == self.hole.begin and end == self.hole.end:
                    yield from ((n, raw) for n, raw in ((number, rest), (number + 1, None)) if n >= first)
                    number, rest, whole = number + 2, b"", True
                    continue
                parts = (rest + os.pread(file.fileno(), end - begin, begin)).split(b"\n")
                rest = parts.pop()[: LINE_MAX * 64]
                for part in parts:
                    if number >= first and (whole or number > self._before[block] + 1):
                        yield number, part
                    number += 1
        if rest and number >= first:
            yield number, rest


def contains(text: str, *, ignore_case: bool = False) -> Callable[[bytes], bool]:
    """Whether a line contains a text."""
    wanted = text.encode("utf-8", "replace")
    if not ignore_case:
        return lambda raw: wanted in raw
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    return lambda raw: pattern.search(raw) is not None


def looks_wrong(raw: bytes) -> bool:
    """Whether a line reads like an error."""
    return ERRORS.search(raw) is not None
