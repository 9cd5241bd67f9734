"""The rules as a search needs them: an index from words to the rules they may lead to, compiled when first needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from medbay.core.diagnosis.phrases import companions, needles
from medbay.core.diagnosis.rule import OTHER_SCRIPTS, PART, POSITIONED, Rule
from medbay.core.diagnosis.rules import RULES

# Whether its phrases stand at the start of a line; words of which a line must hold one for a match, and texts likewise.
# Its regular expression is compiled when a line passed all that.
Entry = tuple[Rule, bool, frozenset[str] | None, tuple[str, ...], str]


class Index:
    """From words to rules. What it remembers is only what a search needs of them: the same answer each time."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_word: dict[str, list[tuple[Rule, bool, tuple[str, ...]]]] = {}
        for rule in rules:
            for word, starts, phrases in rule.by_word():
                self._by_word.setdefault(word, []).append((rule, starts, phrases))
        self._entries: dict[str, tuple[Entry, ...]] = {}
        self._known: dict[tuple[str, tuple[str, ...]], tuple[tuple[str, ...], str]] = {}
        self.parts = tuple(sorted(word for word in self._by_word if word.startswith(PART)))  # also parts of words
        self.whole = frozenset(self._by_word) - {*self.parts, POSITIONED, OTHER_SCRIPTS}  # must stand for themselves

    def entries(self, word: str) -> tuple[Entry, ...]:
        """The rules a word leads to, compiled when a text first holds it: importing the tables stays cheap."""
        known = self._entries.get(word)
        if known is None:
            known = self._entries[word] = tuple(
                (rule, starts, _besides(rule, word, phrases), *self._prepared(rule, phrases))
                for rule, starts, phrases in self._by_word.get(word, ())
            )
        return known

    def _prepared(self, rule: Rule, phrases: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        """What the same phrases need is made once, whichever word leads to them."""
        known = self._known.get((rule.id, phrases))
        if known is None:
            known = self._known[rule.id, phrases] = (needles(phrases), rule.source(phrases))
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
