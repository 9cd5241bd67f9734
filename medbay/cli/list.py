"""`medbay list`: the tasks, what needs a person first, each with why it is where it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.filters import chosen, filter_options
from medbay.cli.output import BOLD, COLOURS, DIM, Screen, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import Cell, Column, render, widths
from medbay.views.text import clean, cut, width, wrap

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.views.task import ListRow, LogSeen

_ON_A_SCREEN: Final = 50

# Below these widths: no exact time; then the reason moves to a line of its own.
_WITH_NEXT: Final = 96
_ON_ONE_LINE: Final = 80
_ENOUGH: Final = 48  # a reason that is cut here still says something; with less room it moves below
_NO_LIMIT: Final = 1_000_000


@click.command()
@click.argument("words", required=False, default="", metavar="[TEXT]")
@click.option("-v", "--verbose", is_flag=True, help="Also failures in a row, next attempt, last triage, use, place.")
@click.option("--all", "everything", is_flag=True, help="Also triages and what ended over 24h ago, without a limit.")
@filter_options
@click.option(
    "--limit", type=click.IntRange(1, _NO_LIMIT), metavar="N", help="At most this many; default on a terminal: 50."
)
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
    from medbay.service.listing import ListQuery
    from medbay.views import task as view

    shown, as_json = screen(), session.json
    if limit is None and shown.terminal and not everything and not as_json:
        limit = _ON_A_SCREEN
    wanted["text"] = words or wanted["text"]
    with_footer = shown.terminal or screen(sys.stderr).terminal
    query = ListQuery(
        wanted=chosen(wanted),
        limit=limit,
        everything=everything,
        explained=not as_json,
        costs=verbose,
        footer=with_footer,
        prefixes=shown.terminal,
    )
    found = session.bay().listing(query)
    if as_json:
        print_json([view.listed(found, task) for task in found.tasks])
        return
    rows = view.rows(found, _seen(found.logs), _orphaned(session.bay()) if found.logs else frozenset())
    if shown.terminal:
        for line in table(rows, shown, verbose=verbose, prefixes=found.prefixes):
            say(line)
    else:
        for row in rows:
            fields(*view.cells(row, verbose=verbose))
    if with_footer:
        for footer in filter(None, (view.footer(found, rows), view.unserved(rows), *_silent(session.bay()))):
            for line in wrap(footer, shown.width) if shown.terminal else (footer,):
                note(line)


def _silent(bay: Bay) -> Iterator[str]:
    """One line for each channel that does not deliver."""
    for state, waiting in bay.channels() if bay.place.config.notify else ():
        if state.failing_since is not None:
            yield f"channel {state.name} does not deliver ({waiting} to deliver): medbay notify test {state.name}"


def table(rows: Sequence[ListRow], screen: Screen, *, verbose: bool, prefixes: Mapping[str, int]) -> list[str]:
    """Return the rows for a terminal, as wide as it is."""
    two_lines = screen.width < _ON_ONE_LINE
    with_next = screen.width >= _WITH_NEXT
    lines: list[list[Cell]] = []
    for row in rows:
        codes = COLOURS[row.phrase.token]
        line = [
            Cell(row.phrase.glyph, codes),
            Cell(row.task.id, bold=prefixes.get(row.task.id, 0)),
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
        columns[3] = Column(cut=True, least=8)  # nothing is next to the title
    for line, row, moved in zip(lines, rows, below, strict=True):
        if not moved:
            line[len(line) - 1 - with_next] = Cell(row.why)
    more = [
        _below(row, screen, verbose=verbose and two_lines) if moved else []
        for row, moved in zip(rows, below, strict=True)
    ]
    drawn = render(lines, columns, screen)
    return [line for first, rest in zip(drawn, more, strict=True) for line in (first, *rest)]


def _below(row: ListRow, screen: Screen, *, verbose: bool) -> list[str]:
    """What moves to lines of its own on a narrow terminal."""
    text = [row.why, row.counters if verbose else ""]
    return [f"    {screen.plain(cut(line, screen.width - 4))}" for line in text if line]


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


def _orphaned(bay: Bay) -> frozenset[str]:
    """The tasks whose attempt was running when its engine died."""
    return frozenset(attempt.task_id for engine in bay.dead_engines() for attempt in engine.running)


def _seen(logs: Mapping[str, str]) -> dict[str, LogSeen]:
    """When each log was written last; one that cannot be read says nothing."""
    from medbay.views.task import LogSeen

    found = {}
    for task_id, path in logs.items():
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        found[task_id] = LogSeen(round(status.st_mtime * 1000), status.st_size)
    return found
