"""The lease of one engine: renewed beside the loop, guarded by the monotonic clock.

Plain functions of time; the daemon calls them from a thread, the simulator from its schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

from medbay.env import Clock
from medbay.errors import StoreError
from medbay.runners.protocol import Running
from medbay.service import workers
from medbay.store.database import Store

JUMP_MS: Final = 5_000
TERMINATE_AT: Final = 2 / 3
KILL_AT: Final = 5 / 6

LeaseState = Literal["held", "terminating", "killing", "gone"]


class Lease:
    """Knows how long ago the store last heard of this worker, and what that allows."""

    def __init__(self, worker_id: str, clock: Clock, *, lease_ms: int) -> None:
        self.worker_id = worker_id
        self.given_up = False  # the store said so: another engine reaped this identity
        self._clock = clock
        self._lease_ms = lease_ms
        self._renewed_s = clock.monotonic_s()
        self._wall_ms = clock.now_ms()
        self._seen_s = self._renewed_s

    @property
    def interval_s(self) -> float:
        """How often to renew."""
        return min(10.0, self._lease_ms / 3000)

    def beat(self, store: Store) -> bool:
        """Renew the lease; False when the store could not be reached or gave this worker up."""
        started = self._clock.monotonic_s()
        try:
            with store.write() as tx:
                held = workers.renew(tx, self.worker_id, self._lease_ms)
        except StoreError:
            return False
        if held:
            self._renewed_s = started
        else:
            self.given_up = True
        return held

    def state(self) -> LeaseState:
        """What the time since the last renewal allows."""
        share = (self._clock.monotonic_s() - self._renewed_s) * 1000 / self._lease_ms
        if self.given_up or share >= 1:
            return "gone"
        if share >= KILL_AT:
            return "killing"
        return "terminating" if share >= TERMINATE_AT else "held"

    def guard(self, running: Callable[[], Iterable[Running]]) -> LeaseState:
        """End this worker's trees before another machine may start them again."""
        state = self.state()
        now_s = self._clock.monotonic_s()
        if state == "terminating":
            for each in running():
                each.hand_back(now_s, why="the lease could not be renewed")
        elif state in ("killing", "gone"):
            for each in running():
                each.kill()
        return state

    def clock_jump_ms(self) -> int:
        """How far the wall clock moved against the monotonic one since the last look; 0 when they agree."""
        wall_ms, seen_s = self._clock.now_ms(), self._clock.monotonic_s()
        moved = (wall_ms - self._wall_ms) - round((seen_s - self._seen_s) * 1000)
        self._wall_ms, self._seen_s = wall_ms, seen_s
        return moved if abs(moved) > JUMP_MS else 0
