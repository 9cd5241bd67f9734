"""The check of a store and the doctor's report, from records alone."""

from __future__ import annotations

from collections import Counter

import pytest

from medbay.core.snapshot import StoreReport
from medbay.views import store as view
from medbay.views.store import DoctorLine, Mark, size


def test_a_sound_store_has_empty_lists() -> None:
    """Anything in one of them is a fault."""
    report = StoreReport(
        kind="sqlite", damage=(), standstills=(("k7f2", "nothing wakes it"),), contradictions=(), tasks={}, rows={}
    )

    made = view.as_json(report)

    assert made["sound"] is False
    assert made["standstills"] == [{"task": "k7f2", "why": "nothing wakes it"}]


def test_the_doctor_counts_its_marks() -> None:
    """A line without a fix has null."""
    lines = [DoctorLine("fine", "git", "2.47"), DoctorLine("warning", "disk", "3 % free", "make room")]
    counts: Counter[Mark] = Counter(each.mark for each in lines)

    assert view.doctor_summary(counts) == "0 failed, 1 warning, 1 fine"
    assert view.doctor_as_json(lines, counts)["checks"][0]["fix"] is None


@pytest.mark.parametrize(
    ("count", "said"), [(12, "12 bytes"), (4_100_000, "4.1 MB"), (10**9, "1.0 GB"), (10**15, "1000.0 TB")]
)
def test_sizes_are_said_in_one_unit(count: int, said: str) -> None:
    """As people say them."""
    assert size(count) == said
