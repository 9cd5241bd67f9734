"""The five budgets of the seed, at the warning and at the limit, under each of the four levels."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.outcome import Failed, Output
from medbay.core.workflow import budget, phase
from medbay.core.workflow.records import ENFORCEMENTS, StoryRules
from tests.core.workflow.cases import answered, asks, case, failing, follow, started, task_of

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


RETRIED = (  # how the last attempt ends, and how its phase does under each level; 25,000 were used twice before
    ("PASS", {"advisory": "PASS", "warning": "PASS", "soft_gate": "PASS", "hard_gate": "FAIL"}),
    ("FAIL", dict.fromkeys(ENFORCEMENTS, "FAIL")),
    ("given up", dict.fromkeys(ENFORCEMENTS, "FAIL")),
    ("stopped", dict.fromkeys(ENFORCEMENTS, "CANCELLED")),
)


@pytest.mark.parametrize(("ending", "level"), [*itertools.product(RETRIED, ENFORCEMENTS)], ids=str)
def test_attempts_that_brought_no_answer_count_in_the_check_of_their_own_run(
    ending: tuple[str, dict[str, str]], level: str
) -> None:
    """60,000 are allowed for an audit: two attempts without an answer and a third reach them together."""
    how, ends = ending
    begun = started(case("generated", enforcement=level), "elaborate")
    before = {begun.tasks[0].id: (40_000, 10_000)}
    if how in ("PASS", "FAIL"):
        after, made = answered(replace(begun, spent=before), "qa", how, usage={"tokens_in": 10_000})
    else:  # the last attempt is among those that brought no answer
        spent = replace(begun, spent={begun.tasks[0].id: (50_000, 10_000)})
        draft = task_of(spent, "qa")
        draft.move("cancelled", "by a person")
        made = failing(spent, "qa", "code_error") if how == "given up" else phase.part_cancelled(draft, spent)
        after = follow(spent, made)

    (run,) = after.runs
    blocks = level in ("soft_gate", "hard_gate") and how != "stopped"
    assert (run.tokens_in, run.tokens_out, run.status) == (50_000, 10_000, ends[level])
    assert [each.name for each in made.events if each.name.startswith("budget:")] == ["budget:exceeded"]
    assert (after.story.status == "blocked", bool(asks(made))) == (blocks, blocks)


def test_a_waiting_part_that_another_stops_has_used_what_it_used() -> None:
    """Its earlier attempts are in the run that stops it."""
    begun = started(
        case("ready-for-code-review"), "review", "review-lint", "review-style", rules=StoryRules(fail_fast=True)
    )
    style = next(each for each in begun.tasks if each.role == "review-style")

    after, _ = answered(replace(begun, spent={style.id: (3, 4)}), "review-lint", "FAIL", usage={"tokens_in": 1})

    assert (after.runs[-1].tokens_in, after.runs[-1].tokens_out) == (4, 4)


@pytest.mark.parametrize(
    ("result", "spent"),
    [
        (None, (0, 0)),
        ({"usage": {"tokens": 7}}, (7, 0)),
        ({"answer": 'no JSON, "usage": {"tokens_in": 3, "tokens_out": 4}'}, (7, 0)),
        ({"agent": {"tokens_in": 3, "tokens_out": 4}, "usage": {"tokens": 99}}, (3, 4)),
    ],
)
def test_an_attempt_says_what_it_used_also_when_it_fails(result: dict[str, Any] | None, spent: budget.Spent) -> None:
    """The record of an agent stands over its own words."""
    assert budget.spent_by(Failed(output=Output(result=result))) == spent
