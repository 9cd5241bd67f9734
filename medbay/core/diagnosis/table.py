"""The rules as a search needs them: an index from words to the rules they may lead to, compiled when first needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from medbay.core.diagnosis.phrases import companions, covering, needles
from medbay.core.diagnosis.rule import OTHER_SCRIPTS, PART, POSITIONED, Rule, pattern_of
from medbay.core.diagnosis.rules import RULES

TOGETHER_MAX: Final = 24  # phrases that are searched for as one; of more, each that the line may hold


class Leads:
    """Phrases of one rule by the texts that lead to them: a line is searched only for what it may hold."""

    __slots__ = ("_always", "_by_text", "_case", "_order", "_phrases", "texts", "together")

    def __init__(self, phrases: tuple[str, ...], case: bool) -> None:
        self._phrases, self._case = phrases, case
        self.texts = covering(phrases, case)  # a line must hold one of them, if there are any
        self.together: tuple[re.Pattern[str], ...] = ()  # what to search for in any line, once it was
        self._by_text: dict[str, list[str]] = {}
        if len(phrases) > TOGETHER_MAX:
            texts = {phrase: needles(phrase, case) for phrase in phrases}
            self._order = {phrase: at for at, phrase in enumerate(texts)}
            self._always = tuple(phrase for phrase, held in texts.items() if not held)
            for phrase, held in texts.items():
                for text in held:
                    self._by_text.setdefault(text, []).append(phrase)

    def patterns(self, zeros: str) -> Sequence[re.Pattern[str]]:
        """What to search a line for that holds one of the texts; it has zeros for digits."""
        if not self._by_text:
            self.together = (pattern_of(self._phrases, self._case),)
            return self.together
        held = {phrase for text, phrases in self._by_text.items() if text in zeros for phrase in phrases}
        found = [pattern_of((phrase,), self._case) for phrase in sorted(held, key=self._order.__getitem__)]
        return [pattern_of(self._always, self._case), *found] if self._always else found


# Whether its phrases stand at the start of a line; words of which a line must hold one for a match; its phrases.
Entry = tuple[Rule, bool, frozenset[str] | None, Leads]


class Index:
    """From words to rules. What it remembers is only what a search needs of them: the same answer each time."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_word: dict[str, list[tuple[Rule, bool, tuple[str, ...]]]] = {}
        for rule in rules:
            for word, starts, phrases in rule.by_word():
                self._by_word.setdefault(word, []).append((rule, starts, phrases))
        self._entries: dict[str, tuple[Entry, ...]] = {}
        self._leads: dict[tuple[tuple[str, ...], bool], Leads] = {}
        self.parts = tuple(sorted(word for word in self._by_word if word.startswith(PART)))  # also parts of words
        self.whole = frozenset(self._by_word) - {*self.parts, POSITIONED, OTHER_SCRIPTS}  # must stand for themselves

    def entries(self, word: str) -> tuple[Entry, ...]:
        """The rules a word leads to, compiled when a text first holds it: importing the tables stays cheap."""
        known = self._entries.get(word)
        if known is None:
            known = self._entries[word] = tuple(
                (rule, starts, _besides(rule, word, phrases), self._leads_to(phrases, rule.case))
                for rule, starts, phrases in self._by_word.get(word, ())
            )
        return known

    def _leads_to(self, phrases: tuple[str, ...], case: bool) -> Leads:
        """What the same phrases need is made once, whichever word leads to them."""
        known = self._leads.get((phrases, case))
        if known is None:
            known = self._leads[phrases, case] = Leads(phrases, case)
        return known


@dataclass(frozen=True)
class Table:
    """A set of rules with its indexes."""

    rules: tuple[Rule, ...]

    @cached_property
    def strong(self) -> Index:
        """The rules that are looked for first."""
        return Index(rule for rule in self.rules if rule.strong)

    @cached_property
    def weak(self) -> Index:
        """The rules that are looked for when no strong one decides."""
        return Index(rule for rule in self.rules if not rule.strong)


def _besides(rule: Rule, word: str, phrases: tuple[str, ...]) -> frozenset[str] | None:
    if rule.lines > 1 or word.startswith(PART) or word in (POSITIONED, OTHER_SCRIPTS):
        return None
    return companions(phrases, "" if rule.strict else word)


TABLE: Final = Table(RULES)
