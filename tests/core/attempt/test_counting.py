"""The four counters: what a failure adds to which, what a release grants, what resets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from medbay.core.attempt.counting import (
    count_failure,
    count_uncharged,
    counters,
    excuse,
    forget_failures,
    grant,
    record_of,
    recount_failure,
)
from medbay.core.policy.policy import Record
from tests.core.builders import HOUR, NOW, task


def test_a_charged_failure_adds_to_the_streak_and_to_the_rung() -> None:
    """And ends a run of free ones."""
    before = task(streak=2, charged=1, uncharged=3, uncharged_since=NOW - HOUR)

    after = count_failure(before, charge=True, now=NOW)

    assert (after.streak, after.charged) == (3, 2)
    assert (after.uncharged, after.uncharged_since) == (0, None)


def test_a_free_failure_adds_to_the_streak_and_to_its_own_run_only() -> None:
    """The rung stays."""
    after = count_failure(task(streak=2, charged=2), charge=False, now=NOW)

    assert (after.streak, after.charged) == (3, 2)
    assert (after.uncharged, after.uncharged_since) == (1, NOW)


def test_a_free_run_keeps_its_beginning() -> None:
    """Its bound is measured from the first one, at the epoch as well."""
    after = count_uncharged(task(uncharged=1, uncharged_since=0), now=NOW)

    assert (after.uncharged, after.uncharged_since) == (2, 0)


def test_to_ask_for_another_try_is_no_failure() -> None:
    """Exit 75 adds to the free run, not to the streak."""
    after = count_uncharged(task(streak=1, charged=1), now=NOW)

    assert (after.streak, after.charged, after.uncharged) == (1, 1, 1)


def test_a_success_forgets_everything_that_counts_failures() -> None:
    """Attempts are not failures and stay."""
    failing = task(attempts=9, streak=7, charged=5, uncharged=2, uncharged_since=NOW, granted=2, asks_at=6, crashes=1)

    after = forget_failures(failing)

    assert after == task(attempts=9, crashes=1)


def test_a_release_keeps_the_streak_and_grants_attempts_on_top() -> None:
    """The next question comes after exactly that many charged failures."""
    after = grant(task(streak=6, charged=4, uncharged=2, uncharged_since=NOW), 2)

    assert (after.streak, after.charged, after.granted, after.asks_at) == (6, 4, 2, 6)
    assert (after.uncharged, after.uncharged_since) == (0, None)


def test_releases_add_up() -> None:
    """Each person's word counts for its own attempts."""
    once = grant(task(streak=4, charged=4), 2)
    twice = grant(count_failure(count_failure(once, charge=True, now=NOW), charge=True, now=NOW), 3)

    assert (twice.granted, twice.asks_at, twice.charged) == (5, 9, 6)


def test_the_record_of_a_policy_is_a_copy_of_the_counters() -> None:
    """Nothing is computed on the way."""
    counted = task(attempts=7, charged=3, uncharged=1, uncharged_since=NOW, granted=2, asks_at=4)

    assert record_of(counted) == Record(
        task_id="t-1", attempt=7, charged=3, uncharged=1, uncharged_since=NOW, granted=2, asks_at=4
    )


@given(st.lists(st.booleans(), max_size=30))
def test_charged_never_exceeds_the_streak_and_a_run_has_a_beginning(charges: list[bool]) -> None:
    """For every order of failures."""
    counted = task()

    for at, charge in enumerate(charges):
        counted = count_failure(counted, charge=charge, now=NOW + at)

        assert counted.streak == at + 1
        assert counted.charged == sum(charges[: at + 1])
        assert (counted.uncharged_since is not None) == (counted.uncharged > 0) == (not charge)


@given(st.integers(0, 9), st.integers(0, 9), st.one_of(st.none(), st.integers(0, NOW)), st.booleans(), st.booleans())
def test_a_failure_counted_anew_counts_as_if_it_had_been_so_at_once(
    charged: int, uncharged: int, since: int | None, wrong: bool, right: bool
) -> None:
    """Even a free run that the wrong count had ended is there again."""
    before = task(streak=charged + uncharged, charged=charged, uncharged=uncharged, uncharged_since=since)
    counted = count_failure(before, charge=wrong, now=NOW)

    assert recount_failure(counted, counters(before), charge=right, at=NOW) == count_failure(
        before, charge=right, now=NOW
    )


def test_counters_that_a_person_reset_are_not_counted_anew() -> None:
    """Nor those whose past was not written down."""
    before = task(streak=2, charged=2)
    reset = forget_failures(count_failure(before, charge=True, now=NOW))

    assert recount_failure(reset, counters(before), charge=False, at=NOW) == reset
    assert recount_failure(before, {}, charge=False, at=NOW) == before


def test_a_wait_is_excused_only_where_a_free_run_is_under_way() -> None:
    """The run is moved on by what it waited; nothing is made up."""
    assert excuse(task(), 5) == task()
    assert excuse(task(uncharged=1, uncharged_since=NOW), 5).uncharged_since == NOW + 5
    assert excuse(task(uncharged=1, uncharged_since=NOW), -5).uncharged_since == NOW


def test_a_wait_that_was_cut_short_is_excused_as_far_as_it_lasted() -> None:
    """A probe goes before the end that was named: the free run never begins in the future."""
    before = task(uncharged=1, uncharged_since=NOW + 5)

    assert count_uncharged(before, now=NOW).uncharged_since == NOW
    assert count_uncharged(before, now=NOW + 9).uncharged_since == NOW + 5
