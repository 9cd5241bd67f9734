"""The token budgets of phases: counted over all runs, warned about, and enforced by one of four levels."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from medbay.core.agent import agent_facts
from medbay.core.budget import usage_of
from medbay.core.outcome import Outcome
from medbay.core.workflow.records import Story
from medbay.core.workflow.workflow import Phase, Workflow

Spent = tuple[int, int]  # tokens in and out


class BudgetState(Struct, frozen=True, kw_only=True):
    """How much of a budget is used."""

    group: str  # the phase whose budget it is
    used: int
    warning: int
    limit: int

    @property
    def level(self) -> Literal["", "warning", "limit"]:
        """What has been reached."""
        if self.used >= self.limit:
            return "limit"
        return "warning" if self.used >= self.warning else ""


def state_of(story: Story, workflow: Workflow, phase: Phase, used: int) -> BudgetState | None:
    """The budget of a phase after so many tokens of all its runs; None where it has none."""
    group, budget = workflow.budget_of(phase)
    if budget is None:
        return None
    warning, limit = (round(each * story.multiplier) for each in (budget.warning, budget.limit))
    return BudgetState(group=group, used=used, warning=warning, limit=limit)


def group_phases(workflow: Workflow, phase: Phase) -> frozenset[str]:
    """The names of the phases that use the same budget."""
    group = workflow.budget_of(phase)[0]
    return frozenset(each.name for each in workflow.phases if workflow.budget_of(each)[0] == group)


def acts(story: Story, state: BudgetState | None) -> str:
    """What the level does at the limit: `soft_gate` asks, `hard_gate` fails; nothing below it or once confirmed."""
    if state is None or state.level != "limit" or state.group in story.confirmed:
        return ""
    return story.enforcement if story.enforcement in ("soft_gate", "hard_gate") else ""


def spent_by(outcome: Outcome) -> Spent:
    """What an attempt used that brought no answer: as its agent's record says, else as it says itself."""
    if (known := agent_facts(outcome.output)) is not None:
        return known[2], known[3]
    said = usage_of(outcome)
    return (said.tokens if said is not None else 0), 0
