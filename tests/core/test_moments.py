"""Moments as text: exact to the millisecond, and never an exception."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.durations import iso


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_794_711_600_123, "2026-11-15T03:00:00.123Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_moment_is_written_in_utc_with_its_milliseconds(ms: int, text: str) -> None:
    """Sorted as text they are sorted in time."""
    assert iso(ms) == text


def test_a_time_beyond_all_calendars_is_their_last_moment() -> None:
    """A failure may name any number; that breaks no rule of ours."""
    assert iso(10**18) == "9999-12-31T23:59:59.999Z"


@given(st.integers(0, 253_402_300_799_999))
def test_what_was_written_can_be_read_back(ms: int) -> None:
    """To the millisecond."""
    seconds, rest = divmod(ms, 1_000)
    read = datetime.fromisoformat(iso(ms))

    assert (read - datetime.fromisoformat("1970-01-01T00:00:00Z")).total_seconds() // 1 == seconds
    assert read.microsecond == rest * 1_000
