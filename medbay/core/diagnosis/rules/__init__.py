"""All rule tables in one, and the index from words to the rules that need them. Data only."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.rule import Rule
from medbay.core.diagnosis.rules import (
    access,
    agents,
    compilers,
    configuration,
    conflicts,
    dependencies,
    http,
    languages,
    network,
    packages,
    resources,
    runtimes,
    tests,
    timeouts,
    tools,
)

RULES: Final[tuple[Rule, ...]] = (
    *agents.RULES,
    *tests.RULES,
    *network.RULES,
    *http.RULES,
    *resources.RULES,
    *timeouts.RULES,
    *packages.RULES,
    *dependencies.RULES,
    *access.RULES,
    *conflicts.RULES,
    *compilers.RULES,
    *configuration.RULES,
    *runtimes.RULES,
    *languages.RULES,
    *tools.RULES,
)


def index(rules: tuple[Rule, ...]) -> dict[str, tuple[tuple[int, str], ...]]:
    """From each word to the rules that it may lead to, with the pattern of the phrases concerned."""
    table: dict[str, list[tuple[int, str]]] = {}
    for number, one in enumerate(rules):
        for word, source in one.by_word():
            table.setdefault(word, []).append((number, source))
    return {word: tuple(entries) for word, entries in table.items()}


BY_WORD: Final = index(RULES)
