"""The files of a story's folder, made from its records."""

from __future__ import annotations

import json
from typing import Any

import yaml

from medbay.core import lifecycles
from medbay.core.agent import ToolUse
from medbay.core.durations import iso
from medbay.core.workflow import shapes
from medbay.core.workflow.artifacts import files_of, metrics_of, trace_of
from medbay.core.workflow.records import EvidenceEntry, PartAttempt, PhaseRun, RunPart, Story, StoryDecision
from medbay.core.workflow.workflow import Phase, TokenBudget, Workflow

T = 1_770_000_000_000
WORKFLOW = Workflow(
    name="story",
    about="",
    machine=lifecycles.STORY,
    phases=(
        Phase(name="elaborate", starts=("generated",), artifact=shapes.ELAB, budget=TokenBudget(warning=30, limit=60)),
        Phase(name="implement", starts=("ready-to-work",), artifact=shapes.PROOF),
        Phase(name="review", starts=("ready-for-code-review",), artifact=shapes.VERIFICATION),
        Phase(name="refine", starts=("needs-refinement",), budget_of="elaborate"),
        Phase(name="gate", starts=("uat",), artifact=shapes.GATE),
    ),
)
STORY = Story(id="S-1", title="Search\n<b>", criteria=("finds", "says"), multiplier=1.5, status="uat")


def part(role: str, **more: Any) -> RunPart:
    return RunPart(role=role, task_id="t", **{"started_at": T, "ended_at": T + 500, "attempts": 1, **more})


def run(number: int, phase: str, **more: Any) -> PhaseRun:
    ends = {"status": "PASS", "verdict": "PASS", "summary": "well", "started_at": T, "ended_at": T + 1_000}
    return PhaseRun(story_id="S-1", number=number, phase=phase, **{**ends, **more})


def files(story: Story, *runs: PhaseRun, decisions: tuple[StoryDecision, ...] = ()) -> dict[str, str]:
    made = files_of(story, runs, decisions, WORKFLOW)
    for name, text in made.items():
        assert shapes.check(name.removeprefix("_implementation/"), text) == ""
    return {name.removeprefix("_implementation/"): text for name, text in made.items()}


def test_a_story_without_runs_has_no_artifacts() -> None:
    """Only its story.md, which is made elsewhere."""
    assert files(STORY) == {}


def test_the_elaboration_says_what_was_found() -> None:
    """Of the last run, with its findings."""
    made = files(STORY, run(1, "elaborate", verdict="SPLIT"), run(2, "elaborate", result={"findings": ["too\nlarge"]}))

    assert yaml.safe_load(made[shapes.ELAB])["findings"] == ["too large"]
    assert shapes.read(shapes.ELAB, made[shapes.ELAB]).verdict == "PASS"  # type: ignore[union-attr]


def test_the_review_adds_up_its_workers() -> None:
    """Each with its answer; what is not as it should be is a warning of a pass."""
    parts = (
        part("review-lint", status="PASS", summary="fine"),
        part("review-style", status="FAIL"),
        part("review-security", status="TIMEOUT", required=True, ended_at=None),
        part("review-build"),
    )

    found = shapes.read(shapes.VERIFICATION, files(STORY, run(1, "review", parts=parts))[shapes.VERIFICATION])

    assert isinstance(found, shapes.VerificationFile)
    assert [(each.name, each.verdict, each.duration_ms, each.required) for each in found.workers] == [
        ("lint", "PASS", 500, False),
        ("style", "FAIL", 500, False),
        ("security", "TIMEOUT", 0, True),
    ]
    assert found.warnings == ("security did not answer in time", "style failed")


def test_a_review_that_broke_is_an_error() -> None:
    """Whatever its run is called."""
    made = files(STORY, run(1, "review", status="TIMEOUT", verdict="ERROR"))

    assert "verdict: ERROR\n" in made[shapes.VERIFICATION]


def test_gate_proof_and_evidence_go_criterion_by_criterion() -> None:
    """What shows it, where and by which phase; and what nothing shows."""
    shown = EvidenceEntry(criterion=1, shows="a test", path="t.py", phase="implement", hash="a" * 64)
    gone = EvidenceEntry(criterion=2, shows="a file", path="gone", phase="implement")
    story = Story(id="S-1", title="Search", criteria=("finds", "says", "never"), evidence=(shown, gone))
    asked = StoryDecision(story_id="S-1", number=1, phase="implement", question="Which name?", answer="ours")

    made = files(story, run(1, "implement", result={"artifacts": ["t.py"]}), run(2, "gate"), decisions=(asked,))

    gate = shapes.read(shapes.GATE, made[shapes.GATE])
    assert isinstance(gate, shapes.GateDecision)
    assert [each.shown for each in gate.criteria] == [True, False, False]
    assert "1. finds\n   - a test (t.py, implement)\n" in made[shapes.PROOF]
    assert "3. never\n   - nothing yet\n" in made[shapes.PROOF]
    assert "- Which name? ours\n" in made[shapes.PROOF]
    assert yaml.safe_load(made[shapes.EVIDENCE])["evidence"][0]["hash"] == "a" * 64


def test_three_failures_of_one_type_in_a_row_are_logged() -> None:
    """Two are not, nor three of a phase that something else came between."""
    bad = [run(n, "review", status="TIMEOUT", error_type="AGENT_TIMEOUT", summary="late") for n in (1, 2, 4)]
    good = run(3, "review")

    assert shapes.ERROR_LOG not in files(STORY, bad[0], bad[1])
    assert shapes.ERROR_LOG not in files(STORY, bad[0], bad[1], good, bad[2])
    log = yaml.safe_load(files(STORY, *bad, good)[shapes.ERROR_LOG])
    assert (log["phase"], log["type"], [each["run"] for each in log["errors"]]) == (
        "review",
        "AGENT_TIMEOUT",
        [1, 2, 4],
    )


def test_tokens_are_counted_over_all_runs_of_a_budget() -> None:
    """Phases that share one add up; the multiplier is in the bounds."""
    spent = (part("qa", tokens_in=10, tokens_out=5),)

    paid = (part("pm", tokens_in=10, tokens_out=5, cost=250_000),)

    made = files(STORY, run(1, "elaborate", parts=spent), run(2, "refine", parts=paid), run(3, "own", parts=spent))

    rows = [line for line in made[shapes.TOKEN_LOG].split("\n") if line.startswith("| ")][1:]
    assert rows[0] == f"| 1 | elaborate | {iso(T + 1_000)} | 10 | 5 | 15 | 45 | 90 |  |"
    assert rows[1] == f"| 2 | refine | {iso(T + 1_000)} | 10 | 5 | 30 | 45 | 90 | 0.2500 |"
    assert rows[2] == f"| 3 | own | {iso(T + 1_000)} | 10 | 5 | 15 | none | none |  |"


def test_the_trace_has_the_published_shape() -> None:
    """Phases around agents, in order of time; what has not ended has no end."""
    used = (ToolUse(tool="Read", path="a.py", at=T + 100), ToolUse(tool="Bash", path="make", at=T + 9_000))
    first = PartAttempt(started_at=T, ended_at=T + 500, model="m", tokens_in=3, tokens_out=4, tools=used)
    parts = (
        part("dev", tried=(first,)),
        part("qa"),
        part("x", tried=(PartAttempt(started_at=T + 600, tools=(ToolUse(tool="Edit", at=T + 700),)),)),
    )
    ended, open_ = run(1, "implement", parts=parts), run(2, "review", status="RUNNING", ended_at=None)

    lines = [json.loads(each) for each in files(STORY, ended, open_)[shapes.TRACE].splitlines()]

    assert lines == trace_of(STORY, [ended, open_])
    assert lines[0] == {"event": "phase_start", "phase": "implement", "timestamp": iso(T), "storyId": "S-1"}
    assert lines[1] == {"event": "agent_spawn", "agent": "dev", "model": "m", "timestamp": iso(T)}
    complete = {"event": "agent_complete", "agent": "dev", "tokensInput": 3, "tokensOutput": 4, "durationMs": 500}
    assert lines[2] == {"event": "tool_call", "tool": "Read", "path": "a.py", "timestamp": iso(T + 100)}
    assert lines[3] == {
        "event": "tool_call",
        "tool": "Bash",
        "path": "make",
        "timestamp": iso(T + 500),
    }  # its clock is off
    assert lines[4] == {**complete, "timestamp": iso(T + 500)}
    assert [each["event"] for each in lines[5:7]] == ["agent_spawn", "tool_call"]
    done = {"event": "phase_complete", "phase": "implement", "status": "PASS", "durationMs": 1_000}
    assert lines[7] == {**done, "timestamp": iso(T + 1_000)}
    assert [each["event"] for each in lines[8:]] == ["phase_start"]


def test_the_metrics_have_the_published_shape() -> None:
    """Run by run, and in all."""
    parts = (part("dev", tokens_in=3, tokens_out=4, tool_calls=2, attempts=2),)
    made = yaml.safe_load(files(STORY, run(1, "implement", parts=parts), run(2, "gate", ended_at=None))[shapes.METRICS])

    assert made["totals"] == {"tokens": 7, "duration_ms": 1_000, "agent_spawns": 2, "tool_calls": 2}
    assert made["phases"][0] == {
        "name": "implement",
        "status": "PASS",
        "duration_ms": 1_000,
        "tokens_input": 3,
        "tokens_output": 4,
        "agent_spawns": 2,
        "tool_calls": 2,
    }
    assert (made["story_id"], made["completed_at"], made["status"]) == ("S-1", None, "uat")
    assert metrics_of(Story(id="S", title="T", ended_at=T), []).completed_at == iso(T)
