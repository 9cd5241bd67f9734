"""Cheap questions about what is going on: each is answered by one index."""

from __future__ import annotations

from medbay.store.database import Tx


def has_live_attempt(tx: Tx, queue: str) -> bool:
    """Whether anything of a queue is running."""
    sql = "SELECT 1 FROM attempt a JOIN task t ON t.id = a.task_id WHERE a.ended_at IS NULL AND t.queue = ? LIMIT 1"
    return tx.one(sql, (queue,)) is not None


def has_claimable(tx: Tx, queue: str) -> bool:
    """Whether a worker of this queue would find something to claim."""
    fresh = "SELECT 1 FROM task WHERE queue = ? AND ready = 1 AND hold IS NULL AND crashes = 0 LIMIT 1"
    suspect = "SELECT 1 FROM task WHERE queue = ? AND ready = 1 AND hold IS NULL AND crashes > 0 LIMIT 1"
    return tx.one(fresh, (queue,)) is not None or tx.one(suspect, (queue,)) is not None


def has_pending_retry(tx: Tx, queue: str) -> bool:
    """Whether a task of this queue waits to be retried, however far away that is."""
    sql = (
        "SELECT 1 FROM retry r JOIN task t ON t.id = r.task_id"
        " WHERE r.status = 'pending' AND t.queue = ? AND t.paused = 0 LIMIT 1"
    )
    return tx.one(sql, (queue,)) is not None


def has_requeued(tx: Tx, queue: str) -> bool:
    """Whether a task of this queue asked to be tried again later."""
    sql = (
        "SELECT 1 FROM task WHERE queue = ? AND status = 'pending' AND due_at IS NOT NULL AND attempts > 0"
        " AND paused = 0 LIMIT 1"
    )
    return tx.one(sql, (queue,)) is not None


def block_kinds_of_worker(tx: Tx, worker_id: str) -> set[str]:
    """How those tasks are blocked that this worker ran."""
    rows = tx.rows(
        "SELECT DISTINCT t.block_kind FROM attempt a JOIN task t ON t.id = a.task_id"
        " WHERE a.worker_id = ? AND t.status = 'blocked'",
        (worker_id,),
    )
    return {row[0] for row in rows}


def live_by_worker(tx: Tx) -> dict[str, int]:
    """How many attempts each worker is running."""
    rows = tx.rows("SELECT worker_id, count(*) FROM attempt WHERE ended_at IS NULL GROUP BY worker_id")
    return {row[0]: row[1] for row in rows}
