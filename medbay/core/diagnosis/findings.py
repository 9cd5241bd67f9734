"""Finding every rule that matches, line by line, and ranking what ended the run first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from medbay.core.diagnosis.roles import IGNORED, role_of
from medbay.core.diagnosis.rule import EXACT, OTHER_SCRIPTS, PART, POSITIONED, Rule, compiled
from medbay.core.diagnosis.rules import BY_WORD, RULES
from medbay.core.diagnosis.text import CleanText

TRIES_MAX: Final = 8
LINES_FIRST: Final = 20  # lines searched per word: the first ones, where compilers begin,
LINES_LAST: Final = 60  # and the last ones, where runs end
_PARTS: Final = tuple(sorted(word for word in BY_WORD if word.startswith(PART)))
WHOLE_WORDS: Final = frozenset(BY_WORD) - {*_PARTS, POSITIONED, OTHER_SCRIPTS}
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


def find_all(text: CleanText) -> list[Finding]:
    """The best match of each rule, the strongest first."""
    ended = _last_chain(text.body)
    found: dict[int, Finding] = {}
    for number, finding in _matches(text, ended):
        best = found.get(number)
        if best is None or _better(finding, best):
            found[number] = finding
    return sorted(found.values(), key=lambda finding: (-finding.score, finding.rule.id))


def _better(finding: Finding, best: Finding) -> bool:
    return (finding.score, bool(finding.what), -finding.start) > (best.score, bool(best.what), -best.start)


def _matches(text: CleanText, ended: int) -> Iterator[tuple[int, Finding]]:
    for word in _words(text):
        led_to = entries(word)
        for line in _lines(text, word):
            start, end = text.bounds(line)
            for number, rule, pattern in led_to:
                stop = end if rule.lines == 1 else text.bounds(line + rule.lines - 1)[1]
                match = _search(pattern, text.body if rule.case else text.lowered, start, stop)
                if match is not None and match.start() <= end:
                    score = _score(rule, match.start(), text, ended)
                    if score > IGNORED:
                        yield number, Finding(rule, *match.span(), _named(match, text.body), score)


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


@cache
def entries(word: str) -> tuple[tuple[int, Rule, re.Pattern[str]], ...]:
    """The rules a word leads to, compiled when a text first holds it."""
    return tuple((number, RULES[number], compiled(source)) for number, source in BY_WORD.get(word, ()))


def _words(text: CleanText) -> Iterator[str]:
    yield from sorted(WHOLE_WORDS & text.words)
    yield from (part for part in _PARTS if part[1:] in text.lowered)
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


def _score(rule: Rule, start: int, text: CleanText, ended: int) -> float:
    role = role_of(text, start, in_code=rule.in_code)
    if role <= IGNORED:
        return IGNORED
    place = 0.6 if rule.first else start / max(1, len(text.body))
    before = 1.2 if start < ended and rule.level >= EXACT - 0.5 else 0.0
    return rule.level + 0.5 * rule.confidence + 0.4 * place + role - before


def _last_chain(body: str) -> int:
    """Where the chain of exceptions that ended the run begins; 0 when there is none."""
    at = body.rfind(_TRACEBACK)
    while at > 0:
        before = body.rfind(_TRACEBACK, 0, at)
        if before < 0 or not any(words in body[before:at] for words in _CHAINED):
            break
        at = before
    return max(at, 0)
