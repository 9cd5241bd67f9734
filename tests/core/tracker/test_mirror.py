"""What the issue of a task is to say, and what follows for the task from what its issue says."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core.model import TRACKER, TRIAGE, Attempt, Task
from medbay.core.people import question
from medbay.core.tracker import mirror
from medbay.core.tracker.mirror import Wanted
from medbay.core.tracker.record import FailureRecord, UnreadableRecord
from medbay.errors import NotAllowed

NOW = 1_800_000_000_000
FAILED = Task(
    id="t",
    title="login",
    status="failed",
    waits_for=TRACKER,
    charged=2,
    attempts=2,
    streak=2,
    since=NOW,
    last_category="code_error/type",
    last_summary="two\nlines",
    policy="tiers",
)


def attempt(ended_at: int | None) -> Attempt:
    """The attempt that failed."""
    return Attempt(task_id="t", number=2, worker_id="w", host="h", ended_at=ended_at)


@pytest.mark.parametrize(
    ("task", "parts", "wanted"),
    [
        (
            Task(id="t", title="x", status="completed", attempts=3),
            (),
            Wanted(close="Completed by medbay: task t, attempt 3"),
        ),
        (Task(id="t", title="x", status="cancelled"), (), Wanted()),
        (Task(id="t", title="x", status="cancelled"), ("a-1", "a-2"), Wanted(close="Split into sub-issues: a-1, a-2")),
        (
            Task(id="t", title="x", status="blocked", block_kind="human", reason="no|idea"),
            (),
            Wanted(line="needs_human|reason=no\\|idea"),
        ),
        (Task(id="t", title="x", status="blocked", block_kind="spec"), (), Wanted()),
        (Task(id="t", title="x", paused=True), (), Wanted(pause=True)),
        (Task(id="t", title="x", status="failed", charged=1), (), Wanted()),
    ],
)
def test_an_issue_says_what_its_task_says(task: Task, parts: tuple[str, ...], wanted: Wanted) -> None:
    """Closed, handed to a person, paused, or nothing at all; a free retry (19) writes no record."""
    assert mirror.wanted(task, None, parts=parts) == wanted


@pytest.mark.parametrize("waits_for", [TRACKER, TRIAGE])
def test_a_failure_is_a_record(waits_for: str) -> None:
    """With the higher of both counts, and the time at which it failed."""
    task = replace(FAILED, waits_for=waits_for)

    line = mirror.wanted(task, attempt(NOW - 1_000), charged=5).line

    assert line == (
        "ADWS_FAILED|attempt=5|last_failure=2027-01-15T07:59:59Z|error_class=code_error/type|step=run|summary=two lines"
    )
    assert "last_failure=2027-01-15T08:00:00Z" in mirror.wanted(task, None).line
    assert "last_failure=2027-01-15T08:00:00Z" in mirror.wanted(task, attempt(None)).line


@pytest.mark.parametrize(
    ("error_class", "kind"),
    [
        ("code_error/type", "code_error/type"),
        ("timeout", "timeout"),
        ("SdkCallError", "unknown/SdkCallError"),
        ("", "unknown"),
    ],
)
def test_an_issue_that_failed_elsewhere_is_taken_over_with_its_count(error_class: str, kind: str) -> None:
    """Its history has every step, and an attempt stands for the failure."""
    found = FailureRecord(attempt=3, last_failure=NOW - 5_000, error_class=error_class, summary="broke")
    task = Task(id="t", title="x", policy="tiers", ready=True, ready_at=NOW)

    decision, made = mirror.on_imported(task, found, NOW)

    (change,) = decision.changes
    after = change.after
    assert [each.target for each in change.transitions] == ["in_progress", "failed"]
    assert (after.attempts, after.charged, after.streak, after.waits_for, after.ready) == (3, 3, 3, TRACKER, False)
    assert (made.number, made.outcome, made.ended_at, made.diagnosis.kind if made.diagnosis else "") == (
        3,
        "failed",
        NOW - 5_000,
        kind,
    )


def test_a_cleared_issue_may_start() -> None:
    """At once; what does not wait for its tracker is refused."""
    (change,) = mirror.on_cleared(FAILED, NOW, why="its cooldown is over").changes

    assert (change.after.status, change.after.waits_for, change.after.ready) == ("pending", None, True)
    for other in (replace(FAILED, status="completed"), replace(FAILED, live=3)):
        with pytest.raises(NotAllowed):
            mirror.on_cleared(other, NOW, why="x")


def test_an_issue_that_waiting_did_not_help_wants_a_triage() -> None:
    """Its task waits for it."""
    (change,) = mirror.on_due_for_triage(FAILED, NOW).changes

    assert (change.after.waits_for, change.after.wants_triage, change.after.due_at) == (TRIAGE, True, None)


def test_the_parts_of_a_complete_split_may_start() -> None:
    """They waited for their issues."""
    part = Task(id="p", title="part", waits_for=TRACKER, policy="tiers")

    (change,) = mirror.on_complete_split(part, NOW).changes

    assert (change.after.waits_for, change.after.ready) == (None, True)


def test_an_issue_that_is_handed_to_a_person_asks_once() -> None:
    """With a question of its own, or with the one that is open."""
    made = mirror.on_escalated(FAILED, NOW, why="no idea", open_question=None)
    (change,) = made.changes
    assert (change.after.status, change.after.block_kind, change.after.waits_for) == ("blocked", "human", None)
    known = question.ask(FAILED, kind="human", why="x", now=NOW)

    again = mirror.on_escalated(FAILED, NOW, why="no idea", open_question=known)

    assert [each.name for each in made.events].count("question:asked") == 1
    assert [each.name for each in again.events].count("question:asked") == 0


def test_the_reason_for_a_person_names_the_failure() -> None:
    """How often, what, or what cannot be read."""
    record = FailureRecord(attempt=3, last_failure=0, error_class="timeout", summary="slow")

    assert mirror.reason_for(record) == "failed 3 times: timeout: slow"
    assert mirror.reason_for(replace(record, error_class="unknown")) == "no rule knows why it failed: slow"
    assert mirror.reason_for(UnreadableRecord("ADWS_FAILED|x", "it has no values")) == (
        "its failure record cannot be read (it has no values): ADWS_FAILED|x"
    )
