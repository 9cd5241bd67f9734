"""A store as it is after years: many copies of one month, made inside the database, and as much that is yet to come."""

from __future__ import annotations

from typing import Final

from medbay.bay import Bay
from medbay.store.database import Tx

MARK: Final = "~"  # between an id and the number of its copy; no id has it
AT_ONCE: Final = 10_000
# Tables of a task, and the column that names it.
OF_TASKS: Final = {"task": "id", "task_tag": "task_id", "attempt": "task_id", "retry": "task_id", "history": "task_id"}


def grow(bay: Bay, *, tasks: int, events: int) -> None:
    """Copy what is there until there are so many events, then what waits until there are so many tasks."""
    with bay.store.read() as tx:
        own, written = _count(tx, "task"), _count(tx, "event")
    for copy in range(1, min(events // written, tasks // own)):
        with bay.store.write() as tx:
            _copy(tx, copy)
    with bay.store.read() as tx:
        missing = tasks - _count(tx, "task")
    lines = [{"title": f"later {n}", "run": "true", "tag": f"part-{n % 40}", "at": "+30d"} for n in range(missing)]
    for at in range(0, missing, AT_ONCE):
        bay.add_many(lines[at : at + AT_ONCE])
    with bay.store.write() as tx:
        tx.execute("ANALYZE")


def _copy(tx: Tx, copy: int) -> None:
    over = f"NOT LIKE '%{MARK}%'"
    still = f"SELECT id FROM task WHERE id {over} AND live IS NULL AND status <> 'blocked' AND coalesce(key, '') = ''"
    for table, name in OF_TASKS.items():
        columns = [each for each in tx.columns(table) if (table, each) != ("history", "id")]
        chosen = ", ".join(f"{each} || '{MARK}{copy}'" if each == name else each for each in columns)
        where = f"{name} IN ({still})"
        tx.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM {table} WHERE {where}")
    tx.execute(
        f"INSERT INTO event (at, name, task_id, attempt, data)"
        f" SELECT at, name, task_id || '{MARK}{copy}', attempt, data FROM event WHERE task_id IN ({still}) ORDER BY seq"
    )


def _count(tx: Tx, table: str) -> int:
    row = tx.one(f"SELECT count(*) FROM {table}")
    return int(row[0]) if row else 0
