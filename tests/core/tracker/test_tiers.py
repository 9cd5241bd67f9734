"""Tiers of issues: waits by attempt, triage from the third failure on, a person for what is unknown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from medbay.core.attempt.cause import Cause
from medbay.core.diagnosis.record import Diagnosis, Pattern
from medbay.core.policy import policy
from medbay.core.policy.policy import Policy, Record
from medbay.core.tracker import tiers
from medbay.core.tracker.record import FailureRecord

DAY = datetime(2026, 2, 1, tzinfo=UTC)


def at(hour: int, minute: int = 0) -> int:
    """A time of that day."""
    return round(DAY.replace(hour=hour, minute=minute).timestamp() * 1000)


def failed(attempt: int, error_class: str = "SdkCallError") -> FailureRecord:
    """A record of a failure at noon."""
    return FailureRecord(attempt=attempt, last_failure=at(12), error_class=error_class)


@pytest.mark.parametrize(
    ("row", "attempt", "error_class", "tier"),
    [
        ("2.1", 1, "SdkCallError", 1),
        ("2.3", 1, "TimeoutError", 1),
        ("2.5", 2, "TestFailureError", 1),
        ("2.7", 3, "SdkCallError", 2),
        ("2.9", 5, "TestFailureError", 2),
        ("2.11", 1, "unknown", 3),
        ("2.13", 3, "unknown", 3),
        ("2.15", 1, "BeadsCloseError", 1),
        ("none", 1, "", 3),
        ("folded", 1, "unknown/auth", 1),
    ],
)
def test_2_a_record_has_its_tier(row: str, attempt: int, error_class: str, tier: int) -> None:
    """By how often it failed, and whether anyone knows why."""
    assert tiers.tier_of(failed(attempt, error_class)) == tier, row


@pytest.mark.parametrize(
    ("row", "attempt", "now", "over"),
    [
        ("3.1", 1, at(13), True),
        ("3.3", 1, at(12, 20), False),
        ("3.5", 2, at(14, 30), True),
        ("3.7", 2, at(13, 30), False),
        ("3.9", 3, at(21), True),
        ("3.11", 3, at(18), False),
        ("3.13", 5, at(18), False),
        ("exact", 1, at(12, 30), True),
        ("in the future", 1, at(11, 59), False),
    ],
)
def test_3_a_cooldown_is_over_at_its_time(row: str, attempt: int, now: int, over: bool) -> None:
    """30m, 2h, 8h; a failure in the future counts from now. A bad time (3.15) is an unreadable record."""
    assert tiers.is_over(failed(attempt), now) is over, row
    assert tiers.eligible_at(failed(attempt), now) >= min(at(12), now) + tiers.cooldown_ms(attempt)


def found(category: str = "code_error", subcategory: str | None = "type", confidence: float = 0.9) -> Diagnosis:
    """A diagnosis of a failure."""
    return Diagnosis(
        category=category,
        subcategory=subcategory,
        confidence=confidence,
        pattern=Pattern("x"),
        location=None,
        fingerprint="code_error:1",
        summary="broke",
        suggested_fix="mend it",
        retryable=True,
        retry_after_ms=None,
        provider=None,
        charge=True,
        session=None,
    )


@pytest.mark.parametrize(
    ("charged", "granted", "diagnosis", "cause", "action", "delay_ms"),
    [
        (1, 0, found(), Cause.RUNG, "retry_with_guidance", 30 * 60_000),
        (2, 0, found(), Cause.RUNG, "retry_with_guidance", 120 * 60_000),
        (3, 0, found(), Cause.RUNG, "triage", 0),
        (6, 0, found(), Cause.USED_UP, "triage", 0),
        (4, 2, found(), Cause.RUNG, "retry_with_guidance", 480 * 60_000),
        (1, 0, found("unknown", None), Cause.RUNG, "escalate_to_human", None),
        (1, 0, found(confidence=0.3), Cause.RUNG, "escalate_to_human", None),
        (1, 0, found("unknown", "refused"), Cause.RUNG, "retry_with_guidance", 30 * 60_000),
    ],
)
def test_a_charged_failure_of_an_issue_follows_its_tier(
    charged: int, granted: int, diagnosis: Diagnosis, cause: Cause, action: str, delay_ms: int | None
) -> None:
    """Exact waits without jitter, a triage from the third failure on, a person where no rule knows why."""
    past = Record(task_id="t", attempt=charged, charged=charged, granted=granted, asks_at=charged + granted)
    step = policy.decide(diagnosis, past, Policy(), at(12), cause=cause)

    decided = tiers.decide(step, diagnosis, past, at(12), cause=cause)

    assert (decided.action, decided.delay_ms) == (action, delay_ms)


def test_what_trying_again_cannot_help_stays_a_persons() -> None:
    """The ladder's word about it stands."""
    past = Record(task_id="t", attempt=1, charged=1)
    step = policy.decide(found(), past, Policy(), at(12), cause=Cause.NOT_RETRYABLE)

    assert tiers.decide(step, found(), past, at(12), cause=Cause.NOT_RETRYABLE) is step
