"""The real engine over a clock of its own, with attempts that only take time: what is spent is the engine's alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

from medbay.core.outcome import Cancelled, Outcome, Requeued
from medbay.core.policy.policy import Policy
from medbay.engine.round import Engine
from medbay.errors import SpawnFailed
from medbay.places.here import Here
from medbay.places.protocol import AttemptKey, Identity, Launch, Place
from medbay.places.routing import Places
from medbay.service import waking
from medbay.store.database import Store
from tests.worlds import ManualClock, World

SECOND = 1_000
STEP_MAX = 60 * SECOND
CLUSTER = "cluster"
Ends = Callable[[Launch], tuple[Outcome, float]]  # how an attempt ends, and after how many seconds


class Attempt:
    """One that ends at its time."""

    def __init__(self, outcome: Outcome, ends_s: float) -> None:
        self.identity: Identity | None = None
        self._outcome, self._ends_s = outcome, ends_s

    def fileno(self) -> int:
        """Nothing to wait on."""
        return -1

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended, once it has."""
        return self._outcome if monotonic_s >= self._ends_s else None

    def deadline_s(self) -> float | None:
        """When it ends."""
        return self._ends_s

    def cancel(self, monotonic_s: float) -> None:
        """It ends now."""
        self._outcome, self._ends_s = Cancelled(), monotonic_s

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """It is given back."""
        self._outcome, self._ends_s = Requeued(asked=False, why=why), monotonic_s

    def kill(self) -> None:
        """It is gone."""
        self._outcome, self._ends_s = Requeued(asked=False, why="killed by the worker"), 0.0


class Site:
    """Where attempts only take time: this machine's runner, and a place elsewhere."""

    def __init__(self, ends: Ends) -> None:
        self._ends = ends
        self.started = 0

    def start(self, launch: Launch, monotonic_s: float) -> Attempt:
        """It ends as it is said to."""
        self.started += 1
        outcome, lasts_s = self._ends(launch)
        return Attempt(outcome, monotonic_s + lasts_s)

    def reattach(self, launch: Launch, monotonic_s: float) -> Attempt:
        """No engine dies here."""
        raise SpawnFailed("nothing was left")

    def still_running(self, attempts: Collection[AttemptKey]) -> frozenset[AttemptKey]:
        """Nothing was left."""
        return frozenset()

    def unreachable(self) -> str:
        """It is always there."""
        return ""

    def close(self) -> None:
        """Nothing is held."""


class Day:
    """An engine and its time, which passes from one moment at which something happens to the next."""

    def __init__(self, store: Store, clock: ManualClock, ends: Ends, *, slots: int, there: int, root: Path) -> None:
        self.store, self.clock, self.site = store, clock, Site(ends)
        self.ticks = 0
        self.most_live = 0
        self.watched = 0  # how often an attempt was looked at
        self.cpu_s = 0.0  # of the rounds alone
        world = World(store, clock, policy=Policy(), root=root)

        def both(runners: object, leftovers: object) -> Place:
            return Places(Here({"shell": self.site, "agent": self.site}, world.leftovers), {CLUSTER: self.site})

        self.engine: Engine = world.engine(
            slots=slots, place=both, lease_ms=10 * STEP_MAX, place_slots={CLUSTER: there}
        )

    def start(self) -> None:
        """Let the engine begin."""
        self.engine.start()

    def pass_until(self, moment: int) -> None:
        """Let it work until then."""
        while self.clock.wall_ms < moment:
            self.tick()
            self.clock.advance(min(self._left(), moment - self.clock.wall_ms))

    def tick(self) -> None:
        """One round."""
        began = time.process_time()
        self.engine.lease.beat(self.store)
        self.engine.tick()
        self.cpu_s += time.process_time() - began
        self.ticks += 1
        self.watched += len(self.engine.live)
        self.most_live = max(self.most_live, len(self.engine.live))

    def _left(self) -> int:
        """Milliseconds until something happens; rounds are a second apart at least."""
        ends = (each.running.deadline_s() for each in self.engine.live.values())
        left = min((round((end - self.clock.seconds) * 1000) for end in ends if end is not None), default=STEP_MAX)
        with self.store.read() as tx:
            due = waking.next_at(tx)
        return max(SECOND, min(left, STEP_MAX, STEP_MAX if due is None else due - self.clock.wall_ms))
