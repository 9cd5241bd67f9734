"""The five budgets of the seed, at the warning and at the limit, under each of the four levels."""

from __future__ import annotations

import itertools

import pytest

from medbay.core.workflow.records import ENFORCEMENTS
from tests.core.workflow.cases import answered, asks, case, started

# The phase, where it starts, who works on it, its warning and its limit.
BUDGETS = (
    ("generate", "pending", "pm", 50_000, 100_000),
    ("elaborate", "generated", "qa", 30_000, 60_000),
    ("implement", "ready-to-work", "dev", 200_000, 500_000),
    ("review", "ready-for-code-review", "review-lint", 50_000, 100_000),
    ("verify", "ready-for-qa", "qa", 50_000, 100_000),
)
# What a level does at the limit: how the run ends, and whether the story is blocked and a person asked.
ACTS = {"advisory": ("PASS", 0), "warning": ("PASS", 0), "soft_gate": ("PASS", 1), "hard_gate": ("FAIL", 1)}


@pytest.mark.parametrize(("row", "level"), [*itertools.product(BUDGETS, ENFORCEMENTS)], ids=str)
@pytest.mark.parametrize("multiplier", [1.0, 1.5])
def test_a_budget_is_enforced_by_its_level(row: tuple[str, str, str, int, int], level: str, multiplier: float) -> None:
    """Below the warning nothing is said; at it every level warns; at the limit every level says so and one acts."""
    name, status, role, warning, limit = row
    steps = ((warning, -1, ""), (warning, 0, "budget:warning"), (limit, 0, "budget:exceeded"))
    for bound, less, said in steps:
        used = int(bound * multiplier) + less
        begun = started(case(status, enforcement=level, multiplier=multiplier), name, role)
        after, made = answered(begun, role, usage={"tokens_in": used - 10, "tokens_out": 10})
        ended, blocks = ACTS[level] if said == "budget:exceeded" else ("PASS", 0)

        assert [each.name for each in made.events if each.name.startswith("budget:")] == ([said] if said else [])
        assert after.runs[-1].status == ended
        assert len(asks(made)) == blocks
        assert (after.story.status == "blocked") == bool(blocks)
