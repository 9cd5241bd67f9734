"""Where the text says the error is: positions of compilers, frames of traces, lines of failing tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from medbay.core.diagnosis.record import Location
from medbay.core.diagnosis.rule import compiled
from medbay.core.diagnosis.rules.places import PLACES, PositionPattern
from medbay.core.diagnosis.text import CleanText

SUFFIX_MAX: Final = 11  # of a file name, its dot included
LINES_MAX: Final = 80  # lines searched per shape, from the side that counts

# Where code is that is not the project's own: parts of paths, how they begin, and more shapes.
_LIBRARY_PARTS: Final = (
    "site-packages", "dist-packages", "node_modules", "node:", "/rustc/", ".cargo/registry", ".rustup", "/gems/",
    "/vendor/", "/go/pkg/mod", "/nix/store", "/hostedtoolcache/", "/deps/undici", "/sysdeps/", "/csu/", ".pyenv/",
    "/medbay/runners/python/",
)  # fmt: skip
_LIBRARY_STARTS: Final = ("/usr/", "<", "ext:", "http:", "https:", "libraries/", "ice-9/")
_LIBRARY: Final = (
    r"^internal/\S{1,120}\.js$|/lib/python\d|/share/(?:perl|ruby|php)|^\.\./(?:crypto|providers|ssl)/|_testmain\.go$"
    r"|^[\w.-]{1,200}\.(?:com|org|net|io|internal|local|invalid|localdomain|cloud)$"  # hosts
    r"|libc[_-]start|^lib/(?:code|ex_unit|mix|elixir|gen_)|^\./(?:loading|essentials|boot)\.jl"
)
# What lines of each shape hold, the shortest first; with each one that is a part of it, or nothing.
_NEEDLES: Final = tuple(
    (needle, next((other for other in needles if other in needle and other != needle), ""))
    for needles in [sorted({place.needle for place in PLACES}, key=len)]
    for needle in needles
)
_LOOSE: Final = frozenset({"plain", "generic", "bracket", "parenthesis", "go", "ruby"})
_BOTH: Final = frozenset({"comma", "on_line"})  # errors and warnings look alike there: errors come first
_NOISE: Final = (
    r"(?i)^\s+\((?:elixir|stdlib|kernel|ex_unit|mix|iex|logger|eex) \d"
    r"|\bwarn(?:ing)?s?\b|^In file included from|^\s+from \S+:\d+[,:]$|^\s*(?:note|hint|info)\b|https?://\S*:\d"
)
_OWN_LINE: Final = r"^(?:\s{0,2}Line {1,12}|FILE: )?(?P<file>(?:[A-Za-z]:)?[\w./\\@-]{1,200}\.[A-Za-z]\w{0,9})\s*$"
_TEX_LINE: Final = r"(?m)^l\.(\d{1,7}) "
_TEX_FILE: Final = r"\((?:\./)?([\w./-]{1,120}\.tex)\b"
_ROWS: Final = re.compile(r"\n\s{1,10}\d")  # without one there is nothing under a heading
_ROW: Final = r"^\s{1,10}(?P<line>\d{1,7})(?::(?P<col>\d{1,6}))?\s{1,12}(?:error|✖|×|\S)"


def locate(text: CleanText) -> Location | None:
    """The place of the error as the text shows it, in the project's own code where it can be told."""
    return _headed(text) or _in_tex(text) or next(_found(text), None)


def _in_tex(text: CleanText) -> Location | None:
    """`l.42 \\command` under the file that was opened last, as TeX prints."""
    line = compiled(_TEX_LINE).search(text.body) if "\nl." in text.body else None
    files = compiled(_TEX_FILE).findall(text.body, 0, line.start()) if line else []
    return Location(files[-1], int(line[1]), None) if line and files else None


def _found(text: CleanText) -> Iterator[Location]:
    positioned = [(text.lines[number], text.zeros[number]) for number in text.positioned]
    every = "\n".join([zeros for _, zeros in positioned])
    held = {""}
    for needle, part in _NEEDLES:
        if part in held and needle in every:
            held.add(needle)
    jointed = {"": positioned}
    for place in PLACES:
        if place.needle not in held:
            continue
        among = jointed.get(place.joint)
        if among is None:
            search = compiled(place.joint).search
            among = jointed[place.joint] = [line for line in positioned if search(line[1])]
        lines = [line for line, zeros in among if place.needle in zeros]
        yield from _on_lines(place, reversed(lines[-LINES_MAX:]) if place.last else lines[:LINES_MAX])


def _on_lines(place: PositionPattern, lines: Iterable[str]) -> Iterator[Location]:
    noise = compiled(_NOISE).search
    if place.id in _BOTH:  # sorted by whether they are noise: the rest keeps its order
        lines = sorted(lines, key=lambda line: noise(line) is not None)
    for line in lines:
        match = place.pattern.search(line)
        if match is None or _in_library(match["file"]):
            continue
        if place.id not in _LOOSE or not noise(line):
            yield _location(match["file"], match)


def _in_library(file: str) -> bool:
    if file.startswith(_LIBRARY_STARTS) or any(map(file.__contains__, _LIBRARY_PARTS)):
        return True
    return bool(compiled(_LIBRARY).search(file))


def _headed(text: CleanText) -> Location | None:
    """A path alone on a line with rows of `line:column` under it, as linters print."""
    if not _ROWS.search(text.body):
        return None
    heading = ""
    for line in text.lines[:LINES_MAX]:
        may_name = "." in line and "." in line.rstrip()[-SUFFIX_MAX:]
        if not heading and not may_name:
            continue
        row = compiled(_ROW).match(line) if heading else None
        if row and " warning " not in line:
            return _location(heading, row)
        own = compiled(_OWN_LINE).match(line) if may_name else None
        if own:
            heading = own["file"]
        elif line.strip(" -") and not row and not line.startswith("FOUND "):
            heading = ""
    return None


def _location(file: str, match: re.Match[str]) -> Location:
    column = match.groupdict().get("col")
    return Location(file, int(match["line"]), int(column) if column else None)
