"""What the daemon clears away, as `[keep]` says: history of finished tasks into the archive, logs by age and size.

A round has a bound. What an open task needs stays: its own logs, and those of tasks that belong to it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medbay.service import upkeep
from medbay.store import tasks as task_rows

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.model import Task

PIECES: Final = 20  # of 500 rows, that one round archives
FOLDERS: Final = 1_000  # of logs that one round examines
RUNS_KEPT: Final = 20  # of a recurring task, whatever their age
_AT_ONCE: Final = 200
_MEGABYTE: Final = 1_000_000


@dataclass(slots=True)
class LogFolder:
    """The logs of one task."""

    task_id: str
    size: int
    ended_at: int | None  # None: they are needed


@dataclass(slots=True)
class LogWalk:
    """One walk over all folders, which takes as many rounds as it needs."""

    ahead: list[str]
    seen: list[LogFolder] = field(default_factory=list)


class Keeping:
    """Clears away, round by round, for one daemon."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay
        self._config = bay.place.config.keep
        self._logs = bay.place.folder / "logs"
        self._pass: LogWalk | None = None

    def cycle(self) -> tuple[int, int]:
        """One round; how many rows went to the archive, and how many folders of logs were deleted."""
        return self._archive(), self._delete()

    def _archive(self) -> int:
        if not self._config.history_ms:
            return 0
        moved, _ = upkeep.archive_old(
            self._bay.store,
            self._bay.place.folder,
            now=self._bay.now(),
            older_than_ms=self._config.history_ms,
            pieces=PIECES,
        )
        return sum(moved.values())

    def _delete(self) -> int:
        if not self._config.logs_ms and not self._config.logs_mb:
            return 0
        if self._pass is None:
            self._pass = LogWalk(ahead=_folders(self._logs))
        walk, deleted = self._pass, 0
        now, chunk = self._bay.now(), [walk.ahead.pop() for _ in range(min(FOLDERS, len(walk.ahead)))]
        for at in range(0, len(chunk), _AT_ONCE):
            for each in self._examined(chunk[at : at + _AT_ONCE], now):
                age = now - each.ended_at if each.ended_at is not None else 0
                if self._config.logs_ms and age > self._config.logs_ms:
                    deleted += self._remove(each)
                else:
                    walk.seen.append(each)
        if not walk.ahead:
            deleted += self._shrink(walk.seen)
            self._pass = None
        return deleted

    def _examined(self, names: Sequence[str], now: int) -> list[LogFolder]:
        """Which of these are finished, and since when; of recurring tasks, old runs go at once."""
        with self._bay.store.read() as tx:
            found = {each.id: each for each in task_rows.many(tx, names)}
            owners = [each.owner_id for each in found.values() if each.owner_kind == "task" and each.owner_id]
            needed = {each.id for each in task_rows.many(tx, sorted(set(owners))) if not each.finished}
        made = []
        for name in names:
            task = found.get(name)
            if task is not None and task.recurs and not task.finished and self._config.logs_ms:
                _forget_runs(self._logs / name, task, now - self._config.logs_ms)
            over = task is not None and task.finished and task.owner_id not in needed
            made.append(LogFolder(name, _size(self._logs / name), task.ended_at if over and task else None))
        return made

    def _shrink(self, seen: list[LogFolder]) -> int:
        """Delete the logs of what finished first, until all of them together are small enough."""
        limit, total = self._config.logs_mb * _MEGABYTE, sum(each.size for each in seen)
        if not limit or total <= limit:
            return 0
        deleted = 0
        over = sorted((each.ended_at, each.task_id, each) for each in seen if each.ended_at is not None)
        for _, _, each in over[:FOLDERS]:
            if total <= limit:
                break
            deleted += self._remove(each)
            total -= each.size
        return deleted

    def _remove(self, each: LogFolder) -> int:
        shutil.rmtree(self._logs / each.task_id, ignore_errors=True)  # what cannot be deleted is met again
        return 1


def _folders(logs: Path) -> list[str]:
    """The folders of tasks, the last one first; a link is none."""
    try:
        with os.scandir(logs) as found:
            return sorted((each.name for each in found if each.is_dir(follow_symlinks=False)), reverse=True)
    except OSError:
        return []


def _size(folder: Path) -> int:
    """What the files of a folder take on the disk; holes in a log take nothing."""
    try:
        with os.scandir(folder) as found:
            return sum(each.stat(follow_symlinks=False).st_blocks * 512 for each in found)
    except OSError:
        return 0


def _forget_runs(folder: Path, task: Task, before: int) -> None:
    """Delete the logs of old runs of a recurring task; the newest stay, whatever their age."""
    try:
        with os.scandir(folder) as found:
            for each in found:
                number = each.name.partition(".")[0]
                old = number.isdigit() and int(number) <= task.attempts - RUNS_KEPT
                if old and each.is_file(follow_symlinks=False) and each.stat().st_mtime * 1000 < before:
                    os.unlink(each.path)
    except OSError:
        return
