"""The preset `tiers`: an issue waits by how often it failed, then is triaged, then is a person's."""

from __future__ import annotations

from typing import Final, Literal

from msgspec.structs import replace

from medbay.core.attempt.cause import Cause
from medbay.core.attempt.deaf import TIERS
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.policy import policy
from medbay.core.policy.policy import NextStep, Record
from medbay.core.tracker.record import UNKNOWN, FailureRecord

Tier = Literal[1, 2, 3]

PRESET: Final = TIERS  # the policy of a task that is an issue of a tracker

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


def class_of(found: Diagnosis) -> str:
    """The class of a failure as a record names it: `unknown` alone where the diagnosis is less than half sure."""
    return found.kind if policy.category_acted_on(found) == found.category else UNKNOWN


def decide(step: NextStep, found: Diagnosis, record: Record, now: int, *, cause: Cause) -> NextStep:
    """What follows from a charged failure of an issue, in place of what the ladder would do.

    It waits for its exact cooldown; what no rule can name is a person's at once. Triage and persons stay as they are.
    """
    if cause not in (Cause.RUNG, Cause.USED_UP):
        return step
    if class_of(found) == UNKNOWN:
        return policy.ask_a_person(f"no rule knows why it failed: {found.summary}")
    if record.charged >= TRIAGE_FROM and not record.under_grant:
        return NextStep(action="triage", why=f"failed {record.charged} times", due_at=now, delay_ms=0)
    return waiting(step, found, record, now, cooldown_ms(record.charged))


def waiting(step: NextStep, found: Diagnosis, record: Record, now: int, wait_ms: int) -> NextStep:
    """The same step after exactly this wait, or after a later time that the failure named."""
    due = policy.not_before(found.retry_after_ms, now + wait_ms, now, record)
    return replace(step, due_at=due, delay_ms=due - now, learned="")
