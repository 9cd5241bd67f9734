"""The one door of every ended attempt: what each outcome counts, decides, records and tells."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.attempt.diagnosed import diagnose_outcome
from medbay.core.attempt.ending import diagnose_ended, on_engine_error
from medbay.core.attempt.knowledge import Advice, Known, Seen, Teaching, Tried
from medbay.core.decision import AttemptEnd, QuestionJoined, RetryClosed, WorkingSet
from medbay.core.diagnosis.record import Diagnosis, Location, RunnerUp, facts
from medbay.core.durations import iso
from medbay.core.holds.breaker import BreakerChange
from medbay.core.model import Guidance, Question, Retry, Task, Triage
from medbay.core.outcome import (
    OUTCOME_WORDS,
    Cancelled,
    Failed,
    Lost,
    Outcome,
    Output,
    OverBudget,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
    outcome_word,
)
from medbay.core.people.question import scope_of
from medbay.core.policy.policy import Policy
from medbay.core.triage.ending import LookedAt
from tests.core.builders import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    after,
    blocked,
    diagnosis,
    end,
    ended,
    failed,
    free,
    hopeless,
    names,
    only,
    running,
    steps,
    task,
    told,
)
from tests.core.triage.cases import case

Finds = Callable[[Diagnosis], None]

SUCCEEDED = Succeeded()
FAILED = Failed(exit_code=1)
LOST = Lost(why="its engine died", hard_crash=True)
EXIT_75 = Requeued(asked=True, why="the queue is full", exit_code=75)
HANDED_BACK = Requeued(asked=False, why="the worker stops")
EVERY_OUTCOME: tuple[Outcome, ...] = (
    SUCCEEDED,
    FAILED,
    TimedOut(limit_s=60.0, signal=15),
    Stalled(silent_s=300.0),
    OverBudget(why="tokens"),
    LOST,
    EXIT_75,
    HANDED_BACK,
    Cancelled(),
)
WAITS = {"ready": False, "ready_at": None}


@pytest.fixture
def finds(monkeypatch: pytest.MonkeyPatch) -> Finds:
    """Decide what the diagnosis of the next attempts is."""

    def say(found: Diagnosis) -> None:
        monkeypatch.setattr("medbay.core.attempt.diagnosed.diagnose", lambda text, **facts: found)

    say(diagnosis())
    return say


# A failure that is tried again


def test_a_failure_is_counted_and_scheduled(finds: Finds) -> None:
    """Failed, with a time, a retry row and what was learnt."""
    decision = end(running(attempts=3), FAILED)

    found = after(decision)
    assert steps(decision) == [("in_progress", "failed")]
    assert (found.status, found.live, found.streak, found.charged) == ("failed", None, 1, 1)
    assert (found.last_category, found.last_fingerprint) == ("code_error/type", "code_error:a1b2c3d4")
    assert found.last_summary == found.reason == "cannot find name foo"
    assert found.recovery and not found.ready
    assert [entry.attempt for entry in found.guidance] == [4]


def test_the_retry_row_is_the_record_of_why(finds: Finds) -> None:
    """One writer for the row and the task's own time."""
    decision = end(running(attempts=3), FAILED)

    retry, found = only(decision, Retry), after(decision)
    assert retry is not None
    assert (retry.task_id, retry.attempt, retry.category) == ("t-1", 3, "code_error/type")
    assert (retry.action, retry.error, retry.status) == ("retry_with_guidance", "cannot find name foo", "pending")
    assert retry.due_at == found.due_at == NOW + retry.delay_ms
    assert retry.scheduled_at == NOW
    assert retry.guidance == found.guidance[0].text
    assert retry.policy_hash == Policy().hash()
    assert decision.all(RetryClosed) == ()


def test_the_end_of_the_attempt_is_recorded_with_its_diagnosis(finds: Finds) -> None:
    """Rule, excerpt, confidence and policy: everything a person asks later."""
    output = Output(tail="error TS2304", total_bytes=12)

    decision = end(running(), Failed(exit_code=2, signal=None, output=output))

    recorded = only(decision, AttemptEnd)
    assert recorded is not None
    assert (recorded.task_id, recorded.number, recorded.outcome) == ("t-1", 1, "failed")
    assert (recorded.exit_code, recorded.signal, recorded.charged) == (2, None, True)
    assert (recorded.diagnosis, recorded.output) == (diagnosis(), output)
    assert recorded.policy_hash == Policy().hash()
    assert only(decision, AttemptEnd).outcome == "failed"


def test_the_events_of_a_retry_carry_what_was_promised(finds: Finds) -> None:
    """Diagnosis, action, why, and when."""
    decision = end(running(attempts=2), FAILED)

    assert names(decision) == ["task:failed", "task:recovery_action", "task:retry_scheduled"]
    assert all(event.attempt == 2 for event in decision.events)
    assert told(decision, "task:failed").data == {
        "outcome": "failed",
        "charged": True,
        "diagnosis": facts(diagnosis()),
    }
    assert told(decision, "task:recovery_action").data == {
        "action": "retry_with_guidance",
        "why": "failure 1 of this kind of work, rung 1",
    }
    retry = only(decision, Retry)
    assert retry is not None
    assert told(decision, "task:retry_scheduled").data == {
        "attempt": 2,
        "category": "code_error/type",
        "action": "retry_with_guidance",
        "due_at": iso(retry.due_at),
        "delay_s": retry.delay_ms / 1000,
    }


@pytest.mark.parametrize("outcome", [FAILED, TimedOut(limit_s=1), Stalled(silent_s=1), OverBudget(why="money")])
def test_every_way_to_fail_is_charged_and_recorded_under_its_word(outcome: Outcome, finds: Finds) -> None:
    """One door, one decision, four words."""
    decision = end(running(), outcome)

    assert decision.first(AttemptEnd) is not None
    assert only(decision, AttemptEnd).outcome == only(decision, AttemptEnd).outcome == outcome_word(outcome)
    assert told(decision, "task:failed").data["outcome"] == outcome_word(outcome)
    assert after(decision).charged == 1


def test_every_outcome_has_a_word_of_the_specification() -> None:
    """Nine words; `rescued` is given later, by an evaluator."""
    assert {outcome_word(outcome) for outcome in EVERY_OUTCOME} == set(OUTCOME_WORDS) - {"rescued"}
    assert (
        tuple("succeeded rescued failed timed_out stalled lost cancelled over_budget requeued".split()) == OUTCOME_WORDS
    )


def test_a_free_failure_counts_in_the_streak_but_not_on_the_rung(finds: Finds) -> None:
    """It has its own run."""
    finds(free())

    decision = end(running(streak=2, charged=2), FAILED)

    found = after(decision)
    assert (found.streak, found.charged, found.uncharged, found.uncharged_since) == (3, 2, 1, NOW)
    assert decision.first(AttemptEnd) is not None and not only(decision, AttemptEnd).charged
    assert told(decision, "task:failed").data["charged"] is False


def test_a_canarys_failure_is_no_failure_of_the_work(finds: Finds) -> None:
    """No counter moves, and it waits as little as a first failure."""
    decision = end(running(), FAILED, canary=True)

    found = after(decision)
    assert (found.streak, found.charged, found.uncharged) == (0, 0, 0)
    assert decision.first(AttemptEnd) is not None and not only(decision, AttemptEnd).charged
    assert found.status == "failed"
    assert found.due_at is not None and found.due_at <= NOW + 2.2 * MINUTE


def test_a_spawn_failure_waits_free_even_when_its_diagnosis_would_charge(finds: Finds) -> None:
    """It never got to work; and so its free run is bounded."""
    decision = end(running(), Failed(spawn_error="fork failed"))

    assert (after(decision).charged, after(decision).uncharged) == (0, 1)


def test_an_attempt_that_ends_while_its_task_is_paused_ends_as_always(finds: Finds) -> None:
    """Pausing lets a running attempt end; the retry waits for the resume."""
    found = after(end(running(paused=True), FAILED))

    assert found.status == "failed" and found.paused
    assert found.due_at is not None


def test_the_diagnosis_gets_everything_the_outcome_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Structured facts come before text."""
    given: list[dict[str, Any]] = []

    def diagnose(text: str, **facts: Any) -> Diagnosis:
        given.append({"text": text, **facts})
        return diagnosis()

    monkeypatch.setattr("medbay.core.attempt.diagnosed.diagnose", diagnose)
    output = Output(tail="said", total_bytes=4, result={"summary": "no"})
    for outcome in (
        Failed(exit_code=137, signal=9, memory_limit_hit=True, output=output),
        Failed(spawn_error="no such file"),
        TimedOut(limit_s=3.0, exit_code=143),
        Stalled(silent_s=3.0),
    ):
        end(running(runner="codex"), outcome)

    first, spawn, slow, silent = given
    assert first == {
        "text": "said",
        "now": datetime.fromtimestamp(NOW / 1000, tz=UTC),
        "exit_code": 137,
        "signal": 9,
        "timed_out": False,
        "stalled": False,
        "memory_limit_hit": True,
        "cpu_limit_hit": False,
        "log_limit_hit": False,
        "spawn_error": "",
        "runner": "codex",
        "result": {"summary": "no"},
    }
    assert (spawn["spawn_error"], spawn["memory_limit_hit"], spawn["exit_code"]) == ("no such file", False, None)
    assert (slow["timed_out"], slow["exit_code"], slow["stalled"]) == (True, 143, False)
    assert (silent["stalled"], silent["exit_code"], silent["timed_out"]) == (True, None, False)


def test_a_time_limit_is_a_timeout_and_a_refused_connection_is_free() -> None:
    """Two unmistakable cases through the real diagnosis."""
    slow = end(running(), TimedOut(limit_s=60.0))
    refused = end(
        running(), Failed(exit_code=1, output=Output(tail="connect ECONNREFUSED 10.0.0.1:80", total_bytes=32))
    )

    assert after(slow).last_category.startswith("timeout") and after(slow).charged == 1
    assert after(refused).last_category.startswith("transient") and after(refused).charged == 0


def test_a_diagnosis_as_plain_data_has_every_part_of_it() -> None:
    """What events and `--json` show."""
    full = diagnosis(
        confidence=0.91239,
        location=Location("file.ts", 45, 12),
        retry_after_ms=NOW,
        provider="github",
        runners_up=(RunnerUp("other.rule", "transient", None, 0.4),),
    )

    assert facts(full) == {
        "category": "code_error",
        "subcategory": "type",
        "confidence": 0.912,
        "rule": "test.rule",
        "excerpt": "error TS2304",
        "evidence": {"line": None, "text": "error TS2304"},
        "location": {"file": "file.ts", "line": 45, "column": 12},
        "fingerprint": "code_error:a1b2c3d4",
        "summary": "cannot find name foo",
        "suggested_fix": "define foo",
        "retryable": True,
        "retry_after": iso(NOW),
        "provider": "github",
        "charge": True,
        "session": "fresh",
        "runners_up": [{"rule": "other.rule", "category": "transient", "subcategory": None, "confidence": 0.4}],
    }
    assert facts(diagnosis())["location"] is None
    assert facts(diagnosis())["retry_after"] is None


# A failure that stops


def test_the_fourth_charged_failure_asks_a_person(finds: Finds) -> None:
    """Escalated, blocked `human`, with a question of its own."""
    decision = end(running(attempts=4, streak=3, charged=3), FAILED)

    found, (asked,) = after(decision), decision.all(Question)
    assert steps(decision) == [("in_progress", "failed"), ("failed", "blocked")]
    assert (found.block_kind, found.due_at, found.questions) == ("human", None, 1)
    assert (asked.id, asked.task_ids, asked.scope) == ("q-t-1-1", ("t-1",), None)
    assert decision.first(Retry) is None
    assert decision.all(RetryClosed) == (RetryClosed("t-1", "cancelled", emits=False),)
    assert names(decision) == [
        "task:failed",
        "task:recovery_action",
        "question:asked",
        "task:escalated",
        "task:blocked",
    ]
    assert told(decision, "task:recovery_action").data["action"] == "escalate_to_human"
    assert told(decision, "task:escalated").data == {"reason": found.reason, "question": "q-t-1-1"}
    assert told(decision, "task:blocked").data == {"kind": "human", "reason": found.reason}


def test_a_used_up_category_is_exhausted(finds: Finds) -> None:
    """`task:retry_exhausted`, block `exhausted`, and a question as well."""
    finds(diagnosis(category="timeout", subcategory="limit"))

    decision = end(running(attempts=4, streak=3, charged=3), TimedOut(limit_s=1))

    assert after(decision).block_kind == "exhausted"
    assert len(decision.all(Question)) == 1
    data = told(decision, "task:retry_exhausted").data
    assert (data["reason"], data["category"]) == (after(decision).reason, "timeout/limit")
    assert told(decision, "task:recovery_action").data["action"] == "mark_as_blocked"


def test_the_fifth_rung_is_permanently_blocked(finds: Finds) -> None:
    """When nothing was granted after the question."""
    decision = end(running(attempts=5, streak=4, charged=4), FAILED)

    assert after(decision).block_kind == "exhausted"
    data = told(decision, "task:permanently_blocked").data
    assert (data["reason"], data["category"]) == (after(decision).reason, "code_error/type")
    assert "question:asked" in names(decision)


def test_a_free_run_that_lasted_too_long_is_exhausted(finds: Finds) -> None:
    """Nothing is tried for ever."""
    finds(free())

    decision = end(running(streak=19, uncharged=19, uncharged_since=NOW - DAY), FAILED)

    assert after(decision).block_kind == "exhausted"
    assert "task:retry_exhausted" in names(decision)
    assert len(decision.all(Question)) == 1


def test_what_cannot_be_retried_asks_at_once_and_charges_nothing(finds: Finds) -> None:
    """Its question has a scope that others can join."""
    finds(hopeless())

    decision = end(running(), FAILED)

    (asked,) = decision.all(Question)
    assert (after(decision).block_kind, after(decision).charged) == ("human", 0)
    assert asked.scope == scope_of(hopeless())
    assert decision.work.questions == {asked.scope: asked.id}


def test_a_second_task_with_the_same_cause_joins_the_open_question(finds: Finds) -> None:
    """A person reads one question, not a hundred."""
    finds(hopeless())
    first = end(running(), FAILED)

    second = end(running(id="t-2", title="deploy"), FAILED, work=first.work)

    assert second.all(Question) == ()
    assert only(second, QuestionJoined) == QuestionJoined("q-t-1-1", "t-2")
    assert second.work == first.work
    found = after(second, "t-2")
    assert (found.status, found.block_kind, found.questions) == ("blocked", "human", 0)
    assert "question:asked" not in names(second, "t-2")
    assert told(second, "task:escalated", "t-2").data["question"] == "q-t-1-1"


def test_another_cause_is_another_question(finds: Finds) -> None:
    """Same fingerprint, other provider: somebody else has to act."""
    finds(hopeless())
    first = end(running(), FAILED)
    finds(hopeless(provider="github"))

    second = end(running(id="t-2"), FAILED, work=first.work)

    assert second.first(QuestionJoined) is None
    assert [asked.id for asked in second.all(Question)] == ["q-t-2-1"]
    assert len(second.work.questions) == 2


def test_a_question_of_the_ladder_is_never_shared(finds: Finds) -> None:
    """Four failures of one task say nothing about another's."""
    work = WorkingSet(questions={scope_of(diagnosis()): "q-other-1"})

    decision = end(running(attempts=4, streak=3, charged=3), FAILED, work=work)

    assert decision.first(QuestionJoined) is None
    assert len(decision.all(Question)) == 1
    assert decision.work == work


# Success


def test_a_success_completes_the_task_and_forgets_its_failures() -> None:
    """One of the two resets there are."""
    failing = running(
        attempts=5, streak=4, charged=2, uncharged=2, uncharged_since=NOW, granted=2, asks_at=4, crashes=1
    )

    decision = end(failing, SUCCEEDED)

    found = after(decision)
    assert steps(decision) == [("in_progress", "completed")]
    assert (found.streak, found.charged, found.uncharged, found.granted, found.crashes) == (0, 0, 0, 0, 0)
    assert (found.ended_at, found.live, found.recovery) == (NOW, None, False)
    assert told(decision, "task:completed").data == {"healed": True, "failures": 4}
    assert decision.first(AttemptEnd) is not None
    assert (only(decision, AttemptEnd).outcome, only(decision, AttemptEnd).exit_code) == ("succeeded", 0)
    assert only(decision, AttemptEnd).policy_hash == ""


def test_a_first_success_healed_nothing() -> None:
    """The event says so."""
    assert told(end(running(), SUCCEEDED), "task:completed").data == {"healed": False, "failures": 0}


def test_a_success_wakes_what_waited_only_for_it() -> None:
    """One task fewer to wait for; the last one makes it ready."""
    last = task(id="t-2", unmet=1, **WAITS)
    one_of_two = task(id="t-3", unmet=2, **WAITS)
    paused = task(id="t-4", unmet=1, paused=True, **WAITS)

    decision = end(running(), SUCCEEDED, dependents=(last, one_of_two, paused))

    assert (after(decision, "t-2").unmet, after(decision, "t-2").ready_at) == (0, NOW)
    assert (after(decision, "t-3").unmet, after(decision, "t-3").ready) == (1, False)
    assert (after(decision, "t-4").unmet, after(decision, "t-4").ready) == (0, False)


def test_a_counter_of_what_is_unmet_never_goes_below_nothing() -> None:
    """A person may have released it before."""
    decision = end(running(), SUCCEEDED, dependents=(blocked(id="t-2", unmet=0),))

    assert [each.after.id for each in decision.changes] == ["t-1"]


# Cancelled


@pytest.mark.parametrize(
    "outcome", [each for each in EVERY_OUTCOME if each != SUCCEEDED], ids=lambda each: type(each).__name__
)
def test_a_cancel_that_was_asked_for_meanwhile_comes_before_everything_but_success(outcome: Outcome) -> None:
    """However the attempt ended, the task is cancelled and nothing is retried."""
    decision = end(running(cancel_requested=True, streak=2, charged=2), outcome)

    found = after(decision)
    assert steps(decision) == [("in_progress", "cancelled")]
    assert (found.cancel_requested, found.live, found.ended_at) == (False, None, NOW)
    assert (found.streak, found.charged) == (2, 2)
    assert decision.first(Retry) is None and decision.all(Question) == ()
    assert decision.first(AttemptEnd) is not None and only(decision, AttemptEnd).outcome == "cancelled"
    assert names(decision) == ["task:cancelled"]


def test_work_that_was_done_before_the_cancel_arrived_is_done() -> None:
    """Nothing is thrown away that ended well."""
    found = after(end(running(cancel_requested=True), SUCCEEDED))

    assert (found.status, found.cancel_requested) == ("completed", False)


def test_what_comes_after_a_cancelled_task_is_a_persons_question() -> None:
    """Blocked `dependency`, with a recovery action, an event and a question each."""
    behind = (task(id="t-2", unmet=1, **WAITS), task(id="t-3", unmet=2, paused=True, **WAITS))

    decision = end(running(), Cancelled(), dependents=behind)

    for each in ("t-2", "t-3"):
        assert steps(decision, each) == [("pending", "blocked")]
        assert after(decision, each).block_kind == "dependency"
        assert names(decision, each) == ["task:recovery_action", "question:asked", "task:blocked"]
        assert told(decision, "task:recovery_action", each).data["action"] == "mark_as_blocked"
        assert "comes after t-1, which was cancelled" in told(decision, "task:blocked", each).data["reason"]
    assert [asked.id for asked in decision.all(Question)] == ["q-t-2-1", "q-t-3-1"]


def test_a_dependent_that_waits_for_its_retry_is_stopped_with_it() -> None:
    """Blocking cancels a pending retry in the same transaction."""
    decision = end(running(), Cancelled(), dependents=(failed(id="t-2", unmet=1),))

    assert steps(decision, "t-2") == [("failed", "blocked")]
    assert after(decision, "t-2").due_at is None
    assert RetryClosed("t-2", "cancelled") in decision.all(RetryClosed)


def test_a_dependent_whose_block_would_time_out_waits_for_a_person_now() -> None:
    """Else it would wake to wait for ever; the block itself is no new transition."""
    waiting = blocked(id="t-2", block_kind="external", due_at=NOW + HOUR, unmet=1)

    decision = end(running(), Cancelled(), dependents=(waiting,))

    found = after(decision, "t-2")
    assert steps(decision, "t-2") == []
    assert (found.status, found.block_kind, found.due_at) == ("blocked", "dependency", None)
    assert [asked.id for asked in decision.all(Question)] == ["q-t-2-1"]
    assert names(decision, "t-2") == ["task:recovery_action", "question:asked", "task:blocked"]


@pytest.mark.parametrize(
    "other",
    [
        blocked(id="t-2", unmet=1),
        blocked(id="t-2", block_kind="dependency", unmet=1),
        task(id="t-2", status="cancelled", **WAITS),
        task(id="t-2", status="completed", **WAITS),
        running(id="t-2"),
    ],
)
def test_a_dependent_that_waits_for_a_person_runs_or_ended_is_left_alone(other: Task) -> None:
    """One open question per task."""
    decision = end(running(), Cancelled(), dependents=(other,))

    assert [change.after.id for change in decision.changes] == ["t-1"]
    assert decision.all(Question) == ()


# Handed back and exit 75


def test_what_a_stopping_worker_hands_back_is_ready_at_once() -> None:
    """No failure, no wait, no counter."""
    decision = end(running(attempts=2, streak=1, charged=1), HANDED_BACK)

    found = after(decision)
    assert steps(decision) == [("in_progress", "pending")]
    assert (found.ready, found.ready_at, found.due_at) == (True, NOW, None)
    assert (found.attempts, found.streak, found.charged, found.uncharged) == (2, 1, 1, 0)
    assert told(decision, "task:requeued").data == {"asked": False, "why": "the worker stops"}
    assert decision.first(AttemptEnd) is not None and only(decision, AttemptEnd).outcome == "requeued"
    assert decision.first(Retry) is None


def test_exit_75_waits_and_adds_to_the_free_run_only() -> None:
    """A minute the first time; no failure of the work."""
    decision = end(running(streak=1, charged=1), EXIT_75)

    found = after(decision)
    assert steps(decision) == [("in_progress", "pending")]
    assert (found.streak, found.charged, found.uncharged, found.uncharged_since) == (1, 1, 1, NOW)
    assert found.due_at is not None and not found.ready
    assert 0.9 * MINUTE <= found.due_at - NOW <= 1.1 * MINUTE
    assert told(decision, "task:requeued").data == {"asked": True, "why": "the queue is full"}
    assert decision.first(Retry) is None


def test_exit_75_doubles_its_wait() -> None:
    """The eighth one waits an hour."""
    found = after(end(running(uncharged=7, uncharged_since=NOW), EXIT_75))

    assert found.due_at is not None
    assert 0.9 * HOUR <= found.due_at - NOW <= 1.1 * HOUR


def test_exit_75_comes_back_after_the_time_it_names(finds: Finds) -> None:
    """Never before, a little after."""
    finds(free(retry_after_ms=NOW + 3 * HOUR))

    found = after(end(running(), EXIT_75))

    assert found.due_at is not None
    assert NOW + 3 * HOUR <= found.due_at <= NOW + 3 * HOUR + MINUTE


def test_exit_75_for_ever_is_a_persons_question(finds: Finds) -> None:
    """The bound of free runs holds for it too."""
    decision = end(running(uncharged=19, uncharged_since=NOW - DAY), EXIT_75)

    assert steps(decision) == [("in_progress", "failed"), ("failed", "blocked")]
    assert after(decision).block_kind == "exhausted"
    assert names(decision) == [
        "task:requeued",
        "question:asked",
        "task:recovery_action",
        "task:retry_exhausted",
        "task:blocked",
    ]
    data = told(decision, "task:retry_exhausted").data
    assert data["reason"] == "asked to be tried again 20 times: the queue is full"
    assert data["category"] == "unknown"
    assert len(decision.all(Question)) == 1


# Lost


@pytest.mark.parametrize(("hard", "crashes"), [(True, 1), (False, 0)])
def test_a_lost_attempt_goes_back_and_counts_crashes_only(hard: bool, crashes: int) -> None:
    """Nothing is known of the work; a reboot is nobody's fault."""
    decision = end(running(streak=1, charged=1), Lost(why="gone", hard_crash=hard))

    found = after(decision)
    assert steps(decision) == [("in_progress", "pending")]
    assert (found.ready, found.streak, found.charged, found.crashes) == (True, 1, 1, crashes)
    assert told(decision, "task:lost").data == {"why": "gone", "crashes": crashes}
    assert decision.first(AttemptEnd) is not None and only(decision, AttemptEnd).outcome == "lost"


def test_a_task_that_kills_its_engine_three_times_is_a_persons_question() -> None:
    """The crash budget: blocked straight from running."""
    decision = end(running(crashes=2), LOST)

    assert steps(decision) == [("in_progress", "blocked")]
    assert (after(decision).block_kind, after(decision).crashes) == ("human", 3)
    assert names(decision) == [
        "task:lost",
        "task:recovery_action",
        "question:asked",
        "task:escalated",
        "task:blocked",
    ]
    assert told(decision, "task:recovery_action").data["action"] == "escalate_to_human"
    assert told(decision, "task:escalated").data == {
        "reason": "its engine died 3 times while it ran",
        "question": "q-t-1-1",
    }
    assert len(decision.all(Question)) == 1


def test_the_crash_budget_can_be_set() -> None:
    """One crash is enough for the cautious."""
    assert after(end(running(), LOST, crash_budget=1)).status == "blocked"
    assert after(end(running(crashes=3), LOST, crash_budget=5)).status == "pending"


def test_a_soft_loss_never_uses_up_the_crash_budget() -> None:
    """Released by a person at the limit, then the machine is restarted: that does not count."""
    found = after(end(running(crashes=3), Lost(why="its machine was restarted")))

    assert (found.status, found.crashes) == ("pending", 3)


# Our own errors


def test_a_rule_of_ours_that_breaks_is_a_persons_question_with_the_traceback() -> None:
    """Uncharged, blocked `human`, and nobody else is concerned."""
    broken = ended(running(streak=1, charged=1), FAILED)

    decision = on_engine_error(broken, NOW, WorkingSet(), traceback="Traceback\n  rule\nKeyError: 'x'\n")

    found, recorded = after(decision), only(decision, AttemptEnd)
    assert steps(decision) == [("in_progress", "blocked")]
    assert (found.block_kind, found.live, found.streak, found.charged) == ("human", None, 1, 1)
    assert found.reason.endswith("please report it: KeyError: 'x'")
    assert recorded is not None and recorded.diagnosis is not None
    assert (recorded.outcome, recorded.charged, recorded.diagnosis.kind) == ("failed", False, "unknown/engine_error")
    (asked,) = decision.all(Question)
    assert asked.evidence == "Traceback\n  rule\nKeyError: 'x'\n"
    assert names(decision) == [
        "task:failed",
        "task:recovery_action",
        "question:asked",
        "task:escalated",
        "task:blocked",
    ]


def test_a_rule_that_breaks_on_a_verdict_closes_the_triage_and_asks_about_what_it_looked_at() -> None:
    """Nothing is said of the agent by it."""
    own = running(id=".triage-t-1-1", runner="triage", role="triage", owner_kind="task", owner_id="t-1")
    broken = ended(own, Succeeded(), owner=LookedAt(case=case()))

    decision = on_engine_error(broken, NOW, WorkingSet(), traceback="ValueError: x")

    assert after(decision, own.id).status == "cancelled"
    assert (after(decision).block_kind, len(decision.all(Question))) == ("human", 1)
    assert [(each.action, each.ended_at) for each in decision.all(Triage)] == [("triage_failed", NOW)]
    assert decision.first(AttemptEnd) is not None and only(decision, AttemptEnd).outcome == "failed"
    assert decision.all(BreakerChange) == ()


def test_a_cancel_that_met_our_error_does_not_stick() -> None:
    """Else a release would leave a task that is never ready again."""
    broken = ended(running(cancel_requested=True), FAILED)

    decision = on_engine_error(broken, NOW, WorkingSet(), traceback="boom")

    assert not after(decision).cancel_requested


# Every outcome


@pytest.mark.parametrize("outcome", EVERY_OUTCOME, ids=lambda each: type(each).__name__)
def test_every_outcome_ends_the_attempt_once_and_leaves_nothing_live(outcome: Outcome, finds: Finds) -> None:
    """Whatever happened, the record is complete and every transition has its event."""
    decision = end(running(attempts=2), outcome)

    assert after(decision).live is None
    assert decision.first(AttemptEnd) is not None
    assert (only(decision, AttemptEnd).number, only(decision, AttemptEnd).outcome) == (2, outcome_word(outcome))
    assert steps(decision) and names(decision)


# What is known of a failure


def known(*advice: Advice, taught: Teaching | None = None) -> Known:
    """What is known of the builder's diagnosis."""
    return Known(fingerprint=diagnosis().fingerprint, category="code_error", advice=advice, taught=taught)


@pytest.mark.parametrize("outcome", EVERY_OUTCOME, ids=lambda outcome: outcome_word(outcome))
def test_only_a_failure_of_the_work_is_diagnosed_beforehand(finds: Finds, outcome: Outcome) -> None:
    """What ended otherwise, or is to be cancelled anyway, has no fingerprint to look up."""
    fails = isinstance(outcome, Failed | TimedOut | Stalled | OverBudget)

    assert (diagnose_ended(ended(running(), outcome), NOW) is not None) is fails
    assert diagnose_ended(ended(running(cancel_requested=True), outcome), NOW) is None


def test_what_was_diagnosed_beforehand_is_not_diagnosed_again(finds: Finds) -> None:
    """The service needs it first, to look up what is known of it."""
    found = end(running(), FAILED, diagnosis=free())

    assert found.first(AttemptEnd) is not None and only(found, AttemptEnd).diagnosis == free()


def test_a_failure_is_remembered_as_the_rules_saw_it_and_followed_as_it_was_taught(finds: Finds) -> None:
    """The pattern keeps the untaught diagnosis, the attempt and the decision have the taught one."""
    taught = known(taught=Teaching("unknown", "auth", "ada", NOW))

    found = end(running(), FAILED, diagnosis=diagnosis(), known=taught)

    assert found.all(Seen) == (Seen(diagnosis(), "t-1"),)
    settled = only(found, AttemptEnd).diagnosis
    assert settled is not None and settled.kind == "unknown/auth"
    assert told(found, "task:failed").data["diagnosis"]["rule"] == "taught"
    assert (after(found).block_kind, after(found).charged) == ("human", 0)


def test_the_next_attempt_gets_the_advice_with_the_best_record(finds: Finds) -> None:
    """And its record, so that whoever reads it knows what it is worth."""
    found = end(running(), FAILED, known=known(Advice("page size 50", 7, 6)))

    (given,) = after(found).guidance
    assert (given.advice, given.fingerprint, given.cured) == ("page size 50", diagnosis().fingerprint, None)
    assert given.text.endswith("Advice: page size 50 (worked 6 of 7 times)")


def test_a_person_is_asked_with_what_helped_before(finds: Finds) -> None:
    """The last one who answered said how."""
    finds(hopeless())
    helped = Known(fingerprint=hopeless().fingerprint, category="unknown", advice=(Advice("vault login", 2, 2),))

    found = end(running(), FAILED, known=helped)

    assert found.all(Question)[0].need == "build: vault login (worked 2 of 2 times)"


@pytest.mark.parametrize(("outcome", "cured"), [(FAILED, False), (SUCCEEDED, True), (LOST, None), (EXIT_75, None)])
def test_how_an_attempt_ended_is_the_record_of_what_it_was_told(
    finds: Finds, outcome: Outcome, cured: bool | None
) -> None:
    """A success cures, a failure does not, and what was lost or handed back says nothing."""
    waiting = Guidance(2, "define bar", "", "code_error:00000000")

    found = end(running(attempts=2, streak=1, charged=1, guidance=(waiting,)), outcome)

    tries = list(found.all(Tried))
    assert tries == ([] if cured is None else [Tried("code_error:00000000", "define bar", cured)])
    assert after(found).guidance[0].cured is cured


def test_an_error_of_our_own_is_remembered_too() -> None:
    """So that it can be seen how often it happens."""
    found = on_engine_error(ended(running(), FAILED), NOW, WorkingSet(), traceback="ValueError: x")

    seen = only(found, Seen)
    assert seen.diagnosis.fingerprint == "unknown:engine_error"


def test_a_time_limit_names_the_last_output() -> None:
    """What it printed last and how long it was silent, or that it printed nothing; our own notes are not output."""
    output = Output(tail="page 40\npage 41\n[medbay] ended: time limit of 4 s\n", total_bytes=9)
    ended = TimedOut(limit_s=4.0, silent_s=3.2, output=output)

    found = diagnose_outcome(ended, NOW, runner="shell", zone=UTC)
    assert (found.kind, found.summary) == ("timeout/limit", 'no end after 4s; last output: "page 41", silent for 3s')
    assert found.pattern.excerpt == "page 41"

    busy = diagnose_outcome(replace(ended, silent_s=None), NOW, runner="shell", zone=UTC)
    assert busy.summary == 'no end after 4s; last output: "page 41"'
    silent = diagnose_outcome(TimedOut(limit_s=4.0), NOW, runner="shell", zone=UTC)
    assert silent.summary == "no end after 4s; it printed nothing"


@pytest.mark.parametrize(
    "line",
    [
        "Do you want to proceed? (y/n)",
        "Overwrite existing file? [y/N]",
        "[sudo] password for ada:",
        "Are you sure you want to continue connecting (yes/no/[fingerprint])?",
        "Press ENTER to continue...",
        "Enter passphrase for key 'id_ed25519':",
    ],
)
def test_a_prompt_that_waits_for_input_asks_a_person_at_once(line: str) -> None:
    """Another attempt would wait for the same answer."""
    ended = TimedOut(limit_s=4.0, output=Output(tail=f"checking\n{line}", total_bytes=20))

    found = diagnose_outcome(ended, NOW, runner="shell", zone=UTC)

    assert (found.kind, found.retryable, found.charge) == ("unknown/input", False, False)
    assert found.summary.startswith("it waits for input: ")
