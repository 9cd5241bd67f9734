"""The attempts of workers that are gone: they go through the door of every ending, cancelled ones at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from medbay.core.model import Attempt, Worker
from medbay.core.outcome import Cancelled, Output
from medbay.engine.settings import Settings
from medbay.engine.settlement import Settler
from medbay.errors import StaleClaim
from medbay.places.protocol import AttemptKey, Leftovers
from medbay.service import attempts, workers, working_set
from medbay.service.attempts import Finished, Judgement
from medbay.service.workers import Reaped, Sighting
from medbay.store import attempts as attempt_rows
from medbay.store import tasks as task_rows
from medbay.store import workers as worker_rows
from medbay.store.database import Store, Tx


def reap(
    store: Store,
    settler: Settler,
    worker: Worker,
    by: Worker,
    *,
    why: str,
    hard: bool,
    settings: Settings,
    running: Collection[AttemptKey] = (),
    remains: Mapping[AttemptKey, Output] = {},
) -> Reaped | None:
    """All of it or nothing: an attempt that is left live under a worker that is gone would never end.

    `running` are those that their place says still run: they are taken up instead. `remains`: what others left.
    """
    with store.write() as tx:
        take = workers.reap if worker.stopped_at is None else workers.inherit
        found = take(
            tx,
            worker,
            by,
            why=why,
            hard=hard,
            crash_budget=settings.crash_budget,
            places=settings.place_slots.keys(),
            running=running,
            remains=remains,
        )
        if found is not None and settler.settle_in(tx, found.finished, worker.id, working_set.load(tx)):
            raise StaleClaim(f"an attempt of {worker.id} changed while it was recorded")
        return found


def end_cancelled(
    store: Store,
    task_ids: Collection[str],
    *,
    leftovers: Leftovers,
    see: Callable[[Worker], Sighting],
    grace_ms: int,
    by: Judgement,
) -> None:
    """Record the attempts of these tasks as cancelled where no engine is there to do so; first their processes end."""
    with store.read() as tx:
        orphans = _orphans(tx, task_ids, see=see, grace_ms=grace_ms)
    for each in orphans:
        live = partial(_live_beside, store, each)
        leftovers.end(store_id=store.store_id, live=live, task_id=each.task_id)
        with store.write() as tx:  # an engine that was faster has ended it by now, and then this changes nothing
            finished = Finished(task_id=each.task_id, number=each.number, outcome=Cancelled(), ended_at=tx.now)
            attempts.end(tx, finished, working_set.load(tx), worker_id=each.worker_id, by=by)


def _orphans(tx: Tx, task_ids: Collection[str], *, see: Callable[[Worker], Sighting], grace_ms: int) -> list[Attempt]:
    asked = [task for task_id in task_ids if (task := task_rows.get(tx, task_id)) and task.cancel_requested]
    if not any(task.live for task in asked):
        return []
    dead = {worker.id for worker, _, _ in workers.find_dead(tx, None, see=see, grace_ms=grace_ms)}
    dead |= {worker.id for worker in worker_rows.left_behind(tx, ("",))}
    found = (attempt_rows.get(tx, task.id, task.live) for task in asked if task.live)
    # What runs elsewhere is ended by the engine that takes it up: nobody else can.
    return [each for each in found if each is not None and each.worker_id in dead and not each.place]


def _live_beside(store: Store, orphan: Attempt) -> frozenset[tuple[str, int]]:
    with store.read() as tx:
        return attempt_rows.live_keys(tx) - {(orphan.task_id, orphan.number)}
