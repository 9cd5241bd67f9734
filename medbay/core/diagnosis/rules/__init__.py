"""All rule tables in one. Data only."""

from __future__ import annotations

from typing import Final

from medbay.core.diagnosis.rule import Rule
from medbay.core.diagnosis.rules import (
    access,
    agents,
    compilers,
    configuration,
    conflicts,
    databases,
    dependencies,
    http,
    languages,
    linters,
    network,
    packages,
    resources,
    runtimes,
    sentences,
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
    *databases.RULES,
    *compilers.RULES,
    *linters.RULES,
    *configuration.RULES,
    *runtimes.RULES,
    *languages.RULES,
    *sentences.RULES,
    *tools.RULES,
)
