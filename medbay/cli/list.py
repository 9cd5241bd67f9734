"""`medbay list`: the tasks, what needs a person first, each with why it is where it is."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.filters import chosen, filter_options
from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.views.text import wrap

if TYPE_CHECKING:
    from medbay.bay import Bay
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from medbay.cli.filters import ENDED, EVERY
from medbay.cli.output import BOLD, DIM, Screen
from medbay.cli.table import Cell, Column, render, widths
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.resources import crash_loop_key
from medbay.core.model import Task, Worker
from medbay.env import SystemClock
from medbay.store import tasks as task_rows
from medbay.store.tasks import TaskFilter
from medbay.views import glyphs, moments, schedule
from medbay.views.glyphs import Phrase, status_phrase
from medbay.views.text import clean, cut, width

if TYPE_CHECKING:
    from medbay.bay import Bay


_ON_A_SCREEN: Final = 50


@click.command()
@click.argument("words", required=False, default="", metavar="[TEXT]")
@click.option("-v", "--verbose", is_flag=True, help="Also streak, next attempt, last triage.")
@click.option("--all", "everything", is_flag=True, help="Also triages and what ended over 24h ago, without a limit.")
@filter_options
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many; on a terminal 50.")
@json_option
@pass_session
def command(session: Session, /, words: str, verbose: bool, everything: bool, limit: int | None, **wanted: Any) -> None:
    """List the tasks that are open or ended within 24h, what needs you first.

    TEXT keeps those with it in their title.

    \b
    Examples:
      medbay list
      medbay list --status failed,blocked --tag nightly --json
    """

    shown = screen()
    bay = session.bay()
    if limit is None and shown.terminal and not everything and not session.json:
        limit = _ON_A_SCREEN
    wanted["text"] = words or wanted["text"]
    asked = chosen(wanted)
    kept, found, now = ordered(bay, asked, limit=limit, everything=everything)
    if session.json:
        from medbay.service import views

        print_json([views.summary(task) for task in kept])
        return
    listed = rows(bay, kept, now)
    if shown.terminal:
        for line in table(listed, shown, verbose=verbose, prefixes=prefixes(bay, kept)):
            say(line)
    else:
        for row in listed:
            fields(*cells(row, verbose=verbose))
    if screen(sys.stderr).terminal or shown.terminal:
        left_out = 0 if everything else count_triages(bay, asked, now)
        footer = _footer(bay, listed, found, filtered=asked.narrows) + _beside(left_out if listed else 0)
        for line in wrap(footer, shown.width) if shown.terminal else (footer,):
            note(line)


def _beside(triages: int) -> str:
    """What is listed with `--all` only."""
    return f"; {triages} triage{'' if triages == 1 else 's'} beside (medbay list --all)" if triages else ""


def _footer(bay: Bay, rows: list[ListRow], found: int, *, filtered: bool) -> str:
    if not rows and filtered:
        return "nothing matches; medbay list --all has everything"
    if not rows:
        from medbay.store.tasks import TaskFilter

        older = bay.count(TaskFilter(triages=False))
        if older:
            return f"nothing is open; {older} ended more than 24h ago (medbay list --all)"
        return "no tasks yet; medbay add TITLE --run 'CMD' makes one"
    groups: Counter[str] = Counter("done" if row.task.finished else row.phrase.token for row in rows)
    words = {"you": "need you", "run": "running", "wait": "waiting", "held": "held", "idle": "ready", "done": "ended"}
    told = [f"{groups[group]} {word}" for group, word in words.items() if groups[group]]
    if groups["you"] == 1:
        told[0] = "1 needs you"
    shown = {row.task.id for row in rows if row.phrase.token == "you"}
    if more := sum(shown.isdisjoint(asked.task_ids) for asked in bay.inbox()):
        # about what goes on meanwhile, what is not shown, or an incident
        told.append(f"{more} {'other ' if shown else ''}question{'' if more == 1 else 's'} in medbay inbox")
    cut = f"{len(rows)} of {found} shown, what needs you first (medbay list --all): " if len(rows) < found else ""
    return cut + ", ".join(told)


_RECENT_MS: Final = 24 * 3_600_000

# Below these widths: no exact time; then the reason moves to a line of its own.
_WITH_NEXT: Final = 96
_ON_ONE_LINE: Final = 80
_ENOUGH: Final = 48  # a reason that is cut here still says something; with less room it moves below
_NO_LIMIT: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRow:
    """A task and what is said about it."""

    task: Task
    phrase: Phrase
    why: str
    next: str
    next_at: int | None
    counters: str = ""


def ordered(bay: Bay, asked: TaskFilter, *, limit: int | None, everything: bool) -> tuple[list[Task], int, int]:
    """The tasks that are wanted: what needs you, running, waiting soonest first, held, ready, done.

    Also how many there are in all, and now. The database puts them in order, and gives back no more than asked for.
    """
    now = SystemClock().now_ms()
    limit = EVERY if limit is None else limit
    parts = _parts(asked, now, everything=everything, triages=None if everything else False)
    kept: list[Task] = []
    for part in parts:
        kept += bay.select(replace(part, limit=limit - len(kept))) if len(kept) < limit else []
    return kept, len(kept) if len(kept) < limit else sum(map(bay.count, parts)), now


def count_triages(bay: Bay, asked: TaskFilter, now_ms: int) -> int:
    """How many triages a list without `--all` leaves out."""
    return sum(map(bay.count, _parts(asked, now_ms, everything=False, triages=True)))


def _parts(asked: TaskFilter, now: int, *, everything: bool, triages: bool | None) -> list[TaskFilter]:
    """What is open, then what ended: lately, unless everything is wanted."""
    wanted = replace(asked, order="need", only_open=False, triages=triages)
    still = tuple(each for each in asked.statuses if each not in ENDED)
    ended = tuple(each for each in asked.statuses if each in ENDED) if asked.statuses else ENDED
    parts = []
    if still or not asked.statuses:
        parts.append(replace(wanted, statuses=still, only_open=not still))
    if ended:
        since = None if everything or asked.statuses else now - _RECENT_MS
        parts.append(replace(wanted, statuses=ended, ended_since=since))
    return parts


def rows(bay: Bay, tasks: Sequence[Task], now_ms: int) -> list[ListRow]:
    """What is said about each task."""
    after = waits_for(bay, tasks)
    alive = [worker for worker, _ in bay.workers() if worker.lease_until > now_ms]
    served = {queue for worker in alive for queue in worker.queues}
    around = _Around(
        served=served,
        out_of_share=bay.queues_out_of_share(served, bay.place.config.engine.slots_for_recovery),
        breakers={each.key: each for each, _ in bay.breakers()}
        if any(task.hold or task.ready for task in tasks)
        else {},
        serving=alive,
    )
    made: list[ListRow] = []
    for task in tasks:
        phrase = status_phrase(task, now_ms, after=after.get(task.id, ()))
        why = _why(bay, task, phrase, now_ms, around)
        made.append(
            ListRow(
                task=task,
                phrase=phrase,
                why=clean(why),
                next=_next(task, phrase, now_ms),
                next_at=_next_at(task),
                counters=_counters(task, now_ms),
            )
        )
    return made


def cells(row: ListRow, *, verbose: bool) -> list[object]:
    """One line for programs: id, status, what holds it, next time, title, why; then streak and tries."""
    task = row.task
    line: list[object] = [task.id, task.status, row.phrase.kind, moments.iso(row.next_at), task.title, row.why]
    return [*line, task.streak, task.attempts, moments.iso(task.triaged_at)] if verbose else line


def table(rows: Sequence[ListRow], screen: Screen, *, verbose: bool, prefixes: Sequence[int]) -> list[str]:
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
            line.append(Cell(row.counters, DIM))
        if not two_lines:
            line.append(Cell(""))  # the reason, once it is known how much room the others leave
        if with_next:
            line.append(Cell(row.next, BOLD if row.phrase.token == "you" else DIM))
        lines.append(line)
    columns = _columns(verbose=verbose, two_lines=two_lines, with_next=with_next)
    room = screen.width - sum(widths(lines, columns, _NO_LIMIT)) - sum(column.gap for column in columns[:-1])
    below = [two_lines or (room < _ENOUGH and width(row.why) > room) for row in rows]
    if all(moved or not row.why for row, moved in zip(rows, below, strict=True)):
        columns[3] = Column(cut=True, least=8)  # nothing stands beside the title
    for line, row, moved in zip(lines, rows, below, strict=True):
        if not moved:
            line[len(line) - 1 - with_next] = Cell(row.why)
    more = [
        _below(row, screen, verbose=verbose and two_lines) if moved else []
        for row, moved in zip(rows, below, strict=True)
    ]
    drawn = render(lines, columns, screen)
    return [line for first, rest in zip(drawn, more, strict=True) for line in (first, *rest)]


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


def _below(row: ListRow, screen: Screen, *, verbose: bool) -> list[str]:
    """What moves to lines of its own on a narrow terminal."""
    told = [row.why, row.counters if verbose else ""]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What is asked once for all rows."""

    served: set[str]
    out_of_share: set[str]  # queues in which retries wait for fresh work
    breakers: Mapping[str, Breaker]
    serving: Sequence[Worker]

    def crash_loop(self, task: Task) -> Breaker | None:
        """What keeps its runner from starting, on every host that would run it."""
        hosts = {each.host for each in self.serving if task.queue in each.queues}
        loops = [self.breakers.get(crash_loop_key(task.runner, host)) for host in sorted(hosts)]
        return loops[0] if loops and all(loops) else None


def _why(bay: Bay, task: Task, phrase: Phrase, now_ms: int, around: _Around) -> str:
    if task.live is not None:
        return _output_seen(bay, task, now_ms)
    if task.status == "blocked":
        return task.reason
    if task.finished:
        return f"{task.attempts} attempts, last failure {task.last_category}" if phrase.kind == "healed" else ""
    if task.status == "failed":
        return task.last_summary or task.last_category
    if phrase.glyph == glyphs.HELD and (held := around.breakers.get(task.hold or "")) is not None:
        return _held(held, now_ms)
    if phrase.glyph == glyphs.READY and task.queue not in around.served:
        return f'no worker serves "{task.queue}": medbay up'
    if phrase.glyph == glyphs.READY and (looping := around.crash_loop(task)) is not None:
        return f"held by {looping.key}: {_held(looping, now_ms)}"
    if phrase.glyph == glyphs.READY and task.recovery and task.queue in around.out_of_share:
        return "retries have their share of the slots; fresh work goes first"
    return task.last_summary if task.streak else schedule.how(task)


def _held(by: Breaker, now_ms: int) -> str:
    when = f"{moments.clock(by.next_at, now_ms)}: " if by.next_at is not None else ""
    return f"{by.why}; {when}{by.ends}"


def _output_seen(bay: Bay, task: Task, now_ms: int) -> str:
    """When the running attempt last wrote something."""
    attempts = bay.attempts(task.id, 1)
    path = attempts[-1].log_path if attempts else ""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"output {moments.ago(round(found.st_mtime * 1000), now_ms)}" if found.st_size else "no output yet"


def _next(task: Task, phrase: Phrase, now_ms: int) -> str:
    """The last cell: what to type, when it is tried, or when it is stopped."""
    if phrase.token == "you":
        return f"medbay answer {task.id}"
    if task.live is not None and task.timeout_ms is not None:
        return f"time limit in {moments.short(task.since + task.timeout_ms - now_ms)}"
    if phrase.kind == "paused":
        return f"medbay resume {task.id}"
    if phrase.token == "wait" and task.due_at is not None:
        return moments.clock(task.due_at, now_ms)
    if task.finished:
        return moments.clock(task.since, now_ms)
    return ""


def _next_at(task: Task) -> int | None:
    if task.finished or task.paused or task.live is not None:
        return None
    return task.ready_at if task.ready else task.due_at


def _counters(task: Task, now_ms: int) -> str:
    triaged = "never triaged" if task.triaged_at is None else f"triaged {moments.ago(task.triaged_at, now_ms)}"
    tries = "1 try" if task.attempts == 1 else f"{task.attempts} tries"
    return f"{tries}, streak {task.streak}, {triaged}"
