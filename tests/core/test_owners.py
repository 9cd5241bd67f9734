"""What the end of a task means for the one it serves; and tasks that a person does."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core import owners
from medbay.core.decision import Decision, Draft, QuestionClosed, RetryClosed
from medbay.core.model import Question, Task, changed
from medbay.core.outcome import Cancelled, Failed, Output, Succeeded
from medbay.core.owners import OWNERS, Owned, OwnerRule, Served, rule_of
from medbay.core.people import question
from medbay.core.people.question import choose
from medbay.core.rules import (
    Edit,
    on_cancel_command,
    on_edit_command,
    on_handed_to_person,
    on_resume_command,
    on_retry_command,
    on_unblock_command,
)
from medbay.errors import NotAllowed
from tests.core.builders import (
    HOUR,
    MINUTE,
    NOW,
    PERSON,
    after,
    answered,
    blocked,
    end,
    failed,
    names,
    running,
    steps,
    task,
    told,
)

SUBJECT = blocked(id="t-9", block_kind="spec", spec="old", due_at=NOW + HOUR, attempts=3, streak=3)
RECURRING = failed(id="t-9", every_ms=HOUR, planned_at=NOW - HOUR, attempts=3, streak=3)
REVIEW = running(role="review", owner_kind="task", owner_id="t-9", runner="agent:a", command=())
FIX = running(role="fix", owner_kind="task", owner_id="t-9", runner="agent:a", command=())
LEFT = Succeeded(output=Output(result={"spec": "new"}))
MINE = task(runner="person", command=(), ready=False, ready_at=None, title="renew", description="at the office")


def asking(**given: Any) -> tuple[Task, Question]:
    """A person's task that waits for its answer, and the question."""
    made = on_handed_to_person(
        task(**({"runner": "person", "command": (), "ready": False, "ready_at": None} | given)), NOW
    )
    return after(made), made.all(Question)[0]


def answer(of: Task, asked: Question, word: str, **given: Any) -> Decision:
    """A person answers."""
    return answered(asked, choose(asked, word), of, NOW, actor=PERSON, **given)


def succeeded(of: Task, owner: Owned, spec: str | None = None) -> Decision:
    """What the success of an owned task means for its owner."""
    return owners.succeeded(Draft(of, NOW, actor=PERSON), owner, spec=spec)


def test_each_kind_of_owner_and_role_is_one_row() -> None:
    """What is made anywhere has a row here; a task without an owner concerns nobody."""
    of_task = {("task", role) for role in ("triage", "review", "fix", "part", "follow_up", "revision")}

    others = {("incident", "triage"), ("incident", "fix"), ("loop", ""), ("workorder", "intake"), ("story", "*")}
    assert set(OWNERS) == of_task | others
    assert rule_of(task()) == OwnerRule()
    with pytest.raises(KeyError):
        rule_of(task(owner_kind="cup", owner_id="c-1"))


def test_a_task_with_an_owner_that_is_not_there_concerns_nobody() -> None:
    """The owner is gone, or not concerned: only what comes after the task is."""
    waiting = task(id="t-8", unmet=1, ready=False, ready_at=None)

    assert [each.after.id for each in end(FIX, Succeeded(), dependents=(waiting,)).changes] == ["t-1", "t-8"]
    assert end(running(), Failed(exit_code=1)).changes[1:] == ()


# A review


def test_a_review_puts_its_subject_back_with_the_new_specification() -> None:
    """One transaction: the edit is told, and who did it."""
    made = end(REVIEW, LEFT, owner=Served(SUBJECT))

    subject = after(made, "t-9")
    assert (subject.status, subject.spec, subject.block_kind, subject.due_at) == ("pending", "new", None, None)
    assert subject.ready and subject.streak == 3
    assert told(made, "task:edited", "t-9").data == {"by": "t-1", "changed": ["spec"], "reset_failures": False}
    assert names(made, "t-9") == ["task:edited", "task:unblocked"]
    assert after(made).status == "completed"


def test_a_reviewed_subject_waits_for_the_time_its_failure_named() -> None:
    """Nothing is retried before."""
    subject = after(end(REVIEW, LEFT, owner=Served(SUBJECT, NOW + HOUR)), "t-9")

    assert (subject.status, subject.due_at, subject.ready) == ("pending", NOW + HOUR, False)


def test_a_subject_that_waits_no_longer_gets_the_specification_all_the_same() -> None:
    """It timed out or was unblocked; what has ended is left alone."""
    made = succeeded(REVIEW, Served(failed(id="t-9", spec="old")), spec="new")

    assert (after(made, "t-9").status, after(made, "t-9").spec) == ("failed", "new")
    assert succeeded(REVIEW, Served(task(id="t-9", status="cancelled")), spec="new") == Decision()
    assert succeeded(REVIEW, Served(failed(id="t-9", spec="new")), spec="new").changes == ()


def test_a_recurring_subject_goes_on_by_its_schedule() -> None:
    """What was planned while it waited is skipped."""
    subject = blocked(id="t-9", block_kind="spec", every_ms=HOUR, planned_at=NOW - 3 * HOUR)
    made = succeeded(REVIEW, Served(subject))

    assert after(made, "t-9").status == "pending"
    assert (after(made, "t-9").planned_at or 0) > NOW


@pytest.mark.parametrize("result", [None, {}, {"spec": " "}, {"summary": "fine"}])
def test_an_agents_review_without_a_specification_is_malformed(result: dict[str, str] | None) -> None:
    """A failure of the review; its subject waits on."""
    outcome = owners.delivered(REVIEW, Succeeded(output=Output(result=result)))

    assert isinstance(outcome, Failed)
    made = end(REVIEW, outcome, owner=Served(SUBJECT))
    assert (after(made).status, after(made).last_category) == ("failed", "unknown/malformed_output")
    assert [change.after.id for change in made.changes] == ["t-1"]


def test_what_is_delivered_as_it_is() -> None:
    """A specification, a failure, another role, and what no agent did."""
    for of, outcome in (
        (REVIEW, LEFT),
        (REVIEW, Failed(exit_code=1)),
        (FIX, Succeeded()),
        (running(role="review"), Succeeded()),
    ):
        assert owners.delivered(of, outcome) is outcome


def test_a_subject_that_comes_after_its_own_review_is_changed_once() -> None:
    """Somebody put it behind what it waits for already: one change, and nothing is left that it waits for."""
    subject = changed(SUBJECT, unmet=1)
    made = end(REVIEW, LEFT, owner=Served(subject), dependents=(subject, task(id="t-8", unmet=1, ready=False)))

    (change,) = (each for each in made.changes if each.after.id == "t-9")
    assert change.before == subject and after(made, "t-8").ready
    assert (change.after.status, change.after.spec, change.after.unmet, change.after.ready) == (
        "pending",
        "new",
        0,
        True,
    )
    assert steps(made, "t-9") == [("blocked", "pending")]


# A fix


@pytest.mark.parametrize(
    ("named", "due_at"), [(NOW + MINUTE, True), (NOW + 2 * HOUR, False)], ids=["before its backoff", "after it"]
)
def test_a_fix_does_not_bring_a_task_back_before_the_time_its_failure_named(named: int, due_at: bool) -> None:
    """Then it is due, and not when its backoff would end."""
    made = end(FIX, Succeeded(), owner=Served(RECURRING, named=named))

    if due_at:
        subject = after(made, "t-9")
        assert (subject.status, subject.ready) == ("pending", False)
        assert named <= (subject.due_at or 0) < NOW + 2 * MINUTE
        assert RetryClosed("t-9", "cancelled") in made.all(RetryClosed)
    else:
        assert [change.after.id for change in made.changes] == ["t-1"]


def test_a_recurring_subject_is_tried_when_its_fix_is_completed() -> None:
    """Its backoff is over."""
    made = end(FIX, Succeeded(), owner=Served(RECURRING))

    assert after(made, "t-9").ready
    assert steps(made, "t-9") == [("failed", "pending")]
    assert RetryClosed("t-9", "executed") in made.all(RetryClosed)


@pytest.mark.parametrize(
    "served",
    [
        Served(task(id="t-9", every_ms=HOUR, planned_at=NOW + HOUR)),
        Served(failed(id="t-9")),
        None,
    ],
)
def test_a_fix_changes_nothing_else(served: Served | None) -> None:
    """Not what has healed; a one-off comes after its fix as after any task."""
    made = end(FIX, Succeeded(), owner=served)

    assert [change.after.id for change in made.changes] == ["t-1"]


def test_a_one_off_goes_on_when_its_fix_is_completed() -> None:
    """It comes after its fix as after any task."""
    subject = task(id="t-9", unmet=1, ready=False, ready_at=None, attempts=3, streak=3)
    made = end(FIX, Succeeded(), owner=Served(subject), dependents=(subject,))

    assert [change.after.id for change in made.changes] == ["t-1", "t-9"]
    assert after(made, "t-9").ready


def test_a_fix_that_ended_while_its_subject_ran_means_the_same_afterwards() -> None:
    """Due when it was completed, a person's when it was cancelled, nothing when all is well."""
    done, gone = (
        task(id="t-2", role="fix", owner_kind="task", owner_id="t-9", status=status)
        for status in ("completed", "cancelled")
    )

    due = owners.ended_meanwhile(done, Served(RECURRING), NOW)
    assert (after(due, "t-9").ready, due.all(RetryClosed)) == (True, (RetryClosed("t-9", "executed"),))
    left = owners.ended_meanwhile(gone, Served(RECURRING), NOW)
    assert (after(left, "t-9").block_kind, len(left.all(Question))) == ("dependency", 1)
    healed = Served(task(id="t-9", every_ms=HOUR, planned_at=NOW + HOUR))
    assert owners.ended_meanwhile(done, healed, NOW).changes == owners.ended_meanwhile(gone, healed, NOW).changes == ()


def test_other_roles_leave_their_subject_alone() -> None:
    """A part of a split is followed by what comes after it."""
    part = running(role="part", owner_kind="task", owner_id="t-9")
    assert end(part, Succeeded(), owner=Served(RECURRING)).changes[1:] == ()
    assert end(part, Cancelled(), owner=Served(RECURRING)).changes[1:] == ()


# Cancelled


@pytest.mark.parametrize(("serves", "subject"), [(REVIEW, SUBJECT), (FIX, RECURRING)], ids=["review", "fix"])
def test_a_cancelled_review_or_fix_leaves_its_subject_to_a_person(serves: Task, subject: Task) -> None:
    """Blocked, with one question."""
    made = end(serves, Cancelled(), owner=Served(subject))

    left = after(made, "t-9")
    assert (left.status, left.block_kind, left.due_at) == ("blocked", "dependency", None)
    (asked,) = made.all(Question)
    assert asked.task_ids == ("t-9",)
    assert "waits for t-1, which was cancelled" in asked.why


def test_a_subject_that_comes_after_its_fix_is_asked_about_once() -> None:
    """It is among those that come after it."""
    subject = task(id="t-9", unmet=1, streak=3, ready=False, ready_at=None)
    pending = task(role="fix", owner_kind="task", owner_id="t-9")
    made = on_cancel_command(pending, NOW, actor=PERSON, dependents=(subject,), question=None, owner=Served(subject))

    assert len(made.all(Question)) == 1


def test_a_subject_that_has_healed_or_waits_no_longer_is_left_alone() -> None:
    """There is nothing to ask."""
    for own, subject in ((FIX, task(id="t-9", every_ms=HOUR)), (REVIEW, failed(id="t-9"))):
        assert owners.cancelled(Draft(own, NOW, actor=PERSON), Served(subject), ()) == Decision()


# A person's task


def test_a_persons_task_is_asked_at_once_and_never_ready() -> None:
    """Pending, then blocked, with what there is to know."""
    made = on_handed_to_person(MINE, NOW)

    assert (after(made).status, after(made).block_kind, after(made).ready) == ("blocked", "human", False)
    (asked,) = made.all(Question)
    assert (asked.need, asked.evidence) == ("renew", "at the office")
    assert [option.effect for option in asked.options] == ["done", "pause", "cancel"]
    assert not Draft(MINE, NOW, actor=PERSON).change().after.ready


def test_done_completes_it_and_what_comes_after_goes_on() -> None:
    """The note is the result; another person's task is asked for now."""
    of, asked = asking()
    next_one = task(id="t-2", unmet=1, ready=False, ready_at=None)
    theirs = task(id="t-3", unmet=1, runner="person", ready=False, ready_at=None)
    made = answer(of, asked, "done", note="it is 42", dependents=(next_one, theirs))

    assert steps(made) == [("blocked", "completed")]
    assert made.changes[0].transitions[0].context == {"result": "it is 42"}
    assert after(made, "t-2").ready
    assert after(made, "t-3").status == "blocked"
    assert [each.task_ids for each in made.all(Question)] == [("t-3",)]
    assert made.all(QuestionClosed)[0].answer == "done: it is 42"
    assert names(made) == ["task:completed", "question:answered"]


def test_done_serves_its_subject() -> None:
    """A person's note is the reviewed specification; without one it stays as it is."""
    of, asked = asking(role="review", owner_kind="task", owner_id="t-9")

    assert "t-9" in asked.options[0].consequence
    assert after(answer(of, asked, "1", note="new", owner=Served(SUBJECT)), "t-9").spec == "new"
    kept = after(answer(of, asked, "1", note=" ", owner=Served(SUBJECT)), "t-9")
    assert (kept.spec, kept.status) == ("old", "pending")


def test_left_for_later_it_asks_again_when_it_is_resumed() -> None:
    """Paused in between, without a question."""
    of, asked = asking()
    left = after(answer(of, asked, "pause"))
    assert (left.status, left.paused) == ("pending", True)

    made = on_resume_command(left, NOW, actor=PERSON)

    assert (after(made).status, len(made.all(Question))) == ("blocked", 1)


def test_only_its_answer_ends_it() -> None:
    """Neither retry nor unblock; nobody else does it; and nothing else can be done by saying so."""
    of, asked = asking()
    for command in (on_retry_command, on_unblock_command):
        with pytest.raises(NotAllowed, match="is a person's task"):
            command(of, NOW, actor=PERSON)
    with pytest.raises(NotAllowed, match="cannot be changed"):
        on_edit_command(of, NOW, actor=PERSON, edit=Edit(fields={"runner": "shell"}))
    with pytest.raises(NotAllowed, match="not a person's task"):
        answer(blocked(), asked, "done")


def test_released_from_a_dependency_it_asks() -> None:
    """A person's word on what it came after hands it over."""
    waits, _ = asking()
    made = on_unblock_command(blocked(id="t-1", runner="person", block_kind="dependency"), NOW, actor=PERSON)

    assert steps(made) == [("blocked", "pending"), ("pending", "blocked")]
    assert made.all(Question)[0].options == asking()[1].options
    assert question.is_due(MINE) and not question.is_due(waits)
