"""Reading what happened: transitions and events. Both are append-only."""

from __future__ import annotations

from typing import Final

from medbay.core.model import Event, HistoryRow, Task
from medbay.store.database import Row, Tx
from medbay.store.rows import TASK_COLUMNS, loads, task

_COLUMNS: Final = "task_id, source, target, actor, reason, at, context"
_LATELY: Final = 20_000  # events


def of_task(tx: Tx, task_id: str) -> list[HistoryRow]:
    """Every transition of a task, in order."""
    sql = f"SELECT {_COLUMNS} FROM history WHERE task_id = ? ORDER BY id"
    return [_transition(row) for row in tx.rows(sql, (task_id,))]


def last(tx: Tx, task_id: str, *, to: str | None = None) -> HistoryRow | None:
    """The newest transition of a task, or its newest one to this status."""
    which, params = (" AND target = ?", (task_id, to)) if to else ("", (task_id,))
    row = tx.one(f"SELECT {_COLUMNS} FROM history WHERE task_id = ?{which} ORDER BY id DESC LIMIT 1", params)
    return _transition(row) if row else None


def events_since(tx: Tx, seq: int, *, limit: int, task_id: str | None = None) -> list[Event]:
    """Events after a sequence number, in order; a reader that resumes from the last one misses nothing."""
    if task_id is None:
        sql, params = "WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit)
    else:
        sql, params = "WHERE task_id = ? AND seq > ? ORDER BY seq LIMIT ?", (task_id, seq, limit)  # type: ignore[assignment]
    return _events(tx, sql, params)


def _events(tx: Tx, sql: str, params: tuple[object, ...]) -> list[Event]:
    return [
        Event(seq=row[0], at=row[1], name=row[2], task_id=row[3], attempt=row[4], data=loads(row[5]))
        for row in tx.rows(f"SELECT seq, at, name, task_id, attempt, data FROM event {sql}", params)
    ]


def events_before(tx: Tx, seq: int, *, limit: int, task_id: str | None = None) -> list[Event]:
    """The last events before a sequence number, in order."""
    which, params = ("", (seq, limit)) if task_id is None else ("task_id = ? AND ", (task_id, seq, limit))
    inner = f"SELECT seq, at, name, task_id, attempt, data FROM event WHERE {which}seq < ? ORDER BY seq DESC LIMIT ?"
    return [
        Event(seq=row[0], at=row[1], name=row[2], task_id=row[3], attempt=row[4], data=loads(row[5]))
        for row in reversed(tx.rows(inner, params))
    ]


def newest_events(tx: Tx, task_id: str, limit: int) -> list[Event]:
    """What happened to a task last, in order."""
    row = tx.one(
        "SELECT min(seq) FROM (SELECT seq FROM event WHERE task_id = ? ORDER BY seq DESC LIMIT ?) newest",
        (task_id, limit),
    )
    return events_since(tx, row[0] - 1, limit=limit, task_id=task_id) if row and row[0] is not None else []


def engine_events(tx: Tx, since: int, until: int, limit: int) -> list[Event]:
    """What happened lately to engines, breakers and the clock between two times, in order."""
    sql = "WHERE seq > ? AND task_id IS NULL AND at BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?"
    lately = last_event_seq(tx) - _LATELY
    return [*reversed(_events(tx, sql, (lately, since, until, limit)))]


def last_event_seq(tx: Tx) -> int:
    """The newest sequence number."""
    row = tx.one("SELECT max(seq) FROM event")
    return int(row[0] or 0) if row else 0


def _transition(row: Row) -> HistoryRow:
    task_id, source, target, actor, reason, at, context = row
    return HistoryRow(
        task_id=task_id,
        source=source,
        target=target,
        actor=actor,
        reason=reason,
        at=at,
        context=loads(context),
    )


def created_by(tx: Tx, actor: str, limit: int) -> list[Task]:
    """What one actor added, the newest first."""
    sql = f"SELECT {TASK_COLUMNS} FROM task WHERE created_by = ? ORDER BY created_at DESC, id LIMIT ?"
    return [task(row) for row in tx.rows(sql, (actor, limit))]
