"""The checks of attempts: planned, begun and ended. One row per check; a repeated round takes the place of the last."""

from __future__ import annotations

from typing import Final

from medbay.core.decision import ChecksEnded, ChecksPlanned
from medbay.core.model import CheckResult
from medbay.store.database import Tx
from medbay.store.rows import CHECK_COLUMNS, CHECK_FIELDS, check_result, check_values, dumps

_KEYS: Final = ("task_id", "number", "position")
_UPDATE: Final = ", ".join(f"{name} = excluded.{name}" for name in CHECK_FIELDS if name not in _KEYS)
_SAVE_SQL: Final = (
    f"INSERT INTO check_result ({CHECK_COLUMNS}) VALUES ({', '.join('?' * len(CHECK_FIELDS))})"
    f" ON CONFLICT (task_id, number, position) DO UPDATE SET {_UPDATE}"
)


def of_attempt(tx: Tx, task_id: str, number: int) -> tuple[CheckResult, ...]:
    """The checks of one attempt, in their order."""
    sql = f"SELECT {CHECK_COLUMNS} FROM check_result WHERE task_id = ? AND number = ? ORDER BY position"
    return tuple(check_result(row) for row in tx.rows(sql, (task_id, number)))


def of_task(tx: Tx, task_id: str, *, since: int = 0) -> dict[int, list[CheckResult]]:
    """The checks of a task's attempts from a number on, by the number of the attempt."""
    sql = f"SELECT {CHECK_COLUMNS} FROM check_result WHERE task_id = ? AND number >= ? ORDER BY number, position"
    found: dict[int, list[CheckResult]] = {}
    for row in tx.rows(sql, (task_id, since)):
        each = check_result(row)
        found.setdefault(each.number, []).append(each)
    return found


def save(tx: Tx, results: tuple[CheckResult, ...]) -> None:
    """Write checks as they are now."""
    for each in results:
        tx.execute(_SAVE_SQL, check_values(each))


def plan(tx: Tx, planned: ChecksPlanned) -> None:
    """The checks of an attempt whose work ended, with how it did."""
    failure = None if planned.failure is None else dumps(planned.failure)
    tx.execute(
        "UPDATE attempt SET exit_code = ?, signal = ?, failure = ?"
        " WHERE task_id = ? AND number = ? AND ended_at IS NULL",
        (planned.exit_code, planned.signal, failure, planned.task_id, planned.number),
    )
    save(tx, planned.results)


def end(tx: Tx, ended: ChecksEnded) -> None:
    """How the checks of an attempt ended; what is not waited for any more was stopped."""
    save(tx, ended.results)
    tx.execute(
        "UPDATE check_result SET status = 'STOPPED', ended_at = ?"
        " WHERE task_id = ? AND number = ? AND status IN ('WAITING', 'RUNNING')",
        (tx.now, ended.task_id, ended.number),
    )
