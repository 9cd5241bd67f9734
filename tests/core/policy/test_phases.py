"""The preset of phases: each type of error with its retries and exact waits."""

from __future__ import annotations

import pytest

from medbay.core.attempt.cause import Cause, FailureCase, cause_of
from medbay.core.outcome import Failed
from medbay.core.policy import phases
from medbay.core.policy.policy import Policy, Record, decide
from tests.core.builders import diagnosis as a_diagnosis


@pytest.mark.parametrize(
    ("kind", "waits"),
    [
        ("transient/spawn", [2_000]),
        ("timeout/limit", []),
        ("unknown/malformed_output", [1_000, 1_000]),
        ("dependency_missing/precondition", []),
        ("transient/service", [5_000, 10_000, 20_000]),
        ("code_error/syntax", []),
    ],
)
def test_the_table_of_errors(kind: str, waits: list[int]) -> None:
    """So often, after exactly these waits; then the phase has failed."""
    category, _, subcategory = kind.partition("/")
    found = a_diagnosis(category=category, subcategory=subcategory)
    case = FailureCase(outcome=Failed(), diagnosis=found, in_phase=True)

    steps = [
        decide(found, Record(task_id="t", attempt=count, charged=count), Policy(), 0, cause=Cause.PHASE)
        for count in range(1, len(waits) + 2)
    ]

    assert cause_of(case) is Cause.PHASE
    assert [each.delay_ms for each in steps] == [*waits, None]
    assert steps[-1].block_kind == "exhausted"


def test_the_same_failure_after_the_same_advice_passes_over_no_retry() -> None:
    """An agent that answers nothing readable is asked again twice, whatever it says the second time."""
    found = a_diagnosis(category="unknown", subcategory="malformed_output")

    second = Record(task_id="t", attempt=2, charged=2, raised=1)
    third = Record(task_id="t", attempt=3, charged=3, raised=1)

    assert decide(found, second, Policy(), 0, cause=Cause.PHASE).delay_ms == 1_000
    assert decide(found, third, Policy(), 0, cause=Cause.PHASE).block_kind == "exhausted"


def test_an_exponential_wait_ends_at_its_cap() -> None:
    """Sixty seconds."""
    row = next(each for each in phases.ERRORS if each.name == phases.SERVICE_DOWN)

    assert [row.delay_ms(count) for count in (1, 4, 5, 90)] == [5_000, 40_000, 60_000, 60_000]


def test_any_time_out_is_one() -> None:
    """Also that of a stalled agent."""
    assert phases.row_of(a_diagnosis(category="timeout", subcategory="stalled")).name == phases.TIMEOUT
