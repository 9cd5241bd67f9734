"""Moments and durations as people read them, and as programs do."""

from __future__ import annotations

import pytest

from medbay.views import moments


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (-5, "0s"),
        (41_999, "41s"),
        (60_000, "1m"),
        (3_600_000, "1h"),
        (11_760_000, "3h 16m"),
        (2 * 86_400_000 + 4 * 3_600_000, "2d 4h"),
    ],
)
def test_durations_are_short(ms: int, said: str) -> None:
    """One unit, two from an hour on."""
    assert moments.short(ms) == said


def test_a_moment_is_also_said_in_iso_utc() -> None:
    """For programs; no time is None."""
    assert moments.iso(1_800_000_000_000) == "2027-01-15T08:00:00.000Z"
    assert moments.iso(None) is None


@pytest.mark.parametrize(("delay_s", "said"), [(0.0, "0s"), (0.2, "1s"), (1.6, "2s"), (90.0, "1m")])
def test_what_is_still_to_come_is_never_zero(delay_s: float, said: str) -> None:
    """A countdown ends at one second, then it is due."""
    assert moments.soon(delay_s) == said
