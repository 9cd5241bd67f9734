"""The one backoff primitive: its figures, its jitter, and the laws that hold for every input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.policy.backoff import backoff, from_list, spread, spread_later
from medbay.errors import UsageError
from tests.core.builders import DAY, HOUR, MINUTE, SECOND

LADDER = (2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE)

keys = st.text(max_size=20)
counts = st.integers(0, 1_000_000)
bases = st.integers(1, 30 * DAY)
caps = st.integers(SECOND, 30 * DAY)
multipliers = st.floats(1.0, 10.0)
delays = st.integers(0, 30 * DAY)
lists = st.lists(st.integers(1, DAY), min_size=1, max_size=6)


def test_no_failure_gives_the_base_without_jitter() -> None:
    """The normal period of whatever backs off."""
    assert backoff(MINUTE, 0, key="t") == MINUTE


@pytest.mark.parametrize(("failures", "times"), [(1, 2), (2, 4), (3, 8), (4, 16)])
def test_each_failure_doubles_the_delay_within_ten_percent(failures: int, times: int) -> None:
    """About 2, 4, 8 times base."""
    found = {backoff(MINUTE, failures, key=f"t-{n}") for n in range(200)}

    assert min(found) >= 0.9 * times * MINUTE
    assert max(found) <= 1.1 * times * MINUTE
    assert max(found) - min(found) > 0.15 * times * MINUTE


def test_at_the_cap_jitter_only_goes_down() -> None:
    """The cap is a promise; spreading stays inside it."""
    found = {backoff(HOUR, 50, key=f"t-{n}") for n in range(200)}

    assert max(found) <= DAY
    assert min(found) >= 0.9 * DAY
    assert len(found) > 150


def test_a_base_that_equals_the_cap_is_spread_like_any_delay_at_the_cap() -> None:
    """A thousand daily jobs that failed do not come back in one second."""
    found = {backoff(DAY, 3, key=f"t-{n}") for n in range(200)}

    assert 0.9 * DAY <= min(found) < max(found) <= DAY


def test_a_base_longer_than_the_cap_is_the_delay() -> None:
    """A failing weekly job is not run daily."""
    assert backoff(7 * DAY, 5, key="t") == 7 * DAY


def test_no_base_stays_no_delay() -> None:
    """Nothing times anything is nothing, also after a million failures."""
    assert backoff(0, 1_000_000, key="t") == 0


@pytest.mark.parametrize("multiplier", [0.99, 0.0, -2.0, 10.01, float("nan"), float("inf")])
def test_a_multiplier_outside_one_to_ten_is_refused(multiplier: float) -> None:
    """Such a configuration is a mistake, not a wish."""
    with pytest.raises(UsageError, match="multiplier"):
        backoff(MINUTE, 1, key="t", multiplier=multiplier)


@pytest.mark.parametrize("cap", [0, 999, -1])
def test_a_cap_below_a_second_is_refused(cap: int) -> None:
    """It would be a busy loop."""
    with pytest.raises(UsageError, match="below 1s"):
        backoff(1, 1, key="t", cap_ms=cap)


@given(bases, counts, keys, multipliers, caps)
def test_a_delay_is_never_above_the_cap_nor_far_below_the_base(
    base: int, failures: int, key: str, multiplier: float, cap: int
) -> None:
    """For every input, a million failures included."""
    delay = backoff(base, failures, key=key, multiplier=multiplier, cap_ms=cap)

    assert delay <= max(cap, base)
    assert delay >= min(base, cap) * 0.9 - 1


@given(bases, counts, keys)
def test_the_same_key_and_count_always_give_the_same_delay(base: int, failures: int, key: str) -> None:
    """On every machine and after every restart."""
    assert backoff(base, failures, key=key) == backoff(base, failures, key=key)


def test_the_jitter_is_the_same_in_every_version() -> None:
    """Pinned: a change of the hash would move every pending retry of every installation."""
    assert backoff(MINUTE, 3, key="t-1") == 468_205
    assert from_list(LADDER, 2, key="t-1") == 320_375


def test_delays_differ_between_keys_and_between_counts() -> None:
    """Tasks that fail together do not come back together."""
    assert len({backoff(HOUR, 2, key=f"t-{n}") for n in range(100)}) > 90
    assert len({spread(HOUR, n, key="t") for n in range(100)}) > 90


def test_a_key_of_any_characters_is_fine() -> None:
    """Half a surrogate pair from a broken title does not stop a retry."""
    assert backoff(MINUTE, 1, key="\ud800") > 0


def test_a_list_gives_its_entries_in_turn_and_repeats_the_last() -> None:
    """30s, 2m, 5m ... then the last for ever."""
    for failures, expected in enumerate([*LADDER, LADDER[-1], LADDER[-1]], start=1):
        assert from_list(LADDER, failures, key="t") == spread(expected, failures, key="t")

    assert 0.9 * HOUR <= from_list(LADDER, 1_000_000, key="t") <= 1.1 * HOUR


def test_a_list_before_any_counted_failure_begins_at_its_first_entry() -> None:
    """A canary's failure counts nothing; it must not wait as long as the last of many."""
    assert from_list(LADDER, 0, key="t") <= 1.1 * LADDER[0]


@given(lists, counts, keys)
def test_a_list_stays_within_ten_percent_of_an_entry(entries: list[int], failures: int, key: str) -> None:
    """The schedule a person wrote is the schedule, a little spread."""
    entry = entries[min(max(failures, 1), len(entries)) - 1]

    assert abs(from_list(entries, failures, key=key) - entry) <= entry * 0.1 + 1


@given(delays, counts, keys)
def test_a_named_time_is_moved_later_but_never_earlier_nor_far(delay: int, failures: int, key: str) -> None:
    """Before the reset a retry is pointless; long after it is a waste."""
    moved = spread_later(delay, failures, key=key)

    assert delay <= moved <= delay + min(delay * 0.1 + 1, MINUTE)
