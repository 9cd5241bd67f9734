"""A draft of a decision: moves are checked, and what follows from the fields is computed in one place."""

from __future__ import annotations

import pytest

from medbay.core.decision import Draft, Transition
from medbay.errors import IllegalTransition
from tests.core.builders import HOUR, NOW, PERSON, blocked, failed, running, task


def draft_of(**given: object) -> Draft:
    """A draft by a person about a ready task."""
    return Draft(task(**given), NOW, actor=PERSON)


def test_a_move_is_a_transition_with_who_and_why() -> None:
    """Status, since and reason follow; the row it was read as stays known."""
    draft = draft_of()

    draft.move("in_progress", "claimed", attempt=1)
    change = draft.change()

    assert change.before == task()
    assert (change.after.status, change.after.since, change.after.reason) == ("in_progress", NOW, "claimed")
    assert change.transitions == (Transition("pending", "in_progress", PERSON, "claimed", {"attempt": 1}),)


def test_an_illegal_move_raises_and_changes_nothing() -> None:
    """Neither the task nor its history."""
    draft = draft_of()

    with pytest.raises(IllegalTransition, match="t-1 is pending and may not become completed"):
        draft.move("completed", "no")

    assert draft.task == task()
    assert draft.change().transitions == ()


def test_an_illegal_block_raises_and_changes_nothing() -> None:
    """No kind of block without the block."""
    draft = Draft(task(status="completed", ready=False, ready_at=None), NOW, actor=PERSON)

    with pytest.raises(IllegalTransition):
        draft.block("human", "no")

    assert draft.task == draft.before
    assert draft.events == []


def test_only_an_end_has_a_time_of_ending() -> None:
    """Completed and cancelled tasks ended; the others go on."""
    done, failing = Draft(running(), NOW, actor=PERSON), Draft(running(), NOW, actor=PERSON)

    done.move("completed", "")
    failing.move("failed", "")

    assert (done.change().after.ended_at, failing.change().after.ended_at) == (NOW, None)


def test_a_block_has_a_kind_a_reason_and_an_event() -> None:
    """A time only where it times out; a person's retry that was pending is over."""
    draft = draft_of(forced=True, wants_triage=True)

    draft.block("external", "parts", until=NOW + HOUR)
    found = draft.change().after

    assert (found.status, found.block_kind, found.reason, found.due_at) == (
        "blocked",
        "external",
        "parts",
        NOW + HOUR,
    )
    assert not found.forced and not found.ready and not found.wants_triage
    (event,) = draft.events
    assert (event.name, event.task_id, event.data) == (
        "task:blocked",
        "t-1",
        {"kind": "external", "reason": "parts"},
    )


def test_an_event_carries_its_attempt_apart_from_its_data() -> None:
    """As a column, where it has one."""
    draft = draft_of()

    draft.tell("task:started", attempt=3, worker="w-1")

    (event,) = draft.events
    assert (event.attempt, event.data) == (3, {"worker": "w-1"})


def test_what_becomes_ready_is_ready_since_it_was_due() -> None:
    """Its time is used up; the place in the queue is that time."""
    waiting = Draft(task(ready=False, ready_at=None, due_at=NOW - HOUR), NOW, actor="engine")
    freed = Draft(task(ready=False, ready_at=None, unmet=1), NOW, actor="engine")
    freed.set(unmet=0)

    assert (waiting.change().after.ready, waiting.change().after.ready_at) == (True, NOW - HOUR)
    assert waiting.change().after.due_at is None
    assert freed.change().after.ready_at == NOW


def test_what_stays_ready_keeps_its_place() -> None:
    """An edit does not send a task to the end of the queue."""
    draft = draft_of(ready_at=NOW - HOUR)

    draft.set(title="other")

    assert draft.change().after.ready_at == NOW - HOUR


@pytest.mark.parametrize(
    "fields", [{"paused": True}, {"unmet": 1}, {"cancel_requested": True}, {"waits_for": "triage"}]
)
def test_what_is_held_back_is_not_ready_and_has_no_place(fields: dict[str, object]) -> None:
    """The column says what the reasons say."""
    draft = draft_of()

    draft.set(**fields)

    assert (draft.change().after.ready, draft.change().after.ready_at) == (False, None)


@pytest.mark.parametrize(
    ("fields", "recovery"), [({"streak": 1}, True), ({"canary": True}, True), ({"streak": 0}, False)]
)
def test_recovery_is_a_streak_or_a_canary(fields: dict[str, object], recovery: bool) -> None:
    """Everything else is fresh work."""
    draft = draft_of(recovery=not recovery)

    draft.set(**fields)

    assert draft.change().after.recovery == recovery


@pytest.mark.parametrize("fields", [{"paused": True}, {"forced": True}, {"canary": True}])
def test_a_task_is_parked_only_while_it_is_ready_and_may_not_pass(fields: dict[str, object]) -> None:
    """A hold on anything else would be forgotten when it is released."""
    draft = draft_of(hold="provider:x")

    draft.set(**fields)

    assert draft.change().after.hold is None


def test_a_parked_task_stays_parked_when_something_else_changes() -> None:
    """Only a release clears it."""
    draft = draft_of(hold="provider:x")

    draft.set(title="other")

    assert draft.change().after.hold == "provider:x"


def test_a_failed_or_blocked_task_is_never_ready() -> None:
    """Whatever its time says."""
    for some in (failed(due_at=NOW - HOUR), blocked(due_at=NOW - HOUR)):
        assert not Draft(some, NOW, actor="engine").change().after.ready
