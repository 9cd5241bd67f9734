"""Which worker an engine is: its process on this machine, its row in the store, and what it sees of other workers."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from medbay import env
from medbay.core.model import Worker
from medbay.engine.lease import Lease
from medbay.engine.settings import Host, Settings
from medbay.env import Clock, Ids
from medbay.places.processes import identity_of, is_alive
from medbay.places.protocol import Identity
from medbay.service import boots, budgets, workers
from medbay.service.workers import Sighting
from medbay.store.database import Store


def this_host() -> Host:
    """The process that calls this."""
    identity = identity_of(os.getpid())
    return Host(
        name=socket.gethostname(),
        machine_id=env.machine_id(),
        boot_id=env.boot_id(),
        pid=os.getpid(),
        pid_start=identity.pid_start if identity else 0,
    )


def see(worker: Worker, host: Host) -> Sighting:
    """Whether a worker's process is still there, as far as this machine can tell."""
    if (worker.machine_id, worker.host) != (host.machine_id, host.name):
        return "elsewhere"
    if worker.boot_id != host.boot_id:
        return "rebooted"
    alive = is_alive(Identity(pid=worker.pid, pid_start=worker.pid_start, group=worker.pid))
    return "alive" if alive else "dead"


def register(
    store: Store, clock: Clock, ids: Ids, settings: Settings, host: Host, *, on_renewal: Callable[[float], None]
) -> tuple[Worker, Lease]:
    """A new identity with a lease that begins now; `on_renewal` hears of each."""
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
        booted_at = tx.now - round(renewed_s * 1000)
        boots.notice(tx, machine_id=host.machine_id, boot_id=host.boot_id, booted_at=booted_at, queues=settings.queues)
    return worker, Lease(worker_id, clock, lease_ms=settings.lease_ms, renewed_s=renewed_s, on_renewal=on_renewal)
