"""One failure, one cause: the first of eleven that matches decides, and the failure feeds that one only."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from msgspec import Struct

from medbay.core.diagnosis.record import SURE_FROM, Diagnosis
from medbay.core.outcome import Cancelled, Lost, Outcome, Requeued, Succeeded
from medbay.core.policy import phases

NOT_RETRYABLE_FROM: Final = SURE_FROM
LIMIT_KINDS: Final = frozenset({"rate_limit", "usage_limit"})
OUTAGE_KINDS: Final = LIMIT_KINDS | {"overloaded", "service"}  # what passes when the provider is well again
SPENT: Final = "quota"  # credits or a cap: only a person adds some


class Cause(IntEnum):
    """What an ended attempt is about, in the order of precedence."""

    STOPPED = 1  # cancelled or handed back
    SUCCESS = 2
    LOST = 3
    NOT_RETRYABLE = 4
    PROVIDER_LIMIT = 5
    CRASH_LOOP = 6
    INCIDENT = 7
    UNCHARGED = 8
    PHASE = 9
    USED_UP = 10
    RUNG = 11


class FailureCase(Struct, frozen=True, kw_only=True):
    """One ended attempt with what is known around it."""

    outcome: Outcome
    diagnosis: Diagnosis | None = None
    account: str | None = None  # of the provider whose limit it would be
    open_incidents: frozenset[str] = frozenset()  # fingerprints
    opens_incident: bool = False
    never_worked: bool = False  # its runner's failure: see `core.agent.never_got_to_work`
    in_phase: bool = False
    used_up: bool = False


def cause_of(case: FailureCase) -> Cause:
    """The first cause that matches, in the order of precedence."""
    match case.outcome:
        case Cancelled() | Requeued():
            return Cause.STOPPED
        case Succeeded():
            return Cause.SUCCESS
        case Lost():
            return Cause.LOST
    found = case.diagnosis
    if found is not None and not found.retryable and found.confidence >= NOT_RETRYABLE_FROM:
        return Cause.NOT_RETRYABLE
    if found is not None and found.subcategory in LIMIT_KINDS and (case.account or found.provider) is not None:
        return Cause.PROVIDER_LIMIT
    if case.in_phase and found is not None and phases.is_known(found):
        return Cause.PHASE  # the table of a phase says how often it is tried again, charged or not
    if case.never_worked:
        return Cause.CRASH_LOOP
    if found is not None and (case.opens_incident or found.fingerprint in case.open_incidents):
        return Cause.INCIDENT
    # What may be hopeless, but not surely enough for a person at once, climbs the ladder.
    if found is not None and found.retryable and not found.charge:
        return Cause.UNCHARGED
    if case.in_phase:
        return Cause.PHASE
    return Cause.USED_UP if case.used_up else Cause.RUNG


def is_providers(case: FailureCase, cause: Cause) -> bool:
    """Whether what the work was done with failed, and not the work: a limit, an outage, credits that are used up."""
    kind = case.diagnosis.subcategory if case.diagnosis is not None else None
    passes = cause in (Cause.PROVIDER_LIMIT, Cause.INCIDENT, Cause.UNCHARGED) and kind in OUTAGE_KINDS
    return passes or (cause is Cause.NOT_RETRYABLE and kind == SPENT)


def is_charged(case: FailureCase, cause: Cause) -> bool:
    """Whether a failure uses up an attempt: what a phase or the ladder has to answer, and what opens an incident."""
    found = case.diagnosis
    if cause is Cause.INCIDENT and found is not None and found.fingerprint not in case.open_incidents:
        return found.charge
    return cause >= Cause.PHASE
