"""How the rules carry over to tools nobody wrote them for: leave one tool of the development set out at a time.

For each tool every phrase that no output of another tool shows (in the development set and in the outputs kept here)
is taken out of the tables, as if the tool had never been seen; then its outputs are diagnosed with what is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from medbay.core.diagnosis import findings
from medbay.core.diagnosis.phrases import bounded, lowered
from medbay.core.diagnosis.rule import Rule, compiled
from medbay.core.diagnosis.rules import RULES, index
from medbay.core.diagnosis.text import clean
from tests.core.diagnosis.samples import why

Exclusive = dict[str, set[tuple[str, str]]]


def leave_one_tool_out(
    items: list[dict[str, Any]], others: list[dict[str, Any]]
) -> dict[str, tuple[int, int]]:
    """Right answers and outputs per tool, each diagnosed without the phrases only that tool accounts for."""
    exclusive = exclusive_phrases([*items, *others])
    scores: dict[str, tuple[int, int]] = {}
    for tool in sorted({item["tool"] for item in items}):
        with rules_without(exclusive[tool]):
            own = [item for item in items if item["tool"] == tool]
            right = sum(why(item["text"], exit_code=item["exit_code"]).category == item["seed_category"] for item in own)
            scores[tool] = right, len(own)
    return scores


def exclusive_phrases(items: list[dict[str, Any]]) -> Exclusive:
    """The phrases that match outputs of one tool only, by tool."""
    seen: dict[tuple[str, str], set[str]] = defaultdict(set)
    texts = [(item["tool"], clean(item["text"])) for item in items]
    for rule in RULES:
        for phrase in rule.phrases:
            pattern = compiled(bounded(phrase if rule.case else lowered(phrase)))
            for tool, text in texts:
                if tool not in seen[rule.id, phrase] and pattern.search(text.body if rule.case else text.lowered):
                    seen[rule.id, phrase].add(tool)
    exclusive: Exclusive = defaultdict(set)
    for key, tools in seen.items():
        if len(tools) == 1:
            exclusive[next(iter(tools))].add(key)
    return exclusive


@contextmanager
def rules_without(phrases: set[tuple[str, str]]) -> Iterator[None]:
    """The tables without some phrases, for as long as the block lasts."""
    left = tuple(_without(rule, phrases) for rule in RULES)
    kept = findings.RULES, findings.BY_WORD, findings.WHOLE_WORDS
    findings.RULES, findings.BY_WORD = left, index(left)  # type: ignore[misc]
    findings.WHOLE_WORDS = findings.WHOLE_WORDS & frozenset(findings.BY_WORD)  # type: ignore[misc]
    findings.entries.cache_clear()
    try:
        yield
    finally:
        findings.RULES, findings.BY_WORD, findings.WHOLE_WORDS = kept  # type: ignore[misc]
        findings.entries.cache_clear()


def _without(rule: Rule, phrases: set[tuple[str, str]]) -> Rule:
    return replace(rule, phrases=tuple(phrase for phrase in rule.phrases if (rule.id, phrase) not in phrases))
