"""`medbay incidents`: the same failure on many tasks at once, treated once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from medbay.cli.breaker import show_breakers
from medbay.cli.output import BOLD, DIM, Screen, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.views import incident as view
from medbay.views.text import clean, clean_lines, cut

if TYPE_CHECKING:
    from medbay.core.snapshot import IncidentDetail

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
        print_json([view.as_json(each) for each in found])
        return
    show_breakers([(each.breaker, each.held) for each in found], empty="no incidents")


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
    found = session.bay().incident(incident_id)
    if session.json:
        print_json(view.detail_as_json(found))
        return
    shown = screen()
    if not shown.terminal:
        _for_programs(found)
        return
    for line in _lines(found, shown):
        say(line)
    incident = found.breaker
    if incident.question_id is not None:
        note(f"asked: medbay answer {incident.question_id}; by hand: medbay breaker close {incident.key}")


def _lines(found: IncidentDetail, shown: Screen) -> list[str]:
    incident, columns = found.breaker, shown.width
    name = shown.paint(clean(incident.name), BOLD)
    lines = [f"{name}  {cut(clean(incident.why), columns - len(incident.name) - 2)}"]
    lines.append(cut(f"  {view.standing(found)}", columns))
    for line in clean_lines(str(incident.data.get("excerpt", "")))[:_EXCERPT_LINES]:
        lines.append(shown.paint(cut(f"  | {line}", columns), DIM))
    lines.append(cut(f"  first on {', '.join(view.first_tasks(found))}", columns))
    held = f"  {found.held} held: {', '.join(task.id for task in found.tasks)}"
    lines.append(cut(held, columns) if found.held else "  nothing is held")
    if judged := view.judged(found):
        lines.append(cut(f"  {clean(judged)}", columns))
    return lines


def _for_programs(found: IncidentDetail) -> None:
    incident = found.breaker
    fields("key", incident.key)
    fields("state", incident.state)
    fields("why", incident.why)
    fields("held", found.held, ",".join(task.id for task in found.tasks))
    fields("first_tasks", ",".join(view.first_tasks(found)))
    fields("triage", found.triage.id if found.triage is not None else "", view.judged(found))
