"""What refusals teach, and whom."""

from __future__ import annotations

from typing import Any

from medbay.core import lifecycles
from medbay.core.workflow.learning import PER_RUN_MAX, TEXT_MAX, learned_from
from medbay.core.workflow.records import PhaseRun, RunPart
from medbay.core.workflow.workflow import Phase, Workflow

WORKFLOW = Workflow(
    name="story",
    about="",
    machine=lifecycles.STORY,
    phases=(
        Phase(name="review", starts=("ready-for-code-review",), verdicts={"FAIL": "code-review-failed"}),
        Phase(name="fix", starts=("code-review-failed",), role="dev"),
        Phase(name="gate", starts=("uat",), role="gate", verdicts={"FAIL": "cancelled"}),
        Phase(name="odd", starts=("needs-split",), verdicts={"FAIL": "needs-split"}),
    ),
)


def run(phase: str, *parts: RunPart, **more: Any) -> PhaseRun:
    return PhaseRun(story_id="S-1", number=1, phase=phase, parts=parts, **{"status": "FAIL", "verdict": "FAIL", **more})


def part(role: str, summary: str = "", **more: Any) -> RunPart:
    return RunPart(role=role, task_id="t", summary=summary, **{"status": "FAIL", **more})


def test_the_role_that_goes_on_is_told_what_was_refused() -> None:
    """Each refusing part in a line of its own; who passed or said nothing is left out."""
    found = learned_from(
        run("review", part("review-lint", "unused\nimport"), part("review-build"), part("x", "ok", status="PASS")),
        WORKFLOW,
    )

    assert [(each.role, each.text, each.phase) for each in found] == [("dev", "review-lint: unused import", "review")]


def test_a_single_judge_needs_no_name() -> None:
    """It is the phase."""
    (found,) = learned_from(run("review", part("qa", "no test")), WORKFLOW)

    assert found.text == "no test"


def test_the_same_words_are_the_same_learning() -> None:
    """Whatever file and line they speak of."""
    first, second = (
        learned_from(run("review", part("qa", f"line too long in src/{name}.py:{n}")), WORKFLOW)[0].digest
        for n, name in enumerate(("a", "b"))
    )

    assert first == second


def test_what_a_role_wants_remembered_is_its_own() -> None:
    """Also after a pass, and never without an end."""
    said = {
        "learnings": ["run make gen first", " ", "run make gen first"] + [f"{'x' * 999} {'y' * n}" for n in range(20)]
    }

    found = learned_from(run("review", part("dev", status="PASS", result=said), status="PASS"), WORKFLOW)

    assert (found[0].role, found[0].text) == ("dev", "run make gen first")
    assert len(found) <= PER_RUN_MAX and all(len(each.text) <= TEXT_MAX for each in found)


def test_nobody_is_told_where_nobody_goes_on() -> None:
    """An end, a phase without a role, a run of a phase that is gone."""
    for each in ("gate", "odd", "gone"):
        assert learned_from(run(each, part("gate", "no")), WORKFLOW) == ()
