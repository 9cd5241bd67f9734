"""Reading the questions that wait for a person."""

from __future__ import annotations

from collections.abc import Iterable

from medbay.core.model import Question
from medbay.store.database import Tx
from medbay.store.rows import QUESTION_COLUMNS, question


def open_questions(tx: Tx, limit: int = 1_000) -> list[Question]:
    """Every open question, oldest first."""
    sql = f"SELECT {QUESTION_COLUMNS} FROM question WHERE status = 'open' ORDER BY asked_at, id LIMIT ?"
    return [question(row, _tasks(tx, row[0])) for row in tx.rows(sql, (limit,))]


def get(tx: Tx, question_id: str) -> Question | None:
    """One question by its id; in a transaction that writes nobody else joins or answers it from now on."""
    row = tx.one(f"SELECT {QUESTION_COLUMNS} FROM question WHERE id = ?{tx.locks.take}", (question_id,))
    return question(row, _tasks(tx, question_id)) if row else None


def open_of_task(tx: Tx, task_id: str) -> Question | None:
    """The question a task waits for."""
    row = tx.one("SELECT question_id FROM question_task WHERE task_id = ? AND waiting = 1", (task_id,))
    return get(tx, row[0]) if row else None


def lock_of_tasks(tx: Tx, task_ids: Iterable[str]) -> None:
    """Take the questions these tasks wait for, in one order and before the tasks themselves."""
    if tx.locks.take:
        tx.rows(tx.dialect.lock_questions_sql, (sorted(task_ids),))


def of_task(tx: Tx, task_id: str) -> list[Question]:
    """Every question a task ever waited for, oldest first."""
    rows = tx.rows("SELECT question_id FROM question_task WHERE task_id = ?", (task_id,))
    found = (get(tx, row[0]) for row in rows)
    return sorted((each for each in found if each), key=lambda q: (q.asked_at, q.id))


def open_scopes(tx: Tx) -> dict[str, str]:
    """Which shared causes have an open question, and its id."""
    rows = tx.rows("SELECT scope, id FROM question WHERE status = 'open' AND scope IS NOT NULL")
    return {row[0]: row[1] for row in rows}


def count(tx: Tx) -> int:
    """How many questions were ever asked, those of incidents and holds included."""
    row = tx.one("SELECT count(*) FROM question")
    return int(row[0]) if row else 0


def tasks_waiting(tx: Tx) -> frozenset[str]:
    """Every task that waits for an answer."""
    return frozenset(row[0] for row in tx.rows("SELECT task_id FROM question_task WHERE waiting = 1"))


def _tasks(tx: Tx, question_id: str) -> tuple[str, ...]:
    rows = tx.rows(
        "SELECT task_id FROM question_task WHERE question_id = ? AND waiting = 1 ORDER BY task_id",
        (question_id,),
    )
    return tuple(row[0] for row in rows)
