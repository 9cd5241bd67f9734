"""Figures over stories: JSON and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from medbay.core.workflow.figures import StoryFigures
from medbay.core.workflow.learning import Learning
from medbay.views import moments
from medbay.views.board import tokens


def as_json(found: StoryFigures, learnings: Sequence[Learning]) -> dict[str, Any]:
    """Return the figures as data, with what was learned last."""
    return {
        "stories": found.stories,
        "completed": found.completed,
        "cancelled": found.cancelled,
        "cycle_median_s": moments.seconds(found.cycle_median_ms),
        "tokens": found.tokens,
        "gates": {"runs": found.gates, "passed": found.gates_passed, "pass_rate": found.gate_pass_rate},
        "review_rounds": found.rounds,
        "phases": [
            {
                "phase": each.phase,
                "runs": each.runs,
                "passed": each.passed,
                "median_s": moments.seconds(each.median_ms),
                "longest_s": moments.seconds(each.longest_ms),
                "tokens": each.tokens,
            }
            for each in found.phases
        ],
        "learnings": [
            {"role": each.role, "text": each.text, "count": each.count, "last_seen": moments.iso(each.last_seen)}
            for each in learnings
        ],
    }


def sentences(found: StoryFigures) -> list[str]:
    """Return what the figures say, in words."""
    said = [f"{_stories(found.stories)}: {found.completed} completed, {found.cancelled} cancelled or superseded"]
    if found.cycle_median_ms is not None:
        said.append(
            f"half of them took at most {moments.short(found.cycle_median_ms)} from the first phase to the last"
        )
    if found.gate_pass_rate is not None:
        said.append(f"gates passed {found.gates_passed} of {found.gates} times ({found.gate_pass_rate:.0%})")
    if found.rounds is not None:
        said.append(f"a story took {found.rounds:.1f} review rounds")
    said.append(f"{tokens(found.tokens)} tokens in all")
    return said


def _stories(number: int) -> str:
    return "1 story" if number == 1 else f"{number} stories"
