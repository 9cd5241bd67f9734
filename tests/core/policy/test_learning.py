"""Adaptive delays: what was tried decides, shares never fall as waits grow, and nothing leaves its limits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.attempt.cause import Cause
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.policy import learning, policy
from medbay.core.policy.learning import (
    AS_GOOD,
    BAND_TRIES,
    RETRIES_ENOUGH,
    Learned,
    TriedDelay,
    choose,
    learn,
    limits_of,
)
from medbay.core.policy.policy import Policy, Record, schedule_of
from tests.core.builders import HOUR, MINUTE, NOW, SECOND, diagnosis, free

KIND = "transient/network"


def history(*tried: tuple[int, int, int]) -> Learned:
    """(wait, how many, how many of them ended well), each."""
    return learn(KIND, [TriedDelay(wait, at < well) for wait, tries, well in tried for at in range(tries)])


# What a history says


def test_retries_that_waited_about_equally_long_are_one_band() -> None:
    """Jitter of ten percent either way does not tear them apart; their share and median are told."""
    found = learn(KIND, [TriedDelay(wait, wait > 30_000) for wait in (27_000, 29_000, 31_000, 33_000, 60_000)])

    assert [(band.low_ms, band.high_ms, band.tries, band.well) for band in found.bands] == [
        (27_000, 33_000, 4, 2),
        (60_000, 60_000, 1, 1),
    ]
    assert (found.bands[0].typical_ms, found.bands[0].share, found.bands[0].decides) == (31_000, 0.5, False)
    assert (found.tries, found.well, found.enough) == (5, 3, False)


def test_a_share_that_would_fall_is_pooled_with_its_neighbour() -> None:
    """A cause that is over after a minute is over after two; the other way round it was chance."""
    found = history((30 * SECOND, 10, 8), (60 * SECOND, 10, 6), (120 * SECOND, 10, 10))

    assert [band.share for band in found.bands] == [0.7, 0.7, 1.0]
    assert [band.well for band in found.bands] == [8, 6, 10]


@given(st.lists(st.tuples(st.integers(0, 10**8), st.booleans()), max_size=60))
def test_shares_rise_and_keep_their_sum(tried: list[tuple[int, bool]]) -> None:
    """Whatever was tried: pooling moves successes between neighbours and loses none."""
    found = learn(KIND, [TriedDelay(*each) for each in tried])

    shares = [band.share for band in found.bands]
    assert shares == sorted(shares)
    assert sum(band.tries for band in found.bands) == found.tries == len(tried)
    assert sum(band.share * band.tries for band in found.bands) == pytest.approx(found.well)
    assert all(band.low_ms <= band.typical_ms <= band.high_ms for band in found.bands)


# What is chosen


def test_too_little_history_changes_nothing() -> None:
    """Nineteen are not twenty."""
    few = choose(history((MINUTE, RETRIES_ENOUGH - 1, 19)), 2 * MINUTE)
    enough = choose(history((MINUTE, RETRIES_ENOUGH, 20)), 2 * MINUTE)

    assert (few.differs, few.delay_ms) == (False, 2 * MINUTE) and "19 retries" in few.why
    assert (enough.differs, enough.delay_ms) == (True, MINUTE)


def test_the_shortest_wait_that_is_as_good_as_the_best_is_chosen() -> None:
    """Most often first, then the least waiting; five points in a hundred are not worth waiting for."""
    tried = history((30 * SECOND, 20, 4), (60 * SECOND, 20, 18), (100 * SECOND, 25, 23))

    choice = choose(tried, 30 * SECOND)

    assert (choice.delay_ms, choice.differs) == (60 * SECOND, True)
    assert choice.why == "18 of 20 retries that waited about 1m succeeded; the schedule says 30s"
    assert choice.band is not None and choice.band.tries == 20


def test_a_schedule_that_does_well_stays_to_the_millisecond() -> None:
    """Its own band was chosen: nothing drifts."""
    choice = choose(history((29 * SECOND, 10, 9), (33 * SECOND, 10, 9)), 30 * SECOND)

    assert (choice.delay_ms, choice.differs) == (30 * SECOND, False)
    assert choice.why.startswith("18 of 20")


def test_only_waits_that_were_tried_often_enough_and_within_the_limits_are_chosen() -> None:
    """A lucky few, and what is far away, decide nothing."""
    lucky = history((30 * SECOND, 20, 2), (60 * SECOND, BAND_TRIES - 1, BAND_TRIES - 1), (HOUR, 20, 20))
    assert choose(lucky, 30 * SECOND).differs is False
    far = choose(history((HOUR, 30, 30)), 30 * SECOND)
    assert (far.differs, far.why) == (False, "no wait near it was tried often enough")
    hopeless = choose(history((60 * SECOND, 30, 0)), 30 * SECOND)
    assert (hopeless.differs, hopeless.why) == (False, "no retry that waited about so long succeeded")


@given(
    st.lists(st.tuples(st.integers(0, 10**7), st.booleans()), min_size=RETRIES_ENOUGH, max_size=200),
    st.integers(1_000, 4 * 10**6),
)
def test_a_choice_was_tried_lies_within_the_limits_and_is_as_good_as_any(
    tried: list[tuple[int, bool]], scheduled: int
) -> None:
    """Whatever was tried and scheduled; and no shorter candidate would have done as well."""
    found = learn(KIND, [TriedDelay(*each) for each in tried])
    choice = choose(found, scheduled)
    low, high = limits_of(scheduled)
    candidates = [band for band in found.bands if band.decides and low <= band.typical_ms <= high]

    assert low <= choice.delay_ms <= high
    if choice.band is not None:
        best = max(band.share for band in candidates)
        assert choice.band.share > best - AS_GOOD
        assert all(band.share <= best - AS_GOOD for band in candidates if band.low_ms < choice.band.low_ms)
        assert choice.delay_ms in (scheduled, choice.band.typical_ms)
    else:
        assert choice.delay_ms == scheduled


# What a decision makes of it


def step(found: Diagnosis, rules: Policy, *, key: str = "t-1") -> policy.NextStep:
    """The decision about a first failure."""
    charged = int(found.charge)
    record = Record(task_id=key, attempt=1, charged=charged, uncharged=1 - charged)
    cause = Cause.RUNG if found.charge else Cause.UNCHARGED
    return policy.decide(found, record, rules, NOW, cause=cause)


def learned_rules(learned: Learned) -> Policy:
    """Rules with adaptive delays that know this."""
    return Policy(adaptive=True, learned={learned.kind: learned})


def test_a_learned_delay_is_used_and_says_so() -> None:
    """Free and charged failures alike; spread by ten percent, and recorded as it will be waited."""
    better = history((30 * SECOND, 20, 2), (60 * SECOND, 20, 20))

    free_step = step(free(), learned_rules(better))
    charged_step = step(diagnosis(), learned_rules(replace(history((5 * MINUTE, 20, 20)), kind="code_error/type")))

    assert free_step.delay_ms is not None and abs(free_step.delay_ms - 60 * SECOND) <= 6 * SECOND
    assert free_step.delay_ms != 60 * SECOND and free_step.due_at == NOW + free_step.delay_ms
    assert free_step.learned == "20 of 20 retries that waited about 1m succeeded; the schedule says 30s"
    assert charged_step.delay_ms is not None and abs(charged_step.delay_ms - 5 * MINUTE) <= 30 * SECOND
    assert "the schedule says 2m" in charged_step.learned


@given(st.text(min_size=1, max_size=12), st.sampled_from([15, 16, 60, 115, 120]))
def test_jitter_does_not_leave_the_limits(key: str, wait_s: int) -> None:
    """Half and four times the schedule's value hold for what is stored."""
    made = step(free(), learned_rules(history((wait_s * SECOND, 30, 30))), key=key)

    assert made.delay_ms is not None and 15 * SECOND <= made.delay_ms <= 120 * SECOND


def test_a_named_time_comes_first() -> None:
    """Never before it, and then nothing learned decided."""
    better = learned_rules(history((15 * SECOND, 30, 30)))
    made = step(free(retry_after_ms=NOW + HOUR), better)

    assert made.due_at is not None and made.due_at >= NOW + HOUR and made.learned == ""


def test_what_was_learned_of_another_class_or_of_an_unsure_one_is_not_used() -> None:
    """Below half sure the failure is treated as unknown, whose schedule stands."""
    rules = learned_rules(history((60 * SECOND, 30, 30)))
    plain = Policy()

    assert step(free(subcategory="dns"), rules).delay_ms == step(free(subcategory="dns"), plain).delay_ms
    assert step(free(confidence=0.4), rules).delay_ms == step(free(confidence=0.4), plain).delay_ms
    assert step(free(), learned_rules(history((30 * SECOND, 30, 30)))) == step(free(), plain)


def test_the_hash_knows_the_switch_but_not_what_was_learned() -> None:
    """Two engines that learned different things still follow the same rules."""
    assert Policy(adaptive=True).hash() != Policy().hash()
    assert learned_rules(history((MINUTE, 30, 30))).hash() == Policy(adaptive=True).hash()


def test_the_schedule_of_a_class() -> None:
    """By its category; limits and locks have their own; a name nobody knows is unknown."""
    rules = Policy()
    assert schedule_of("transient/network", rules) == rules.rungs["transient"].delays_ms
    assert schedule_of("transient/lock", rules)[0] == 5 * SECOND
    assert schedule_of("timeout", rules) == rules.rungs["timeout"].delays_ms
    assert schedule_of("odd/thing", rules) == rules.rungs["unknown"].delays_ms


def test_the_outcomes_that_tell_something() -> None:
    """Lost, requeued and cancelled attempts say nothing of their wait."""
    assert set(learning.SAYS_SOMETHING).isdisjoint({"lost", "requeued", "cancelled"})
