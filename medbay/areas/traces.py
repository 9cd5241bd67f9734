"""TRACE.jsonl and METRICS.yaml beside the logs of a task, written when one of its attempts has ended."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medbay import env
from medbay.core.agent import is_agents, tools_used
from medbay.store import attempts, effects, history
from medbay.store import tasks as task_rows
from medbay.views import trace

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.core.agent import ToolUse
    from medbay.core.model import Attempt, Task
    from medbay.store.database import Tx

TRACE: Final = "TRACE.jsonl"
METRICS: Final = "METRICS.yaml"
ENDS: Final = (
    "task:failed",
    "task:completed",
    "task:iteration_done",
    "task:cancelled",
    "task:lost",
    "task:requeued",
)
_READ_AT_ONCE: Final = 2_000  # events
_TASKS_AT_ONCE: Final = 200
_ATTEMPTS_MAX: Final = 1_000


class Traces:
    """Writes the traces of what ran on this machine, from the event log, a bounded number at a time."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay
        self._reader = f"trace@{env.machine_id()}"  # where it reads on, also after a restart

    def cycle(self) -> int:
        """Write the files of tasks whose attempts ended since the last time; how many tasks there were."""
        with self._bay.store.read() as tx:
            at = effects.cursor(tx, self._reader, "")
            until = history.last_event_seq(tx) if at is None else effects.readable_until(tx, at, _READ_AT_ONCE)
            events = effects.events_between(tx, at, until, ENDS) if at is not None and until > at else []
            ids = [*dict.fromkeys(each.task_id for each in events if each.task_id and self._folder(each.task_id))]
            if len(ids) > _TASKS_AT_ONCE:
                later = next(each.seq for each in events if each.task_id == ids[_TASKS_AT_ONCE])
                ids, until = ids[:_TASKS_AT_ONCE], later - 1
            found = [
                (each, attempts.of_task(tx, each.id, _ATTEMPTS_MAX), _tools(tx, each))
                for each in task_rows.many(tx, ids)
            ]
        for task, made, tools in found:
            self._write(task, made, tools)
        if until != at and (found or at is None or until - at >= _READ_AT_ONCE // 2):
            with self._bay.store.write() as tx:
                effects.move_cursor(tx, self._reader, "", until)
        return len(found)

    def tools(self, task: Task) -> dict[int, tuple[ToolUse, ...]]:
        """The calls of tools that the attempts of a task made, by their numbers."""
        with self._bay.store.read() as tx:
            return _tools(tx, task)

    def _folder(self, task_id: str) -> Path | None:
        """Where the logs of a task are, if it ran here and left any."""
        folder = self._bay.place.folder / "logs" / task_id
        return folder if folder.is_dir() and not folder.is_symlink() else None

    def _write(self, task: Task, made: list[Attempt], tools: dict[int, tuple[ToolUse, ...]]) -> None:
        folder = self._folder(task.id)
        if folder is not None:
            lines = "".join(json.dumps(each) + "\n" for each in trace.lines(task, made, tools))
            with suppress(OSError):  # the disk is full, or somebody else has the folder: it is also in the store
                _put(folder / TRACE, lines)
                _put(folder / METRICS, trace.metrics(task, made))


def _tools(tx: Tx, task: Task) -> dict[int, tuple[ToolUse, ...]]:
    if not is_agents(task):
        return {}
    return {number: tools_used(result) for number, result in attempts.results(tx, task.id).items()}


def _put(path: Path, text: str) -> None:
    """Write a file whole or not at all; what a job left in its place is replaced, never followed."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(part, flags, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)
