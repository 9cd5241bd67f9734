"""A split in the simulator: whatever kills the engine around it, it is whole or not there, its parts in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import pytest

from medbay.sim.faults import Fault, Faults
from medbay.sim.many import described
from medbay.sim.plan import HOUR, Plan
from medbay.sim.world import Report, World

PLAN = Plan(
    seed=49, tasks=6, safety_ms=2 * HOUR, engines=1, agents=True, trouble_gap_ms=1000 * HOUR, person_gap_ms=HOUR
)
AROUND = 3  # commits before and after the one that splits
FAULTS: tuple[Fault, ...] = ("crash_before", "crash_after", "refuse")


@dataclass(slots=True, kw_only=True)
class OneFault(Faults):
    """One commit of the engine goes wrong, all others go well."""

    at: int = 0
    what: Fault = "crash_before"
    commits: list[int] = field(default_factory=list)

    def draw(self) -> Fault | None:
        """Count the commits, and strike at the one."""
        self.commits.append(len(self.commits) + 1)
        return self.what if self.commits[-1] == self.at else None


def world_with(at: int, what: Fault = "crash_before") -> tuple[World, OneFault]:
    """The world of the plan, with one fault in it."""
    world = World(PLAN)
    daemon = world.daemons[0]
    faults = OneFault(rng=daemon.faults.rng, crash_share=0.0, refusal_share=0.0, at=at, what=what)
    daemon.faults = faults
    return world, faults


@cache
def commit_that_splits() -> int:
    """Which commit of the engine makes the first split when nothing goes wrong."""
    world, faults = world_with(0)
    found: list[int] = []
    real = world.checker.splits.hear

    def hear(*args: object) -> None:
        real(*args)  # type: ignore[arg-type]
        if world.checker.splits.parts and not found:
            found.append(len(faults.commits))

    world.checker.splits.hear = hear  # type: ignore[method-assign, assignment]
    report = world.run()
    assert report.broken is None, described(report)
    return found[0]


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("step", range(-AROUND, AROUND + 1))
def test_killed_between_any_two_steps_nothing_is_half_split(step: int, what: Fault) -> None:
    """The checkers look after every commit: all parts or none, closed once, in order, and everything ends."""
    at = commit_that_splits() + step
    world, faults = world_with(at, what)

    report: Report = world.run()

    assert len(faults.commits) > at
    assert report.broken is None, f"\n{described(report)}"
    assert set(report.statuses) <= {"completed", "cancelled"}
