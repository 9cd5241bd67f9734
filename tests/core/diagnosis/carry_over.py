"""How the rules carry over to tools nobody wrote them for: leave one tool of the development set out at a time.

`named`: the rows that name the tool are switched off. `exclusive`: every phrase is switched off that no output of any
other tool shows, neither in the development set nor among the outputs kept here, as if the tool had never been heard
of. That is a floor: it also forgets sentences every tool could print, because so far only one did.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import Any, Literal

from medbay.core.diagnosis.engine import decide, read
from medbay.core.diagnosis.facts import Facts
from medbay.core.diagnosis.phrases import anchors, bounded, lowered
from medbay.core.diagnosis.rule import Rule
from medbay.core.diagnosis.rules import RULES
from medbay.core.diagnosis.table import TABLE, Table
from medbay.core.diagnosis.text import clean

WORD = re.compile(r"[^\W_]+")
Forgotten = dict[str, set[tuple[str, str]]]


def leave_one_tool_out(
    items: list[dict[str, Any]], others: list[dict[str, Any]], forget: Literal["named", "exclusive"]
) -> float:
    """The share of outputs that are right when each is diagnosed without what only its own tool accounts for."""
    forgotten = named_phrases() if forget == "named" else exclusive_phrases([*items, *others])
    tables = {tool: table_without(forgotten[tool]) for tool in {item["tool"] for item in items}}
    right = [item for item in items if category_of(item, tables[item["tool"]]) == item["seed_category"]]
    return len(right) / len(items)


def category_of(item: dict[str, Any], table: Table) -> str:
    """The category of an output by these rules."""
    text = clean(item["text"])
    verdict, _ = decide(Facts(exit_code=item["exit_code"]), None, read(text, table), text)
    return verdict.category


def named_phrases() -> Forgotten:
    """The phrases of rows that name a tool, by tool."""
    named: Forgotten = defaultdict(set)
    for rule in RULES:
        named[rule.tool] |= {(rule.id, phrase) for phrase in rule.phrases}
    return named


def exclusive_phrases(items: list[dict[str, Any]]) -> Forgotten:
    """The phrases that match outputs of one tool only, by tool."""
    seen: dict[tuple[str, str], set[str]] = defaultdict(set)
    texts = [(item["tool"], clean(item["text"])) for item in items]
    held = [frozenset(WORD.findall(text.lowered)) for _, text in texts]
    for rule in RULES:
        for phrase in rule.phrases:
            pattern = re.compile(bounded(phrase if rule.case else lowered(phrase)), re.MULTILINE)
            words = frozenset(anchors(phrase))
            for (tool, text), present in zip(texts, held, strict=True):
                if tool in seen[rule.id, phrase] or (words and not words & present):
                    continue
                if pattern.search(text.body if rule.case else text.lowered):
                    seen[rule.id, phrase].add(tool)
                if len(seen[rule.id, phrase]) > 1:
                    break  # two tools show it: no tool's own
    exclusive: Forgotten = defaultdict(set)
    for key, tools in seen.items():
        if len(tools) == 1:
            exclusive[next(iter(tools))].add(key)
    return exclusive


def table_without(phrases: set[tuple[str, str]]) -> Table:
    """The tables without some phrases."""
    if not phrases:
        return TABLE
    return Table(tuple(_without(rule, phrases) for rule in RULES))


def _without(rule: Rule, phrases: set[tuple[str, str]]) -> Rule:
    return replace(rule, phrases=tuple(phrase for phrase in rule.phrases if (rule.id, phrase) not in phrases))
