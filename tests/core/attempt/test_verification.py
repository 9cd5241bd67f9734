"""Attempts with checks through the one door: verified, passed, failed, broken, lost and taken over."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.attempt.ending import diagnose_ended, on_engine_error
from medbay.core.decision import AttemptEnd, ChecksEnded, ChecksPlanned, Decision, WorkingSet
from medbay.core.model import Check, CheckResult, Question, Retry, Task
from medbay.core.outcome import Cancelled, Checked, Lost, Output, Requeued, Succeeded, TimedOut
from medbay.core.rules import on_checks_taken_over
from tests.core.builders import NOW, after, end, ended, names, only, running, steps, task, told

CHECKS = (Check("make test"), Check(("ruff", "check"), required=True))
DONE = Succeeded(output=Output(tail="built", total_bytes=5))


def verifying(**given: Any) -> Task:
    """A task whose attempt ended well and whose checks run."""
    return running(**({"status": "pending_verification"} | given))


def results(*ends: str, tail: str = "E   assert 1 == 2", exit_code: int = 1) -> Checked:
    """Checks that ended like this."""
    return Checked(
        results=tuple(
            CheckResult(
                task_id="t-1",
                number=1,
                position=position,
                command=f"c{position}",
                status=status,  # type: ignore[arg-type]
                exit_code=exit_code if status == "FAIL" else 0,
                tail=tail,
                total_bytes=len(tail),
            )
            for position, status in enumerate(ends, start=1)
        )
    )


def after_gate_error(**given: Any) -> Task:
    """A task whose last attempt ended with a broken gate."""
    before = {"last_category": "unknown/gate_error", "streak": 1, "uncharged": 1, "uncharged_since": NOW - 1}
    return verifying(**({"attempts": 2} | before | given))


def test_work_that_ended_well_is_verified_before_it_counts() -> None:
    """The attempt stays live, what the work left is recorded, nothing is reset yet."""
    decision = end(running(streak=2, charged=2), DONE, checks=CHECKS)

    left = after(decision)
    assert (left.status, left.live, left.streak) == ("pending_verification", 1, 2)
    assert names(decision) == ["task:verifying"]
    assert told(decision, "task:verifying").data["checks"] == ["make test", "ruff check"]
    assert decision.first(AttemptEnd) is None
    planned = only(decision, ChecksPlanned)
    assert planned is not None and planned.output == DONE.output
    assert [(each.position, each.status, each.required) for each in planned.results] == [
        (1, "WAITING", False),
        (2, "WAITING", True),
    ]


def test_a_gate_that_passes_completes_the_task_and_its_dependents_go_on() -> None:
    """The streak is forgotten only now."""
    other = task(id="t-2", unmet=1, ready=False, ready_at=None)

    decision = end(verifying(streak=1, charged=1, crashes=1), results("PASS", "PASS"), dependents=(other,))

    left = after(decision)
    assert (left.status, left.live, left.streak, left.crashes) == ("completed", None, 0, 0)
    assert names(decision) == ["gate:passed", "task:completed"]
    assert "warning" not in told(decision, "gate:passed").data
    assert after(decision, "t-2").ready
    assert decision.first(AttemptEnd) is not None
    assert (only(decision, AttemptEnd).outcome, only(decision, AttemptEnd).exit_code) == ("succeeded", 0)
    assert decision.first(ChecksEnded) is not None and len(only(decision, ChecksEnded).results) == 2


def test_a_pass_with_a_warning_says_so() -> None:
    """Names failures and timeouts."""
    decision = end(verifying(), results("PASS", "TIMEOUT"))

    assert told(decision, "gate:passed").data["warning"] == "check 2 (c2) timed out"


def test_a_gate_that_fails_is_diagnosed_from_the_failing_checks_output() -> None:
    """Charged by that diagnosis; the guidance names the check."""
    failing = results("PASS", "FAIL", tail="FAILED tests/test_a.py::test_b - assert 1 == 2", exit_code=1)

    decision = end(verifying(), failing)

    left = after(decision)
    assert (left.status, left.streak, left.charged, left.last_category) == ("failed", 1, 1, "test_failure")
    assert steps(decision) == [("pending_verification", "failed")]
    assert names(decision)[:2] == ["gate:failed", "task:failed"]
    assert "check 2 (c2) failed" in left.guidance[-1].text
    assert left.last_summary.startswith("check 2 (c2) failed: ")
    assert decision.first(AttemptEnd) is not None
    assert (only(decision, AttemptEnd).outcome, only(decision, AttemptEnd).charged) == ("failed", True)
    assert decision.first(Retry) is not None


def test_a_broken_gate_is_an_uncharged_failure() -> None:
    """`unknown/gate_error`: it says nothing about the work."""
    decision = end(verifying(), results("PASS", "ERROR"))

    left = after(decision)
    assert (left.status, left.charged, left.uncharged, left.last_category) == ("failed", 0, 1, "unknown/gate_error")
    assert names(decision)[:2] == ["gate:error", "task:failed"]
    assert decision.first(AttemptEnd) is not None and not only(decision, AttemptEnd).charged
    assert "--check 2" in told(decision, "task:failed").data["diagnosis"]["suggested_fix"]


def test_a_gate_without_any_answer_blames_nobody() -> None:
    """There is no check to look at."""
    decision = end(verifying(), results())

    assert told(decision, "gate:error").data["why"] == "only 0 of 0 checks answered"
    assert "lists its checks" in told(decision, "task:failed").data["diagnosis"]["suggested_fix"]


def test_a_second_broken_gate_in_a_row_asks_a_person() -> None:
    """Blocked for a person, with a question, charged to nobody."""
    decision = end(after_gate_error(), results("ERROR"))

    left = after(decision)
    assert (left.status, left.block_kind, left.charged) == ("blocked", "human", 0)
    assert "twice in a row" in left.reason
    assert len(decision.all(Question)) == 1
    assert {"gate:error", "task:escalated", "task:blocked", "question:asked"} <= set(names(decision))


@pytest.mark.parametrize(
    "between", [{"last_category": "test_failure"}, {"uncharged": 0}], ids=["another failure", "a person's release"]
)
def test_what_lies_between_two_broken_gates_breaks_the_row(between: dict[str, Any]) -> None:
    """Then the next one is a first one again."""
    decision = end(after_gate_error(**between), results("ERROR"))

    assert after(decision).status == "failed"


def test_a_cancel_comes_before_the_checks() -> None:
    """The work ended well, but nobody wants it verified any more."""
    decision = end(running(cancel_requested=True), DONE, checks=CHECKS)

    assert after(decision).status == "cancelled"


def test_a_cancel_while_verifying_ends_the_task() -> None:
    """Its checks are recorded as stopped."""
    decision = end(verifying(cancel_requested=True), Cancelled())

    assert steps(decision) == [("pending_verification", "cancelled")]
    assert decision.first(ChecksEnded) is not None and only(decision, ChecksEnded).results == ()


@pytest.mark.parametrize(("ends", "status"), [("PASS", "completed"), ("FAIL", "cancelled"), ("ERROR", "cancelled")])
def test_a_cancel_that_came_too_late_lets_a_pass_stand(ends: str, status: str) -> None:
    """As with work that ended well by itself."""
    decision = end(verifying(cancel_requested=True), results(ends))

    assert after(decision).status == status


@pytest.mark.parametrize(
    "outcome", [Lost(why="its host is gone"), Requeued(asked=False, why="handed back")], ids=["lost", "handed back"]
)
def test_an_attempt_that_is_repeated_from_its_checks_counts_nothing(outcome: Lost | Requeued) -> None:
    """By way of `failed`, in one decision: no other way leads back from there."""
    decision = end(verifying(streak=1, charged=1), outcome)

    left = after(decision)
    assert steps(decision) == [("pending_verification", "failed"), ("failed", "pending")]
    assert (left.ready, left.streak, left.charged, left.live) == (True, 1, 1, None)
    assert decision.first(ChecksEnded) is not None


def test_an_engine_that_dies_again_and_again_while_verifying_is_a_question() -> None:
    """The crash budget holds for checks too."""
    decision = end(verifying(crashes=2), Lost(why="its engine died", hard_crash=True))

    assert (after(decision).status, after(decision).block_kind) == ("blocked", "human")


def test_an_error_of_ours_while_verifying_blocks_the_task() -> None:
    """A person sees the traceback."""
    decision = on_engine_error(ended(verifying(), results("PASS")), NOW, WorkingSet(), traceback="Boom")

    assert steps(decision) == [("pending_verification", "blocked")]


@pytest.mark.parametrize(("crashed", "crashes"), [(True, 1), (False, 0)])
def test_checks_that_are_taken_over_leave_the_attempt_as_it_is(crashed: bool, crashes: int) -> None:
    """Same attempt, same status; a hard death is counted."""
    decision: Decision = on_checks_taken_over(
        verifying(), NOW, number=1, worker_id="w-2", why="its engine died", crashed=crashed
    )

    left = after(decision)
    assert (left.status, left.live, left.crashes) == ("pending_verification", 1, crashes)
    assert told(decision, "task:verifying").data == {"worker": "w-2", "why": "its engine died"}


def test_failing_work_is_never_verified() -> None:
    """There is no result to look at."""
    decision = end(running(), TimedOut(limit_s=1.0), checks=CHECKS)

    assert after(decision).status == "failed"
    assert decision.first(ChecksPlanned) is None


def test_a_gate_that_passed_has_nothing_to_be_diagnosed() -> None:
    """The service asks before it decides."""
    assert diagnose_ended(ended(verifying(), results("PASS")), NOW) is None
