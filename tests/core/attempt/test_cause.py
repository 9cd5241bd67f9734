"""One failure, one cause: eleven in one order, and the first that matches decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core.attempt.cause import Cause, FailureCase, cause_of, is_charged
from medbay.core.outcome import (
    Cancelled,
    Failed,
    Lost,
    Outcome,
    OverBudget,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
)
from tests.core.builders import diagnosis, free, hopeless

LIMIT = free(subcategory="rate_limit", provider="anthropic")

# A case that everything applies to, and what is taken away from it step by step, cause by cause.
EVERYTHING = FailureCase(
    outcome=Cancelled(),
    diagnosis=replace(LIMIT, retryable=False, fingerprint="f"),
    never_worked=True,
    open_incidents=frozenset({"f"}),
    in_phase=True,
    used_up=True,
)
SPAWN = Failed(spawn_error="too many processes")
WORKED = replace(EVERYTHING, outcome=Failed(), never_worked=False)
PEELED: list[tuple[Cause, FailureCase]] = [
    (Cause.STOPPED, EVERYTHING),
    (Cause.SUCCESS, replace(EVERYTHING, outcome=Succeeded())),
    (Cause.LOST, replace(EVERYTHING, outcome=Lost(why="gone"))),
    (Cause.NOT_RETRYABLE, replace(EVERYTHING, outcome=SPAWN)),
    (Cause.PROVIDER_LIMIT, replace(EVERYTHING, outcome=SPAWN, diagnosis=replace(LIMIT, fingerprint="f"))),
    (Cause.CRASH_LOOP, replace(EVERYTHING, outcome=SPAWN, diagnosis=free(fingerprint="f"))),
    (Cause.INCIDENT, replace(WORKED, diagnosis=free(fingerprint="f"))),
    (Cause.UNCHARGED, replace(WORKED, diagnosis=free())),
    (Cause.PHASE, replace(WORKED, diagnosis=diagnosis())),
    (Cause.USED_UP, replace(WORKED, diagnosis=diagnosis(), in_phase=False)),
    (Cause.RUNG, FailureCase(outcome=Failed(), diagnosis=diagnosis())),
]


@pytest.mark.parametrize(("cause", "case"), PEELED, ids=[cause.name for cause, _ in PEELED])
def test_the_first_cause_that_matches_decides(cause: Cause, case: FailureCase) -> None:
    """Every later cause applies as well, and does not count."""
    assert cause_of(case) is cause


def test_there_are_eleven_causes_in_the_order_of_the_specification() -> None:
    """The numbers are the order of precedence."""
    assert [cause for cause, _ in PEELED] == list(Cause) == sorted(Cause)
    assert [int(cause) for cause in Cause] == list(range(1, 12))


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (Requeued(asked=True, why="exit 75"), Cause.STOPPED),
        (Requeued(asked=False, why="stopping"), Cause.STOPPED),
        (Failed(exit_code=1), Cause.RUNG),
        (TimedOut(limit_s=1), Cause.RUNG),
        (Stalled(silent_s=1), Cause.RUNG),
        (OverBudget(why="tokens"), Cause.RUNG),
    ],
)
def test_every_outcome_has_its_cause(outcome: Outcome, cause: Cause) -> None:
    """A plain charged failure of any kind is a matter of the ladder."""
    assert cause_of(FailureCase(outcome=outcome, diagnosis=diagnosis())) is cause


@pytest.mark.parametrize(("confidence", "cause"), [(0.8, Cause.NOT_RETRYABLE), (0.79, Cause.RUNG)])
def test_not_retryable_counts_from_four_fifths_of_certainty(confidence: float, cause: Cause) -> None:
    """Below that the ladder decides, although the class itself charges nothing."""
    assert cause_of(FailureCase(outcome=Failed(), diagnosis=hopeless(confidence=confidence))) is cause


def test_a_limit_of_nobody_known_is_an_uncharged_class_of_its_own() -> None:
    """Without a provider there is nothing to hold."""
    assert cause_of(FailureCase(outcome=Failed(), diagnosis=replace(LIMIT, provider=None))) is Cause.UNCHARGED


def test_a_providers_other_failures_are_no_limit() -> None:
    """A provider that is down is not a provider that refuses."""
    down = free(subcategory="service", provider="anthropic")

    assert cause_of(FailureCase(outcome=Failed(), diagnosis=down)) is Cause.UNCHARGED


def test_a_failure_without_any_diagnosis_is_a_matter_of_the_ladder() -> None:
    """Nothing known excuses it."""
    assert cause_of(FailureCase(outcome=Failed())) is Cause.RUNG


@pytest.mark.parametrize(("cause", "case"), PEELED, ids=[cause.name for cause, _ in PEELED])
def test_only_what_a_phase_or_the_ladder_answers_is_charged(cause: Cause, case: FailureCase) -> None:
    """Eight causes leave the ladder where it is."""
    assert is_charged(case) == (cause in (Cause.PHASE, Cause.USED_UP, Cause.RUNG))


@given(charge=st.booleans(), retryable=st.booleans(), confidence=st.floats(0, 1), used_up=st.booleans())
def test_whether_it_is_charged_does_not_depend_on_what_is_left(
    charge: bool, retryable: bool, confidence: float, used_up: bool
) -> None:
    """The count comes first, the judgement of the count after it."""
    found = diagnosis(charge=charge, retryable=retryable, confidence=confidence)
    case = FailureCase(outcome=Failed(), diagnosis=found, used_up=used_up)

    assert is_charged(case) == is_charged(replace(case, used_up=not used_up))
