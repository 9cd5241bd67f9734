"""Figures over stories."""

from __future__ import annotations

from typing import Any

from medbay.core.workflow.figures import PhaseFigures, summed
from medbay.core.workflow.records import PhaseRun, RunPart, Story


def run(phase: str, status: str = "PASS", *, took: int | None = 100, tokens: int = 0) -> PhaseRun:
    more: dict[str, Any] = {"status": status, "started_at": 1_000, "ended_at": None if took is None else 1_000 + took}
    part = RunPart(role="dev", task_id="t", tokens_in=tokens)
    return PhaseRun(story_id="S", number=1, phase=phase, parts=(part,), **more)


def story(name: str, status: str = "completed", ended_at: int | None = 5_000) -> Story:
    return Story(id=name, title="T", status=status, ended_at=ended_at)


def test_nothing_happened() -> None:
    """No figure is made up."""
    found = summed([], {}, gates=(), reviews=())

    assert (found.stories, found.cycle_median_ms, found.gate_pass_rate, found.rounds, found.phases) == (
        0,
        None,
        None,
        None,
        (),
    )


def test_phases_gates_and_rounds_are_counted() -> None:
    """Only runs that ended; a gate that broke is no answer."""
    stories = [story("A"), story("B", "cancelled"), story("C", "uat", None), story("D")]
    runs = {
        "A": [run("review", "FAIL", took=50, tokens=10), run("review", took=200), run("gate", "FAIL"), run("gate")],
        "B": [run("review", took=300), run("gate", "ERROR")],
        "C": [run("gate", took=None)],
    }

    found = summed(stories, runs, gates={"gate"}, reviews={"review"})

    assert (found.stories, found.completed, found.cancelled, found.cycle_median_ms) == (4, 2, 1, 4_000)
    assert (found.gates, found.gates_passed, found.gate_pass_rate) == (2, 1, 0.5)
    assert (found.rounds, found.tokens) == (1.5, 10)
    assert found.phases[0] == PhaseFigures(phase="review", runs=3, passed=2, median_ms=200, longest_ms=300, tokens=10)
