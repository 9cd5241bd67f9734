"""An error of a phase is no verdict of it: where nothing was judged, no row of the table moves the story."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from msgspec.structs import replace

from medbay.core.workflow import artifacts, learning, phase
from medbay.core.workflow.records import StoryGit, StoryRules
from tests.core.workflow.cases import NOW, answered, case, follow, given_up, shipped, started

# The phases whose FAIL moves a story: where each starts, who works on it, and where its FAIL leads.
PHASES = (
    ("elaborate", "generated", "qa", "needs-refinement"),
    ("verify", "ready-for-qa", "qa", "needs-work"),
    ("gate", "uat", "gate", "in-progress"),
)
# How its role was given up: the kind of its last failure, and how the run ends.
ENDS = (
    ("transient/spawn", "FAIL", "AGENT_SPAWN_FAILED"),
    ("timeout/limit", "TIMEOUT", "AGENT_TIMEOUT"),
    ("unknown/malformed_output", "FAIL", "MALFORMED_OUTPUT"),
    ("dependency_missing/precondition", "FAIL", "PRECONDITION_FAILED"),
    ("code_error", "FAIL", "AGENT_FAILED"),
)


@pytest.mark.parametrize(("row", "end"), [*itertools.product(PHASES, ENDS)], ids=str)
def test_a_role_that_was_given_up_moves_nothing(row: tuple[str, str, str, str], end: tuple[str, str, str]) -> None:
    """The run ends as the table of errors says, and the phase is tried again from where the story stands."""
    name, status, role, refused = row
    kind, ends, error = end
    begun = started(case(status, elaborated=True), name)

    after = given_up(begun, role, kind)

    (run,) = after.runs
    assert (run.status, run.error_type, run.verdict) == (ends, error, "TIMEOUT" if ends == "TIMEOUT" else "ERROR")
    assert after.story.status == begun.story.status != refused
    again = after.workflow.next_phase(after.story.status, last=name)
    assert again is not None and again.name == name
    assert not learning.learned_from(run, after.workflow)


@pytest.mark.parametrize("row", PHASES, ids=str)
def test_only_the_word_fail_is_a_refusal(row: tuple[str, str, str, str]) -> None:
    """A role that says ERROR itself is investigated; one that says FAIL has judged."""
    name, status, role, refused = row
    begun = started(case(status, elaborated=True), name)

    error, fail = (answered(begun, role, word)[0] for word in ("ERROR", "FAIL"))

    assert (error.story.status, error.runs[-1].status) == (begun.story.status, "ERROR")
    assert (fail.story.status, fail.runs[-1].status) == (refused, "FAIL")


@pytest.mark.parametrize(("verdict", "target"), [("FAIL", "in-progress"), ("ERROR", "uat")])
def test_what_is_missing_is_a_refusal_only_where_it_was_asked_to_be_shown(verdict: str, target: str) -> None:
    """A gate refuses what nothing shows; without a worktree it judged nothing."""
    found = case("uat", elaborated=True)
    wanted, worker = found.workflow.phase("gate"), phase.PhaseWorker(role="gate", phase="gate")
    assert wanted is not None
    begun = follow(found, phase.start(found, wanted, [worker], StoryRules(), NOW, actor="x", command="c", queue="q"))

    after = follow(begun, phase.refuse(begun, "why", NOW, verdict=verdict))  # type: ignore[arg-type]

    assert (after.story.status, after.runs[-1].status) == (target, "FAIL")
    assert (
        f"verdict: {verdict}"
        in artifacts.files_of(after.story, after.runs, (), after.workflow)["_implementation/GATE.yaml"]
    )


@pytest.mark.parametrize(("kind", "reverting"), [("code_error", ""), ("", "due")])
def test_a_gate_that_broke_after_the_merge_reverts_nothing(kind: str, reverting: str) -> None:
    """Only a gate that refused calls for the revert."""
    git = StoryGit(branch="medbay/story-S-1", merge_commit="abc")
    begun = started(case("uat", elaborated=True, merged=True, git=git), "gate")

    after = given_up(begun, "gate", kind) if kind else answered(begun, "gate", "FAIL")[0]

    assert after.story.git.reverting == reverting


def test_a_review_of_one_role_that_broke_is_no_round() -> None:
    """Rounds are refusals; what could not be judged is a failure of its type."""
    flow = shipped("story")
    review = flow.phase("review")
    assert review is not None
    alone = replace(review, workers=(), role="qa")
    one = dataclasses.replace(flow, phases=tuple(alone if each.name == "review" else each for each in flow.phases))
    begun = started(case("ready-for-code-review", elaborated=True, workflow=one), "review")

    broke, refused = given_up(begun, "qa", "code_error"), answered(begun, "qa", "FAIL")[0]

    assert (broke.story.rounds, broke.story.status) == (0, "ready-for-code-review")
    assert (refused.story.rounds, refused.story.status) == (1, "code-review-failed")
