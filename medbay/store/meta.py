"""Facts about the store itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from medbay.errors import StoreTooNew
from medbay.store import migrations
from medbay.store.database import Row, Tx


def value(tx: Tx, key: str) -> str | None:
    """One fact, such as `machine_id`."""
    row = tx.one("SELECT value FROM meta WHERE key = ?", (key,))
    return str(row[0]) if row else None


def put(tx: Tx, key: str, text: str) -> None:
    """Remember a fact."""
    tx.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, text),
    )


def describe(tx: Tx) -> dict[str, str]:
    """The database itself, for `doctor`: what it is, how it commits, which schema it has."""
    found = {name: tx.one(sql) for name, sql in tx.dialect.describe}
    return {name: str(row[0]) for name, row in found.items() if row}


def refusal(tx: Tx) -> StoreTooNew | None:
    """Why this version may not go on here: another one has brought the store to a later schema."""
    found = tx.one(tx.dialect.schema_sql)
    known = migrations.newest(tx.dialect.name)
    return migrations.refusal(int(found[0]), known) if found and int(found[0]) > known else None


# A table that is missing here would be lost by a copy; a test compares this with the schema.
TABLES: Final[dict[str, tuple[str, ...]]] = {
    "meta": ("key",),
    "task": ("id",),
    "task_tag": ("tag", "task_id"),
    "dependency": ("task_id", "after_id"),
    "worker": ("id",),
    "attempt": ("task_id", "number"),
    "attempt_output": ("task_id", "number"),
    "check_result": ("task_id", "number", "position"),
    "retry": ("task_id", "attempt"),
    "history": ("id",),
    "record_history": ("id",),
    "event": ("seq",),
    "effect": ("key",),
    "channel": ("name",),
    "channel_cursor": ("channel", "filter"),
    "message": ("key",),
    "listener": ("name",),
    "question": ("id",),
    "question_task": ("question_id", "task_id"),
    "triage": ("id",),
    "preference": ("scope",),
    "budget_day": ("day",),
    "budget_role": ("day", "role"),
    "reservation": ("task_id", "number"),
    "pull_request": ("name",),
    "breaker": ("key",),
    "command_resource": ("command", "resource"),
    "failure_pattern": ("fingerprint",),
    "failure_advice": ("fingerprint", "advice"),
    "failure_task": ("fingerprint", "task_id"),
    "web_token": ("name",),
    "statistic": ("kind", "hour", "a", "b", "c"),
    "statistic_open": ("kind", "id"),
    "issue": ("source", "issue_id"),
    "capture": ("id",),
    "capture_event": ("id",),
    "context_snapshot": ("id",),
    "workorder": ("id",),
    "workorder_capture": ("workorder_id", "capture_id"),
    "run_record": ("workorder_id",),
    "candidate": ("id",),
    "workflow_definition": ("hash",),
    "story": ("id",),
    "phase_run": ("story_id", "number"),
    "story_decision": ("story_id", "number"),
    "learning": ("role", "digest"),
}
OWN: Final = "meta"  # what a store knows about itself; never copied


def count(tx: Tx, table: str) -> int:
    """How many rows a table has."""
    row = tx.one(f"SELECT count(*) FROM {table}")
    return int(row[0]) if row else 0


def pages(tx: Tx, table: str, columns: tuple[str, ...], size: int) -> Iterator[list[Row]]:
    """All rows of a table by its key, some at a time."""
    key = TABLES[table]
    where, last = "", ()
    at = [columns.index(name) for name in key]
    while True:
        sql = f"SELECT {', '.join(columns)} FROM {table}{where} ORDER BY {', '.join(key)} LIMIT ?"
        rows = tx.rows(sql, (*last, size))
        if not rows:
            return
        yield rows
        where = f" WHERE ({', '.join(key)}) > ({', '.join('?' * len(key))})"
        last = tuple(rows[-1][index] for index in at)
