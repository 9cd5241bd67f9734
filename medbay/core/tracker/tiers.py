"""The preset `tiers`: an issue waits by how often it failed, then is triaged, then is a person's."""

from __future__ import annotations

from typing import Final, Literal

from medbay.core.tracker.record import FailureRecord

Tier = Literal[1, 2, 3]

TRIAGE_FROM: Final = 3  # failures after which waiting alone is no answer any more
_MINUTE_MS: Final = 60_000
COOLDOWNS_MS: Final = (30 * _MINUTE_MS, 120 * _MINUTE_MS, 480 * _MINUTE_MS)
"""After failures 1, 2, and 3 and more; the last is the wait after a triage that changed nothing."""


def tier_of(record: FailureRecord) -> Tier:
    """1: wait and try again; 2: triage; 3: a person."""
    if record.is_unknown:
        return 3
    return 1 if record.attempt < TRIAGE_FROM else 2


def cooldown_ms(attempt: int) -> int:
    """How long an issue waits after so many failures."""
    return COOLDOWNS_MS[min(max(attempt, 1), len(COOLDOWNS_MS)) - 1]


def eligible_at(record: FailureRecord, now: int) -> int:
    """When the cooldown of a record is over; a failure in the future counts from now."""
    return min(record.last_failure, now) + cooldown_ms(record.attempt)


def is_over(record: FailureRecord, now: int) -> bool:
    """Whether the cooldown of a record has elapsed."""
    return now >= eligible_at(record, now)
