"""What kind of world a seed is: its size, its machines, and how much goes wrong in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from medbay.env import seeded

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
BUSY_FROM: Final = 500  # tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The numbers of one world. Shares are chances per occasion, gaps are mean times between two occurrences."""

    seed: int
    tasks: int
    safety_ms: int
    patience_ms: int = 21 * DAY  # how long the liveness phase may take until the next task ends
    engines: int = 2
    hosts: int = 1
    slots: int = 4
    busy: bool = False  # most work depends on services that are often down: many runs per task
    stubborn: bool = False  # whether hopeless work may fail for free, which takes days to end
    lease_ms: int = 30 * SECOND
    grace_ms: int = 10 * SECOND
    crash_share: float = 0.0  # of the commits of an engine
    refusal_share: float = 0.0  # of the commits of an engine: the store says no
    trouble_gap_ms: int = HOUR  # stops, suspensions, lost heartbeats, an absent store, clock jumps, reboots
    person_gap_ms: int = 10 * MINUTE
    outage_gap_ms: int = 4 * HOUR
    outage_ms: int = 30 * MINUTE
    agents: bool = False  # whether agents work on half of it, so that triage may split it
    turns: bool = False  # whether engines take the steps of a round in one transaction where they can, as they do
    hearts: bool = False  # whether an engine's heart may stand still while its loop goes on
    channels: bool = False  # whether events are delivered to hooks
    mutexes: bool = False  # whether some of the tasks share a few mutexes
    queue_slots: int = 0  # how many tasks of the queue run at once, on all engines together; 0: no limit
    places: bool = False  # whether there is a cluster elsewhere, where half of the tasks run
    loaded: bool = False  # whether machines are short of CPU now and then, and retries wait for that
    sweep_every: int = 500  # steps between two checks of the whole store


def draw(seed: int, *, days: float | None = None, tasks: int | None = None, places: bool = True) -> Plan:
    """The world of a seed; `days` and `tasks` make it longer and larger without changing its kind.

    Without `places` it is what it was before there was a second one.
    """
    rng = seeded(f"{seed}/plan")
    hours = rng.choice((1, 1, 2, 2, 4, 8, 16, 24))
    hosts = rng.choice((1, 1, 2))
    plan = Plan(
        seed=seed,
        tasks=rng.choice((3, 8, 15, 25, 40)),
        safety_ms=hours * HOUR,
        engines=rng.choice((1, 2, 2, 2, 3)),
        hosts=hosts,
        slots=rng.choice((1, 2, 3, 4, 8)),
        stubborn=rng.random() < 0.15,
        lease_ms=rng.choice((30, 30, 120)) * SECOND,
        crash_share=rng.choice((0.0, 0.01, 0.03, 0.1)),
        refusal_share=rng.choice((0.0, 0.0, 0.02, 0.1)),
        trouble_gap_ms=hours * HOUR // rng.choice((2, 6, 15)),
        person_gap_ms=hours * HOUR // rng.choice((5, 30, 80)),
        turns=seeded(f"{seed}/turns").random() < 0.5,
        channels=seeded(f"{seed}/channels").random() < 0.3,
        agents=seeded(f"{seed}/agents").random() < 0.3,  # a stream of its own: the other worlds stay what they were
        hearts=seeded(f"{seed}/pulse").random() < 0.2,
        mutexes=seeded(f"{seed}/mutexes").random() < 0.4,
        queue_slots=seeded(f"{seed}/queue slots").choice((0, 0, 0, 1, 3)),
        loaded=seeded(f"{seed}/load").random() < 0.2,
        places=places and seeded(f"{seed}/places").random() < 0.5,
    )
    if days is not None or tasks is not None:
        plan = _stretched(plan, days, tasks)
    return plan


def _stretched(plan: Plan, days: float | None, tasks: int | None) -> Plan:
    safety_ms = plan.safety_ms if days is None else max(HOUR, round(days * DAY))
    many = plan.tasks if tasks is None else max(1, tasks)
    return replace(
        plan,
        tasks=many,
        safety_ms=safety_ms,
        slots=max(plan.slots, min(64, many // 20)),
        crash_share=plan.crash_share / max(1, many // 40),
        refusal_share=plan.refusal_share / max(1, many // 40),
        trouble_gap_ms=max(plan.trouble_gap_ms, safety_ms // 200),
        person_gap_ms=max(MINUTE, safety_ms // (many * 2)),
        busy=many >= BUSY_FROM,
        channels=plan.channels and many < BUSY_FROM,
        turns=plan.turns and many < BUSY_FROM,  # the checkers keep a copy of what they know for each
        lease_ms=plan.lease_ms if many < BUSY_FROM else 120 * SECOND,
        outage_gap_ms=4 * HOUR if many < BUSY_FROM else 6 * HOUR,
        outage_ms=plan.outage_ms if many < BUSY_FROM else 12 * HOUR,
        sweep_every=max(plan.sweep_every, many * 10),
    )
