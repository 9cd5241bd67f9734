"""The rules as a search needs them: an index from words to the rules they may lead to, compiled when first needed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from medbay.core.diagnosis.phrases import companions, needles
from medbay.core.diagnosis.rule import OTHER_SCRIPTS, PART, POSITIONED, Rule
from medbay.core.diagnosis.rules import RULES

# Whether its phrases stand at the start of a line; words of which a line must hold one for a match, and texts likewise.
Entry = tuple[Rule, bool, re.Pattern[str], frozenset[str] | None, tuple[str, ...]]


class Index:
    """From words to rules. What it remembers are only compiled patterns: the same answer each time."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_word: dict[str, list[tuple[Rule, bool, tuple[str, ...]]]] = {}
        for rule in rules:
            for word, starts, phrases in rule.by_word():
                self._by_word.setdefault(word, []).append((rule, starts, phrases))
        self._entries: dict[str, tuple[Entry, ...]] = {}
        self._compiled: dict[tuple[str, tuple[str, ...]], re.Pattern[str]] = {}
        self.parts = tuple(sorted(word for word in self._by_word if word.startswith(PART)))  # also parts of words
        self.whole = frozenset(self._by_word) - {*self.parts, POSITIONED, OTHER_SCRIPTS}  # must stand for themselves

    def entries(self, word: str) -> tuple[Entry, ...]:
        """The rules a word leads to, compiled when a text first holds it: importing the tables stays cheap."""
        known = self._entries.get(word)
        if known is None:
            known = self._entries[word] = tuple(
                (rule, starts, self._pattern(rule, phrases), _besides(rule, word, phrases), needles(phrases))
                for rule, starts, phrases in self._by_word.get(word, ())
            )
        return known

    def _pattern(self, rule: Rule, phrases: tuple[str, ...]) -> re.Pattern[str]:
        """One object for the same phrases, whichever word leads to them: what was tried can be told by it."""
        known = self._compiled.get((rule.id, phrases))
        if known is None:
            known = self._compiled[rule.id, phrases] = rule.pattern(phrases)
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
