"""Policies on the shipped fleets: ours beats each of the others; where it does not is known; nothing is luck."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from medbay.core.holds.breaker import Limits
from medbay.core.policy.policy import Policy
from medbay.core.policy.replay import PolicyScore
from medbay.env import seeded
from medbay.sim import comparison, nights, rivals
from medbay.sim.comparison import SLOWER_AT_MOST_MS, ComparedFleet, Ours, beats, compare, total
from medbay.sim.fleets import SCENARIOS, SLOTS, Fleet
from medbay.sim.plan import DAY, HOUR, MINUTE, SECOND
from medbay.sim.rivals import EVERY, RIVALS, Rival

OURS = Ours(policy=Policy(), limits=Limits())
NAMES = [each.name for each in RIVALS]


@cache
def results() -> dict[str, dict[str, ComparedFleet]]:
    """Two nights of every fleet."""
    return compare(SCENARIOS.values(), (1, 2), {"medbay": OURS})


def rival(name: str) -> Rival:
    """One of the others."""
    return next(each for each in RIVALS if each.name == name)


def result(**figures: int) -> ComparedFleet:
    """A result of a hundred tasks."""
    values = {
        "healed": 0,
        "blocked": 0,
        "open": 0,
        "wasted": 10,
        "tokens": 10,
        "people": 0,
        "median_ms": 0,
        "p95_ms": 0,
    }
    right = figures.pop("right", 90)
    return ComparedFleet(score=PolicyScore(tasks=100, **{**values, **figures}), right=right)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_defaults_beat_each_of_the_others(name: str) -> None:
    """Over all shipped fleets together, by the definition that was written down first."""
    found = total(results())
    assert beats(found["medbay"], found[name]), (found["medbay"], found[name])
    assert not beats(found[name], found["medbay"])


@pytest.mark.long
def test_where_they_are_not_the_best_is_known() -> None:
    """Immediate retries suit chance failures; one fixed long wait suits a blip whose length it happens to fit."""
    flaky, blip, poison = results()["flaky"], results()["blip"], results()["poison"]
    assert not beats(flaky["medbay"], flaky["temporal"])
    assert (flaky["celery backoff"].score.p95_ms or 0) < (flaky["medbay"].score.p95_ms or 0)
    assert blip["celery"].score.wasted < blip["medbay"].score.wasted
    assert poison["airflow"].score.wasted < poison["medbay"].score.wasted


@pytest.mark.long
def test_a_limit_costs_a_fleet_next_to_nothing() -> None:
    """All done after it ended, and hardly anybody ran into it."""
    found = results()["limit"]["medbay"]
    assert found.right == found.score.tasks and found.score.wasted <= 4 * SLOTS


def test_the_same_seeds_give_the_same_night() -> None:
    """Whoever runs it, whenever."""
    fleet = Fleet(SCENARIOS["throttled"], 7)
    assert nights.play(fleet, Policy(), Limits()) == nights.play(Fleet(SCENARIOS["throttled"], 7), Policy(), Limits())
    assert Fleet(SCENARIOS["throttled"], 8).jobs != fleet.jobs


def test_another_policy_of_ours_gives_another_night() -> None:
    """The policy is what decides in it."""
    fleet = Fleet(SCENARIOS["flaky"], 1)
    strict = replace(Policy(), max_retries_total=0)
    assert nights.play(fleet, strict, Limits())[1] > nights.play(fleet, Policy(), Limits())[1]


@pytest.mark.long
def test_everything_of_a_night_is_accounted_for() -> None:
    """Every task of every fleet has one end under every policy."""
    for name, by_policy in results().items():
        tasks = 2 * sum(group.tasks for group in SCENARIOS[name].groups)
        for each in by_policy.values():
            assert each.score.healed + each.score.blocked + each.score.open == each.score.tasks == tasks


# What it means to beat


def test_more_tasks_at_the_right_end_beat_everything_else() -> None:
    """However much was wasted; a hundredth is a tie."""
    assert beats(result(right=95, wasted=99), result(right=90))
    assert not beats(result(right=90), result(right=95, wasted=99))
    assert beats(result(right=90, wasted=9), result(right=91))


def test_on_a_tie_thrift_decides_unless_it_is_much_slower() -> None:
    """Fewer attempts, no more tokens, at most a quarter of an hour later."""
    assert beats(result(wasted=9), result())
    assert not beats(result(), result())
    assert not beats(result(wasted=9, tokens=11), result())
    assert beats(result(wasted=9, p95_ms=SLOWER_AT_MOST_MS), result())
    assert not beats(result(wasted=9, p95_ms=SLOWER_AT_MOST_MS + 1), result())


# The others


def test_the_schedules_of_the_others_are_theirs() -> None:
    """Written here a second time, from their documentation."""
    rng = seeded("any")

    def first(name: str, count: int) -> list[int | None]:
        waits = rival(name).waits[EVERY]
        return [waits.before(number, rng) for number in range(1, count + 1)]

    assert first("celery", 4) == [180 * SECOND] * 3 + [None]
    assert first("temporal", 9) == [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 100_000, 100_000]
    assert rival("temporal").waits[EVERY].before(1_000_000, rng) == 100_000
    assert first("airflow", 1) == [None]
    assert first("airflow retries=3", 4) == [5 * MINUTE] * 3 + [None]
    assert first("old cooldown", 6) == [60_000, 120_000, 240_000, 480_000, 600_000, None]
    assert first("old tiers", 3) == [30 * MINUTE, 2 * HOUR, None]
    assert first("old recurring", 2) == [2 * MINUTE, 4 * MINUTE]
    assert rival("old recurring").waits[EVERY].before(40, rng) == DAY
    jittered = [rival("celery backoff").waits[EVERY].before(3, seeded(str(n))) or 0 for n in range(200)]
    assert 0 <= min(jittered) < 500 and 3_500 < max(jittered) <= 4_000
    ladder = rival("old ladder").waits["transient"]
    assert [ladder.before(number, rng) for number in (1, 2, 3, 4)] == [30_000, 120_000, 300_000, None]


def test_a_plain_queue_keeps_to_its_slots_and_tells_people_of_what_it_gives_up() -> None:
    """Temporal never does; Airflow does at once."""
    fleet = Fleet(SCENARIOS["poison"], 1)
    diagnosed = comparison.diagnosed()
    endless, people = rivals.play(rival("temporal"), fleet, 1, diagnosed)
    at_once, told = rivals.play(rival("airflow"), fleet, 1, diagnosed)

    assert people == 0 and sum(each.end == "open" for each in endless.values()) == 20
    assert told == 20 and all(each.wasted == 1 for each in at_once.values() if each.end == "blocked")
    assert max(each.wasted for each in endless.values()) > 200
