"""Evidence: what shows that an agent is done, and what becomes of work that shows nothing or cannot be merged."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from medbay.core import workspace
from medbay.core.agent import Profile
from medbay.core.attempt.checks import LANDING, PR_GIVEN_UP, PR_REFUSED, judge
from medbay.core.decision import Added, ChecksPlanned
from medbay.core.evidence import judged
from medbay.core.model import Check, CheckResult, Question, Task
from medbay.core.outcome import Checked, Failed, Outcome, Output, Succeeded, TimedOut
from medbay.core.revision import key_of, on_came_back
from medbay.core.workspace import (
    FACTS,
    PullRequestMade,
    WorkSeen,
    WorkspaceMeans,
    diff_stat,
    means_for,
    requested,
    round_of,
    seen,
    to_land,
)
from tests.core.builders import after, end, only, running, task

CHECKS = (Check("make test"),)


def done(work: dict[str, Any] | None = None, *, tail: str = "", **result: Any) -> Succeeded:
    """An attempt that says it is done, with what was seen of its work."""
    facts = to_builtins(WorkSeen(**{"repository": "/r", "directory": "/w", "worktree": "/w"} | (work or {})))
    return Succeeded(output=Output(tail=tail, result={FACTS: facts, **result}))


def kind(outcome: Outcome) -> str:
    """What a failure is called, or what shows a success."""
    said = outcome.output.result or {}
    return str(said.get("category") if isinstance(outcome, Failed) else said.get("evidence"))


@pytest.mark.parametrize(
    ("outcome", "checks", "found"),
    [
        (done({"changed": True}), (), "diff"),
        (done({"artifacts": ("report.html",)}), (), "artifact"),
        (done({"failing": (1,)}), CHECKS, "check"),
        (done({"failing": (1,)}), (), "unknown/no_evidence"),
        (done(), CHECKS, "unknown/no_evidence"),
        (done(tail="Nothing to change, because it is there."), CHECKS, "nothing_to_change"),
        (done(summary="nothing needs to be changed because main has it"), CHECKS, "nothing_to_change"),
        (done(tail="Nothing to change, because it is there."), (), "unknown/no_evidence"),
        (done({"evidence": False}), (), "None"),
        (done({"unresolved": ("a.txt",), "changed": True}), CHECKS, "unknown/merge_conflict"),
    ],
)
def test_what_shows_that_it_is_done(outcome: Succeeded, checks: tuple[Check, ...], found: str) -> None:
    """Each kind of evidence by itself; a check counts only where one is there to decide."""
    assert kind(judged(running(runner="agent:x", checks=checks), outcome)) == found


def test_what_nobody_looked_at_is_judged_by_its_end_alone() -> None:
    """Commands, agents outside of a repository, reviews, facts of another version, and what failed anyway."""
    plain, late = Succeeded(output=Output(result={"summary": "x"})), TimedOut(limit_s=1, output=done().output)

    assert judged(running(), plain) is plain
    assert judged(running(role="review"), done()) == done()
    assert judged(running(), late) is late
    assert seen({FACTS: {"repository": 7}}) is None and seen(None) is None


def test_a_worktree_that_cannot_be_prepared_is_not_the_agents_failure() -> None:
    """Uncharged the first time; the second time in a row a person is asked."""
    failed = Failed(output=done({"problem": "setup failed with exit 1: npm ci"}).output, exit_code=1)
    ended = judged(running(runner="agent:x"), failed)

    once = after(end(running(runner="agent:x"), ended))
    asked = end(running(runner="agent:x", last_category="unknown/setup", streak=1, uncharged=1), ended)

    assert (once.status, once.charged, once.last_category) == ("failed", 0, "unknown/setup")
    assert after(asked).block_kind == "human"
    question = only(asked, Question)
    assert question is not None and "npm ci" in question.why


@pytest.mark.parametrize(
    ("checks", "landing", "verdict", "why"),
    [
        ((), "PASS", "PASS", ""),
        (("PASS",), "PASS", "PASS", ""),
        (("FAIL",), "STOPPED", "FAIL", "check 1"),
        (("PASS",), "FAIL", "FAIL", "conflicts"),
        (("PASS",), "ERROR", "ERROR", "could not be done"),
        (("ERROR",), "STOPPED", "ERROR", "could not be run"),
    ],
)
def test_the_gate_looks_at_the_checks_and_then_at_the_landing(
    checks: tuple[str, ...], landing: str, verdict: str, why: str
) -> None:
    """A result counts when its checks pass and it can be merged."""
    found = judge(results(*checks, landing=landing))

    assert found.verdict == verdict and why in found.why


def test_work_that_could_not_be_landed_says_why() -> None:
    """The first line of what was said, which is no word on the work."""
    found = judge(results("PASS", landing="ERROR", tail="GET user: HTTP 401: Bad credentials\nmore"))

    assert found.why.endswith("could not be done: GET user: HTTP 401: Bad credentials")


def test_work_that_could_only_be_kept_passes_with_a_warning() -> None:
    """A dirty main tree is no failure of the work."""
    found = judge(results("PASS", landing="PASS", tail="kept on medbay/t-1: the main tree has changes\n"))

    assert (found.verdict, found.warning) == ("PASS", "kept on medbay/t-1: the main tree has changes")


def test_work_that_is_to_be_merged_waits_for_it_without_checks_too() -> None:
    """The landing is planned behind the checks; a branch that is only kept needs none."""
    merging = done({"changed": True, "on_pass": "merge"})

    planned = only(end(running(runner="agent:x"), merging), ChecksPlanned)

    assert planned is not None
    assert [(each.position, each.command) for each in planned.results] == [(LANDING, ("medbay", "merge", "t-1"))]
    assert to_land(merging) is not None
    assert to_land(done({"on_pass": "merge", "worktree": ""})) is None
    assert to_land(Failed(output=merging.output)) is None
    assert after(end(running(runner="agent:x"), done({"changed": True}))).status == "completed"


def test_a_conflict_is_free_once_and_then_a_question_that_shows_it() -> None:
    """The agent gets one try at bringing both together."""
    conflict = results("PASS", landing="FAIL", tail="medbay/t-1 conflicts with main in a.txt\n<<<<<<< main")
    verifying = {"status": "pending_verification", "runner": "agent:x"}

    first = after(end(running(**verifying), Checked(results=conflict)))
    before = {"last_category": first.last_category, "streak": 1, "uncharged": 1}
    second = end(running(**verifying, **before), Checked(results=conflict))

    assert (first.status, first.charged, first.last_category) == ("failed", 0, "unknown/merge_conflict")
    assert "leave no mark" in first.guidance[-1].text
    asked = only(second, Question)
    assert after(second).block_kind == "human" and asked is not None and "<<<<<<< main" in asked.evidence


def test_a_pull_request_comes_back_to_its_agent_and_then_to_a_person() -> None:
    """Uncharged while rounds are left, with what was said in the guidance; then a question."""
    said = "pull request https://example.org/7 came back\nbuild: failure"
    verifying = {"status": "pending_verification", "runner": "agent:x"}
    refused, given_up = (
        Checked(results=tuple(replace(each, exit_code=code) for each in results(landing="FAIL", tail=said)))
        for code in (PR_REFUSED, PR_GIVEN_UP)
    )

    first = after(end(running(**verifying), refused))
    asked = end(running(**verifying), given_up)

    assert (first.status, first.charged, first.last_category) == ("failed", 0, "unknown/pull_request")
    assert "build: failure" in first.guidance[-1].text
    assert after(asked).block_kind == "human"


def test_a_pull_request_that_was_made_is_remembered_by_the_task_whose_branch_it_is_of() -> None:
    """A revision goes on with that of its task, or of the round of it that it answers; a merge is none."""
    verifying = {"status": "pending_verification", "runner": "agent:x"}
    made = Checked(results=results(landing="PASS", tail="pull request https://example.org/7\n"))
    merged = Checked(results=results(landing="PASS", tail="merged into main as 1234"))
    revises = running(**verifying, role="revision", owner_kind="task", owner_id="t-0")
    works = (running(**verifying), running(**verifying, every_ms=1_000, planned_at=0, iterations_done=2), revises)

    first, third, again, later = (
        only(end(each, made), PullRequestMade) for each in (*works, replace(revises, position=3))
    )

    assert (first.name, first.task_id, first.url) == ("t-1", "t-1", "https://example.org/7")
    assert (third.name, third.task_id) == ("t-1-3", "t-1")
    assert [(each.name, each.task_id) for each in (again, later)] == [("t-0", "t-0"), ("t-0-3", "t-0")]
    assert [round_of("t-0", each) for each in ("t-0", "t-0-3")] == [0, 3]
    assert end(running(**verifying), merged).all(PullRequestMade) == ()
    asked = requested(revises)
    assert asked is not None and asked.name == "t-0"


def test_what_comes_back_after_a_task_is_completed_is_a_task_on_the_same_branch() -> None:
    """Worked on exactly as it was, told what it was and what is said; the same words are the same task."""
    was = running(runner="agent:x", checks=CHECKS, description="Count.", on_pass="keep", max_cost=5, spec="all of it")

    made = on_came_back(was, 7, new_id="t-9", words="pull request came back\nada: no")

    (added,) = made.all(Added)
    new = added.change.after
    assert (new.id, new.owner_id, new.role, new.on_pass) == ("t-9", "t-1", "revision", "pr")
    assert (new.runner, new.checks, new.max_cost, new.spec) == ("agent:x", CHECKS, 5, "all of it")
    assert new.description == "Count.\n\npull request came back\nada: no"
    assert new.key == key_of("t-1", "pull request came back\nada: no") != key_of("t-1", "other words")
    assert [(event.name, event.data["serves"]["subject"]) for event in made.events] == [("task:created", "t-1")]


def test_marks_that_are_left_are_the_same_conflict() -> None:
    """With the places of them."""
    left = done({"unresolved": ("a.txt",), "marks": "--- a.txt\n3: <<<<<<< HEAD"})
    before = {"last_category": "unknown/merge_conflict", "streak": 1, "uncharged": 1}

    decision = end(running(runner="agent:x", **before), judged(running(), left))

    asked = only(decision, Question)
    assert asked is not None and "3: <<<<<<< HEAD" in asked.evidence


def test_what_an_attempt_asks_its_directory_for() -> None:
    """Its name by the round of a task that recurs; the other changes after a conflict; nothing for a review."""
    after_conflict = running(last_category="unknown/merge_conflict", streak=1)

    assert requested(task(id="k7")) == workspace.WorkRequest(name="k7", title=task().title)
    again = requested(task(id="k7", iterations_done=2))
    assert again is not None and again.name == "k7-3"
    conflicting = requested(after_conflict)
    assert conflicting is not None and conflicting.conflict
    assert requested(task(role="review")) is None
    means = Profile(name="x", command=("x",), setup="npm ci", on_pass="merge").workspace
    assert means == WorkspaceMeans(setup="npm ci", on_pass="merge")
    own = requested(task(worktree="no", copies=(".env",), on_pass="pr"))
    assert own is not None
    assert means_for(own, means) == WorkspaceMeans(setup="npm ci", copy=(".env",), on_pass="pr", worktree=False)


def results(*ends: str, landing: str, tail: str = "") -> tuple[CheckResult, ...]:
    """Checks and a landing that ended like this."""
    places = [*range(1, len(ends) + 1), LANDING]
    return tuple(
        CheckResult(task_id="t-1", number=1, position=at, command=f"c{at}", status=status, tail=tail)  # type: ignore[arg-type]
        for at, status in zip(places, (*ends, landing), strict=True)
    )


def test_the_changes_of_an_attempt_are_summed_up_as_git_does() -> None:
    """By name as far as names are kept, and in numbers; nothing for no change."""
    work = WorkSeen(repository="/r", directory="/r", files=3, insertions=5, deletions=1, names=("a.py", "b.py"))

    assert diff_stat(work) == "a.py\nb.py\nand 1 more\n3 files changed, 5 insertions(+), 1 deletions(-)"
    assert diff_stat(WorkSeen(repository="/r", directory="/r", files=1, names=("a.py",))).startswith("a.py\n1 files")
    assert diff_stat(WorkSeen(repository="/r", directory="/r")) == ""


def test_what_a_role_of_a_story_shows_is_judged_at_the_gate() -> None:
    """A phase that only answers leaves no change."""
    role = Task(id="t", title="t", runner="agent:claude", owner_kind="story", owner_id="S", role="qa")

    assert isinstance(judged(role, done()), Succeeded)
