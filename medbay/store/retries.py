"""Reading scheduled retries: the record of why a task is tried again, and when."""

from __future__ import annotations

from typing import Final

from medbay.core.model import Retry
from medbay.core.policy.learning import SAYS_SOMETHING, WENT_WELL, TriedDelay
from medbay.store.database import Tx
from medbay.store.rows import RETRY_COLUMNS, retry


def of_task(tx: Tx, task_id: str) -> list[Retry]:
    """Every retry of a task, in order."""
    sql = f"SELECT {RETRY_COLUMNS} FROM retry WHERE task_id = ? ORDER BY attempt"
    return [retry(row) for row in tx.rows(sql, (task_id,))]


def pending(tx: Tx, limit: int) -> list[Retry]:
    """The retries that come next; those of paused tasks wait for a person."""
    sql = (
        f"SELECT {RETRY_COLUMNS} FROM retry r WHERE r.status = 'pending'"
        " AND EXISTS (SELECT 1 FROM task t WHERE t.id = r.task_id AND t.paused = 0)"
        " ORDER BY r.due_at, r.task_id LIMIT ?"
    )
    return [retry(row) for row in tx.rows(sql, (limit,))]


def count_pending(tx: Tx) -> int:
    """How many retries are pending, those of paused tasks not counted."""
    row = tx.one(
        "SELECT count(*) FROM retry r WHERE r.status = 'pending'"
        " AND EXISTS (SELECT 1 FROM task t WHERE t.id = r.task_id AND t.paused = 0)"
    )
    return int(row[0]) if row else 0


def tasks_with_pending(tx: Tx) -> frozenset[str]:
    """The tasks that have a pending retry."""
    return frozenset(row[0] for row in tx.rows("SELECT task_id FROM retry WHERE status = 'pending'"))


_TELLS: Final = f"outcome IN ({', '.join('?' * len(SAYS_SOMETHING))})"
TRIED_SQL: Final = (
    "SELECT executed_at - scheduled_at, outcome FROM retry"
    f" WHERE category = ? AND outcome IS NOT NULL AND {_TELLS} ORDER BY executed_at DESC LIMIT ?"
)


def tried(tx: Tx, category: str, limit: int) -> list[TriedDelay]:
    """The newest retries of a class that can be learned from: how long each really waited, and whether it succeeded."""
    rows = tx.rows(TRIED_SQL, (category, *SAYS_SOMETHING, limit))
    return [TriedDelay(max(0, waited), outcome in WENT_WELL) for waited, outcome in rows]


def classes_tried(tx: Tx) -> list[str]:
    """The classes of failure after which something was tried, by name."""
    sql = f"SELECT category FROM retry WHERE outcome IS NOT NULL AND {_TELLS} GROUP BY category ORDER BY category"
    return [row[0] for row in tx.rows(sql, SAYS_SOMETHING)]
