"""The rows of a list: which tasks, in which order, with what is said about each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from medbay.cli import glyphs, times
from medbay.cli.glyphs import Phrase, Token, status_phrase
from medbay.cli.output import BOLD, DIM, Screen
from medbay.cli.table import Cell, Column, render
from medbay.cli.text import clean, cut
from medbay.core.model import Task
from medbay.env import SystemClock
from medbay.store import tasks as task_rows
from medbay.store.tasks import TaskFilter

if TYPE_CHECKING:
    from medbay.bay import Bay

_RECENT_MS: Final = 24 * 3_600_000
_EVERY: Final = 1_000_000
_FIRST_LOOK: Final = 500
_ENDED: Final = ("completed", "cancelled")
_ORDER: Final[dict[Token, int]] = {"you": 0, "run": 1, "wait": 2, "held": 3, "idle": 4, "fail": 5, "done": 6}

# Below these widths: no exact time; then the reason moves to a line of its own.
_WITH_NEXT: Final = 96
_ON_ONE_LINE: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody wants listed."""

    text: str = ""
    statuses: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    queue: str | None = None
    category: str = ""
    everything: bool = False

    @property
    def filtered(self) -> bool:
        """Whether anything narrows the list."""
        return bool(self.text or self.statuses or self.tags or self.queue is not None or self.category)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A task and what is said about it."""

    task: Task
    phrase: Phrase
    why: str
    next: str
    next_at: int | None


def ordered(bay: Bay, asked: Asked) -> tuple[list[Task], int]:
    """The tasks that are wanted: what needs you, running, waiting soonest first, held, ready, done. And now."""
    now = SystemClock().now_ms()
    wanted = [each for each in asked.statuses if each not in _ENDED]
    found: list[Task] = []
    if wanted or not asked.statuses:
        found += bay.select(_filter(asked, tuple(wanted), only_open=not wanted))
    ended = tuple(each for each in _ENDED if each in asked.statuses or not asked.statuses)
    if ended:
        all_of_them = asked.everything or bool(asked.statuses)
        found += _ended_since(bay, _filter(asked, ended, only_open=False), 0 if all_of_them else now - _RECENT_MS)
    return sorted(found, key=lambda task: _place(task, now)), now


def rows(bay: Bay, tasks: Sequence[Task], now_ms: int) -> list[Row]:
    """What is said about each task."""
    after = waits_for(bay, tasks)
    served = {queue for worker, _ in bay.workers() if worker.lease_until > now_ms for queue in worker.queues}
    made: list[Row] = []
    for task in tasks:
        phrase = status_phrase(task, now_ms, after=after.get(task.id, ()))
        why = _why(bay, task, phrase, now_ms, served)
        made.append(
            Row(task=task, phrase=phrase, why=clean(why), next=_next(task, phrase, now_ms), next_at=_next_at(task))
        )
    return made


def cells(row: Row, *, verbose: bool) -> list[object]:
    """One line for programs: id, status, what holds it, next time, title, why; then streak and tries."""
    task = row.task
    line: list[object] = [task.id, task.status, row.phrase.kind, times.iso(row.next_at), task.title, row.why]
    return [*line, task.streak, task.attempts, ""] if verbose else line


def table(rows: Sequence[Row], screen: Screen, *, verbose: bool, prefixes: Sequence[int]) -> list[str]:
    """The rows for a terminal, as wide as it is."""
    two_lines = screen.width < _ON_ONE_LINE
    with_next = screen.width >= _WITH_NEXT
    lines: list[list[Cell]] = []
    for row, prefix in zip(rows, prefixes, strict=True):
        codes = row.phrase.colour
        line = [
            Cell(row.phrase.glyph, codes),
            Cell(row.task.id, bold=prefix),
            Cell(clean(row.phrase.words), codes),
            Cell(clean(row.task.title)),
        ]
        if verbose and not two_lines:
            line.append(Cell(_counters(row.task), DIM))
        if not two_lines:
            line.append(Cell(row.why))
        if with_next:
            line.append(Cell(row.next, BOLD if row.phrase.token == "you" else DIM))
        lines.append(line)
    drawn = render(lines, _columns(verbose=verbose, two_lines=two_lines, with_next=with_next), screen)
    if not two_lines:
        return drawn
    return [line for at, row in enumerate(rows) for line in (drawn[at], *_below(row, screen, verbose=verbose))]


def prefixes(bay: Bay, tasks: Sequence[Task]) -> list[int]:
    """How many letters of each id are enough to name it."""
    with bay.store.read() as tx:
        return [
            next(
                (
                    size
                    for size in range(1, len(task.id))
                    if len(task_rows.ids_with_prefix(tx, task.id[:size], limit=2)) == 1
                ),
                len(task.id),
            )
            for task in tasks
        ]


def _below(row: Row, screen: Screen, *, verbose: bool) -> list[str]:
    """What moves to lines of its own on a narrow terminal."""
    told = [row.why, _counters(row.task) if verbose else ""]
    return [f"    {screen.plain(cut(line, screen.width - 4))}" for line in told if line]


def _columns(*, verbose: bool, two_lines: bool, with_next: bool) -> list[Column]:
    kept = Column()
    columns = [Column(gap=1), kept, kept, Column(cut=True, least=8, most=1_000 if two_lines else 32)]
    if verbose and not two_lines:
        columns.append(kept)
    if not two_lines:
        columns.append(Column(cut=True, least=10))
    if with_next:
        columns.append(kept)
    return columns


def _ended_since(bay: Bay, wanted: TaskFilter, oldest: int) -> list[Task]:
    """What ended at this time or later; the newest come first, so that a long history is not read to its end."""
    found: list[Task] = []
    for limit in (_FIRST_LOOK, 20 * _FIRST_LOOK, _EVERY):
        found = bay.select(replace(wanted, limit=limit))
        if len(found) < limit or found[-1].since < oldest:
            break
    return [task for task in found if task.since >= oldest]


def _filter(asked: Asked, statuses: tuple[str, ...], *, only_open: bool) -> TaskFilter:
    return TaskFilter(
        statuses=statuses,
        tags=asked.tags,
        queue=asked.queue,
        text=asked.text,
        category=asked.category,
        only_open=only_open,
        limit=_EVERY,
    )


def _place(task: Task, now_ms: int) -> tuple[int, int, int, str]:
    """Where a task stands in the list."""
    phrase = status_phrase(task, now_ms)
    if task.finished:
        return 6, -task.since, 0, task.id
    group = _ORDER[phrase.token]
    match phrase.token:
        case "wait":
            return group, task.due_at if task.due_at is not None else _EVERY * _RECENT_MS, task.priority, task.id
        case "idle":
            return group, task.priority, task.ready_at or task.since, task.id
        case _:
            return group, task.since, task.priority, task.id


def waits_for(bay: Bay, tasks: Sequence[Task]) -> dict[str, list[str]]:
    """What each of these tasks still waits for, by id."""
    waiting = [task.id for task in tasks if task.unmet > 0 and not task.finished]
    if not waiting:
        return {}
    with bay.store.read() as tx:
        return {
            each: [other for other, status in task_rows.comes_after(tx, each) if status != "completed"]
            for each in waiting
        }


def _why(bay: Bay, task: Task, phrase: Phrase, now_ms: int, served: set[str]) -> str:
    if task.live is not None:
        return _output_seen(bay, task, now_ms)
    if task.status == "blocked":
        return task.reason
    if task.finished:
        return f"{task.attempts} attempts, last failure {task.last_category}" if phrase.kind == "healed" else ""
    if task.status == "failed":
        return task.last_summary or task.last_category
    if phrase.glyph == glyphs.READY and task.queue not in served:
        return f'no worker serves "{task.queue}": medbay up'
    return task.last_summary if task.streak else ""


def _output_seen(bay: Bay, task: Task, now_ms: int) -> str:
    """When the running attempt last wrote something."""
    attempts = bay.attempts(task.id, 1)
    path = attempts[-1].log_path if attempts else ""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"output {times.ago(round(found.st_mtime * 1000), now_ms)}" if found.st_size else "no output yet"


def _next(task: Task, phrase: Phrase, now_ms: int) -> str:
    """The last cell: what to type, when it is tried, or when it is stopped."""
    if phrase.token == "you":
        return f"medbay answer {task.id}"
    if task.live is not None and task.timeout_ms is not None:
        return f"time limit in {times.short(task.since + task.timeout_ms - now_ms)}"
    if phrase.token == "wait" and task.due_at is not None:
        return times.clock(task.due_at, now_ms)
    if task.finished:
        return times.clock(task.since, now_ms)
    return ""


def _next_at(task: Task) -> int | None:
    if task.finished or task.paused or task.live is not None:
        return None
    return task.ready_at if task.ready else task.due_at


def _counters(task: Task) -> str:
    return f"{task.attempts} tries, streak {task.streak}, never triaged"
