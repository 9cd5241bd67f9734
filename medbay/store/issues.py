"""Issues of trackers in the store: which task works on each, and what its notes say of us."""

from __future__ import annotations

from typing import Final

from medbay.core.model import TASK_FIELDS, Task
from medbay.core.tracker.mirror import IssueLink
from medbay.store.database import Row, Tx
from medbay.store.rows import task

_FIELDS: Final = IssueLink.__struct_fields__
_COLUMNS: Final = ", ".join(_FIELDS)
_TASK_COLUMNS: Final = ", ".join(f"t.{name}" for name in TASK_FIELDS)


def get(tx: Tx, source: str, issue_id: str) -> IssueLink | None:
    """What is known of one issue."""
    row = tx.one(f"SELECT {_COLUMNS} FROM issue WHERE source = ? AND issue_id = ?", (source, issue_id))
    return _link(row) if row else None


def of_task(tx: Tx, task_id: str) -> IssueLink | None:
    """The issue that a task works on."""
    row = tx.one(f"SELECT {_COLUMNS} FROM issue WHERE task_id = ?", (task_id,))
    return _link(row) if row else None


def save(tx: Tx, link: IssueLink) -> None:
    """Remember what is known of an issue."""
    sets = ", ".join(f"{name} = excluded.{name}" for name in _FIELDS[2:])
    tx.execute(
        f"INSERT INTO issue ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))})"
        f" ON CONFLICT (source, issue_id) DO UPDATE SET {sets}",
        tuple(getattr(link, name) for name in _FIELDS),
    )


def changed(tx: Tx, source: str, limit: int) -> list[tuple[IssueLink, Task]]:
    """Open issues whose task changed since their notes were written, with the task."""
    columns = ", ".join(f"i.{name}" for name in _FIELDS)
    sql = (
        f"SELECT {columns}, {_TASK_COLUMNS} FROM issue i JOIN task t ON t.id = i.task_id"
        " WHERE i.source = ? AND i.closed_at IS NULL AND i.version <> t.version ORDER BY i.issue_id LIMIT ?"
    )
    found = tx.rows(sql, (source, limit))
    return [(_link(row[: len(_FIELDS)]), task(row[len(_FIELDS) :])) for row in found]


def unfinished(tx: Tx, source: str) -> list[IssueLink]:
    """Open issues whose task is neither completed nor cancelled."""
    columns = ", ".join(f"i.{name}" for name in _FIELDS)
    sql = (
        f"SELECT {columns} FROM issue i JOIN task t ON t.id = i.task_id"
        " WHERE i.source = ? AND i.closed_at IS NULL AND t.status NOT IN ('completed', 'cancelled') ORDER BY i.issue_id"
    )
    return [_link(row) for row in tx.rows(sql, (source,))]


def parts_without_issue(tx: Tx, task_id: str) -> list[Task]:
    """The parts of a split task that have no issue yet, in their order."""
    sql = (
        f"SELECT {_TASK_COLUMNS} FROM task t LEFT JOIN issue i ON i.task_id = t.id"
        " WHERE t.owner_kind = 'task' AND t.owner_id = ? AND t.role = 'part' AND i.task_id IS NULL ORDER BY t.position"
    )
    return [task(row) for row in tx.rows(sql, (task_id,))]


def of_parts(tx: Tx, task_id: str) -> list[tuple[IssueLink, Task]]:
    """The issues of the parts of a split task, in their order."""
    columns = ", ".join(f"i.{name}" for name in _FIELDS)
    sql = (
        f"SELECT {columns}, {_TASK_COLUMNS} FROM task t JOIN issue i ON i.task_id = t.id"
        " WHERE t.owner_kind = 'task' AND t.owner_id = ? AND t.role = 'part' ORDER BY t.position"
    )
    found = tx.rows(sql, (task_id,))
    return [(_link(row[: len(_FIELDS)]), task(row[len(_FIELDS) :])) for row in found]


def _link(row: Row) -> IssueLink:
    return IssueLink(**dict(zip(_FIELDS, row, strict=True)))
