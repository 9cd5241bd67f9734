"""What an attempt was handed, taken out of what it printed: a job that prints its guidance is not judged by it.

Only whole lines of what was handed count, however they are wrapped, quoted or prefixed: a failure that repeats the
words of the one before it is still a failure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from msgspec.structs import replace

from medbay.core.outcome import Output

_SHORTEST: Final = 10  # letters and digits of a line; what is shorter may stand in any output by chance
_BEGUN: Final = 20  # the same of a line that is cut off
_LINES_MAX: Final = 4_000  # of what was handed that are looked for

_ESCAPE: Final = r"\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[nrt]"
_BETWEEN: Final = r"[^A-Za-z0-9]+"
# What tools put before every line they pass on: a time, a level, a name before a bar.
_PREFIX: Final = (
    r"^[^A-Za-z0-9\n]{0,20}(?:\d{4}-\d\d-\d\d[T ]|(?=\d\d:))\d\d:\d\d(?::\d\d)?[^\s\]]{0,16}"
    r"(?:[^A-Za-z0-9\n]{0,8}(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b)?"
    r"|^[^A-Za-z0-9\n]{0,8}(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR)\b"
    r"|^[\w.-]{1,40} {0,8}\|"
)
_PLAIN: Final = re.compile(f"{_ESCAPE}|{_BETWEEN}")
_PREFIXED: Final = re.compile(f"(?im:{_PREFIX})|{_ESCAPE}|{_BETWEEN}")
_EMPTY: Final = re.compile(r"[\s'\"`|>+)(}{\]\[,;:=-]*")


_WORDS_OF_OURS: Final = frozenset({"category", "outcome"})  # they name a kind, whatever the task is called


def without_echo(output: Output, handed: str) -> Output:
    """The output of an attempt without the lines of what was handed to it."""
    lines = _lines_of(handed)
    if not lines:
        return output
    result = output.result and _result_without(output.result, lines)
    return replace(output, head=_without(output.head, lines), tail=_without(output.tail, lines), result=result)


def _result_without(result: Mapping[str, Any], lines: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: _without(each, lines) if isinstance(each, str) and name not in _WORDS_OF_OURS else each
        for name, each in result.items()
    }


def _lines_of(handed: str) -> tuple[str, ...]:
    """The lines by their letters and digits alone, the longest first."""
    found = {_PLAIN.sub("", line) for line in handed.split("\n")[:_LINES_MAX] if " " in line.strip()}
    return tuple(sorted((line for line in found if len(line) >= _SHORTEST), key=lambda line: (-len(line), line)))


@lru_cache(maxsize=64)  # what fails together was often told the same and says the same
def _without(text: str, lines: tuple[str, ...]) -> str:
    if not text:
        return text
    for skipped in (_PLAIN, _PREFIXED):
        text = _without_whole(text, lines, skipped)
    return _without_begun(text, lines)


def _without_whole(text: str, lines: Iterable[str], skipped: re.Pattern[str]) -> str:
    """Take every place out where a whole line stands, whatever is between its letters."""
    letters = skipped.sub("", text)
    found = [line for line in lines if line in letters]
    if not found:
        return text
    places = _places(text, skipped)
    taken: list[tuple[int, int]] = []
    for line in found:
        at = letters.find(line)
        while at >= 0:
            taken.append((_place(places, at), _place(places, at + len(line) - 1) + 1))
            letters = letters[:at] + "\0" * len(line) + letters[at + len(line) :]
            at = letters.find(line, at + len(line))
    return _cut(text, sorted(taken))


def _places(text: str, skipped: re.Pattern[str]) -> tuple[list[int], list[int]]:
    """Where each run of letters begins: among the letters, and in the text."""
    among, within, at, count = [], [], 0, 0
    for match in skipped.finditer(text):
        if match.start() > at:
            among.append(count)
            within.append(at)
            count += match.start() - at
        at = match.end()
    return [*among, count], [*within, at]


def _place(places: tuple[list[int], list[int]], at: int) -> int:
    among, within = places
    run = bisect_right(among, at) - 1
    return within[run] + at - among[run]


def _cut(text: str, taken: Iterable[tuple[int, int]]) -> str:
    """The text without these places; a line of which nothing but marks is left goes as a whole."""
    kept, at = [], 0
    for start, end in taken:
        kept.append(text[at:start])
        at = max(at, end)
    left = "\0".join([*kept, text[at:]])
    return "\n".join(
        line.replace("\0", " ") for line in left.split("\n") if "\0" not in line or not _EMPTY.fullmatch(_bare(line))
    )


def _bare(line: str) -> str:
    return line.replace("\0", "")


def _without_begun(text: str, lines: Iterable[str]) -> str:
    """Leave lines out that are cut off: they begin as a line that was handed, and say nothing else."""
    begun = {line[:_BEGUN]: line for line in lines if len(line) > _BEGUN}
    letters = _PLAIN.sub("", text)
    if not any(start in letters for start in begun):
        return text
    return "\n".join(line for line in text.split("\n") if not _is_begun(_PLAIN.sub("", line), begun))


def _is_begun(line: str, begun: Mapping[str, str]) -> bool:
    places = ((line.find(start), whole) for start, whole in begun.items())
    return any(at >= 0 and whole.startswith(line[at:]) for at, whole in places)
