"""Rescue: who is looked at, what is kept until then, what an evaluator may say, and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.attempt import rescue
from medbay.core.attempt.rescue import Evaluation, is_due, kept, restored, score
from medbay.core.decision import AttemptEnd, ChecksEnded, ChecksPlanned, Decision, WorkingSet
from medbay.core.holds.breaker import Breaker, BreakerChange
from medbay.core.model import Attempt, CheckResult, CheckStatus, Retry, Task
from medbay.core.outcome import (
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
)
from medbay.core.redaction import redact
from medbay.core.triage import agency
from medbay.core.triage.context import ShownFailure, of_attempt
from tests.core.builders import HOUR, NOW, after, diagnosis, end, names, only, running, steps, task, told

OUTPUT = Output(tail="half done", total_bytes=9)
FAILED = Failed(output=OUTPUT, exit_code=3)
VERIFYING = running(status="pending_verification", streak=2, charged=2)


def said(answer: str = "", status: CheckStatus = "PASS", **given: Any) -> Evaluation:
    """The end of an evaluation that printed this."""
    values: dict[str, Any] = {"task_id": "t-1", "number": 1, "position": 0, "command": "look", "tail": answer}
    return Evaluation(results=(CheckResult(**(values | {"status": status} | given)),), threshold=0.8)


def ended(of: Task, evaluation: Evaluation, outcome: Outcome = FAILED, **given: Any) -> Decision:
    """The end of the evaluation of this task's attempt."""
    return end(of, outcome, evaluation=evaluation, diagnosis=diagnosis(), **given)


@pytest.mark.parametrize("outcome", [FAILED, TimedOut(limit_s=1), Stalled(silent_s=600)])
def test_a_failure_of_the_work_is_looked_at(outcome: Outcome) -> None:
    """What it left is stored, and how it ended; the attempt stays live."""
    made = end(running(), outcome, evaluator="look")

    assert steps(made) == [("in_progress", "pending_verification")]
    assert after(made).live == 1
    assert made.first(AttemptEnd) is None
    planned = only(made, ChecksPlanned)
    assert planned is not None and planned.failure is not None
    assert [(each.position, each.command) for each in planned.results] == [(0, "look")]
    assert (planned.output, planned.exit_code) == (outcome.output, getattr(outcome, "exit_code", None))
    assert restored(planned.failure, outcome.output) == outcome
    assert told(made, "task:verifying").data == {"evaluation": "look"}


@pytest.mark.parametrize(
    "outcome", [Succeeded(), Lost(why="x"), Cancelled(), Requeued(asked=True, why="75"), OverBudget(why="x")]
)
def test_no_other_end_is_looked_at(outcome: Outcome) -> None:
    """Nor what could not be started, who looks at others, or what is being cancelled."""
    assert not is_due(task(), outcome, 100)


def test_nothing_is_looked_at_while_the_agency_breaker_is_open() -> None:
    """It stops evaluations as it stops triages."""
    open_one = Breaker(key=agency.KEY, kind="agency", opened_at=NOW)
    made = end(running(), FAILED, evaluator="look", work=WorkingSet(breakers={agency.KEY: open_one}))

    assert after(made).status == "failed"


def test_who_is_never_looked_at() -> None:
    """Nobody looks at who looks."""
    assert is_due(task(), FAILED, 100)
    assert not is_due(task(), Failed(spawn_error="missing"), 100)
    assert not is_due(task(role="triage"), FAILED, 100)
    assert not is_due(task(role="review"), FAILED, 100)
    assert not is_due(task(cancel_requested=True), FAILED, 100)
    assert not is_due(task(runner="agent:a"), Failed(exit_code=1), 100)


def test_an_evaluator_is_shown_the_attempt_bounded_and_without_secrets() -> None:
    """The task, how it ended, why, and the end of its output."""
    attempt = Attempt(task_id="t-1", number=2, worker_id="w", host="h", outcome="failed", diagnosis=diagnosis())
    tail = "x" * 50_000 + "\ntoken=sk-0123456789abcdef0123\x1b[0m half done"
    shown = of_attempt(task(title="build"), ShownFailure(attempt=attempt, tail=tail), redact, depth=1)

    assert shown["task"]["depth"] == 1
    assert (shown["task"]["id"], shown["attempt"]["attempt"], shown["attempt"]["outcome"]) == ("t-1", 2, "failed")
    assert shown["attempt"]["diagnosis"]["summary"] == "cannot find name foo"
    assert shown["attempt"]["tail"].endswith("half done") and len(shown["attempt"]["tail"]) <= 10_000
    assert "sk-0123" not in str(shown) and "\x1b" not in str(shown)
    assert set(shown["answer"]) == {"score", "why"}


def test_every_word_of_a_failure_is_kept() -> None:
    """Also what struck."""
    outcome = Failed(output=OUTPUT, signal=9, memory_limit_hit=True)

    assert kept(outcome)["outcome"] == "failed"
    assert restored(kept(outcome), OUTPUT) == outcome
    assert restored(kept(TimedOut(limit_s=2.5, signal=15)), OUTPUT) == TimedOut(output=OUTPUT, limit_s=2.5, signal=15)


def test_a_score_is_found_wherever_it_stands() -> None:
    """The whole answer, or its last line that is one."""
    assert score(said('{"score": 1, "why": "good"}')).value == 1.0
    assert score(said('{\n "score": 0.5,\n "why": "half"\n}\n')).value == 0.5
    found = score(said('thinking\n{"score": 0.2}\n{"score": 0.9, "why": "a\\nb sk-0123456789abcdef0123"}\n[1]\nbye'))
    assert (found.value, found.why) == (0.9, "a b [redacted]")


@pytest.mark.parametrize(
    ("evaluation", "why"),
    [
        (said(""), 'printed no score from 0 to 1: ""'),
        (said("nonsense"), '"nonsense"'),
        (said('{"score": 1.1}'), "no score"),
        (said('{"score": "good"}'), "no score"),
        (said('{"score": true}'), "no score"),
        (said("[" * 20_000), "no score"),
        (said('{"score": 1}' + " " * 40_000), "no score"),
        (said('{"score": 1}', "FAIL", exit_code=4), "the evaluator ended with exit 4"),
        (said("", "ERROR", signal=11), "was ended by signal 11"),
        (said("", "ERROR"), "could not be started"),
        (said("", "TIMEOUT"), "did not answer in time"),
        (said("", "STOPPED"), "was stopped"),
        (said("", "RUNNING"), "never ended"),
        (Evaluation(threshold=0.8, lost="begun 3 times"), "was lost: begun 3 times"),
        (Evaluation(threshold=0.8), "was lost"),
    ],
)
def test_whatever_else_it_says_is_no_score(evaluation: Evaluation, why: str) -> None:
    """And it is said why."""
    found = score(evaluation)

    assert found.value is None
    assert why in found.why


@pytest.mark.parametrize("value", ["0.8", "1"])
def test_from_the_threshold_on_it_is_rescued(value: str) -> None:
    """A success in every way but its word."""
    made = ended(VERIFYING, said(f'{{"score": {value}, "why": "good"}}'))

    assert steps(made) == [("pending_verification", "completed")]
    assert (after(made).streak, after(made).charged, after(made).live) == (0, 0, None)
    assert made.first(AttemptEnd) is not None
    assert (only(made, AttemptEnd).outcome, only(made, AttemptEnd).exit_code, only(made, AttemptEnd).diagnosis) == (
        "rescued",
        3,
        None,
    )
    assert only(made, AttemptEnd).output == Output()
    assert made.first(ChecksEnded) is not None and len(only(made, ChecksEnded).results) == 1
    assert told(made, "task:rescued").data == {"score": float(value), "why": "good", "outcome": "failed"}
    assert names(made) == ["task:rescued", "task:completed"]


def test_a_rescued_iteration_is_followed_by_the_next() -> None:
    """The schedule goes on from it."""
    of = running(status="pending_verification", streak=2, every_ms=HOUR, planned_at=NOW)
    made = ended(of, said('{"score": 1}'))

    assert (after(made).status, after(made).iterations_done, after(made).streak) == ("pending", 1, 0)


def test_below_the_threshold_it_is_the_failure_it_was() -> None:
    """Counted, diagnosed, told as ever; the evaluation itself went well."""
    made = ended(running(status="pending_verification"), said('{"score": 0.79}'), TimedOut(output=OUTPUT, limit_s=1))

    assert after(made).status == "failed"
    assert (after(made).streak, after(made).charged) == (1, 1)
    assert made.first(AttemptEnd) is not None and only(made, AttemptEnd).outcome == "timed_out"
    assert made.first(Retry) is not None
    assert "triage:failed" not in names(made)
    assert made.all(BreakerChange) == ()


@pytest.mark.parametrize(
    "evaluation", [Evaluation(lost="the worker died", threshold=0.8), said(status="STOPPED"), said(status="RUNNING")]
)
def test_an_evaluation_that_could_not_end_says_nothing_of_the_evaluator(evaluation: Evaluation) -> None:
    """However often: it rescues nothing, and opens no breaker."""
    work = WorkingSet()
    for _ in range(6):
        made = ended(running(status="pending_verification"), evaluation, work=work)
        work = made.work

    assert (work.breakers, work.counted, after(made).status) == ({}, {}, "failed")


def test_an_evaluation_that_failed_is_told_once_and_counts_for_the_agency() -> None:
    """The failure counts as well; five in a row open the breaker of all triage."""
    work = WorkingSet()
    for _ in range(5):
        made = ended(running(status="pending_verification"), said("rubbish"), work=work)
        work = made.work
        assert names(made)[0] == "triage:failed"
        assert told(made, "triage:failed").data["role"] == "evaluation"
        assert after(made).status == "failed"

    assert [change.after.state for change in made.all(BreakerChange)] == ["open"]
    assert "agency" in work.breakers
    assert rescue.POSITION == 0


def test_a_cancel_comes_before_what_the_evaluator_says() -> None:
    """It has not ended well, and somebody wants it gone."""
    of = running(status="pending_verification", cancel_requested=True)

    assert after(ended(of, said('{"score": 1}'))).status == "cancelled"
