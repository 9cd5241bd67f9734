"""`medbay incidents`: the same failure on many tasks at once, treated once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from medbay.cli.breaker import show_breakers
from medbay.cli.output import BOLD, DIM, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.views import moments
from medbay.views.text import clean, clean_lines, cut

if TYPE_CHECKING:
    from medbay.core.holds.breaker import Breaker

_EXCERPT_LINES = 5


@click.group(invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Also those that are over.")
@json_option
@pass_session
@click.pass_context
def command(ctx: click.Context, session: Session, everything: bool) -> None:
    """List the incidents that are open; `show ID` has the rest.

    \b
    Examples:
      medbay incidents
      medbay incidents show 3f2a
    """
    if ctx.invoked_subcommand is not None:
        return
    found = session.bay().incidents(closed=everything)
    if session.json:
        print_json([_as_json(session, each, held) for each, held in found])
        return
    show_breakers(session, found, empty="no incidents")


def _as_json(session: Session, each: Breaker, held: int) -> dict[str, Any]:
    """An incident is a breaker with the id that `show` takes, and with what is asked."""
    from medbay.service import views

    asked = session.bay().question_of(each)
    short = each.name.rpartition(":")[2]
    return {"id": short, **views.breaker(each, held), "asked": views.question(asked) if asked else None}


@command.command("show")
@click.argument("incident_id", metavar="ID")
@json_option
@pass_session
def show(session: Session, incident_id: str) -> None:
    """Show one incident: what failed, on which tasks, what is asked, and how it ends.

    \b
    Example:
      medbay incidents show 3f2a
    """
    from medbay.env import SystemClock
    from medbay.service import triage_views

    found, held, some = session.bay().incident(incident_id)
    looked, said = session.bay().triage_of_incident(found)
    if session.json:
        judged = triage_views.triage(looked) if looked is not None else None
        print_json({**_as_json(session, found, held), "held_tasks": [task.id for task in some], "judged": judged})
        return
    shown, now = screen(), SystemClock().now_ms()
    first = list(found.data.get("tasks", ()))
    if not shown.terminal:
        fields("key", found.key)
        fields("state", found.state)
        fields("why", found.why)
        fields("held", held, ",".join(task.id for task in some))
        fields("first_tasks", ",".join(first))
        fields("triage", looked.id if looked is not None else "", said)
        return
    say(f"{shown.paint(clean(found.name), BOLD)}  {cut(clean(found.why), shown.width - len(found.name) - 2)}")
    next_at = f"{moments.clock(found.next_at, now)}: " if found.next_at is not None else ""
    say(
        cut(
            f"  {found.state.replace('_', '-')}, opened {moments.ago(found.opened_at, now)}; {next_at}{found.ends}",
            shown.width,
        )
    )
    for line in clean_lines(str(found.data.get("excerpt", "")))[:_EXCERPT_LINES]:
        say(shown.paint(cut(f"  | {line}", shown.width), DIM))
    say(cut(f"  first on {', '.join(first)}", shown.width))
    say(cut(f"  {held} held: {', '.join(task.id for task in some)}", shown.width) if held else "  nothing is held")
    if said:
        say(cut(f"  {clean(said)}", shown.width))
    if found.question_id is not None:
        note(f"asked: medbay answer {found.question_id}; by hand: medbay breaker close {found.key}")
