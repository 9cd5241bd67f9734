"""A draft of a decision: moves are checked, and what follows from the fields is computed in one place."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from msgspec import Struct

from medbay.core.decision import (
    NOTHING,
    Change,
    Decision,
    Draft,
    RetryClosed,
    Transition,
    WorkingSet,
    together,
)
from medbay.core.model import Event, Question, Retry, Task
from medbay.errors import IllegalTransition
from tests.core.builders import HOUR, NOW, PERSON, blocked, failed, running, task

RETRY: dict[str, Any] = {
    "task_id": "t-1",
    "attempt": 1,
    "category": "unknown",
    "action": "x",
    "scheduled_at": 0,
    "due_at": 0,
    "delay_ms": 0,
}


def draft_of(**given: object) -> Draft[Task]:
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

    draft.emit("task:started", attempt=3, worker="w-1")

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


class Letter(Struct, frozen=True, kw_only=True):
    """A record of another kind, which goes the way of a capture."""

    kind: ClassVar[str] = "letter"
    lifecycle: ClassVar[str] = "capture"

    id: str = "l-1"
    status: str = "PENDING"
    version: int = 0
    reason: str = ""
    ended_at: int | None = None
    questions: int = 0


def test_a_record_of_any_kind_moves_by_its_own_lifecycle_and_says_so() -> None:
    """`KIND:moved` with from, to, by and why, for each step; what it has no field for is left out."""
    draft = Draft(Letter(), NOW, actor=PERSON)

    draft.move("POISON", "three times", tries=3)
    draft.move("PENDING", "once more")
    change = draft.change()

    assert change == Change(Letter(), Letter(reason="once more"), change.transitions)
    assert [(step.source, step.target) for step in change.transitions] == [("PENDING", "POISON"), ("POISON", "PENDING")]
    assert [(event.name, event.task_id) for event in draft.events] == [("letter:moved", None)] * 2
    first = {"letter": "l-1", "from": "PENDING", "to": "POISON", "by": PERSON, "why": "three times"}
    assert draft.events[0].data == first


def test_the_end_of_a_record_of_any_kind_is_its_lifecycles() -> None:
    """What is terminal there is an end."""
    draft = Draft(Letter(), NOW, actor=PERSON)

    draft.move("PROCESSED", "done")

    assert (draft.record.status, draft.record.ended_at) == ("PROCESSED", NOW)
    with pytest.raises(IllegalTransition):
        draft.move("PENDING", "no")


def test_a_record_of_any_kind_can_be_asked_about() -> None:
    """It counts its questions, and the event names it."""
    draft = Draft(Letter(questions=2), NOW, actor=PERSON)

    draft.ask(Question(id="q-l-1-3", need="a stamp", why="it has none"))

    assert draft.record.questions == 3
    assert draft.events[0].data == {"letter": "l-1", "question": "q-l-1-3", "need": "a stamp", "why": "it has none"}


def test_decisions_of_one_transaction_are_one() -> None:
    """Writes and events in their order, the working set of the first; nothing adds nothing."""
    work = WorkingSet(questions={"s": "q-1"})
    first = draft_of().decision(RetryClosed("t-1", "cancelled"), None, work=work)
    second = Decision(writes=(Retry(**RETRY),), events=(Event(name="task:edited"),))

    both = together(NOTHING, first, second)

    assert [type(write).__name__ for write in both.writes] == ["Change", "RetryClosed", "Retry"]
    assert (both.work, both.events) == (work, second.events)
    assert (together(NOTHING), together(first, NOTHING)) == (NOTHING, first)


def test_a_decision_is_asked_by_the_type_of_its_writes() -> None:
    """All of one type, the first of it, all but it; more can be added."""
    closed = RetryClosed("t-1", "cancelled"), RetryClosed("t-2", "cancelled")
    made = NOTHING.plus(closed[0], None, closed[1], events=(Event(name="task:edited"),))

    assert (made.all(RetryClosed), made.first(RetryClosed), made.first(Retry)) == (closed, closed[0], None)
    assert made.without(RetryClosed).writes == ()
    assert (made.changes, len(made.events)) == ((), 1)
    assert draft_of().decision().plus(*closed).changes == (draft_of().change(),)


@pytest.mark.parametrize(("name", "carries"), [("task:failed", True), ("task:completed", True), ("task:paused", False)])
def test_how_a_task_ended_is_told_with_its_tags(name: str, carries: bool) -> None:
    """Figures by tag are those of the tags it had then."""
    draft, bare = Draft(task(tags=("nightly",)), NOW, actor=PERSON), Draft(task(), NOW, actor=PERSON)

    draft.emit(name)
    bare.emit(name)

    assert draft.events[0].data == ({"tags": ["nightly"]} if carries else {})
    assert bare.events[0].data == {}
