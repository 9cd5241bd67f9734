"""The rules as a search needs them: an index from words to the rules they may lead to, compiled when first needed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from medbay.core.diagnosis.rule import OTHER_SCRIPTS, PART, POSITIONED, Rule
from medbay.core.diagnosis.rules import RULES

Entry = tuple[Rule, re.Pattern[str]]


@dataclass(frozen=True)
class Table:
    """A set of rules with its index. What it remembers are only compiled patterns: the same answer each time."""

    rules: tuple[Rule, ...]
    _compiled: dict[str, tuple[Entry, ...]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def by_word(self) -> dict[str, tuple[tuple[Rule, str], ...]]:
        """From each word to the rules that it may lead to, with the pattern of the phrases concerned."""
        table: dict[str, list[tuple[Rule, str]]] = {}
        for rule in self.rules:
            for word, source in rule.by_word():
                table.setdefault(word, []).append((rule, source))
        return {word: tuple(entries) for word, entries in table.items()}

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The words that may also be parts of words."""
        return tuple(sorted(word for word in self.by_word if word.startswith(PART)))

    @cached_property
    def whole(self) -> frozenset[str]:
        """The words that must stand for themselves."""
        return frozenset(self.by_word) - {*self.parts, POSITIONED, OTHER_SCRIPTS}

    def entries(self, word: str) -> tuple[Entry, ...]:
        """The rules a word leads to, compiled when a text first holds it: importing the tables stays cheap."""
        known = self._compiled.get(word)
        if known is None:
            known = tuple((rule, re.compile(source, re.MULTILINE)) for rule, source in self.by_word.get(word, ()))
            self._compiled[word] = known
        return known


TABLE: Final = Table(RULES)
