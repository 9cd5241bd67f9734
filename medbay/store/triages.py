"""Triages in the store: which runs, what each found, and which tasks want one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from medbay.core.model import Role, Task, Triage
from medbay.errors import StaleClaim
from medbay.store.database import Row, Tx
from medbay.store.rows import TASK_COLUMNS, dumps_any, loads, task

FIELDS: Final = Triage.__struct_fields__
COLUMNS: Final = ", ".join(FIELDS)

Wish = tuple[int, str]
FIRST: Final[Wish] = (-1, "")  # before every other

# The statements of the loop; a test reads their query plans.
WANTED_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE wants_triage = 1 AND paused = 0 AND queue = ?"
    " AND (since, id) > (?, ?) ORDER BY queue, since, id LIMIT ?"
)
NEWEST_WISH_SQL: Final = (
    "SELECT since, id FROM task WHERE wants_triage = 1 AND paused = 0 AND queue = ?"
    " ORDER BY queue DESC, since DESC, id DESC LIMIT 1"
)
RUNNING_SQL: Final = f"SELECT {COLUMNS} FROM triage WHERE fingerprint = ? AND ended_at IS NULL"


def wanted(tx: Tx, queue: str, limit: int, *, past: Wish = FIRST) -> list[Task]:
    """Tasks that want a triage, the one that waits longest first; those that came to want one after `past`."""
    return [task(row) for row in tx.rows(WANTED_SQL, (queue, *past, limit))]


def wanted_anywhere(tx: Tx, limit: int) -> list[Task]:
    """Tasks of all queues that want a triage, the one that waits longest first."""
    sql = f"SELECT {TASK_COLUMNS} FROM task WHERE wants_triage = 1 AND paused = 0 ORDER BY since, id LIMIT ?"
    return [task(row) for row in tx.rows(sql, (limit,))]


def count_wanted(tx: Tx) -> int:
    """How many tasks want a triage, in all queues."""
    row = tx.one("SELECT count(*) FROM task WHERE wants_triage = 1 AND paused = 0")
    return int(row[0]) if row else 0


def newest_wish(tx: Tx, queues: Sequence[str]) -> Wish | None:
    """The last task of these queues that came to want a triage: since when, and its id."""
    found = (tx.one(NEWEST_WISH_SQL, (queue,)) for queue in queues)
    return max(((int(row[0]), str(row[1])) for row in found if row), default=None)


def get(tx: Tx, triage_id: str) -> Triage | None:
    """One triage by the id of the task that runs it."""
    row = tx.one(f"SELECT {COLUMNS} FROM triage WHERE id = ?", (triage_id,))
    return _triage(row) if row else None


def of_task(tx: Tx, task_id: str, limit: int = 50) -> list[Triage]:
    """The triages of a failing task, the newest first."""
    sql = f"SELECT {COLUMNS} FROM triage WHERE task_id = ? ORDER BY started_at DESC, id DESC LIMIT ?"
    return [_triage(row) for row in tx.rows(sql, (task_id, limit))]


def running_on(tx: Tx, fingerprint: str) -> Triage | None:
    """The running triage of this fingerprint."""
    row = tx.one(RUNNING_SQL, (fingerprint,))
    return _triage(row) if row else None


def last_of_incidents(tx: Tx, fingerprint: str) -> Triage | None:
    """The newest triage of an incident on this fingerprint."""
    sql = (  # rare, and never many rows: read without an index of its own
        f"SELECT {COLUMNS} FROM triage WHERE fingerprint = ? AND incident <> '' ORDER BY started_at DESC LIMIT 1"
    )
    row = tx.one(sql, (fingerprint,))
    return _triage(row) if row else None


def open_ones(tx: Tx) -> list[Triage]:
    """Every triage that has not ended."""
    return [_triage(row) for row in tx.rows(f"SELECT {COLUMNS} FROM triage WHERE ended_at IS NULL")]


def not_begun(tx: Tx) -> list[Triage]:
    """Triages that no engine runs at this moment, the oldest first."""
    sql = (
        f"SELECT {COLUMNS} FROM triage WHERE ended_at IS NULL"
        " AND id IN (SELECT id FROM task WHERE role = 'triage' AND owner_kind <> '' AND ready = 1)"
        " ORDER BY started_at, id"
    )
    return [_triage(row) for row in tx.rows(sql)]


def being_looked_at(tx: Tx) -> frozenset[str]:
    """The failing tasks of which a triage runs."""
    return frozenset(row[0] for row in tx.rows("SELECT task_id FROM triage WHERE ended_at IS NULL"))


def count_open(tx: Tx) -> dict[str, int]:
    """How many triages have each status that is not an end."""
    sql = "SELECT t.status, count(*) FROM triage x JOIN task t ON t.id = x.id WHERE x.ended_at IS NULL"
    return dict(tx.rows(f"{sql} GROUP BY t.status"))


def acts_since(tx: Tx, task_id: str, seq: int) -> tuple[str, ...]:
    """The names of what happened to a task after an event; its row is locked, so nothing is missed."""
    rows = tx.rows("SELECT name FROM event WHERE task_id = ? AND seq > ? ORDER BY seq", (task_id, seq))
    return tuple(row[0] for row in rows)


def open_review(tx: Tx, task_id: str) -> Task | None:
    """The review of a task's specification that is not over."""
    return _open(tx, task_id, "review")


def open_fix(tx: Tx, task_id: str) -> Task | None:
    """The fix of what makes a task fail that is not over; also that of an incident it was the example of."""
    sql = (
        f"SELECT {TASK_COLUMNS} FROM task WHERE owner_kind = 'incident' AND owner_kind <> '' AND role = 'fix'"
        " AND owner_id IN (SELECT incident FROM triage WHERE task_id = ? AND incident <> '')"
        " AND created_by IN (SELECT id FROM triage WHERE task_id = ?)"
        " AND status NOT IN ('completed', 'cancelled') ORDER BY id LIMIT 1"
    )
    row = None if (own := _open(tx, task_id, "fix")) else tx.one(sql, (task_id, task_id))
    return task(row) if row else own


def _open(tx: Tx, task_id: str, role: Role) -> Task | None:
    row = tx.one(
        f"SELECT {TASK_COLUMNS} FROM task WHERE {_OWNED} AND role = ?"
        " AND status NOT IN ('completed', 'cancelled') ORDER BY id LIMIT 1",
        (task_id, role),
    )
    return task(row) if row else None


_OWNED: Final = "owner_kind = 'task' AND owner_kind <> '' AND owner_id = ?"  # as the index of owners has it


def fixes_ended(tx: Tx, task_id: str, since: int) -> list[Task]:
    """The fixes of a task that ended after this moment, in their order; they do not change any more."""
    sql = f"SELECT {TASK_COLUMNS} FROM task WHERE {_OWNED} AND role = 'fix' AND ended_at > ? ORDER BY ended_at, id"
    return [task(row) for row in tx.rows(sql, (task_id, since))]


def parts(tx: Tx, task_id: str) -> tuple[Task, ...]:
    """What a task was split into."""
    sql = f"SELECT {TASK_COLUMNS} FROM task WHERE {_OWNED} AND role = 'part' ORDER BY position, id"
    return tuple(task(row) for row in tx.rows(sql, (task_id,)))


def being_reviewed(tx: Tx) -> frozenset[str]:
    """The tasks whose specification is under review."""
    sql = (
        "SELECT owner_id FROM task WHERE owner_kind = 'task' AND owner_kind <> '' AND role = 'review'"
        " AND status NOT IN ('completed', 'cancelled')"
    )
    return frozenset(row[0] for row in tx.rows(sql))


def count_parts(tx: Tx, of: Task, limit: int = 100) -> int:
    """How many parts the family of a task has, from the task that was split first."""
    root, seen = of, 0
    while root.role == "part" and seen < limit:
        above = tx.one(f"SELECT {TASK_COLUMNS} FROM task WHERE id = ?", (root.owner_id,))
        if above is None:
            break
        root, seen = task(above), seen + 1
    found, level = 0, [root.id]
    while level and found < limit:
        below: list[str] = []
        for each in level:
            sql = f"SELECT id FROM task WHERE {_OWNED} AND role = 'part' ORDER BY position, id LIMIT ?"
            below += [row[0] for row in tx.rows(sql, (each, limit))]
        found, level = found + len(below), below
    return found


def save(tx: Tx, each: Triage) -> None:
    """Record that a triage started, or how it ended; one that has ended stays as it is.

    Raises StaleClaim when another was faster: with this one, or with one of the same fingerprint.
    """
    values = [getattr(each, name) for name in FIELDS]
    for name in ("verdict", "diff"):
        value = values[FIELDS.index(name)]
        values[FIELDS.index(name)] = None if value is None else dumps_any(value)
    if each.ended_at is None:
        sql = f"INSERT INTO triage ({COLUMNS}) VALUES ({', '.join('?' * len(FIELDS))}) ON CONFLICT DO NOTHING"
    else:
        sets = ", ".join(f"{name} = ?" for name in FIELDS[1:])
        # Worded so that the index of what runs is not read through for it: the id is.
        sql, values = f"UPDATE triage SET {sets} WHERE id = ? AND coalesce(ended_at, 0) = 0", [*values[1:], each.id]
    if tx.execute(sql, values) != 1:
        raise StaleClaim(f"{each.id} has ended, or another examines the same failure", hint="try again")


def _triage(row: Row) -> Triage:
    values: dict[str, Any] = dict(zip(FIELDS, row, strict=True))
    for name in ("verdict", "diff"):
        values[name] = loads(values[name]) if values[name] else None
    return Triage(**values)
