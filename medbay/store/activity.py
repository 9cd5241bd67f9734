"""Cheap questions about what is going on: each is answered by one index."""

from __future__ import annotations

from typing import Final, NamedTuple

from medbay.core.model import Task
from medbay.store.breakers import NEXT_LOOK_SQL
from medbay.store.database import Tx
from medbay.store.questions import NEXT_SEND_SQL
from medbay.store.rows import TASK_COLUMNS, task
from medbay.store.tasks import NEXT_DUE_SQL, NEXT_EXPECTED_SQL, NEXT_SLOW_SQL, free_mutexes

# Each is ordered as its index is: a planner that expects many rows would else scan the table for the first of none.
LIVE_ATTEMPT_SQL: Final = (
    "SELECT 1 FROM attempt a WHERE a.ended_at IS NULL"
    " AND EXISTS (SELECT 1 FROM task t WHERE t.id = a.task_id AND t.queue = ?) ORDER BY a.worker_id, a.task_id LIMIT 1"
)
FRESH_SQL: Final = (
    "SELECT 1 FROM task WHERE queue = ? AND ready = 1 AND hold IS NULL AND crashes = 0"
    " ORDER BY queue, recovery, place, priority, ready_at, id LIMIT 1"
)
SUSPECT_SQL: Final = (
    "SELECT 1 FROM task WHERE queue = ? AND ready = 1 AND hold IS NULL AND crashes > 0"
    " ORDER BY queue, crashes, priority, ready_at, id LIMIT 1"
)
READY_AGAIN_SQL: Final = (
    "SELECT count(*) FROM (SELECT 1 FROM task WHERE queue = ? AND recovery = 1 AND ready = 1 AND hold IS NULL"
    " AND crashes = 0 LIMIT ?) waiting"
)
PENDING_RETRY_SQL: Final = (
    "SELECT 1 FROM task WHERE queue = ? AND status = 'failed' AND paused = 0 AND endless = 0 AND unmet = 0"
    " AND EXISTS (SELECT 1 FROM retry r WHERE r.task_id = task.id AND r.status = 'pending') ORDER BY queue, id LIMIT 1"
)
REQUEUED_SQL: Final = (
    "SELECT 1 FROM task WHERE queue = ? AND status = 'pending' AND due_at IS NOT NULL AND paused = 0"
    " AND endless = 0 AND (attempts > 0 OR max_iterations IS NOT NULL) AND unmet = 0 ORDER BY queue, id LIMIT 1"
)


class Wakes(NamedTuple):
    """When the next of each kind has to be seen to."""

    breaker: int | None = None
    question: int | None = None
    task: int | None = None
    expected: int | None = None  # a task that should have ended by then
    slow: int | None = None  # one that takes strangely long then


NEXT_WAKES_SQL: Final = (
    f"SELECT ({NEXT_LOOK_SQL}), ({NEXT_SEND_SQL}), ({NEXT_DUE_SQL}), ({NEXT_EXPECTED_SQL}), ({NEXT_SLOW_SQL})"
)
LOOKED_AT_ELSEWHERE_SQL: Final = (
    "SELECT 1 FROM triage g WHERE g.ended_at IS NULL"
    " AND EXISTS (SELECT 1 FROM task t WHERE t.id = g.task_id AND t.queue = ? AND t.endless = 0 AND t.paused = 0)"
    " AND EXISTS (SELECT 1 FROM task t WHERE t.id = g.id AND t.queue <> ?"
    " AND (t.live IS NOT NULL OR (t.ready = 1 AND t.hold IS NULL))) LIMIT 1"
)
WANTS_TRIAGE_SQL: Final = (
    "SELECT 1 FROM task WHERE wants_triage = 1 AND paused = 0 AND queue = ? AND endless = 0"
    " ORDER BY queue, since, id LIMIT 1"
)


def has_live_attempt(tx: Tx, queue: str) -> bool:
    """Whether anything of a queue is running."""
    return tx.one(LIVE_ATTEMPT_SQL, (queue,)) is not None


def has_claimable(tx: Tx, queue: str) -> bool:
    """Whether a worker of this queue would find something to claim."""
    if tx.one(FRESH_SQL, (queue,)) is not None or tx.one(SUSPECT_SQL, (queue,)) is not None:
        return True
    return bool(free_mutexes(tx, queue, 1))


def has_pending_retry(tx: Tx, queue: str) -> bool:
    """Whether a task of this queue waits to be retried, however far away; an endless recurring task does not count."""
    return tx.one(PENDING_RETRY_SQL, (queue,)) is not None


def has_requeued(tx: Tx, queue: str) -> bool:
    """Whether a task of this queue asked to be tried again later, or has a number of iterations left."""
    return tx.one(REQUEUED_SQL, (queue,)) is not None


def has_wanted_triage(tx: Tx, queue: str) -> bool:
    """Whether a task of this queue waits for a triage to start; an endless recurring task does not count."""
    return tx.one(WANTS_TRIAGE_SQL, (queue,)) is not None


def is_looked_at_elsewhere(tx: Tx, queue: str) -> bool:
    """Whether a triage of a task of this queue runs in another one, as those of `medbay triage` do."""
    return tx.one(LOOKED_AT_ELSEWHERE_SQL, (queue, queue)) is not None


def ran_what_wants_triage(tx: Tx, worker_id: str) -> bool:
    """Whether a task that this worker ran waits for a triage to start."""
    sql = (
        "SELECT 1 FROM attempt a JOIN task t ON t.id = a.task_id"
        " WHERE a.worker_id = ? AND t.wants_triage = 1 AND t.waits_for IS NOT NULL LIMIT 1"
    )
    return tx.one(sql, (worker_id,)) is not None


def count_ready_again(tx: Tx, queue: str, limit: int) -> int:
    """How many tasks of a queue that failed before are ready; counted up to a limit."""
    row = tx.one(READY_AGAIN_SQL, (queue, limit))
    return int(row[0]) if row else 0


def live_recovery_by_worker(tx: Tx) -> dict[str, int]:
    """How many attempts of tasks that failed before each worker is running."""
    rows = tx.rows(
        "SELECT a.worker_id, count(*) FROM attempt a JOIN task t ON t.id = a.task_id"
        " WHERE a.ended_at IS NULL AND t.recovery = 1 GROUP BY a.worker_id"
    )
    return {row[0]: row[1] for row in rows}


def block_kinds_of_lost(tx: Tx, worker_id: str) -> set[str]:
    """How those tasks are blocked whose last attempt was lost since this worker began: their engine died."""
    rows = tx.rows(
        # In this order: what is blocked is few, what was ever attempted is not.
        "SELECT DISTINCT t.block_kind FROM worker w CROSS JOIN task t CROSS JOIN attempt a WHERE w.id = ?"
        " AND t.status = 'blocked' AND t.status NOT IN ('completed', 'cancelled') AND t.block_kind IS NOT NULL"
        " AND a.task_id = t.id AND a.number = t.attempts AND a.outcome = 'lost' AND a.ended_at >= w.started_at",
        (worker_id,),
    )
    return {row[0] for row in rows}


def block_kinds_of_worker(tx: Tx, worker_id: str) -> set[str]:
    """How those tasks are blocked that this worker ran; a paused one waits for the person who paused it."""
    rows = tx.rows(
        "SELECT DISTINCT coalesce(t.block_kind, 'paused') FROM attempt a JOIN task t ON t.id = a.task_id"
        " WHERE a.worker_id = ? AND (t.status = 'blocked'"
        " OR (t.paused = 1 AND t.status NOT IN ('completed', 'cancelled')))",
        (worker_id,),
    )
    served = tx.rows(
        "SELECT DISTINCT s.block_kind FROM attempt a"
        " JOIN task s ON s.owner_kind = 'task' AND s.owner_kind <> '' AND s.owner_id = a.task_id"
        " WHERE a.worker_id = ? AND s.role IN ('fix', 'review') AND s.status = 'blocked'"
        " UNION SELECT s.block_kind FROM attempt a JOIN triage x ON x.task_id = a.task_id AND x.incident <> ''"
        " JOIN task s ON s.owner_kind = 'incident' AND s.owner_kind <> '' AND s.owner_id = x.incident"
        " AND s.created_by = x.id"
        " WHERE a.worker_id = ? AND s.role = 'fix' AND s.status = 'blocked'",
        (worker_id, worker_id),
    )
    return {row[0] for row in (*rows, *served)}


def count_waiting(tx: Tx) -> int:
    """How many tasks an engine would start now or later; what is paused waits to be resumed."""
    row = tx.one("SELECT count(*) FROM task WHERE status IN ('pending', 'failed') AND paused = 0")
    return int(row[0]) if row else 0


def live_by_worker(tx: Tx) -> dict[str, int]:
    """How many attempts each worker is running."""
    rows = tx.rows("SELECT worker_id, count(*) FROM attempt WHERE ended_at IS NULL GROUP BY worker_id")
    return {row[0]: row[1] for row in rows}


def wakes(tx: Tx) -> Wakes:
    """When a breaker, a question and a task have to be seen to next; one question for all."""
    return Wakes(*(tx.one(NEXT_WAKES_SQL) or ()))


def how_many_at_most(tx: Tx, limit: int) -> int:
    """How many tasks there are, counted no further than a limit."""
    row = tx.one("SELECT count(*) FROM (SELECT id FROM task LIMIT ?) counted", (limit,))
    return int(row[0]) if row else 0


def recurring(tx: Tx, limit: int) -> list[Task]:
    """What recurs and is open, the one that is due first first."""
    sql = (
        f"SELECT {TASK_COLUMNS} FROM task WHERE status NOT IN ('completed', 'cancelled')"
        " AND (cron <> '' OR every_ms IS NOT NULL OR owner_kind = 'loop')"
        f" ORDER BY coalesce(due_at, ready_at, 9000000000000000), id LIMIT ?"
    )
    return [task(row) for row in tx.rows(sql, (limit,))]
