"""Tasks that are parked while another agent could go on with them."""

from __future__ import annotations

from typing import Final

from medbay.core.model import Task
from medbay.store.database import Tx
from medbay.store.rows import TASK_COLUMNS, task

PARKED_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE hold = ? AND hold IS NOT NULL AND agents <> '[]' ORDER BY id LIMIT ?"
)


def parked(tx: Tx, hold: str, limit: int) -> list[Task]:
    """Those that one hold keeps, and that no other engine has its hands on."""
    return [task(row) for row in tx.rows(PARKED_SQL + tx.locks.take_free, (hold, limit))]
