"""How an engine becomes a worker of a store: one row, one lease."""

from __future__ import annotations

from collections.abc import Callable

from medbay.core.model import Worker
from medbay.engine.lease import Lease
from medbay.engine.settings import Host, Settings
from medbay.env import Clock, Ids
from medbay.service import budgets, workers
from medbay.store.database import Store


def register(
    store: Store, clock: Clock, ids: Ids, settings: Settings, host: Host, *, tell: Callable[[float], None]
) -> tuple[Worker, Lease]:
    """A new identity with a lease that begins now; `tell` hears of every renewal."""
    worker_id, renewed_s = ids.worker(), clock.boottime_s()  # before the store is asked: it may take its time
    with store.write() as tx:
        worker = Worker(
            id=worker_id,
            host=host.name,
            machine_id=host.machine_id,
            boot_id=host.boot_id,
            pid=host.pid,
            pid_start=host.pid_start,
            slots=settings.slots,
            queues=settings.queues,
            started_at=tx.now,
            beat_at=tx.now,
            lease_until=tx.now + settings.lease_ms,
            policy_hash=settings.policy.hash(),
        )
        workers.register(tx, worker)
        budgets.hear_limits(tx, settings.budget)
    return worker, Lease(worker_id, clock, lease_ms=settings.lease_ms, renewed_s=renewed_s, tell=tell)
