"""The pull requests that tasks made, and which of them are still open."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from medbay.core.model import Task
from medbay.core.workspace import REVISION, PullRequestMade, round_of
from medbay.store.database import Tx
from medbay.store.rows import TASK_COLUMNS, task

_COLUMNS: Final = "name, task_id, url, host, opened_at, look_at, closed_at, ended"


class PullRequestRow(Struct, frozen=True):
    """One of them; `ended` says how, once it is not looked at any more."""

    name: str  # of the branch and its worktree
    task_id: str
    url: str
    host: str
    opened_at: int
    look_at: int
    closed_at: int | None = None
    ended: str = ""


def save(tx: Tx, made: PullRequestMade) -> None:
    """It was made, or pushed to again; it is looked at from now on."""
    tx.execute(
        "INSERT INTO pull_request (name, task_id, url, host, opened_at, look_at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET url = excluded.url, host = excluded.host, closed_at = NULL, ended = ''",
        (made.name, made.task_id, made.url, made.host, tx.now, tx.now),
    )


def due(tx: Tx, host: str, limit: int) -> list[PullRequestRow]:
    """Those of a host that are open and due to be looked at."""
    sql = (
        f"SELECT {_COLUMNS} FROM pull_request"
        " WHERE host = ? AND look_at <= ? AND closed_at IS NULL ORDER BY look_at, name LIMIT ?"
    )
    return [PullRequestRow(*row) for row in tx.rows(sql, (host, tx.now, limit))]


def look_again(tx: Tx, name: str, at: int) -> None:
    """It was looked at."""
    tx.execute("UPDATE pull_request SET look_at = ? WHERE name = ?", (at, name))


def close(tx: Tx, name: str, how: str) -> None:
    """It is not looked at any more."""
    tx.execute("UPDATE pull_request SET closed_at = ?, ended = ? WHERE name = ?", (tx.now, how, name))


def newest_revision(tx: Tx, row: PullRequestRow) -> Task | None:
    """The task that last answered it."""
    sql = (
        f"SELECT {TASK_COLUMNS} FROM task WHERE owner_kind = 'task' AND owner_id = ? AND role = ? AND position = ?"
        " ORDER BY created_at DESC, id DESC LIMIT 1"
    )
    found = tx.one(sql, (row.task_id, REVISION, round_of(row.task_id, row.name)))
    return task(found) if found else None
