"""The heart of a simulated engine: the threads beside its loop, and what its guardian does when they hang."""

from __future__ import annotations

from dataclasses import dataclass

from medbay.engine.lease import KILL_AT, Lease
from medbay.sim.plan import SECOND
from medbay.sim.scripts import NEVER_MS


@dataclass(slots=True)
class Heart:
    """While it stands still the loop goes on, nobody renews the lease, and only the guardian guards it."""

    lease_ms: int
    stands_until_ms: int = 0
    struck_ms: int = 0

    def strike_ms(self, lease: Lease, now_ms: int) -> int:
        """When the guardian strikes next: from five sixths of the lease on, again and again, while the heart stands."""
        if now_ms >= self.stands_until_ms:
            return NEVER_MS
        silent_ms = round(lease.renewed_s * 1000 + self.lease_ms * KILL_AT)
        return max(silent_ms, self.struck_ms + SECOND)
