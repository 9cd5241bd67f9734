"""Reading what happened: transitions and events. Both are append-only."""

from __future__ import annotations

import json

from medbay.core.model import Event, HistoryRow
from medbay.store.database import Tx


def of_task(tx: Tx, task_id: str) -> list[HistoryRow]:
    """Every transition of a task, in order."""
    rows = tx.rows(
        "SELECT task_id, source, target, actor, reason, at, context FROM history WHERE task_id = ? ORDER BY id",
        (task_id,),
    )
    return [
        HistoryRow(
            task_id=row[0],
            source=row[1],
            target=row[2],
            actor=row[3],
            reason=row[4],
            at=row[5],
            context=json.loads(row[6]),
        )
        for row in rows
    ]


def events_since(tx: Tx, seq: int, *, limit: int, task_id: str | None = None) -> list[Event]:
    """Events after a sequence number, in order; a reader that resumes from the last one misses nothing."""
    if task_id is None:
        sql, params = "WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit)
    else:
        sql, params = "WHERE task_id = ? AND seq > ? ORDER BY seq LIMIT ?", (task_id, seq, limit)  # type: ignore[assignment]
    return [
        Event(seq=row[0], at=row[1], name=row[2], task_id=row[3], attempt=row[4], data=json.loads(row[5]))
        for row in tx.rows(f"SELECT seq, at, name, task_id, attempt, data FROM event {sql}", params)
    ]


def last_event_seq(tx: Tx) -> int:
    """The newest sequence number."""
    row = tx.one("SELECT max(seq) FROM event")
    return int(row[0] or 0) if row else 0
