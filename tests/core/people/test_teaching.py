"""A person corrects a failure: the fingerprint is taught, and what still waits because of it is decided again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core.attempt.counting import counters
from medbay.core.attempt.knowledge import Advice, Known, Taught, Teaching, read_kind
from medbay.core.decision import (
    AttemptEnd,
    Change,
    Decision,
    QuestionClosed,
    QuestionJoined,
    Rediagnosed,
    RetryClosed,
    WorkingSet,
)
from medbay.core.diagnosis.consequences import CONSEQUENCES
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.diagnosis.wording import advise
from medbay.core.model import Attempt, HistoryRow, Question, Retry, Task
from medbay.core.outcome import Failed
from medbay.core.people.question import scope_of
from medbay.core.people.teaching import is_open
from medbay.core.policy.policy import Policy
from medbay.core.rules import Correction, on_reclassify_command
from medbay.errors import NotAllowed
from tests.core.builders import (
    HOUR,
    NOW,
    PERSON,
    WORKER,
    after,
    diagnosis,
    end,
    free,
    hopeless,
    names,
    only,
    running,
    steps,
    task,
    told,
)

KINDS = st.sampled_from(sorted(CONSEQUENCES))
FAILED = Failed(exit_code=1)


def fail(of: Task, found: Diagnosis, **given: Any) -> tuple[Decision, Attempt]:
    """An attempt that failed like this, decided about."""
    made = end(of, FAILED, diagnosis=found, **given)
    assert made.first(AttemptEnd) is not None and of.live is not None
    attempt = Attempt(
        task_id=of.id,
        number=of.live,
        worker_id=WORKER,
        host="h-1",
        ended_at=NOW,
        outcome="failed",
        charged=only(made, AttemptEnd).charged,
        diagnosis=only(made, AttemptEnd).diagnosis,
    )
    return made, attempt


def reclassify(
    made: Decision, attempt: Attempt, kind: str, *, now: int = NOW, work: WorkingSet | None = None, **given: Any
) -> Decision:
    """Correct that attempt while the task stands as the decision left it."""
    (change,) = made.changes
    category, subcategory = read_kind(kind)
    values = {
        "open": True,
        "before": change.transitions[0].context.get("before", {}),
        "question": made.all(Question)[0] if made.all(Question) else None,
        "policy": Policy(),
    }
    correction = Correction(
        task=change.after, attempt=attempt, category=category, subcategory=subcategory, **(values | given)
    )
    return on_reclassify_command(correction, now, work or made.work, actor=PERSON)


# Whether a decision is open


@pytest.mark.parametrize(
    ("standing", "context", "open_"),
    [
        ({"status": "failed"}, {"attempt": 3}, True),
        ({"status": "blocked"}, {"attempt": 3, "kind": "human"}, True),
        ({"status": "pending", "due_at": NOW + HOUR}, {"attempt": 3}, True),
        ({"status": "failed"}, {"attempt": 2}, False),
        ({"status": "blocked"}, {"kind": "human"}, False),
        ({"status": "pending"}, {"attempt": 3}, False),
        ({"status": "in_progress"}, {"attempt": 3}, False),
        ({"status": "completed"}, {"attempt": 3}, False),
    ],
)
def test_a_decision_is_open_while_the_task_waits_because_of_that_attempt(
    standing: dict[str, Any], context: dict[str, Any], open_: bool
) -> None:
    """The last transition names the attempt that caused it; a person's block names none."""
    last = HistoryRow(
        task_id="t-1", source="failed", target="blocked", actor=PERSON, reason="", at=NOW, context=context
    )

    assert is_open(task(**standing), 3, last) is open_


def test_a_task_without_a_past_has_nothing_open() -> None:
    """No transition, no decision."""
    assert not is_open(task(), 1, None)


# Decided again


def test_a_waiting_retry_is_replaced_by_the_new_decision() -> None:
    """The old one is cancelled, the failure is charged no more, the guidance is the new one's."""
    made, attempt = fail(running(attempts=2, streak=1, charged=1), diagnosis())
    assert made.first(Retry) is not None and attempt.charged

    again = reclassify(made, attempt, "transient/network", now=NOW + 1_000)

    found = after(again)
    assert (found.status, found.streak, found.charged, found.uncharged) == ("failed", 2, 1, 1)
    assert found.uncharged_since == NOW
    assert again.all(RetryClosed)[0].status == "cancelled"
    assert again.first(Retry) is not None and only(again, Retry).category == "transient/network"
    assert (found.due_at, only(again, Retry).scheduled_at) == (only(again, Retry).due_at, NOW + 1_000)
    assert [each.attempt for each in found.guidance] == [3]
    assert found.guidance[0].advice == CONSEQUENCES["transient/network"].advice
    assert (found.last_category, found.reason) == ("transient/network", "cannot find name foo")
    assert steps(again) == []
    assert names(again) == ["task:reclassified", "task:recovery_action", "task:retry_scheduled"]
    assert again.first(Rediagnosed) is not None and not only(again, Rediagnosed).charged
    assert only(again, Rediagnosed).diagnosis.kind == "transient/network"


def test_a_waiting_retry_that_cannot_help_becomes_a_question() -> None:
    """Corrected to what only a person can mend."""
    made, attempt = fail(running(), diagnosis())

    again = reclassify(made, attempt, "unknown/auth")

    found = after(again)
    assert (found.status, found.block_kind, found.due_at) == ("blocked", "human", None)
    assert steps(again) == [("failed", "blocked")]
    assert again.first(Retry) is None and len(again.all(Question)) == 1
    assert found.guidance == ()


def test_a_block_that_was_wrong_is_lifted_and_its_question_answered() -> None:
    """It waits as pending until the new class' delay has passed."""
    made, attempt = fail(running(), hopeless())
    assert after(made).status == "blocked"

    again = reclassify(made, attempt, "transient/network")

    found = after(again)
    assert (found.status, found.block_kind, found.streak, found.charged) == ("pending", None, 1, 0)
    assert found.due_at is not None and found.due_at > NOW and not found.ready
    assert again.first(Retry) is None
    (closed,) = again.all(QuestionClosed)
    assert (closed.whole, closed.status, closed.by) == (True, "answered", PERSON)
    assert closed.answer == "reclassified as transient/network"
    assert names(again) == ["task:reclassified", "question:answered", "task:unblocked", "task:recovery_action"]
    assert again.work.questions == {}


def test_a_block_that_stays_one_asks_anew() -> None:
    """The old question is answered first; the new one says what is needed now."""
    made, attempt = fail(running(), hopeless())

    again = reclassify(made, attempt, "dependency_missing/command")

    assert steps(again) == [("blocked", "pending"), ("pending", "blocked")]
    (asked,) = again.all(Question)
    assert asked.id == "q-t-1-2" and "Install the command" in asked.need
    assert again.work.questions == {scope_of(hopeless()): asked.id}
    assert after(again).block_kind == "human"


def test_the_next_ones_leave_the_old_question_and_join_the_new_one() -> None:
    """Tasks that share a question share the correction."""
    first, first_attempt = fail(running(), hopeless())
    second, second_attempt = fail(running(id="t-2"), hopeless(), work=first.work)
    assert second.first(QuestionJoined) is not None
    asked = first.all(Question)[0]

    one = reclassify(first, first_attempt, "unknown/permission")
    two = reclassify(second, second_attempt, "unknown/permission", work=one.work, question=asked, whole=False)

    (closed,) = two.all(QuestionClosed)
    assert (closed.question_id, closed.task_id, closed.whole) == (asked.id, "t-2", False)
    assert "question:answered" not in names(two, "t-2")
    assert two.first(QuestionJoined) is not None and only(two, QuestionJoined).question_id == one.all(Question)[0].id


def test_a_correction_can_be_corrected() -> None:
    """Each time as if the failure had been seen like this at first."""
    made, attempt = fail(running(), hopeless())
    lifted = reclassify(made, attempt, "transient")
    assert lifted.first(Rediagnosed) is not None
    corrected = replace(attempt, diagnosis=only(lifted, Rediagnosed).diagnosis, charged=False)

    again = reclassify(
        lifted, corrected, "code_error", before={"streak": 0, "charged": 0, "uncharged": 0, "uncharged_since": None}
    )

    found = after(again)
    assert (found.status, found.charged, found.uncharged, found.streak) == ("pending", 1, 0, 1)
    assert [each.advice for each in found.guidance] == [advise(CONSEQUENCES["code_error"].advice)]
    assert only(again, Taught).diagnosis.kind == "transient"


def test_a_canary_counts_for_nothing_either_time() -> None:
    """Its failure was never in the counters."""
    made, attempt = fail(running(), diagnosis(), canary=True)

    again = reclassify(made, replace(attempt, canary=True), "transient")

    assert after(again).streak == 0
    assert again.first(Rediagnosed) is not None and not only(again, Rediagnosed).charged


def test_a_streak_that_was_reset_meanwhile_stays_reset() -> None:
    """`--reset-failures` is a person's word as well."""
    made, attempt = fail(running(attempts=3, streak=2, charged=2), diagnosis())
    (change,) = made.changes
    reset = replace(change.after, streak=0, charged=0)

    again = reclassify(made.without(Change).plus(replace(change, after=reset)), attempt, "transient")

    assert (after(again).streak, after(again).uncharged) == (0, 0)


def test_a_record_without_the_counters_before_is_left_as_it_is() -> None:
    """Written by an earlier version."""
    made, attempt = fail(running(), diagnosis())

    again = reclassify(made, attempt, "transient", before={})

    assert counters(after(again)) == counters(after(made))


def test_the_new_decision_gives_the_advice_with_the_best_record() -> None:
    """What is known of the fingerprint counts for it too."""
    made, attempt = fail(running(), diagnosis())
    known = Known(fingerprint=diagnosis().fingerprint, category="code_error", advice=(Advice("page size 50", 7, 6),))

    again = reclassify(made, attempt, "test_failure", known=known)

    (given_,) = after(again).guidance
    assert given_.advice == "page size 50"
    assert given_.text.endswith("Advice: page size 50 (worked 6 of 7 times)")


@given(
    st.integers(0, 6),
    st.integers(0, 4),
    st.integers(0, 3),
    KINDS,
    KINDS,
    st.booleans(),
)
def test_a_corrected_failure_leads_where_it_would_have_led_at_once(
    charged: int, uncharged: int, granted: int, first: str, second: str, under_grant: bool
) -> None:
    """Counters, delay, block and guidance are those of a diagnosis that was right from the start."""
    standing = running(
        attempts=charged + uncharged + 1,
        charged=charged,
        streak=charged + uncharged,
        uncharged=uncharged,
        uncharged_since=NOW - HOUR if uncharged else None,
        granted=granted,
        asks_at=charged + 2 if under_grant and granted else 0,
    )
    category, subcategory = read_kind(first)
    wrong = diagnosis(category=category, subcategory=subcategory)
    taught = Known(fingerprint=wrong.fingerprint, category=category, taught=Teaching(*read_kind(second), PERSON, NOW))
    seen = teach_at_once(wrong, first)

    made, attempt = fail(standing, seen)
    again = reclassify(made, attempt, second)
    at_once = end(standing, FAILED, diagnosis=seen, known=taught)

    found, expected = after(again), after(at_once)
    assert counters(found) == counters(expected)
    assert (found.due_at, found.block_kind, found.last_category) == (
        expected.due_at,
        expected.block_kind,
        expected.last_category,
    )
    assert found.guidance == expected.guidance
    assert bool(again.all(Question)) == bool(at_once.all(Question))
    assert at_once.first(AttemptEnd) is not None and again.first(Rediagnosed) is not None
    assert only(again, Rediagnosed).charged == only(at_once, AttemptEnd).charged


def teach_at_once(found: Diagnosis, kind: str) -> Diagnosis:
    """A diagnosis with the consequences of its kind."""
    follows = CONSEQUENCES[kind]
    return replace(found, charge=follows.charge, retryable=follows.retryable, session=follows.session)


# Only taught


def test_a_failure_that_nothing_waits_for_is_only_taught() -> None:
    """The attempt is corrected, the task and its counters stay as they are."""
    made, attempt = fail(running(), diagnosis())
    live = replace(after(made), status="in_progress", live=2, attempts=2, due_at=None)
    correction = Correction(
        task=live, attempt=attempt, category="transient", subcategory=None, policy=Policy(), question=question()
    )

    again = on_reclassify_command(correction, NOW, WorkingSet(questions={"s": "q"}), actor=PERSON)

    assert names(again) == ["task:reclassified"]
    assert told(again, "task:reclassified").data == {
        "by": PERSON,
        "before": "code_error/type",
        "after": "transient",
        "fingerprint": "code_error:a1b2c3d4",
        "decided_again": False,
    }
    assert counters(after(again)) == counters(live)
    assert after(again).last_category == "transient"
    assert again.first(Rediagnosed) is not None and only(again, Rediagnosed).charged
    assert again.all(Taught) == (Taught(attempt.diagnosis, "t-1", "transient", None, PERSON),)  # type: ignore[arg-type]
    assert again.all(QuestionClosed) == () and again.work.questions == {"s": "q"}


def question() -> Question:
    """A question that is about something else."""
    return Question(id="q", need="n", why="w", task_ids=("t-1",))


def test_an_older_failure_does_not_become_the_newest() -> None:
    """The list shows the newest one."""
    made, attempt = fail(running(), free())
    newer = replace(after(made), last_fingerprint="code_error:1", last_category="code_error")

    again = on_reclassify_command(
        Correction(task=newer, attempt=attempt, category="timeout", subcategory=None, policy=Policy()),
        NOW,
        WorkingSet(),
        actor=PERSON,
    )

    assert after(again).last_category == "code_error"


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ({"ended_at": None}, "still running"),
        ({"diagnosis": None, "outcome": "lost"}, "ended lost"),
        ({"diagnosis": diagnosis(category="unknown", subcategory="engine_error")}, "Medbay's own"),
        ({"diagnosis": diagnosis(category="unknown", subcategory="gate_error")}, "its checks broke"),
    ],
)
def test_what_was_not_a_failure_of_the_work_cannot_be_reclassified(given_: dict[str, Any], why: str) -> None:
    """A running, a lost one, one on which a rule of ours broke, one whose checks broke."""
    _, attempt = fail(running(), diagnosis())
    correction = Correction(
        task=task(), attempt=replace(attempt, **given_), category="timeout", subcategory=None, policy=Policy()
    )

    with pytest.raises(NotAllowed, match=why):
        on_reclassify_command(correction, NOW, WorkingSet(), actor=PERSON)
