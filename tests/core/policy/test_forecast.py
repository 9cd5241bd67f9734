"""What would happen if it kept failing: the same decisions the failures themselves would bring."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core.diagnosis.record import Diagnosis
from medbay.core.model import Task
from medbay.core.outcome import Failed
from medbay.core.policy.forecast import forecast
from medbay.core.policy.policy import Policy
from medbay.core.rules import on_claimed, on_due
from tests.core.builders import DAY, HOUR, NOW, after, blocked, diagnosis, end, failed, free, hopeless, running, task

RULES = Policy()


def test_a_fresh_task_would_climb_the_ladder_to_a_person() -> None:
    """Four decisions, each at the time of the retry before it, and no fifth after the last."""
    found = forecast(task(), diagnosis(), RULES, NOW)

    assert [each.step.action for each in found] == [
        "retry_with_guidance",
        "retry_with_guidance",
        "triage",
        "escalate_to_human",
    ]
    assert [each.attempt for each in found] == [1, 2, 3, 4]
    assert [each.at for each in found] == [NOW, *(each.step.due_at for each in found[:-1])]


def test_five_decisions_are_named_and_no_more() -> None:
    """A network that stays down would go on for a day."""
    assert len(forecast(task(), free(), RULES, NOW)) == 5
    assert len(forecast(task(), free(), RULES, NOW, steps=2)) == 2


def test_what_cannot_be_retried_has_one_decision() -> None:
    """A person, at once."""
    (only,) = forecast(task(), hopeless(), RULES, NOW)

    assert only.step.action == "escalate_to_human"


def test_a_waiting_task_fails_when_it_is_due_not_before() -> None:
    """The forecast begins at the retry; one that is overdue begins now."""
    waiting = forecast(failed(due_at=NOW + HOUR), diagnosis(), RULES, NOW)
    overdue = forecast(failed(due_at=NOW - HOUR), diagnosis(), RULES, NOW)

    assert (waiting[0].at, waiting[0].attempt) == (NOW + HOUR, 2)
    assert overdue[0].at == NOW


def test_a_running_attempt_is_the_next_to_end() -> None:
    """It has its number already."""
    assert forecast(running(attempts=3), diagnosis(), RULES, NOW)[0].attempt == 3


def test_a_blocked_task_is_only_tried_after_a_person_granted_more() -> None:
    """Released: one retry, then the same question again."""
    found = forecast(blocked(), diagnosis(), RULES, NOW)

    assert [each.step.action for each in found] == ["retry_with_guidance", "escalate_to_human"]


def test_a_block_that_times_out_grants_nothing() -> None:
    """Nobody said that more attempts are fine."""
    waiting = blocked(block_kind="external", streak=3, charged=3, due_at=NOW + DAY)

    (only,) = forecast(waiting, diagnosis(), RULES, NOW)

    assert (only.at, only.step.action) == (NOW + DAY, "escalate_to_human")


def test_the_time_one_failure_named_is_not_that_of_the_next() -> None:
    """A reset tomorrow does not repeat itself every day."""
    found = forecast(task(), free(subcategory="usage_limit", retry_after_ms=NOW + DAY), RULES, NOW)

    assert found[0].step.delay_ms is not None and found[0].step.delay_ms < HOUR


@pytest.mark.parametrize("found", [diagnosis(), diagnosis(category="timeout"), free(), hopeless(confidence=0.6)])
def test_the_forecast_comes_true(found: Diagnosis, monkeypatch: pytest.MonkeyPatch) -> None:
    """The very decisions, delays and reasons of the attempts that then fail."""
    monkeypatch.setattr("medbay.core.attempt.diagnosed.diagnose", lambda text, **facts: found)
    promised = forecast(task(), found, RULES, NOW)

    some: Task = task()
    for each in promised:
        some = after(on_claimed(some, each.at, worker_id="w-1"))
        decision = end(some, Failed(exit_code=1), now=each.at)
        some = after(decision)

        assert some.attempts == each.attempt
        if each.step.action == "triage":  # it waits for its triage, which then gives the ladder's delay
            assert (some.waits_for, some.wants_triage, some.due_at) == ("triage", True, None)
            some = replace(some, waits_for=None, wants_triage=False, due_at=each.step.due_at)
        assert some.due_at == each.step.due_at
        assert some.block_kind == each.step.block_kind
        if some.due_at is not None:
            some = after(on_due(some, some.due_at, actor="engine"))
