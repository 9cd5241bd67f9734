"""The rules as a search needs them: an index from words to the rules they may lead to, compiled when first needed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from medbay.core.diagnosis.phrases import companions
from medbay.core.diagnosis.rule import OTHER_SCRIPTS, PART, POSITIONED, Rule
from medbay.core.diagnosis.rules import RULES

# Whether its phrases stand at the start of a line, and words of which the line must hold one for a match.
Entry = tuple[Rule, bool, re.Pattern[str], frozenset[str] | None]


@dataclass(frozen=True)
class Table:
    """A set of rules with its index. What it remembers are only compiled patterns: the same answer each time."""

    rules: tuple[Rule, ...]
    _entries: dict[tuple[str, bool], tuple[tuple[Entry, ...], tuple[Entry, ...]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _compiled: dict[tuple[str, tuple[str, ...]], re.Pattern[str]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def by_word(self) -> dict[str, tuple[tuple[Rule, bool, tuple[str, ...]], ...]]:
        """From each word to the rules that it may lead to, with the phrases concerned."""
        table: dict[str, list[tuple[Rule, bool, tuple[str, ...]]]] = {}
        for rule in self.rules:
            for word, starts, phrases in rule.by_word():
                table.setdefault(word, []).append((rule, starts, phrases))
        return {word: tuple(entries) for word, entries in table.items()}

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The words that may also be parts of words."""
        return tuple(sorted(word for word in self.by_word if word.startswith(PART)))

    @cached_property
    def whole(self) -> frozenset[str]:
        """The words that must stand for themselves."""
        return frozenset(self.by_word) - {*self.parts, POSITIONED, OTHER_SCRIPTS}

    def entries(self, word: str, *, strong: bool) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
        """The rules a word leads to, those whose last match counts and those whose first does.

        They are compiled when a text first holds the word: importing the tables stays cheap.
        """
        known = self._entries.get((word, strong))
        if known is None:
            listed = [entry for entry in self.by_word.get(word, ()) if entry[0].strong is strong]
            made = [
                (rule, starts, self._pattern(rule, phrases), _besides(rule, word, phrases))
                for rule, starts, phrases in listed
            ]
            known = (
                tuple(entry for entry in made if not entry[0].first),
                tuple(entry for entry in made if entry[0].first),
            )
            self._entries[word, strong] = known
        return known

    def _pattern(self, rule: Rule, phrases: tuple[str, ...]) -> re.Pattern[str]:
        """One object for the same phrases, whichever word leads to them: what was tried can be told by it."""
        known = self._compiled.get((rule.id, phrases))
        if known is None:
            known = self._compiled[rule.id, phrases] = rule.pattern(phrases)
        return known


def _besides(rule: Rule, word: str, phrases: tuple[str, ...]) -> frozenset[str] | None:
    if rule.lines > 1 or word.startswith(PART) or word in (POSITIONED, OTHER_SCRIPTS):
        return None
    return companions(phrases, "" if rule.strict else word)


TABLE: Final = Table(RULES)
