"""What each verdict does, to a one-off and to a recurring task; what is no verdict falls to a person, once."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.attempt.guidance import DIFFERENT_APPROACH
from medbay.core.decision import RetryClosed, Rewired
from medbay.core.model import Question, Retry, Task, Triage
from medbay.core.people.question import ask
from medbay.core.triage import rights
from medbay.core.triage.effects import fell_through
from medbay.core.triage.verdict import Adjustment, Unreadable
from tests.core.builders import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    after,
    blocked,
    diagnosis,
    free,
    names,
    only,
    running,
    steps,
    task,
    told,
)
from tests.core.triage.cases import (
    ACTOR,
    PARTS,
    agents,
    case,
    judged,
    new,
    repeating,
    says,
    triage_of,
    waiting,
    with_agents,
)

OPEN = ask(waiting(), kind="human", why="asked before", now=NOW - DAY)


def within(due: int | None, minutes: float) -> bool:
    """Whether a time is so many minutes away, with its jitter."""
    return due is not None and abs(due - NOW - minutes * MINUTE) <= minutes * MINUTE * 0.1


# NOOP and RECOMMEND_CONFIG


def test_noop_on_a_one_off_schedules_the_ladders_next_delay() -> None:
    """After the third failure of code: the third entry of its list."""
    found = judged(case(), says("NOOP"))
    left = after(found.decision)

    assert (found.action, found.detail) == ("no_action", "because of foo")
    assert (left.status, left.waits_for, steps(found.decision)) == ("failed", None, [])
    assert within(left.due_at, 15)
    retry = only(found.decision, Retry)
    assert retry is not None
    assert (retry.attempt, retry.due_at, retry.category, retry.status) == (3, left.due_at, "code_error/type", "pending")
    assert names(found.decision) == ["triage:verdict", "task:recovery_action", "task:retry_scheduled"]
    assert found.decision.all(Question) == ()
    assert (left.streak, left.charged, left.attempts) == (3, 3, 3)


def test_noop_never_comes_before_the_time_a_failure_named() -> None:
    """A later time stays later."""
    found = judged(case(diagnosis=free(retry_after_ms=NOW + 6 * HOUR)), says("NOOP"))

    assert (after(found.decision).due_at or 0) >= NOW + 6 * HOUR


def test_noop_leaves_a_recurring_task_alone() -> None:
    """Its backoff goes on."""
    found = judged(case(repeating()), says("NOOP", why=""))

    assert found.decision.changes == ()
    assert found.decision.first(Retry) is None
    assert (found.action, found.detail) == ("no_action", "foo is missing")
    assert names(found.decision) == ["triage:verdict"]


def test_noop_where_the_same_again_is_forbidden_is_the_next_rung() -> None:
    """An agent that failed at its code three times: a person."""
    found = judged(case(agents()), says("NOOP"))
    left = after(found.decision)

    assert (found.action, left.status, left.block_kind, left.waits_for) == (
        "escalated_to_human",
        "blocked",
        "human",
        None,
    )
    assert len(found.decision.all(Question)) == 1
    assert judged(case(agents(), diagnosis=free()), says("NOOP")).action == "no_action"


def test_noop_on_a_task_that_waits_for_something_else_changes_nothing() -> None:
    """Somebody wanted an opinion on a retry that is planned, or on a blocked task."""
    for of in (waiting(waits_for=None, due_at=NOW + HOUR), blocked(attempts=3)):
        assert judged(case(of), says("NOOP")).decision.changes == ()


def test_a_recommendation_is_filed_for_a_person_and_blocks_nothing() -> None:
    """One per fingerprint; the task goes on as after NOOP."""
    found = judged(case(), says("RECOMMEND_CONFIG"))
    (asked,) = found.decision.all(Question)

    assert (found.action, found.detail) == ("config_recommended", "raise the limit of the database")
    assert (asked.scope, asked.task_ids) == ("recommend|code_error:a1b2c3d4", ())
    assert "raise the limit of the database" in asked.need
    assert [each.effect for each in asked.options] == ["wait"]
    assert (after(found.decision).status, after(found.decision).questions) == ("failed", 1)
    assert found.decision.first(Retry) is not None


def test_the_same_recommendation_is_filed_once() -> None:
    """It is open already."""
    found = judged(case(scopes={"recommend|code_error:a1b2c3d4": "q-9"}), says("RECOMMEND_CONFIG", why=""))

    assert found.decision.all(Question) == ()
    assert found.action == "config_recommended"


def test_a_recommendation_leaves_a_recurring_task_on_its_backoff() -> None:
    """Only the question is new."""
    found = judged(case(repeating()), says("RECOMMEND_CONFIG", why="", root_cause=""))
    (asked,) = found.decision.all(Question)

    assert after(found.decision).due_at == NOW + HOUR
    assert found.decision.first(Retry) is None
    assert "failed 3 times" in asked.why


def test_a_recommendation_where_the_same_again_is_forbidden_asks_with_it() -> None:
    """One question, which names the change."""
    found = judged(case(agents()), says("RECOMMEND_CONFIG"))
    (asked,) = found.decision.all(Question)

    assert (found.action, after(found.decision).block_kind) == ("escalated_to_human", "human")
    assert "raise the limit of the database" in asked.need
    assert asked.task_ids == ("t-1",)


# ESCALATE


def test_an_escalation_is_a_question_with_what_triage_found() -> None:
    """What to look at, why, and the lines that show it."""
    found = judged(case(), says("ESCALATE", look_at="look at the schema"))
    left = after(found.decision)
    (asked,) = found.decision.all(Question)

    assert (left.status, left.block_kind, left.waits_for, left.reason) == ("blocked", "human", None, "because of foo")
    assert asked.need == "build: look at the schema"
    assert asked.evidence == "error TS2304: foo\nerror TS2304"
    assert told(found.decision, "task:escalated").data == {"reason": "because of foo", "question": asked.id}
    assert names(found.decision) == [
        "triage:verdict",
        "task:recovery_action",
        "question:asked",
        "task:escalated",
        "task:blocked",
    ]
    assert found.decision.all(RetryClosed) == (RetryClosed("t-1", "cancelled"),)


def test_an_escalation_of_a_recurring_task_only_asks() -> None:
    """It stays on its backoff."""
    found = judged(case(repeating()), says("ESCALATE", why="", root_cause=""))
    left = after(found.decision)

    assert (left.status, left.due_at, left.block_kind) == ("failed", NOW + HOUR, None)
    assert (found.action, found.detail) == ("escalated_to_human", "triage asks for a person")
    assert len(found.decision.all(Question)) == 1
    assert found.decision.all(RetryClosed) == ()


def test_there_is_one_open_question_per_task() -> None:
    """The one that is open is named, no second is asked."""
    found = judged(case(question=OPEN), says("ESCALATE"))

    assert found.decision.all(Question) == ()
    assert told(found.decision, "task:escalated").data["question"] == OPEN.id
    assert after(found.decision).block_kind == "human"

    again = judged(case(blocked(attempts=3), question=OPEN), says("ESCALATE"))
    assert (again.decision.changes, again.decision.all(Question)) == ((), ())


# PAUSE


def test_a_pause_keeps_every_counter_and_asks() -> None:
    """A recurring task keeps its backoff as well."""
    found = judged(case(repeating()), says("PAUSE"))
    left = after(found.decision)

    assert (left.paused, left.status, left.due_at, left.streak) == (True, "failed", NOW + HOUR, 3)
    (asked,) = found.decision.all(Question)
    assert (found.action, asked.need) == ("paused", "build: triage paused it: because of foo")
    assert asked.why == "foo is missing; more: medbay log .triage-t-1-1"
    assert told(found.decision, "task:paused").data == {"by": ACTOR, "why": "because of foo"}
    assert judged(case(repeating(), question=OPEN), says("PAUSE")).decision.all(Question) == ()


def test_a_paused_one_off_is_tried_again_when_it_is_resumed() -> None:
    """It waits for nothing but that: its next time is set."""
    found = judged(case(), says("PAUSE", why="", root_cause=""))
    left = after(found.decision)

    assert (left.paused, left.waits_for, found.detail) == (True, None, "triage paused it")
    assert within(left.due_at, 15)
    assert found.decision.first(Retry) is not None
    assert found.decision.all(Question)[0].need == "build: triage paused it"


# FILE_FIX


def test_a_one_off_becomes_pending_behind_its_fix() -> None:
    """The fix is a task of its own, and the edge says so."""
    found = judged(case(waiting(unmet=1)), says("FILE_FIX"))
    left = after(found.decision)
    (fix,) = new(found.decision)

    assert (found.action, found.detail) == ("fix_filed", "waits for its fix n-1")
    assert (left.status, left.unmet, left.waits_for, left.due_at, left.ready) == ("pending", 2, None, None, False)
    assert found.decision.all(Rewired) == (Rewired("t-1", None, "n-1"),)
    assert steps(found.decision) == [("failed", "pending")]
    assert fix.change.after.title == "repair the ledger"
    assert told(found.decision, "task:edited").data == {"by": ACTOR, "changed": ["after"], "after": "n-1"}
    assert [asked.task_ids for asked in found.decision.all(Question)] == [("n-1",)]
    assert names(found.decision, "n-1") == ["task:created", "question:asked", "task:blocked"]


def test_a_fix_does_not_bring_a_task_back_before_its_time() -> None:
    """A named time holds; what is pending keeps the time it has."""
    named = judged(case(diagnosis=free(retry_after_ms=NOW + HOUR)), says("FILE_FIX"))
    assert (after(named.decision).due_at or 0) >= NOW + HOUR

    later = waiting(status="pending", waits_for=None, due_at=NOW + DAY)
    found = judged(case(later), says("FILE_FIX"))
    assert (after(found.decision).due_at, after(found.decision).unmet, steps(found.decision)) == (NOW + DAY, 1, [])


def test_a_recurring_task_keeps_its_backoff_while_its_fix_is_worked_on() -> None:
    """No edge holds it."""
    found = judged(case(repeating(), means=with_agents()), says("FILE_FIX"))

    assert found.decision.changes == ()
    assert found.decision.all(Rewired) == ()
    assert [each.change.after.runner for each in new(found.decision)] == ["agent:fixer"]
    assert (found.action, found.decision.all(Question)) == ("fix_filed", ())


# SPEC_REFRESH


def test_a_specification_review_blocks_the_task() -> None:
    """By a person: for as long as it takes."""
    found = judged(case(agents()), says("SPEC_REFRESH"))
    left = after(found.decision)

    assert (found.action, left.status, left.block_kind) == ("spec_refresh_requested", "blocked", "spec")
    assert (left.due_at, left.waits_for) == (None, None)
    assert told(found.decision, "task:spec_refresh_requested").data == {"review_task": "n-1", "why": "what foo is"}
    assert [each.change.after.role for each in new(found.decision)] == ["review"]
    assert [asked.task_ids for asked in found.decision.all(Question)] == [("n-1",)]
    assert found.decision.all(RetryClosed) == (RetryClosed("t-1", "cancelled"),)


def test_a_review_by_an_agent_is_not_waited_for_for_ever() -> None:
    """It times out, but not before the time a failure named."""
    found = judged(case(agents(), means=with_agents()), says("SPEC_REFRESH"))
    assert after(found.decision).due_at == NOW + DAY

    of = case(agents(), means=with_agents(), diagnosis=free(retry_after_ms=NOW + 9 * DAY))
    assert (after(judged(of, says("SPEC_REFRESH")).decision).due_at or 0) >= NOW + 9 * DAY


def test_asking_twice_makes_one_review() -> None:
    """The open one is waited for: by whom it was given to, whoever would get it today."""
    persons, agents_own = (task(id="t-8", role="review", runner=runner) for runner in ("person", "agent:writer"))
    found = judged(case(agents(), review=persons, means=with_agents()), says("SPEC_REFRESH"))

    assert new(found.decision) == []
    assert told(found.decision, "task:spec_refresh_requested").data["review_task"] == "t-8"
    assert (after(found.decision).block_kind, after(found.decision).due_at) == ("spec", None)
    again = judged(case(agents(), review=agents_own), says("SPEC_REFRESH"))
    assert after(again.decision).due_at == NOW + DAY


def test_a_recurring_task_can_wait_for_its_specification_too() -> None:
    """Whether its retry is due or was released."""
    for of in (repeating(), repeating(status="pending", due_at=None, ready=True)):
        assert after(judged(case(of), says("SPEC_REFRESH")).decision).block_kind == "spec"


# SPLIT


def test_a_split_closes_the_original_and_rewires_what_came_after() -> None:
    """All parts, in order; nothing is blocked for it."""
    later = task(id="t-2", unmet=2, ready=False, ready_at=None)
    gone = task(id="t-3", status="cancelled", ready=False, ready_at=None)
    found = judged(case(agents(), dependents=(later, gone)), says("SPLIT"))
    left = after(found.decision)

    assert (left.status, left.reason) == ("cancelled", "Split into sub-issues: n-1, n-2")
    assert (left.waits_for, left.ended_at, steps(found.decision)) == (None, NOW, [("failed", "cancelled")])
    assert (found.action, found.detail) == ("split", "Split into sub-issues: n-1, n-2")
    assert [each.change.after.id for each in new(found.decision)] == ["n-1", "n-2"]
    assert found.decision.all(Rewired) == (Rewired("t-2", "t-1", "n-1"), Rewired("t-2", "t-1", "n-2"))
    assert (after(found.decision, "t-2").unmet, after(found.decision, "t-2").status) == (3, "pending")
    assert names(found.decision, "t-2") == ["task:edited"]
    assert told(found.decision, "task:cancelled").data == {"by": ACTOR, "split_into": ["n-1", "n-2"]}
    assert {change.after.id for change in found.decision.changes} == {"t-1", "t-2"}


def test_a_split_of_a_released_task_is_the_same() -> None:
    """From pending it goes the same way."""
    found = judged(case(agents(status="pending", waits_for=None)), says("SPLIT", parts=PARTS * 3))

    assert steps(found.decision) == [("pending", "cancelled")]
    assert len(new(found.decision)) == 6


# ADJUST


def test_an_adjustment_is_a_diff_and_clears_for_retry() -> None:
    """Stored, applied, told; guidance is kept apart and quoted as triage's; the ladder says when."""
    wanted = Adjustment(guidance="read the schema first", timeout_ms=2 * HOUR)
    found = judged(case(waiting(timeout_ms=HOUR)), says("ADJUST", adjust=wanted))
    left, (row,), retry = after(found.decision), found.decision.all(Triage), only(found.decision, Retry)
    diff = {"timeout_ms": [HOUR, 2 * HOUR], "guidance": ["", "read the schema first"]}

    assert (found.action, found.detail) == ("adjusted", "because of foo")
    assert [*rights.shown(row.diff or {})] == ["time limit 1h → 2h", "new advice"]
    assert (left.status, left.timeout_ms, left.waits_for) == ("failed", 2 * HOUR, None)
    assert within(left.due_at, 15)
    advice = "Attempt 3 failed: cannot find name foo\nTriage advises: read the schema first"
    assert (left.guidance[-1].attempt, left.guidance[-1].text) == (4, advice)
    assert left.guidance[-1].fingerprint == "code_error:a1b2c3d4"
    assert row.diff == diff
    assert told(found.decision, "task:edited").data == {
        "by": ACTOR,
        "changed": ["guidance", "timeout_ms"],
        "diff": diff,
    }
    assert retry is not None
    assert (retry.due_at, retry.guidance) == (left.due_at, advice)
    assert found.decision.all(RetryClosed) == (RetryClosed("t-1", "cancelled"),)


def test_an_adjustment_may_clear_at_once() -> None:
    """A delay of nothing is one it named."""
    found = judged(case(), says("ADJUST", adjust=Adjustment(guidance="go", retry_delay_ms=0)))

    assert (after(found.decision).status, after(found.decision).ready) == ("pending", True)
    assert (found.decision.first(Retry), steps(found.decision)) == (None, [("failed", "pending")])


def test_an_adjustment_may_name_its_delay() -> None:
    """Then it waits for it, exactly, with a row that says why."""
    found = judged(case(), says("ADJUST", adjust=Adjustment(retry_delay_ms=HOUR)))
    left, retry = after(found.decision), only(found.decision, Retry)

    assert (left.status, left.due_at, left.guidance) == ("failed", NOW + HOUR, ())
    assert retry is not None
    assert (retry.due_at, retry.delay_ms, retry.attempt) == (NOW + HOUR, HOUR, 3)


def test_an_adjustment_never_comes_before_the_time_a_failure_named() -> None:
    """However short its own delay is."""
    found = judged(case(diagnosis=free(retry_after_ms=NOW + DAY)), says("ADJUST"))

    assert after(found.decision).status == "failed"
    assert (after(found.decision).due_at or 0) >= NOW + DAY
    assert found.decision.first(Retry) is not None
    assert "read the schema first" in only(found.decision, Retry).guidance


def test_a_recurring_task_is_cleared_as_well() -> None:
    """It runs beside its plan; what it had planned by then is accounted for."""
    found = judged(case(repeating()), says("ADJUST"))
    left = after(found.decision)

    assert (left.status, left.due_at, left.planned_at, left.ready) == ("pending", None, NOW, True)
    later = judged(case(repeating()), says("ADJUST", adjust=Adjustment(retry_delay_ms=MINUTE)))
    assert (after(later.decision).status, after(later.decision).due_at) == ("failed", NOW + MINUTE)


@pytest.mark.parametrize(
    "of",
    [
        repeating(status="pending", due_at=None, ready=True, ready_at=NOW),
        repeating(status="pending", due_at=None, owner_kind="loop", owner_id="t-0", waits_for="turn"),
        blocked(attempts=3, guidance=()),
    ],
)
def test_what_waits_for_something_else_is_adjusted_and_not_released(of: Task) -> None:
    """A turn in a loop, a person's answer: a verdict stands in for neither."""
    found = judged(case(of), says("ADJUST"))
    left = after(found.decision)

    assert (left.status, left.block_kind, left.waits_for, left.due_at) == (of.status, of.block_kind, of.waits_for, None)
    assert len(left.guidance) == 1
    assert (found.decision.first(Retry), found.decision.all(RetryClosed)) == (None, ())


def test_an_agent_can_be_replaced_or_given_another_model() -> None:
    """With its account; it is looked at again by whatever held it."""
    of = agents(resources=("provider:acme",))
    wanted = Adjustment(profile="other", model="large", fresh_session=True)
    left = after(judged(case(of, means=with_agents()), says("ADJUST", adjust=wanted)).decision)

    assert (left.runner, left.model, left.fresh_session) == ("agent:other", "large", True)
    assert left.resources == ("provider:beta",)


def test_a_narrower_scope_leaves_the_rest_to_a_task_that_comes_after() -> None:
    """What came after the task comes after the rest as well: less is not done."""
    later = task(id="t-2", unmet=1, ready=False, ready_at=None)
    found = judged(case(agents(), dependents=(later,)), says("ADJUST", adjust=Adjustment(keep_criteria=("1",))))
    (rest,) = new(found.decision)

    assert "it subtracts" not in after(found.decision).spec
    assert "it adds" in after(found.decision).spec
    assert (rest.after, rest.change.after.role) == (("t-1",), "follow_up")
    assert found.decision.all(Rewired) == (Rewired("t-2", None, "n-1"),)
    assert after(found.decision, "t-2").unmet == 2
    (row,) = found.decision.all(Triage)
    assert [*rights.shown(row.diff or {})] == ["1 of 3 acceptance criteria"]


# Whatever is no verdict within its rights


def test_every_verdict_is_recorded_with_its_triage() -> None:
    """What it held, without what it left empty."""
    (row,) = judged(case(), says("NOOP")).decision.all(Triage)

    assert (row.ended_at, row.action, row.detail, row.diff) == (NOW, "no_action", "because of foo", None)
    assert row.verdict == {
        "word": "NOOP",
        "why": "because of foo",
        "root_cause": "foo is missing",
        "evidence": ("error TS2304: foo",),
        "confidence": 0.8,
    }


def test_a_verdict_outside_its_rights_is_refused_recorded_and_escalated() -> None:
    """Nothing of it happens."""
    found = judged(case(), says("ADJUST", task_id="t-2"))
    left, (row,), (asked,) = after(found.decision), found.decision.all(Triage), found.decision.all(Question)

    assert (found.action, row.action, left.block_kind, left.guidance) == ("refused", "refused", "human", ())
    assert told(found.decision, "triage:refused").data["why"] == "it is about t-2, not t-1"
    assert asked.need == "build: the verdict of its triage was refused: it is about t-2, not t-1"
    assert asked.why == f"foo is missing; more: medbay log {row.id}"
    assert row.verdict is not None
    assert row.verdict["task_id"] == "t-2"
    assert new(found.decision) == []


def test_an_unreadable_answer_asks_a_person() -> None:
    """One warning, one question."""
    found = judged(case(), Unreadable("it is empty"))

    assert (found.action, found.detail) == ("verdict_unreadable", "it is empty")
    assert after(found.decision).block_kind == "human"
    assert names(found.decision).count("triage:failed") == 1
    assert found.decision.all(Question)[0].need == "build: its triage cannot be read: it is empty"
    assert found.decision.all(Triage)[0].verdict is None


def fell(of: Task, **given: Any) -> Any:
    """What follows from a triage that ran out of its time."""
    return fell_through(case(of, **given), "no answer within 5m", "triage_failed", NOW, actor=ACTOR)


def test_a_triage_that_fails_leaves_a_one_off_to_a_person() -> None:
    """Tier 3 at once, and nothing waits any more."""
    found = fell(waiting())
    left = after(found.decision)

    assert (found.action, left.status, left.block_kind, left.waits_for) == ("triage_failed", "blocked", "human", None)
    (asked,) = found.decision.all(Question)
    assert asked.need == "build: no answer within 5m"
    assert asked.why.startswith("it failed 3 times: ") and asked.why.endswith("more: medbay log .triage-t-1-1")
    assert fell(waiting(streak=1, charged=1)).decision.all(Question)[0].why.startswith("it failed once: ")
    assert names(found.decision)[0] == "triage:failed"
    assert fell(waiting(), question=OPEN).decision.all(Question) == ()


def test_a_triage_that_fails_leaves_a_recurring_task_on_its_backoff() -> None:
    """The question only, also when it has run again since."""
    for of in (repeating(), repeating(status="in_progress", live=4, attempts=4, due_at=None)):
        found = fell(of, triage=triage_of(repeating()))
        left = after(found.decision)

        assert len(found.decision.all(Question)) == 1
        assert (left.status, left.due_at, left.block_kind) == (of.status, of.due_at, None)


@pytest.mark.parametrize(
    "of",
    [
        repeating(streak=0, charged=0),
        repeating(paused=True),
        repeating(cancel_requested=True),
        repeating(status="completed", due_at=None),
        repeating(status="blocked", block_kind="external"),
        task(status="completed", attempts=4),
        running(attempts=4),
        blocked(attempts=3),
        waiting(waits_for=None, paused=True),
    ],
)
def test_what_has_moved_on_is_not_asked_about(of: Task) -> None:
    """The warning alone."""
    found = fell(of, triage=triage_of(waiting()))

    assert (found.decision.changes, found.decision.all(Question)) == ((), ())
    assert names(found.decision) == ["triage:failed"]


def test_a_failed_triage_that_somebody_asked_for_is_a_persons_too() -> None:
    """Its retry was planned; the question comes instead."""
    found = fell(waiting(waits_for=None, due_at=NOW + HOUR))

    assert after(found.decision).block_kind == "human"
    assert found.decision.all(RetryClosed) == (RetryClosed("t-1", "cancelled"),)


# Too late


@pytest.mark.parametrize("answer", [says("ADJUST"), Unreadable("rubbish")])
def test_a_stale_verdict_gives_a_one_off_that_still_waits_its_next_delay(answer: Any) -> None:
    """Nothing else of it happens; the next attempt is told to go another way."""
    found = judged(case(acts=("task:edited",)), answer)
    left = after(found.decision)

    assert (found.action, left.status, left.waits_for) == ("stale", "failed", None)
    assert found.detail == "it was edited since the triage began"
    assert within(left.due_at, 15)
    assert found.decision.first(Retry) is not None
    assert left.guidance[-1].advice == DIFFERENT_APPROACH
    assert told(found.decision, "triage:verdict").data["stale"] == "it was edited"
    assert found.decision.all(Question) == ()


@pytest.mark.parametrize(
    "of",
    [
        task(status="completed", attempts=3),
        running(attempts=4),
        repeating(attempts=4),
        blocked(attempts=4),
    ],
)
def test_a_stale_verdict_changes_nothing(of: Task) -> None:
    """It is recorded, and that is all."""
    found = judged(case(of, triage=triage_of(waiting())), says("ESCALATE"))

    assert (found.action, found.decision.changes, found.decision.first(Retry)) == ("stale", (), None)
    assert found.decision.all(Triage)[0].action == "stale"


@pytest.mark.parametrize("later", [{"wants_triage": True}, {"triages": 2}])
@pytest.mark.parametrize("answer", [says("ADJUST"), Unreadable("rubbish"), None])
def test_a_triage_does_not_decide_about_a_later_failure(later: dict[str, Any], answer: Any) -> None:
    """Retried and failed again since, it waits for a look at that: it gets no retry, asks nobody and waits on."""
    of = case(waiting(attempts=4, streak=4, charged=4, **later), triage=triage_of(waiting()))
    found = judged(of, answer) if answer else fell_through(of, "no answer", "triage_failed", NOW, actor=ACTOR)

    made = found.decision
    assert made.changes == () and not any(isinstance(each, Retry | RetryClosed | Question) for each in made.writes)
    assert found.action == ("stale" if answer else "triage_failed")


def test_nothing_waits_for_a_triage_that_is_over() -> None:
    """Also when it was blocked meanwhile and would be released some day."""
    left = after(
        judged(case(waiting(status="blocked", block_kind="dependency"), acts=("task:blocked",)), says("NOOP")).decision
    )

    assert (left.status, left.waits_for) == ("blocked", None)


def test_a_failure_nobody_remembers_is_judged_by_what_the_task_says() -> None:
    """Its attempt may be archived; an unknown category has a ladder as well."""
    found = judged(case(waiting(last_category="timeout/limit"), diagnosis=None), says("NOOP"))
    assert within(after(found.decision).due_at, 30)

    for kind in ("", "strange/thing"):
        of = waiting(last_category=kind)
        assert within(after(judged(case(of, diagnosis=None), says("NOOP")).decision).due_at, 15)


def test_the_lowest_confidence_is_acted_on_as_unknown() -> None:
    """The ladder of unknown failures."""
    found = judged(case(diagnosis=diagnosis(category="timeout", confidence=0.2)), says("NOOP"))

    assert within(after(found.decision).due_at, 15)


def test_what_is_odd_about_an_answer_is_recorded_with_its_verdict() -> None:
    """In the event and in the row; nothing is said where nothing is odd."""
    found = judged(case(), says("NOOP", warning="the answer holds other verdicts as well: PAUSE"))
    assert told(found.decision, "triage:verdict").data["warning"].endswith("PAUSE")
    assert (found.decision.all(Triage)[0].verdict or {})["warning"].endswith("PAUSE")
    assert "warning" not in told(judged(case(), says("NOOP")).decision, "triage:verdict").data
