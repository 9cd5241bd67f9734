"""Tiers of issues: waits by attempt, triage from the third failure on, a person for what is unknown."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

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
