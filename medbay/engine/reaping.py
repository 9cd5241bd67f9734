"""Putting the attempts of a worker that is gone through the door of every ending."""

from __future__ import annotations

from medbay.core.model import Worker
from medbay.engine.settings import Settings
from medbay.engine.settling import Settler
from medbay.errors import StaleClaim
from medbay.service import workers, working_set
from medbay.service.workers import Reaped
from medbay.store.database import Store


def reap(
    store: Store, settler: Settler, worker: Worker, by: Worker, *, why: str, hard: bool, settings: Settings
) -> Reaped | None:
    """All of it or nothing: an attempt that is left live under a worker that is gone would never end."""
    with store.write() as tx:
        take = workers.reap if worker.stopped_at is None else workers.inherit
        found = take(tx, worker, by, why=why, hard=hard, crash_budget=settings.crash_budget)
        if found is not None and settler.settle_in(tx, found.finished, worker.id, working_set.load(tx)):
            raise StaleClaim(f"an attempt of {worker.id} changed while it was recorded")
        return found
