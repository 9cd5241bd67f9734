"""Reading the questions that wait for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from medbay.core.model import Question
from medbay.core.people.preference import Preference
from medbay.store.database import Tx
from medbay.store.rows import QUESTION_COLUMNS, question


def open_questions(tx: Tx, limit: int = 1_000) -> list[Question]:
    """Every open question, oldest first."""
    sql = f"SELECT {QUESTION_COLUMNS} FROM question WHERE status = 'open' ORDER BY asked_at, id LIMIT ?"
    return [question(row, _tasks(tx, row[0])) for row in tx.rows(sql, (limit,))]


NEXT_SEND_SQL: Final = (
    "SELECT send_at AS at FROM question WHERE status = 'open' AND send_at IS NOT NULL ORDER BY send_at, id LIMIT 1"
)
UNANSWERED_SQL: Final = (
    f"SELECT {QUESTION_COLUMNS} FROM question WHERE send_at <= ? AND status = 'open' AND send_at IS NOT NULL"
    " ORDER BY send_at, id LIMIT ?"
)
OPEN_SCOPES_SQL: Final = "SELECT scope, id FROM question WHERE status = 'open' AND scope IS NOT NULL"


def unanswered(tx: Tx, limit: int) -> list[Question]:
    """Open questions that are due to be sent again, and that no other engine is sending."""
    found = tx.rows(UNANSWERED_SQL + tx.locks.take_free, (tx.now, limit))
    return [question(row, _tasks(tx, row[0])) for row in found]


def get(tx: Tx, question_id: str) -> Question | None:
    """One question by its id; in a transaction that writes no other joins or answers it from now on."""
    row = tx.one(f"SELECT {QUESTION_COLUMNS} FROM question WHERE id = ?{tx.locks.take}", (question_id,))
    return question(row, _tasks(tx, question_id)) if row else None


def closed(tx: Tx, limit: int) -> list[Question]:
    """The questions that were answered last, the newest first, with the tasks that waited for them."""
    sql = f"SELECT {QUESTION_COLUMNS} FROM question WHERE status = 'answered' ORDER BY answered_at DESC, id LIMIT ?"
    asked = "SELECT task_id FROM question_task WHERE question_id = ? ORDER BY task_id LIMIT 20"
    return [question(row, tuple(task_id for (task_id,) in tx.rows(asked, (row[0],)))) for row in tx.rows(sql, (limit,))]


def open_of_task(tx: Tx, task_id: str) -> Question | None:
    """The question a task waits for."""
    row = tx.one("SELECT question_id FROM question_task WHERE task_id = ? AND waiting = 1", (task_id,))
    return get(tx, row[0]) if row else None


def newest_of_task(tx: Tx, task_id: str) -> Question | None:
    """The question a task waits for, else the last one that was asked about it; read and not locked."""
    columns = ", ".join(f"q.{each.strip()}" for each in QUESTION_COLUMNS.split(","))
    row = tx.one(
        f"SELECT {columns} FROM question_task w JOIN question q ON q.id = w.question_id WHERE w.task_id = ?"
        " ORDER BY w.waiting DESC, q.asked_at DESC, q.id DESC LIMIT 1",
        (task_id,),
    )
    return question(row, (task_id,)) if row else None


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
    return {row[0]: row[1] for row in tx.rows(OPEN_SCOPES_SQL)}


def count(tx: Tx) -> int:
    """How many questions were ever asked, those of incidents and holds included."""
    row = tx.one("SELECT count(*) FROM question")
    return int(row[0]) if row else 0


def count_open(tx: Tx) -> int:
    """How many questions wait for an answer."""
    row = tx.one("SELECT count(*) FROM question WHERE status = 'open'")
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


_COLUMNS = "scope, answer, told_by, told_at, used"


def every(tx: Tx, limit: int = 10_000) -> list[Preference]:
    """All of them, the newest first."""
    return _read(tx, f"SELECT {_COLUMNS} FROM preference ORDER BY told_at DESC, scope LIMIT ?", (limit,))


def within(tx: Tx, scopes: Iterable[str]) -> list[Preference]:
    """Those of some scopes."""
    wanted = sorted(set(scopes))
    if not wanted:
        return []
    return _read(tx, f"SELECT {_COLUMNS} FROM preference WHERE scope IN ({', '.join('?' * len(wanted))})", wanted)


def save(tx: Tx, kept: Preference) -> None:
    """Remember one; of a scope the newest counts."""
    tx.execute(
        f"INSERT INTO preference ({_COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (scope) DO UPDATE SET"
        " answer = excluded.answer, told_by = excluded.told_by, told_at = excluded.told_at, used = excluded.used",
        (kept.scope, kept.answer, kept.told_by, kept.told_at, kept.used),
    )


def forget(tx: Tx, scope: str) -> bool:
    """Forget one; False when there was none."""
    return tx.execute("DELETE FROM preference WHERE scope = ?", (scope,)) == 1


def _read(tx: Tx, sql: str, params: Iterable[object]) -> list[Preference]:
    return [
        Preference(scope=scope, answer=answer, told_by=by, told_at=at, used=used)
        for scope, answer, by, at, used in tx.rows(sql, tuple(params))
    ]
