"""Finding every rule that matches, line by line, and ranking what ended the run first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from medbay.core.diagnosis.course import clean_up, dumped_lines, is_marked, is_transcript, last_recovery, last_step
from medbay.core.diagnosis.roles import IGNORED, MENTIONED, SAID, WARNED, Role, role_of
from medbay.core.diagnosis.rule import EXACT, OTHER_SCRIPTS, PART, POSITIONED, STRONG, Rule, compiled
from medbay.core.diagnosis.table import TABLE, Entry, Index, Table
from medbay.core.diagnosis.text import CleanText

TRIES_MAX: Final = 8
LINES_FIRST: Final = 20  # lines searched per word: the first ones, where compilers begin,
LINES_LAST: Final = 60  # and the last ones, where runs end
LONG_LINE: Final = 400  # of a longer line only the surroundings of the word are searched
AROUND: Final = 160
SETUP: Final = "tests.setup"
DECIDED: Final = STRONG + 1.0  # more than a rule that is not strong can score
PASSED_SINCE: Final = 1.2  # less for what happened before a step or an exception that came later
RECOVERED_SINCE: Final = 2.5  # less for an outage that a retry got over
IN_DUMP: Final = 0.8  # less inside an object that an exception dumps: its message says more
_DOUBTS: Final = {WARNED: 0.25, MENTIONED: 0.15}
OUTLIVED: Final = 0.3  # from so much doubt on, a finding knows less than any complaint that came later
_MARKERS: Final = frozenset({"tests.marker", "tests.cross"})
COUNTS: Final = ("tests.counts", "tests.cross", "tests.marker")
# What speaks of tests: words anywhere, then shapes, each searched where its literal stands at all.
_TEST_WORDS: Final = (
    "pass", "assert", "expect", "example", "suite", "scenario", "_spec", "[  failed  ]", "● ", "--- fail", " > ", "<<< "
)  # fmt: skip
_TEST_SHAPES: Final = (
    ("test", r"tests?(?![^\W_])"),
    ("spec", r"\bspecs?\b"),
    ("check", r"checks?\b"),
    ("feature", r"\bfeature"),
    ("s)", r"\(\d{1,6}(?:\.\d)? ?m?s\)"),
    ("fail", r"\Afail(?:ed)?:? \S+[:(]"),
)
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
    doubt: float = 0.0  # how much less sure it is for where it stands: in a warning, before a step that passed


class _Search:
    """One pass over a text: the roles of its lines and the best match of each rule so far."""

    __slots__ = (
        "best",
        "cleaned",
        "dumped",
        "ended",
        "length",
        "recovered",
        "roles",
        "stepped",
        "text",
        "transcript",
        "tried",
    )

    def __init__(self, text: CleanText) -> None:
        self.text = text
        self.length = max(1, len(text.body))
        self.ended = _last_chain(text.body)
        self.stepped = last_step(text)
        self.cleaned = clean_up(text)
        self.recovered = last_recovery(text)
        self.dumped = dumped_lines(text)
        self.transcript = is_transcript(text)
        self.roles: dict[int, Role] = {}
        self.tried: set[tuple[int, str, bool]] = set()
        self.best: dict[str, Finding] = {}

    def ask(self, index: Index) -> None:
        """Search for the rules that the words of the text lead to."""
        words = self.text.words_of_lines
        for word, lines in _lines_by_word(self.text, index).items():
            few = _ends(lines)
            for entry in index.entries(word):
                besides = entry[2]
                if besides is None:
                    likely = few
                elif len(few) == 1:
                    likely = [] if besides.isdisjoint(words[few[0]]) else few
                else:
                    likely = [line for line in few if not besides.isdisjoint(words[line])]
                if likely:
                    self._search(entry, word, likely if entry[0].first else likely[::-1])

    def _search(self, entry: Entry, word: str, lines: list[int]) -> None:
        """Search the lines with a word for a rule: the last first, unless the first match counts."""
        rule, at_start, _, leads = entry
        text, found, texts = self.text, rule.id in self.best, leads.texts
        if texts is None:
            texts = leads.arrange()
        starts = text.starts
        for line in lines:
            start, end = starts[line], starts[line + 1] - 1
            if found and self._settled(rule, end):
                if rule.first:
                    continue
                break  # the lines before say less
            if rule.strict and end - start <= LONG_LINE:  # every word leads to the same phrases
                if (line, rule.id, at_start) in self.tried:
                    continue
                self.tried.add((line, rule.id, at_start))
            stop = end if rule.lines == 1 else text.bounds(line + rule.lines - 1)[1]
            # To try the start of a line mostly costs less than to look for texts in it.
            patterns: Sequence[re.Pattern[str]] = leads.together if at_start else ()
            if not patterns:
                held = self._held(entry, word, line, (start, end, stop))
                if texts and not any(map(held.__contains__, texts)):
                    continue
                patterns = leads.together or leads.patterns(held, text.words_of_lines[line])
            match = self._match(entry, patterns, word, (start, end, stop)) if patterns else None
            if match is not None and match.start() <= end:
                self._keep(rule, match, line)
                found = rule.id in self.best

    def _held(self, entry: Entry, word: str, line: int, bounds: tuple[int, int, int]) -> str:
        """What of a line is searched, with zeros for digits: of a long one the surroundings of its only such word."""
        text, (start, end, stop), case = self.text, bounds, entry[0].case
        if stop > end:
            return (text.cased_zeroed if case else text.zeroed)[start:stop]
        held = (text.cased_zeros if case else text.zeros)[line]
        if end - start <= LONG_LINE or entry[1]:
            return held
        if word in (POSITIONED, OTHER_SCRIPTS):
            return held[:LONG_LINE]
        low, part = text.lows[line], word.removeprefix(PART)
        at = low.find(part)
        return held if low.find(part, at + AROUND) >= 0 else held[max(0, at - AROUND) : at + AROUND]

    def _match(
        self, entry: Entry, patterns: Sequence[re.Pattern[str]], word: str, bounds: tuple[int, int, int]
    ) -> re.Match[str] | None:
        """The first match of a rule on a line: at its start, anywhere, or near the word if the line is long."""
        start, end, stop = bounds
        body = self.text.body if entry[0].case else self.text.lowered
        if entry[1]:
            for pattern in patterns:
                match = pattern.match(body, start, stop)
                if match is not None:
                    return match
            return None
        if end - start <= LONG_LINE:
            return _search(patterns, body, start, stop)
        return _near(patterns, body, self.text.lowered, word.removeprefix(PART), bounds)

    def decided(self) -> bool:
        """Whether no weaker rule could still change which finding decides."""
        return SETUP not in self.best and any(finding.score >= DECIDED for finding in self.best.values())

    def _settled(self, rule: Rule, end: int) -> bool:
        """Whether no match on this line could be better than what the rule found already."""
        best = self.best[rule.id]
        if rule.first and not best.what:
            return False
        return best.score >= SAID + _score(rule, end, self.length, self.ended)

    def _keep(self, rule: Rule, match: re.Match[str], line: int) -> None:
        """What the line is decides how far the match counts."""
        role = self.roles.get(line)
        if role is None:
            role = self.roles[line] = role_of(self.text, line)
        if role.weight <= IGNORED or (role.code and not rule.in_code):
            return
        if self.transcript and rule.id in _MARKERS and is_marked(self.text.lines[line]):
            return
        less, doubt = self._held_against(rule, match.start(), line, role)
        score = role.weight + _score(rule, match.start(), self.length, self.ended) - less
        finding = Finding(rule, *match.span(), _named(match, self.text.body), score, doubt)
        best = self.best.get(rule.id)
        if best is None or _better(finding, best):
            self.best[rule.id] = finding

    def _held_against(self, rule: Rule, start: int, line: int, role: Role) -> tuple[float, float]:
        """How much less a match counts for what came after it or where it stands, and how much less sure it is."""
        less, doubt = 0.0, _DOUBTS.get(role.weight, 0.0)
        if start < self.recovered and rule.category == "transient":
            less, doubt = less + RECOVERED_SINCE, doubt + 0.3
        if start < self.stepped or start > self.cleaned:
            less, doubt = less + PASSED_SINCE, doubt + 0.2
        if line in self.dumped:
            less, doubt = less + IN_DUMP, doubt + 0.05
        return less, doubt


def find_all(text: CleanText, table: Table = TABLE, *, thorough: bool = False) -> list[Finding]:
    """The best match of each rule, the strongest first. Weak rules are asked when they may matter, or `thorough`ly."""
    search = _Search(text)
    search.ask(table.strong)
    counted = [rule for rule in COUNTS if rule in search.best]
    if counted and not _about_tests(text.lowered):
        for rule in counted:
            del search.best[rule]  # what failed are steps, targets, hosts
    if thorough or not search.decided():
        search.ask(table.weak)
    return sorted(search.best.values(), key=lambda finding: (-finding.score, finding.rule.id))


def _about_tests(lowered: str) -> bool:
    return any(map(lowered.__contains__, _TEST_WORDS)) or any(
        literal in lowered and compiled(shape).search(lowered) for literal, shape in _TEST_SHAPES
    )


def _better(finding: Finding, best: Finding) -> bool:
    return (finding.score, bool(finding.what), -finding.start) > (best.score, bool(best.what), -best.start)


def _near(
    patterns: Sequence[re.Pattern[str]], body: str, lowered: str, word: str, bounds: tuple[int, int, int]
) -> re.Match[str] | None:
    """The first match around the word on a long line; a few places of the word, so that the work stays bounded."""
    start, end, stop = bounds
    if word in (POSITIONED, OTHER_SCRIPTS):
        return _search(patterns, body, start, min(stop, start + LONG_LINE))
    at = lowered.find(word, start, end)
    for _ in range(TRIES_MAX):
        if at < 0:
            break
        match = _search(patterns, body, max(start, at - AROUND), min(stop, at + AROUND))
        if match is not None:
            return match
        at = lowered.find(word, at + AROUND, end)
    return None


def _search(patterns: Sequence[re.Pattern[str]], text: str, start: int, stop: int) -> re.Match[str] | None:
    """The match that begins first; of several there, that of the first pattern."""
    best: re.Match[str] | None = None
    for pattern in patterns:
        match = pattern.search(text, start, stop)
        whole = match and _whole(match, pattern, text, stop)
        if whole is not None and (best is None or whole.start() < best.start()):
            best = whole
    return best


def _whole(found: re.Match[str], pattern: re.Pattern[str], text: str, stop: int) -> re.Match[str] | None:
    """The match, or the next that does not begin inside a word. A few tries: a phrase seldom stands inside words."""
    match: re.Match[str] | None = found
    for _ in range(TRIES_MAX):
        at = match.start() if match is not None else 0
        if match is None or at == 0 or not (text[at - 1].isalnum() and text[at : at + 1].isalnum()):
            return match
        match = pattern.search(text, at + 1, stop)
    return None


def _named(match: re.Match[str], body: str) -> str:
    if match.lastindex is None:
        return ""
    spans = (match.span(name) for name in match.groupdict())
    return next((body[start:end] for start, end in spans if start < end), "")


def _lines_by_word(text: CleanText, index: Index) -> dict[str, list[int]]:
    """The lines to search for each word that the text holds."""
    lows = text.lows
    found = dict(sorted(text.lines_by_word(index.whole).items()))
    for part in index.parts:
        held = part[1:]
        if held in text.told:
            found[part] = [number for number in text.telling if held in lows[number]]
    found[POSITIONED] = text.positioned
    if not text.plain:
        found[OTHER_SCRIPTS] = text.foreign
    return found


def _ends(lines: list[int]) -> list[int]:
    return lines if len(lines) <= LINES_FIRST + LINES_LAST else lines[:LINES_FIRST] + lines[-LINES_LAST:]


def _score(rule: Rule, start: int, length: int, ended: int) -> float:
    """What a rule says, and that runs end with their cause."""
    place = 0.6 if rule.first else start / max(1, length)
    before = PASSED_SINCE if start < ended and rule.level >= EXACT - 0.5 else 0.0
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
