"""Policies side by side on the shipped fleets, and what it means that one beats another: said before measuring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Final, NamedTuple

from medbay.core.diagnosis import Diagnosis, diagnose
from medbay.core.holds.breaker import Limits
from medbay.core.policy.policy import Policy
from medbay.core.policy.replay import Played, PolicyScore, score
from medbay.sim import nights, rivals
from medbay.sim.fleets import Fleet, Scenario
from medbay.sim.plan import MINUTE
from medbay.sim.rivals import RIVALS
from medbay.sim.scripts import ENDINGS, Fate

TIE: Final = 0.01  # of the tasks
SLOWER_AT_MOST_MS: Final = 15 * MINUTE  # what a spread release may cost


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFleet:
    """What one policy came to."""

    score: PolicyScore
    right: int  # tasks that ended as they should: healed, or where nothing can heal them, with a person


@dataclass(frozen=True, slots=True, kw_only=True)
class Ours:
    """A policy of this project with its limits for breakers."""

    policy: Policy
    limits: Limits


class _ComparedNight(NamedTuple):
    fleet: Fleet
    played: dict[str, Played]
    people: int  # questions, those of incidents and holds included


def compare(
    scenarios: Iterable[Scenario], seeds: Sequence[int], ours: Mapping[str, Ours]
) -> dict[str, dict[str, ComparedFleet]]:
    """By scenario and policy: each of ours in the real engine, each rival in a plain queue, over the same fleets."""
    return {scenario.name: _of_scenario(scenario, seeds, ours) for scenario in scenarios}


def total(results: Mapping[str, Mapping[str, ComparedFleet]]) -> dict[str, ComparedFleet]:
    """All scenarios together, by policy; medians and percentiles cannot be added, so the worst of them stand."""
    names = next(iter(results.values()))
    return {name: _summed([each[name] for each in results.values()]) for name in names}


def beats(one: ComparedFleet, other: ComparedFleet) -> bool:
    """More tasks at the right end; or as many, and fewer attempts and tokens wasted without being much slower.

    A hundredth of the tasks is a tie. Much slower is a 95th percentile more than 15 minutes later.
    """
    margin = one.score.tasks * TIE
    if abs(one.right - other.right) > margin:
        return one.right > other.right
    slower = (one.score.p95_ms or 0) - (other.score.p95_ms or 0)
    thrifty = one.score.wasted < other.score.wasted and one.score.tokens <= other.score.tokens
    return thrifty and slower <= SLOWER_AT_MOST_MS


def _of_scenario(scenario: Scenario, seeds: Sequence[int], ours: Mapping[str, Ours]) -> dict[str, ComparedFleet]:
    names = (*ours, *(each.name for each in RIVALS))
    played: dict[str, list[_ComparedNight]] = {name: [] for name in names}
    for seed in seeds:
        fleet = Fleet(scenario, seed)
        for name, each in ours.items():
            played[name].append(_ComparedNight(fleet, *nights.play(fleet, each.policy, each.limits)))
        for rival in RIVALS:
            played[rival.name].append(_ComparedNight(fleet, *rivals.play(rival, fleet, seed, diagnosed())))
    return {name: _result(each) for name, each in played.items()}


def _result(played: Sequence[_ComparedNight]) -> ComparedFleet:
    right = sum(
        each.end == ("healed" if night.fleet.jobs[job].healable else "blocked")
        for night in played
        for job, each in night.played.items()
    )
    figures = score(each for night in played for each in night.played.values())
    return ComparedFleet(score=replace(figures, people=sum(night.people for night in played)), right=right)


def _summed(results: Sequence[ComparedFleet]) -> ComparedFleet:
    scores = [each.score for each in results]
    return ComparedFleet(
        score=PolicyScore(
            tasks=sum(each.tasks for each in scores),
            healed=sum(each.healed for each in scores),
            blocked=sum(each.blocked for each in scores),
            open=sum(each.open for each in scores),
            wasted=sum(each.wasted for each in scores),
            tokens=sum(each.tokens for each in scores),
            people=sum(each.people for each in scores),
            median_ms=max((each.median_ms for each in scores if each.median_ms is not None), default=None),
            p95_ms=max((each.p95_ms for each in scores if each.p95_ms is not None), default=None),
        ),
        right=sum(each.right for each in results),
    )


@cache
def diagnosed() -> Mapping[str, Diagnosis]:
    """What a failure of each kind is taken for; rivals get it as if they had diagnosed it too."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    found = {}
    for how, ending in ENDINGS.items():
        text = Fate(how, 1, named_s=60).outcome("").output.text()
        found[how] = diagnose(text, now=now, exit_code=ending.exit_code, signal=ending.signal, runner="shell")
    return found
