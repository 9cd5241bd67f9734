"""The lease of one engine: renewed in a thread of its own, guarded by a clock that counts suspends.

Plain functions of time; the daemon calls them from a thread, the simulator from its schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

from medbay.env import Clock
from medbay.errors import StoreError
from medbay.places.protocol import Running
from medbay.service import workers
from medbay.store.database import Store

JUMP_MS: Final = 5_000
TERMINATE_AT: Final = 2 / 3
KILL_AT: Final = 5 / 6
GUARD_SHARE: Final = 1 / 24  # how often the lease is checked, as a share of it
RENEW_BEFORE: Final = KILL_AT - GUARD_SHARE  # so that the guardian hears of it before it would strike

LeaseState = Literal["held", "terminating", "killing", "gone"]


class Lease:
    """Knows how long ago the store last heard of this worker, and what that allows."""

    def __init__(
        self, worker_id: str, clock: Clock, *, lease_ms: int, renewed_s: float, on_renewal: Callable[[float], None]
    ) -> None:
        self.worker_id = worker_id
        self.given_up = False  # the store said so: another engine reaped this identity
        self.renewed_s = renewed_s
        self._clock = clock
        self._lease_ms = lease_ms
        self._on_renewal = on_renewal

    @property
    def interval_s(self) -> float:
        """How often to renew."""
        return min(10.0, self._lease_ms / 3000)

    def beat(self, store: Store) -> bool:
        """Renew the lease; False when it is too late, or the store could not be reached or gave this worker up."""
        started = self._clock.boottime_s()
        try:
            with store.write() as tx:
                if self._is_too_late():  # asked here: the store may have been locked for long
                    return False
                held = workers.renew(tx, self.worker_id, self._lease_ms)
        except StoreError:
            return False
        if not held:
            self.given_up = True
            return False
        # The guardian hears of it first. Was it too late by then, it may have struck: that must not be taken for work
        # that failed, so this lease runs out.
        self._on_renewal(started)
        if self._is_too_late():
            return False
        self.renewed_s = started
        return True

    def state(self) -> LeaseState:
        """What the time since the last renewal allows."""
        if self.given_up:
            return "gone"
        share = (self._clock.boottime_s() - self.renewed_s) * 1000 / self._lease_ms
        if share < TERMINATE_AT:
            return "held"
        if share < KILL_AT:
            return "terminating"
        return "killing" if share < 1 else "gone"

    def guard(self, running: Callable[[], Iterable[Running]]) -> LeaseState:
        """End this worker's trees before another machine may start them again."""
        state = self.state()
        if state == "held":
            return state
        now_s = self._clock.monotonic_s()
        if state == "terminating":
            for each in running():
                each.hand_back(now_s, why="the lease could not be renewed")
        elif state in ("killing", "gone"):
            for each in running():
                each.kill()
        return state

    @property
    def is_lost(self) -> bool:
        """Whether its trees are being ended for good: how they end says nothing of the work."""
        return self.state() in ("killing", "gone")

    def _is_too_late(self) -> bool:
        share = (self._clock.boottime_s() - self.renewed_s) * 1000 / self._lease_ms
        return self.given_up or share >= RENEW_BEFORE


class ClockWatch:
    """Sees the wall clock jump, also by a suspend, and remembers it until the store has it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._wall_ms = clock.now_ms()
        self._seen_s = clock.monotonic_s()
        self._jumped_ms = 0

    def jumped_ms(self) -> int:
        """How far the wall clock moved against the monotonic one, as far as it is not recorded; 0 when they agree."""
        wall_ms, seen_s = self._clock.now_ms(), self._clock.monotonic_s()
        moved = (wall_ms - self._wall_ms) - round((seen_s - self._seen_s) * 1000)
        self._wall_ms, self._seen_s = wall_ms, seen_s
        if abs(moved) > JUMP_MS:
            self._jumped_ms += moved
        return self._jumped_ms

    def recorded(self) -> None:
        """It is recorded."""
        self._jumped_ms = 0
