"""`medbay list`: the tasks, what needs a person first, each with why it is where it is."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.filters import chosen, filter_options
from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.text import wrap

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.cli.listing import ListRow

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
    from medbay.cli import listing

    shown = screen()
    bay = session.bay()
    if limit is None and shown.terminal and not everything and not session.json:
        limit = _ON_A_SCREEN
    wanted["text"] = words or wanted["text"]
    asked = chosen(wanted)
    kept, found, now = listing.ordered(bay, asked, limit=limit, everything=everything)
    if session.json:
        from medbay.service import views

        print_json([views.summary(task) for task in kept])
        return
    rows = listing.rows(bay, kept, now)
    if shown.terminal:
        for line in listing.table(rows, shown, verbose=verbose, prefixes=listing.prefixes(bay, kept)):
            say(line)
    else:
        for row in rows:
            fields(*listing.cells(row, verbose=verbose))
    if screen(sys.stderr).terminal or shown.terminal:
        left_out = 0 if everything else listing.count_triages(bay, asked, now)
        footer = _footer(bay, rows, found, filtered=asked.narrows) + _beside(left_out if rows else 0)
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
