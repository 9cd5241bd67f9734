"""`medbay list`: the tasks, what needs a person first, each with why it is where it is."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import click

from medbay.cli.complaint import unknown
from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.cli.listing import Row

STATUSES: Final = (
    "pending",
    "in_progress",
    "pending_verification",
    "failed",
    "blocked",
    "completed",
    "cancelled",
)
_ON_A_SCREEN: Final = 50


@click.command()
@click.argument("text", required=False, default="")
@click.option("-v", "--verbose", is_flag=True, help="Also streak, next attempt, last triage.")
@click.option("--all", "everything", is_flag=True, help="Also what ended more than 24h ago, without a limit.")
@click.option("--status", multiple=True, metavar="S", help="Only this status (repeatable, or a,b).")
@click.option("--tag", multiple=True, metavar="T", help="Only with this tag (repeatable: all of them).")
@click.option("--queue", metavar="Q", help="Only of this queue.")
@click.option("--category", default="", metavar="C", help="Only with this category of the last failure.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many; on a terminal 50.")
@json_option
@pass_session
def command(session: Session, /, verbose: bool, everything: bool, limit: int | None, **wanted: Any) -> None:
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
    asked = listing.Asked(
        text=wanted["text"],
        statuses=_statuses(wanted["status"]),
        tags=wanted["tag"],
        queue=wanted["queue"],
        category=wanted["category"],
        everything=everything,
    )
    tasks, now = listing.ordered(bay, asked)
    kept = tasks[:limit]
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
        note(_footer(bay, rows, len(tasks), filtered=asked.filtered))


def _statuses(given: tuple[str, ...]) -> tuple[str, ...]:
    names = [name.strip() for each in given for name in each.split(",") if name.strip()]
    for name in names:
        if name not in STATUSES:
            raise unknown("status", name, STATUSES, otherwise=f"there are {', '.join(STATUSES)}")
    return tuple(dict.fromkeys(names))


def _footer(bay: Bay, rows: list[Row], found: int, *, filtered: bool) -> str:
    if not rows and filtered:
        return "nothing matches; medbay list --all has everything"
    counts = bay.counts()
    if not rows:
        older = sum(counts.values())
        if older:
            return f"nothing is open; {older} ended more than 24h ago (medbay list --all)"
        return "no tasks yet; medbay add TITLE --run 'CMD' makes one"
    groups: Counter[str] = Counter("done" if row.task.finished else row.phrase.token for row in rows)
    words = {"you": "need you", "run": "running", "wait": "waiting", "held": "held", "idle": "ready", "done": "ended"}
    told = [f"{groups[group]} {word}" for group, word in words.items() if groups[group]]
    cut = f"{len(rows)} of {found} shown, what needs you first (medbay list --all): " if len(rows) < found else ""
    return cut + ", ".join(told)
