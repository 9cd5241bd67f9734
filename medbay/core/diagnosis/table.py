"""The rules as a search needs them: an index from words to the rules they may lead to, compiled when first needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from medbay.core.diagnosis.phrases import anchors, companions, covering
from medbay.core.diagnosis.rule import OTHER_SCRIPTS, PART, POSITIONED, Rule, pattern_of
from medbay.core.diagnosis.rules import RULES
from medbay.core.diagnosis.rules.words import WORDS

TOGETHER_MAX: Final = 24  # phrases that are searched for as one; of more, each that the line may hold


class Leads:
    """Phrases of one rule by the words and texts that lead to them: a line is searched only for what it may hold."""

    __slots__ = ("_by_word", "_case", "_one_line", "_order", "_phrases", "_texts", "_wordless", "texts", "together")

    def __init__(self, phrases: tuple[str, ...], case: bool, one_line: bool) -> None:
        self._phrases, self._case, self._one_line = phrases, case, one_line
        self.texts: tuple[str, ...] | None = None  # a line must hold one of them, if there are any
        self.together: tuple[re.Pattern[str], ...] = ()  # what to search for in any line, once it was
        self._texts: dict[str, tuple[str, ...]] = {}  # of each phrase, where there are too many to search for as one
        self._by_word: dict[str, list[str]] = {}
        self._wordless: dict[str, list[str]] = {}  # what shows no word, by its texts

    def arrange(self) -> tuple[str, ...]:
        """The texts of which a line must hold one, worked out when a line first has the words."""
        self.texts = covering(self._phrases, self._case)
        if len(self._phrases) > TOGETHER_MAX:
            self._texts = {phrase: covering((phrase,), self._case) for phrase in self._phrases}
            self._order = {phrase: at for at, phrase in enumerate(self._texts)}
            for phrase, texts in self._texts.items():
                words = anchors(phrase) if self._one_line else ()
                among, keys = (self._by_word, words) if words else (self._wordless, texts or ("",))
                for key in keys:
                    among.setdefault(key, []).append(phrase)
        return self.texts

    def patterns(self, zeros: str, words: set[str]) -> Sequence[re.Pattern[str]]:
        """What to search a line for that has these words and holds one of the texts; it has zeros for digits."""
        if not self._texts:
            self.together = (pattern_of(self._phrases, self._case),)
            return self.together
        held = {phrase for text in self._wordless if text in zeros for phrase in self._wordless[text]}
        for word in words.intersection(self._by_word):
            for phrase in self._by_word[word]:
                texts = self._texts[phrase]
                if not texts or any(map(zeros.__contains__, texts)):
                    held.add(phrase)
        return [pattern_of((phrase,), self._case) for phrase in sorted(held, key=self._order.__getitem__)]


# Whether its phrases stand at the start of a line; words of which a line must hold one for a match; its phrases.
Entry = tuple[Rule, bool, frozenset[str] | None, Leads]


class Index:
    """From words to rules. What it remembers is only what a search needs of them: the same answer each time."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_word: dict[str, list[tuple[Rule, str]]] = {}
        for rule in rules:
            for led in _by_word(rule).split(" "):
                word, _, numbers = led.rpartition(":")
                self._by_word.setdefault(word, []).append((rule, numbers))
        self._entries: dict[str, tuple[Entry, ...]] = {}
        self._leads: dict[tuple[tuple[str, ...], bool, bool], Leads] = {}
        self.parts = tuple(sorted(word for word in self._by_word if word.startswith(PART)))  # also parts of words
        self.whole = frozenset(self._by_word) - {*self.parts, POSITIONED, OTHER_SCRIPTS}  # must stand for themselves

    def entries(self, word: str) -> tuple[Entry, ...]:
        """The rules a word leads to, compiled when a text first holds it: importing the tables stays cheap."""
        known = self._entries.get(word)
        if known is None:
            known = self._entries[word] = tuple(
                self._entry(word, rule, numbers) for rule, numbers in self._by_word.get(word, ())
            )
        return known

    def _entry(self, word: str, rule: Rule, numbers: str) -> Entry:
        phrases = tuple(rule.phrases[int(number)] for number in numbers.removeprefix("^").split(","))
        return rule, numbers.startswith("^"), _besides(rule, word, phrases), self._leads_to(phrases, rule)

    def _leads_to(self, phrases: tuple[str, ...], rule: Rule) -> Leads:
        """What the same phrases need is made once, whichever word leads to them."""
        key = (phrases, rule.case, rule.lines == 1)
        known = self._leads.get(key)
        if known is None:
            known = self._leads[key] = Leads(*key)
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


def _by_word(rule: Rule) -> str:
    """As written down beforehand, unless the rule is another by now."""
    digest, _, written = WORDS.get(rule.id, "").partition(" ")
    return written if digest == rule.digest() else rule.by_word()


def _besides(rule: Rule, word: str, phrases: tuple[str, ...]) -> frozenset[str] | None:
    if rule.lines > 1 or word.startswith(PART) or word in (POSITIONED, OTHER_SCRIPTS):
        return None
    return companions(phrases, "" if rule.strict else word)


TABLE: Final = Table(RULES)
