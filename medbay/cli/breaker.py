"""`medbay breaker`: what is held, by whom and why, and when it ends; holding and releasing by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from medbay.cli.output import COLOURS, Screen, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.table import Cell, Column, render, widths
from medbay.errors import UsageError
from medbay.views import breaker as view
from medbay.views import moments
from medbay.views.text import clean, wrap

if TYPE_CHECKING:
    from medbay.core.holds.breaker import Breaker

_CUT = Column(cut=True, least=10)
_COLUMNS = (Column(gap=1), Column(), Column(), Column(), _CUT, _CUT)


@click.group()
def command() -> None:
    """Circuit breakers: they hold work that would only fail."""


@command.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that are closed.")
@json_option
@pass_session
def list_them(session: Session, everything: bool) -> None:
    """List the breakers that are open: what they hold, who opened them and why, when and how they end.

    \b
    Example:
      medbay breaker list
    """
    found = session.bay().breakers(closed=everything)
    if session.json:
        print_json([view.as_json(each, held) for each, held in found])
        return
    show_breakers(found, empty="nothing is held")


@command.command("open")
@click.argument("key", metavar="KEY")
@click.option("--reason", default="", metavar="TEXT", help="Why; shown wherever the breaker is.")
@click.option("--until", metavar="TIME", help="When one task goes ahead to try: 2026-11-15T03:00, or +2h.")
@json_option
@pass_session
def open_it(session: Session, key: str, reason: str, until: str | None) -> None:
    """Hold every task on a provider's account until it is closed, or until a time.

    KEY is provider:NAME, provider:NAME/ACCOUNT, crash_loop:RUNNER@HOST or agency (triage); NAME alone is a provider.

    \b
    Example:
      medbay breaker open anthropic/work --until +2h --reason "quota is kept for the release"
    """
    refuse_inside_attempts("breaker open")
    from medbay.env import SystemClock
    from medbay.service.requests import parse_time

    now = SystemClock().now_ms()
    end = parse_time(until, now=now) if until is not None else None
    if end is not None and end <= now:
        raise UsageError(f"--until {until} is over already", hint="write a time to come (UTC by default), or +2h")
    _print_changed(session, session.bay().open_breaker(key, why=reason, until=end), "is held")


@command.command("close")
@click.argument("key", metavar="KEY")
@json_option
@pass_session
def close_it(session: Session, key: str) -> None:
    """Close a breaker: what it held is released, spread out over time.

    KEY may be any unambiguous beginning of it.

    \b
    Example:
      medbay breaker close anthropic
    """
    refuse_inside_attempts("breaker close")
    _print_changed(session, session.bay().close_breaker(key), "is closed; what it held is released one after another")


def show_breakers(found: list[tuple[Breaker, int]], *, empty: str) -> None:
    """Print some breakers with how many tasks each holds: a table, or lines for programs."""
    from medbay.env import SystemClock

    shown, now = screen(), SystemClock().now_ms()
    if shown.terminal:
        for line in _lines(found, now, shown):
            say(line)
    for each, held in found if not shown.terminal else ():
        opened = (each.opened_by, moments.iso(each.opened_at))
        fields(each.key, each.kind, each.state, held, *opened, moments.iso(each.next_at), each.why)
    if not found:
        note(empty)


def _lines(found: list[tuple[Breaker, int]], now: int, shown: Screen) -> list[str]:
    """A line for each; where its end and its cause do not fit beside it, they stand below it, whole."""
    rows = [_row(each, held, now) for each, held in found]
    if sum(widths(rows, _COLUMNS, 1_000_000)) + 2 * len(_COLUMNS) <= shown.width:
        return render(rows, _COLUMNS, shown)
    lines = []
    for row, head in zip(rows, render([row[:4] for row in rows], _COLUMNS[:4], shown), strict=True):
        below = (part for cell in (row[5], row[4]) for part in wrap(cell.text, shown.width - 4) if part)
        lines += [head, *(shown.plain(f"    {part}") for part in below)]
    return lines


def _row(each: Breaker, held: int, now: int) -> list[Cell]:
    glyph, token = view.LOOKS[each.state]
    return [
        Cell(glyph, COLOURS[token]),
        Cell(clean(each.key)),
        Cell(view.state(each), COLOURS[token]),
        Cell(f"{held} held"),
        Cell(clean(view.ends(each, now))),
        Cell(clean(view.why(each, now))),
    ]


def _print_changed(session: Session, changed: Breaker, what: str) -> None:
    if session.json:
        held = next((count for each, count in session.bay().breakers(closed=True) if each.key == changed.key), 0)
        print_json(view.as_json(changed, held))
    elif screen().terminal:
        say(f"{clean(changed.key)} {what}")
    else:
        fields(changed.key, changed.state)
