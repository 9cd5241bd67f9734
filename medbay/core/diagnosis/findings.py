"""Finding every rule that matches, line by line, and ranking what ended the run first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from medbay.core.diagnosis.roles import IGNORED, Role, role_of
from medbay.core.diagnosis.rule import EXACT, OTHER_SCRIPTS, PART, POSITIONED, Rule
from medbay.core.diagnosis.table import TABLE, Entry, Table
from medbay.core.diagnosis.text import CleanText

TRIES_MAX: Final = 8
LINES_FIRST: Final = 20  # lines searched per word: the first ones, where compilers begin,
LINES_LAST: Final = 60  # and the last ones, where runs end
_TRACEBACK: Final = "Traceback (most recent call last):"
_CHAINED: Final = ("During handling of the above exception", "The above exception was the direct cause")


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that matched, where, and how much it says."""

    rule: Rule
    start: int
    end: int
    what: str  # the thing it names (a package, a command), or nothing
    score: float


def find_all(text: CleanText, table: Table = TABLE) -> list[Finding]:
    """The best match of each rule, the strongest first."""
    ended = _last_chain(text.body)
    found: dict[str, Finding] = {}
    for finding in _matches(text, table, ended):
        best = found.get(finding.rule.id)
        if best is None or _better(finding, best):
            found[finding.rule.id] = finding
    return sorted(found.values(), key=lambda finding: (-finding.score, finding.rule.id))


def _better(finding: Finding, best: Finding) -> bool:
    return (finding.score, bool(finding.what), -finding.start) > (best.score, bool(best.what), -best.start)


def _matches(text: CleanText, table: Table, ended: int) -> Iterator[Finding]:
    roles: dict[int, Role] = {}
    for word in _words(text, table):
        entries = table.entries(word)
        for line in _lines(text, word):
            role = roles.get(line) or roles.setdefault(line, role_of(text, line))
            if role.weight > IGNORED:
                yield from _on_line(text, line, role, entries, ended)


def _on_line(text: CleanText, line: int, role: Role, entries: tuple[Entry, ...], ended: int) -> Iterator[Finding]:
    start, end = text.bounds(line)
    for rule, pattern in entries:
        if role.code and not rule.in_code:
            continue
        stop = end if rule.lines == 1 else text.bounds(line + rule.lines - 1)[1]
        match = _search(pattern, text.body if rule.case else text.lowered, start, stop)
        if match is not None and match.start() <= end:
            score = role.weight + _score(rule, match.start(), len(text.body), ended)
            yield Finding(rule, *match.span(), _named(match, text.body), score)


def _search(pattern: re.Pattern[str], text: str, start: int, stop: int) -> re.Match[str] | None:
    """The first match that does not begin inside a word. At most a few tries: a phrase seldom stands inside words."""
    for _ in range(TRIES_MAX):
        match = pattern.search(text, start, stop)
        at = match.start() if match is not None else 0
        if match is None or at == 0 or not (text[at - 1].isalnum() and text[at : at + 1].isalnum()):
            return match
        start = at + 1
    return None


def _named(match: re.Match[str], body: str) -> str:
    if match.lastindex is None:
        return ""
    spans = (match.span(name) for name in match.groupdict())
    return next((body[start:end] for start, end in spans if start < end), "")


def _words(text: CleanText, table: Table) -> Iterator[str]:
    yield from sorted(table.whole & text.words)
    yield from (part for part in table.parts if part[1:] in text.lowered)
    yield POSITIONED
    if not text.plain:
        yield OTHER_SCRIPTS


def _lines(text: CleanText, word: str) -> Iterator[int]:
    """The lines to search for a word, the last first; a line that stands there again was searched already."""
    if word == POSITIONED:
        lines = text.positioned
    elif word == OTHER_SCRIPTS:
        lines = text.foreign
    else:
        lines = text.lines_with(word.removeprefix(PART))
    if len(lines) > LINES_FIRST + LINES_LAST:
        lines = lines[:LINES_FIRST] + lines[-LINES_LAST:]
    seen: set[str] = set()
    for number in reversed(lines):
        line = text.line(number)
        if line not in seen:
            seen.add(line)
            yield number


def _score(rule: Rule, start: int, length: int, ended: int) -> float:
    """What a rule says, and that runs end with their cause."""
    place = 0.6 if rule.first else start / max(1, length)
    before = 1.2 if start < ended and rule.level >= EXACT - 0.5 else 0.0
    return rule.level + 0.5 * rule.confidence + 0.4 * place - before


def _last_chain(body: str) -> int:
    """Where the chain of exceptions that ended the run begins; 0 when there is none."""
    at = body.rfind(_TRACEBACK)
    while at > 0:
        before = body.rfind(_TRACEBACK, 0, at)
        if before < 0 or not any(words in body[before:at] for words in _CHAINED):
            break
        at = before
    return max(at, 0)
