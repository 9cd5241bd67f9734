"""One failure, one cause: the first of eleven that matches decides, and the failure feeds that one only."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from msgspec import Struct

from medbay.core.diagnosis.record import Diagnosis
from medbay.core.outcome import Cancelled, Lost, Outcome, Requeued, Succeeded

NOT_RETRYABLE_FROM: Final = 0.8
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
    """The first cause that matches."""
    return next(cause for cause, matches in _IN_ORDER if matches(case))


def is_providers(case: FailureCase) -> bool:
    """Whether what the work was done with failed, and not the work: a limit, an outage, credits that are used up."""
    cause, kind = cause_of(case), case.diagnosis.subcategory if case.diagnosis is not None else None
    passes = cause in (Cause.PROVIDER_LIMIT, Cause.INCIDENT, Cause.UNCHARGED) and kind in OUTAGE_KINDS
    return passes or (cause is Cause.NOT_RETRYABLE and kind == SPENT)


def is_charged(case: FailureCase) -> bool:
    """Whether a failure uses up an attempt: what a phase or the ladder has to answer, and what opens an incident."""
    cause, found = cause_of(case), case.diagnosis
    if cause is Cause.INCIDENT and found is not None and found.fingerprint not in case.open_incidents:
        return found.charge
    return cause >= Cause.PHASE


def _not_retryable(case: FailureCase) -> bool:
    found = case.diagnosis
    return found is not None and not found.retryable and found.confidence >= NOT_RETRYABLE_FROM


def _provider_limit(case: FailureCase) -> bool:
    found = case.diagnosis
    owner = case.account or (found.provider if found is not None else None)
    return found is not None and owner is not None and found.subcategory in LIMIT_KINDS


def _incident(case: FailureCase) -> bool:
    found = case.diagnosis
    return found is not None and (found.fingerprint in case.open_incidents or case.opens_incident)


def _uncharged(case: FailureCase) -> bool:
    # What may be hopeless, but not surely enough for a person at once, climbs the ladder.
    return case.diagnosis is not None and not case.diagnosis.charge and case.diagnosis.retryable


_IN_ORDER: Final[tuple[tuple[Cause, Callable[[FailureCase], bool]], ...]] = (
    (Cause.STOPPED, lambda case: isinstance(case.outcome, Cancelled | Requeued)),
    (Cause.SUCCESS, lambda case: isinstance(case.outcome, Succeeded)),
    (Cause.LOST, lambda case: isinstance(case.outcome, Lost)),
    (Cause.NOT_RETRYABLE, _not_retryable),
    (Cause.PROVIDER_LIMIT, _provider_limit),
    (Cause.CRASH_LOOP, lambda case: case.never_worked),
    (Cause.INCIDENT, _incident),
    (Cause.UNCHARGED, _uncharged),
    (Cause.PHASE, lambda case: case.in_phase),
    (Cause.USED_UP, lambda case: case.used_up),
    (Cause.RUNG, lambda case: True),
)
