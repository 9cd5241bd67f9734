"""What may leave the store: the details of what ended long ago. Read here, written by the caller, then deleted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from medbay.core.liveness import CHECKPOINT_BY
from medbay.errors import StoreError
from medbay.store.database import Tx
from medbay.store.rows import dumps

HISTORY_KEPT: Final = 1_000  # transitions of a task that has not ended

Leaving = Mapping[str, Any]  # a row with every column


class Part(NamedTuple):
    """Rows of one table that may leave once they are older than the one parameter."""

    table: str
    key: tuple[str, ...]
    where: str
    checkpoint: bool = False  # a row is left that stands for those that left


_ENDED: Final = "task_id IN (SELECT id FROM task WHERE ended_at IS NOT NULL AND ended_at < ?)"
_NOT_LAST: Final = "EXISTS (SELECT 1 FROM history n WHERE n.task_id = history.task_id AND n.id > history.id)"
_LONG_AGO: Final = (
    "id < (SELECT kept.id FROM history kept WHERE kept.task_id = history.task_id"
    f" ORDER BY kept.id DESC LIMIT 1 OFFSET {HISTORY_KEPT - 1}) AND actor <> '{CHECKPOINT_BY}'"
)
_DECIDED: Final = (
    "status <> 'pending' AND scheduled_at < ? AND (status = 'cancelled' OR outcome IS NOT NULL"
    " OR task_id IN (SELECT id FROM task WHERE ended_at IS NOT NULL))"
)
# The last transition of every task stays: it is the checkpoint from which history gives the status.
PARTS: Final = (
    Part("history", ("id",), f"{_ENDED} AND {_NOT_LAST}"),
    Part("history", ("id",), f"at < ? AND {_LONG_AGO}", checkpoint=True),
    Part("retry", ("task_id", "attempt"), _DECIDED),
    Part("attempt_output", ("task_id", "number"), f"{_ENDED} AND result IS NULL"),  # what a task gave back stays
    Part("event", ("seq",), _ENDED),
    Part("event", ("seq",), "task_id IS NULL AND at < ?"),
    Part("command_resource", ("command", "resource"), "seen_at < ?"),  # not taken into account for weeks
)


def count(tx: Tx, part: Part, before: int) -> int:
    """How many rows of it may leave."""
    row = tx.one(f"SELECT count(*) FROM {part.table} WHERE {part.where}", (before,))
    return int(row[0]) if row else 0


def leaving(tx: Tx, part: Part, before: int, *, after: Sequence[Any], limit: int) -> list[Leaving]:
    """Some rows that may leave, by their key; `after` is the key of the last one seen, or nothing."""
    columns, key = tx.columns(part.table), ", ".join(part.key)
    further = f" AND ({key}) > ({', '.join('?' * len(after))})" if after else ""
    sql = f"SELECT {', '.join(columns)} FROM {part.table} WHERE {part.where}{further} ORDER BY {key} LIMIT ?"
    return [dict(zip(columns, row, strict=True)) for row in tx.rows(sql, (before, *after, limit))]


def remove(tx: Tx, part: Part, rows: Sequence[Leaving]) -> int:
    """Delete these rows by their key; how many there were."""
    matching = " AND ".join(f"{name} = ?" for name in part.key)
    keys = [[row[name] for name in part.key] for row in rows]
    return tx.execute_many(f"DELETE FROM {part.table} WHERE {matching}", keys)


def leave_checkpoints(tx: Tx, rows: Sequence[Leaving]) -> list[Leaving]:
    """Of transitions that leave, let the last one of each task stand for all of them; those that can be deleted."""
    newest = {row["task_id"]: row for row in rows}  # they come in the order of their ids
    for task_id, row in newest.items():
        earlier = tx.one("SELECT context FROM history WHERE task_id = ? AND actor = ?", (task_id, CHECKPOINT_BY))
        archived = json.loads(earlier[0])["archived"] if earlier else 0
        archived += sum(each["task_id"] == task_id for each in rows)
        tx.execute("DELETE FROM history WHERE task_id = ? AND actor = ?", (task_id, CHECKPOINT_BY))
        tx.execute(
            "UPDATE history SET source = target, actor = ?, reason = ?, context = ? WHERE id = ?",
            (
                CHECKPOINT_BY,
                f"{archived} earlier transitions are in the archive",
                dumps({"archived": archived}),
                row["id"],
            ),
        )
    return [row for row in rows if row is not newest[row["task_id"]]]


class ArchiveFile:
    """A file that is made when the first line comes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] | None = None

    def write(self, table: str, rows: Iterable[Leaving]) -> None:
        """Append rows; when this returns they survive a crash of the machine."""
        try:
            if self._file is None:
                self._file = self._opened()
            self._file.writelines(dumps({"table": table, "row": row}) + "\n" for row in rows)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}", hint="nothing more was moved") from None

    def close(self) -> None:
        """Done with it."""
        if self._file is not None:
            self._file.close()

    def _opened(self) -> IO[str]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # the name of a new file is on the disk too
        finally:
            os.close(folder)
        return os.fdopen(descriptor, "w", encoding="ascii")
