"""What a person may do to a task: what each command changes, records and refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from medbay.core.decision import Decision, QuestionClosed, RetryClosed
from medbay.core.lifecycles import BlockKind
from medbay.core.model import Guidance, Option, Question, Task
from medbay.core.people.answer import Answer, on_noted
from medbay.core.people.question import ask
from medbay.core.rules import (
    Edit,
    on_block_command,
    on_cancel_command,
    on_edit_command,
    on_pause_command,
    on_resume_command,
    on_retry_command,
    on_unblock_command,
)
from medbay.errors import IllegalTransition, NotAllowed
from tests.core.builders import (
    DAY,
    HOUR,
    NOW,
    PERSON,
    after,
    answered,
    blocked,
    failed,
    names,
    running,
    steps,
    task,
    told,
)

WAITS = {"ready": False, "ready_at": None}
COMPLETED = task(status="completed", **WAITS)
CANCELLED = task(status="cancelled", **WAITS)
ASKED = ask(task(), kind="human", why="refused", now=NOW - HOUR)
SHARED = Question(id="q-t-1-1", need="", why="", options=ASKED.options, task_ids=("t-1", "t-2"))
RETRY, PAUSE, CANCEL = ASKED.options


def pause(some: Task) -> Decision:
    """A person pauses."""
    return on_pause_command(some, NOW, actor=PERSON)


def resume(some: Task) -> Decision:
    """A person resumes."""
    return on_resume_command(some, NOW, actor=PERSON)


def cancel(some: Task, *, dependents: tuple[Task, ...] = (), question: Question | None = None) -> Decision:
    """A person cancels."""
    return on_cancel_command(some, NOW, actor=PERSON, dependents=dependents, question=question)


def retry(some: Task) -> Decision:
    """A person wants it tried again now."""
    return on_retry_command(some, NOW, actor=PERSON)


def unblock(some: Task) -> Decision:
    """A person unblocks."""
    return on_unblock_command(some, NOW, actor=PERSON)


def block(some: Task, kind: BlockKind = "human") -> Decision:
    """A person blocks."""
    return on_block_command(some, NOW, actor=PERSON, kind=kind, reason="wait for parts", timeout_ms=DAY)


def edit(some: Task) -> Decision:
    """A person changes the title."""
    return on_edit_command(some, NOW, actor=PERSON, edit=Edit(fields={"title": "other"}))


# Pause and resume


def test_a_paused_task_is_not_ready_and_keeps_every_counter() -> None:
    """A flag, not a status: an event, no history."""
    before = task(streak=2, charged=1, attempts=2, recovery=True)

    decision = pause(before)

    found = after(decision)
    assert (found.paused, found.ready, found.status) == (True, False, "pending")
    assert (found.streak, found.charged, found.attempts) == (2, 1, 2)
    assert steps(decision) == []
    assert told(decision, "task:paused").data == {"by": PERSON}


def test_a_running_attempt_goes_on_while_its_task_is_paused() -> None:
    """Pausing stops nothing that runs."""
    found = after(pause(running()))

    assert (found.paused, found.status, found.live) == (True, "in_progress", 1)


def test_a_resumed_task_goes_on_where_it_was() -> None:
    """Ready again, or waiting for its retry again."""
    fresh, waiting = after(resume(task(paused=True, **WAITS))), after(resume(failed(paused=True)))

    assert (fresh.paused, fresh.ready, fresh.ready_at) == (False, True, NOW)
    assert (waiting.status, waiting.due_at) == ("failed", NOW + HOUR)
    assert names(resume(task(paused=True, **WAITS))) == ["task:resumed"]


def test_what_fell_due_while_paused_is_ready_on_resume() -> None:
    """A one-off waits for the resume, and has its old place."""
    found = after(resume(task(paused=True, due_at=NOW - HOUR, **WAITS)))

    assert (found.ready, found.ready_at, found.due_at) == (True, NOW - HOUR, None)


@pytest.mark.parametrize(("command", "some"), [(pause, task(paused=True, **WAITS)), (resume, task())])
def test_to_pause_or_resume_twice_changes_and_tells_nothing(command: Callable[[Task], Decision], some: Task) -> None:
    """Not even a new version of the row."""
    assert command(some) == Decision()


# Cancel


@pytest.mark.parametrize("some", [task(), failed(), blocked(), task(paused=True, **WAITS)])
def test_a_task_without_a_live_attempt_is_cancelled_at_once(some: Task) -> None:
    """For good, with its pending retry."""
    decision = cancel(some)

    found = after(decision)
    assert steps(decision) == [(some.status, "cancelled")]
    assert (found.due_at, found.block_kind, found.ended_at) == (None, None, NOW)
    assert decision.all(RetryClosed) == (RetryClosed("t-1", "cancelled"),)
    assert told(decision, "task:cancelled").data == {"by": PERSON}


def test_a_running_task_is_asked_to_stop_first() -> None:
    """Its owner ends the process and records it."""
    decision = cancel(running(attempts=3))

    found = after(decision)
    assert (found.status, found.cancel_requested, found.live) == ("in_progress", True, 3)
    assert steps(decision) == []
    event = told(decision, "task:cancel_requested")
    assert (event.attempt, event.data) == (3, {"by": PERSON})


def test_to_ask_twice_for_a_cancel_changes_nothing() -> None:
    """The worker knows already."""
    assert cancel(running(cancel_requested=True)) == Decision()


def test_a_cancel_blocks_what_comes_after_and_answers_the_question() -> None:
    """A person's word closes the question it was about."""
    decision = cancel(blocked(), dependents=(task(id="t-2", unmet=1, **WAITS),), question=ASKED)

    assert after(decision, "t-2").block_kind == "dependency"
    assert [asked.task_ids for asked in decision.all(Question)] == [("t-2",)]
    assert decision.all(QuestionClosed) == (
        QuestionClosed(question_id="q-t-1-1", task_id="t-1", whole=True, by=PERSON, answer="cancel"),
    )
    assert told(decision, "question:answered").data == {"question": "q-t-1-1", "by": PERSON, "answer": "cancel"}


def test_a_cancel_of_one_leaves_a_shared_question_to_the_others() -> None:
    """Somebody else still waits for the answer."""
    decision = cancel(blocked(), question=SHARED)

    (closed,) = decision.all(QuestionClosed)
    assert not closed.whole
    assert "question:answered" not in names(decision)


# Retry and unblock


@pytest.mark.parametrize("some", [task(due_at=NOW + HOUR, **WAITS), failed(), blocked()])
def test_a_retry_by_hand_starts_now_whatever_the_time(some: Task) -> None:
    """Passes due time and holds for one attempt, keeps the streak, grants two attempts."""
    decision = on_retry_command(some, NOW, actor=PERSON)

    found = after(decision)
    assert (found.status, found.ready, found.forced, found.due_at) == ("pending", True, True, None)
    assert (found.streak, found.charged) == (some.streak, some.charged)
    assert (found.granted, found.asks_at) == (2, some.charged + 2)
    assert decision.all(RetryClosed) == (RetryClosed("t-1", "cancelled"),)


@pytest.mark.parametrize(
    ("some", "event", "data"),
    [
        (blocked(), "task:unblocked", {"by": PERSON, "kind": "human"}),
        (failed(), "task:edited", {"by": PERSON, "changed": ["forced"], "granted": 2}),
        (task(due_at=NOW + HOUR, **WAITS), "task:edited", {"by": PERSON, "changed": ["forced"], "granted": 2}),
    ],
)
def test_a_retry_is_recorded_as_that_persons_act(some: Task, event: str, data: dict[str, object]) -> None:
    """Every transition and every flag a person changes has an event."""
    decision = retry(some)

    assert told(decision, event).data == data
    assert all(step.actor == PERSON for change in decision.changes for step in change.transitions)


def test_an_edit_of_what_it_needs_takes_it_out_of_its_hold() -> None:
    """It may need something else now; another title changes nothing."""
    parked = task(hold="provider:x")
    for fields, hold in (
        ({"resources": ("provider:y",)}, None),
        ({"command": "b"}, None),
        ({"title": "b"}, "provider:x"),
    ):
        made = on_edit_command(parked, NOW, actor=PERSON, edit=Edit(fields=fields))
        assert after(made).hold == hold


def test_a_retry_takes_a_parked_task_out_of_its_hold() -> None:
    """A person passes holds for one attempt."""
    assert after(retry(task(hold="provider:x"))).hold is None


def test_a_retry_answers_the_open_question() -> None:
    """And the answer says how."""
    decision = on_retry_command(blocked(), NOW, actor=PERSON, attempts=5, question=ASKED)

    (closed,) = decision.all(QuestionClosed)
    assert (closed.whole, closed.answer, closed.status) == (True, "retried by hand", "answered")
    assert (after(decision).granted, after(decision).asks_at) == (5, 9)


def test_a_retry_begins_a_free_run_anew() -> None:
    """The bound of free tries starts over with a person's word."""
    found = after(retry(blocked(block_kind="exhausted", uncharged=20, uncharged_since=NOW - DAY)))

    assert (found.uncharged, found.uncharged_since) == (0, None)


def test_an_unblocked_task_is_ready_but_passes_nothing() -> None:
    """Unlike a retry by hand it waits for holds like everybody."""
    decision = on_unblock_command(blocked(), NOW, actor=PERSON, question=ASKED)

    found = after(decision)
    assert steps(decision) == [("blocked", "pending")]
    assert (found.ready, found.forced, found.block_kind, found.granted) == (True, False, None, 2)
    assert names(decision) == ["task:unblocked", "question:answered"]
    assert decision.changes[0].transitions[0].context == {"granted": 2}


def test_an_unblocked_task_still_waits_for_what_can_complete() -> None:
    """What was cancelled is no longer waited for; the caller counts."""
    found = after(on_unblock_command(blocked(unmet=2), NOW, actor=PERSON, unmet=1))

    assert (found.status, found.unmet, found.ready) == ("pending", 1, False)


def test_an_unblocked_task_that_is_paused_stays_paused() -> None:
    """One thing at a time."""
    found = after(unblock(blocked(paused=True)))

    assert (found.status, found.ready) == ("pending", False)


# Block


@pytest.mark.parametrize("kind", ["human", "circuit"])
def test_a_block_for_a_person_asks_a_question(kind: BlockKind) -> None:
    """It leaves by an answer alone, and its retry is cancelled."""
    decision = block(failed(questions=1), kind)

    found, (asked,) = after(decision), decision.all(Question)
    assert steps(decision) == [("failed", "blocked")]
    assert (found.block_kind, found.due_at, found.questions, asked.id) == (kind, None, 2, "q-t-1-2")
    assert names(decision) == ["question:asked", "task:blocked"]
    assert decision.all(RetryClosed) == (RetryClosed("t-1", "cancelled"),)


@pytest.mark.parametrize("kind", ["external", "spec"])
def test_a_block_for_something_outside_ends_by_itself(kind: BlockKind) -> None:
    """A time instead of a question."""
    decision = block(task(), kind)

    assert (after(decision).block_kind, after(decision).due_at) == (kind, NOW + DAY)
    assert decision.all(Question) == ()
    assert names(decision) == ["task:blocked"]
    assert decision.all(RetryClosed) == (RetryClosed("t-1", "cancelled"),)


def test_what_is_blocked_cannot_be_blocked() -> None:
    """The lifecycle says so."""
    with pytest.raises(IllegalTransition, match="t-1 is blocked and may not become blocked"):
        block(blocked())


def test_what_is_finished_cannot_be_blocked() -> None:
    """It says what every command says of a finished task."""
    with pytest.raises(NotAllowed, match="t-1 is completed and goes nowhere from there"):
        block(COMPLETED)


# Edit


def test_an_edit_changes_what_differs_and_names_it() -> None:
    """From the next attempt on; the place in the queue stays."""
    edited = Edit(fields={"title": "build", "priority": 0, "timeout_ms": 5})

    decision = on_edit_command(task(), NOW, actor=PERSON, edit=edited)

    found = after(decision)
    assert (found.priority, found.timeout_ms, found.ready_at) == (0, 5, NOW - DAY)
    assert told(decision, "task:edited").data == {
        "by": PERSON,
        "changed": ["priority", "timeout_ms"],
        "reset_failures": False,
        "clear_triage_cooldown": False,
    }


def test_an_edit_that_changes_nothing_tells_nothing() -> None:
    """No event, no new version."""
    assert on_edit_command(task(), NOW, actor=PERSON, edit=Edit(fields={"title": "build"})) == Decision()


def test_reset_failures_starts_the_streak_over() -> None:
    """The second of the two resets; its retry and its time stay."""
    some = failed(streak=3, charged=2, uncharged=1, granted=2, asks_at=5)

    decision = on_edit_command(some, NOW, actor=PERSON, edit=Edit(reset_failures=True))

    found = after(decision)
    assert (found.streak, found.charged, found.uncharged, found.granted) == (0, 0, 0, 0)
    assert (found.status, found.due_at, found.recovery) == ("failed", NOW + HOUR, False)
    assert told(decision, "task:edited").data["reset_failures"] is True


def test_the_cooldown_of_triage_can_be_cleared() -> None:
    """The next failure may be looked at again."""
    edit = Edit(clear_triage_cooldown=True)

    decision = on_edit_command(failed(triaged_at=NOW - HOUR), NOW, actor=PERSON, edit=edit)

    assert after(decision).triaged_at is None
    assert told(decision, "task:edited").data["clear_triage_cooldown"] is True


# Answer


def test_an_answer_releases_the_task_and_closes_the_question() -> None:
    """With who answered and what."""
    decision = answered(ASKED, RETRY, blocked(), NOW, actor=PERSON)

    assert steps(decision) == [("blocked", "pending")]
    assert after(decision).granted == 2
    (closed,) = decision.all(QuestionClosed)
    assert (closed.whole, closed.by, closed.answer) == (True, PERSON, "looked into it, retry")


def test_a_note_is_guidance_for_the_next_attempt() -> None:
    """A person's words come last, and the oldest are dropped."""
    learnt = tuple(Guidance(number, "", "") for number in (1, 2, 3, 4, 5))

    waiting = blocked(guidance=learnt, last_fingerprint="f:1")

    decision = answered(ASKED, RETRY, waiting, NOW, actor=PERSON, note="use port 81", attempts=4)

    found = after(decision)
    assert found.guidance[-1] == Guidance(5, "use port 81", "A person says: use port 81", "f:1")
    assert len(found.guidance) == 5
    assert found.granted == 4
    assert decision.all(QuestionClosed)[0].answer == "looked into it, retry: use port 81"


def test_a_note_to_a_task_that_does_not_fail_is_advice_against_nothing() -> None:
    """What failed before its last success is not what it was blocked for."""
    waiting = blocked(streak=0, charged=0, last_fingerprint="f:1")

    decision = answered(ASKED, RETRY, waiting, NOW, actor=PERSON, note="go on")

    assert after(decision).guidance[-1].fingerprint == ""


def test_an_answer_may_leave_it_for_later() -> None:
    """Released and paused: nothing starts until somebody resumes it."""
    decision = answered(ASKED, PAUSE, blocked(), NOW, actor=PERSON)

    assert (after(decision).status, after(decision).paused, after(decision).ready) == ("pending", True, False)
    assert names(decision) == ["task:paused", "task:unblocked", "question:answered"]


def test_an_answer_may_cancel() -> None:
    """With everything a cancel does."""
    decision = answered(ASKED, CANCEL, blocked(), NOW, actor=PERSON, dependents=(task(id="t-2", unmet=1, **WAITS),))

    assert after(decision).status == "cancelled"
    assert after(decision, "t-2").block_kind == "dependency"
    assert decision.all(QuestionClosed)[0].whole


@pytest.mark.parametrize("option", [RETRY, CANCEL])
def test_a_shared_answer_is_applied_to_each_and_closed_by_the_last(option: Option) -> None:
    """The question is answered once."""
    first = answered(SHARED, option, blocked(), NOW, actor=PERSON)
    last = answered(SHARED, option, blocked(id="t-2"), NOW, actor=PERSON)

    assert [decision.all(QuestionClosed)[0].whole for decision in (first, last)] == [False, True]
    assert "question:answered" not in names(first)
    assert "question:answered" in names(last, "t-2")


WAIT = Option("noted", "wait", "")
RECURRING = {"every_ms": HOUR, "planned_at": NOW, "streak": 3, "endless": True, "recovery": True}


@pytest.mark.parametrize("some", [running(**RECURRING), task(status="completed", **WAITS)])
def test_an_answer_never_moves_what_runs_or_is_finished(some: Task) -> None:
    """A recurring task goes on while it asks: the answer is written, and that is all."""
    decision = answered(ASKED, RETRY, some, NOW, actor=PERSON)

    assert decision.changes == ()
    assert decision.all(QuestionClosed)[0].whole
    assert names(decision) == ["question:answered"]


def test_what_runs_can_be_paused_told_something_or_cancelled_by_an_answer() -> None:
    """From the next attempt on, or as soon as its owner has ended it."""
    some = running(**RECURRING)

    paused = answered(ASKED, PAUSE, some, NOW, actor=PERSON, note="wait for the vendor")
    assert (after(paused).paused, after(paused).status, len(after(paused).guidance)) == (True, "in_progress", 1)
    assert not answered(ASKED, PAUSE, task(status="completed", **WAITS), NOW, actor=PERSON).changes

    cancelled = answered(ASKED, CANCEL, some, NOW, actor=PERSON)
    assert after(cancelled).cancel_requested
    assert cancelled.all(QuestionClosed)[0].whole


def test_an_answer_that_waits_changes_nothing() -> None:
    """It was read."""
    decision = answered(ASKED, WAIT, failed(**RECURRING), NOW, actor=PERSON)

    assert decision.changes == ()
    assert decision.all(QuestionClosed)[0].answer == "noted"


def test_what_was_paused_when_it_asked_is_resumed_by_the_answer() -> None:
    """What somebody paused while it was blocked stays paused."""
    decision = answered(ASKED, RETRY, failed(paused=True), NOW, actor=PERSON)

    assert (after(decision).paused, after(decision).status, after(decision).ready) == (False, "pending", True)
    assert "task:resumed" in names(decision)
    assert after(answered(ASKED, RETRY, blocked(paused=True), NOW, actor=PERSON)).paused


def test_a_question_that_no_task_waits_for_is_only_noted() -> None:
    """A recommendation, for example."""
    filed = Question(id="q-9", need="", why="", options=(WAIT,))

    decision = on_noted(Answer(question=filed, option=WAIT, words="did it", actor=PERSON, now=NOW))

    assert decision.changes == ()
    (closed,) = decision.all(QuestionClosed)
    assert (closed.question_id, closed.whole, closed.by, closed.answer) == ("q-9", True, PERSON, "noted: did it")
    assert decision.events[0].data == {"question": "q-9", "by": PERSON, "answer": "noted: did it"}


# Refusals


@pytest.mark.parametrize("command", [pause, resume, cancel, retry, edit], ids=lambda each: each.__name__)
@pytest.mark.parametrize("some", [COMPLETED, CANCELLED], ids=lambda each: each.status)
def test_a_finished_task_goes_nowhere(command: Callable[[Task], Decision], some: Task) -> None:
    """Every command says so, and what to do instead."""
    with pytest.raises(NotAllowed) as refused:
        command(some)

    assert refused.value.message == f"t-1 is {some.status} and goes nowhere from there"
    assert refused.value.hint == "medbay add makes a new task"


@pytest.mark.parametrize(
    ("command", "some", "message", "hint"),
    [
        (retry, running(attempts=2), "t-1 is running attempt 2", "wait for it, or cancel it"),
        (retry, failed(paused=True), "t-1 is paused", "medbay resume t-1 first"),
        (block, running(attempts=2), "t-1 is running attempt 2", "medbay pause t-1, or cancel it"),
        (unblock, task(), "t-1 is pending, not blocked", "medbay explain t-1 says why"),
        (unblock, COMPLETED, "t-1 is completed, not blocked", "medbay explain t-1 says why"),
    ],
)
def test_a_refusal_says_why_and_what_to_do_instead(
    command: Callable[[Task], Decision], some: Task, message: str, hint: str
) -> None:
    """Exit code 4, and nothing changed."""
    with pytest.raises(NotAllowed) as refused:
        command(some)

    assert (refused.value.message, refused.value.hint, refused.value.exit_code) == (message, hint, 4)


def test_a_retry_cannot_run_ahead_of_what_it_comes_after() -> None:
    """A person passes time and holds, not the order of the work."""
    with pytest.raises(NotAllowed, match="t-1 waits for 2 other tasks"):
        on_retry_command(task(unmet=2, **WAITS), NOW, actor=PERSON, unmet=2)


def test_an_answer_resumes_what_triage_paused_and_leaves_its_schedule_alone() -> None:
    """A recurring task goes on by its plan; what was planned while it stood still is skipped."""
    hourly = {"every_ms": HOUR, "planned_at": NOW - 3 * HOUR, "due_at": NOW - 3 * HOUR}
    some = task(paused=True, questions=1, **hourly, **WAITS)

    decision = answered(ASKED, RETRY, some, NOW, actor=PERSON)

    assert names(decision)[:1] == ["task:resumed"]
    assert "task:occurrences_skipped" in names(decision)
    found = after(decision)
    assert (found.paused, found.granted, found.due_at is None or found.due_at > NOW) == (False, 0, True)


@pytest.mark.parametrize("option", [CANCEL, RETRY, PAUSE])
def test_any_answer_closes_a_question_about_what_has_ended_meanwhile(option: Option) -> None:
    """What triage asked beside a schedule may be open when the task is over."""
    decision = answered(ASKED, option, COMPLETED, NOW, actor=PERSON)

    assert [each.whole for each in decision.all(QuestionClosed)] == [True]
    assert decision.changes == ()
