"""`medbay candidates`, `medbay promote`, `medbay discard`: what captures were made into, and what becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.pages import note_rest, paged
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.views import intake as view
from medbay.views.text import clean, clean_lines, cut

if TYPE_CHECKING:
    from medbay.core.intake.records import Candidate

STATUSES: Final = ("PROPOSED", "PROMOTED", "DISCARDED")
_STATUS = click.option(
    "--status", "status", multiple=True, type=click.Choice(STATUSES, case_sensitive=False), help="Only those."
)
_WORKORDER = click.option("--workorder", default="", metavar="ID", help="Only those of one workorder.")


@click.group(invoke_without_command=True)
@_STATUS
@_WORKORDER
@paged
@json_option
@click.pass_context
def command(context: click.Context, status: tuple[str, ...], workorder: str, limit: int, after: str) -> None:
    """List the candidates, or show, edit, promote or discard one.

    \b
    Example:
      medbay candidates --status PROPOSED
    """
    if context.invoked_subcommand is None:
        _list(context.ensure_object(Session), status, workorder, limit, after)


@command.command("list")
@_STATUS
@_WORKORDER
@paged
@json_option
@pass_session
def list_them(session: Session, status: tuple[str, ...], workorder: str, limit: int, after: str) -> None:
    """List the candidates, the oldest first."""
    _list(session, status, workorder, limit, after)


@command.command("show")
@click.argument("candidate_id", metavar="ID")
@json_option
@pass_session
def show(session: Session, candidate_id: str) -> None:
    """Show one candidate, with its captures and the task it was promoted to."""
    _show(session, session.bay().intake.candidate(candidate_id))


@command.command("edit")
@click.argument("candidate_id", metavar="ID")
@click.option("--title", metavar="TEXT", help="Another title.")
@click.option("--description", metavar="TEXT", help="Another description.")
@click.option("--criterion", "criteria", multiple=True, metavar="TEXT", help="Acceptance criteria, replacing all.")
@json_option
@pass_session
def edit(
    session: Session, candidate_id: str, title: str | None, description: str | None, criteria: tuple[str, ...]
) -> None:
    """Change a candidate before it is promoted."""
    refuse_inside_attempts("medbay candidates edit")
    changes = {"title": title, "description": description, "acceptance_criteria": criteria or None}
    _show(session, session.bay().intake.edit_candidate(candidate_id, **changes))


@command.command("promote")
@click.argument("candidate_id", metavar="ID")
@click.option("--story", is_flag=True, help="To a story with the candidate's id, instead of a task.")
@click.option("--run", "run", metavar="CMD", help="The command that works on it.")
@click.option("--agent", metavar="NAME", help="The agent that works on it.")
@json_option
@pass_session
def promote(session: Session, candidate_id: str, story: bool, run: str | None, agent: str | None) -> None:
    """Make a task of a candidate, and print its id. Without --run or --agent it is a person's.

    \b
    Example:
      medbay promote wo-1-1 --agent claude
    """
    refuse_inside_attempts("medbay promote")
    made = session.bay().intake.promote(candidate_id, run=run, agent=agent, story=story)
    if session.json:
        print_json({"candidate": candidate_id, "story" if story else "task": made.id})
    else:
        say(made.id)


@command.command("discard")
@click.argument("record_id", metavar="ID")
@json_option
@pass_session
def discard(session: Session, record_id: str) -> None:
    """Discard a candidate or a capture.

    \b
    Example:
      medbay discard wo-1-2
    """
    refuse_inside_attempts("medbay discard")
    made = session.bay().intake.discard(record_id)
    if session.json:
        print_json({"id": made.id, "status": made.status})
    else:
        say(f"{made.id}: discarded")


def _show(session: Session, each: Candidate) -> None:
    if session.json:
        print_json(view.candidate_as_json(each))
        return
    say(f"{each.id}  {each.status}  {clean(each.title)}")
    for line in clean_lines(each.description):
        say(f"  {line}")
    for criterion in each.acceptance_criteria:
        say(f"  - {clean(criterion)}")
    say(f"  captures: {', '.join(map(clean, each.captures))}; confidence {each.confidence:g}")
    if each.task_id:
        say(f"  task: {each.task_id}")


def _list(session: Session, status: tuple[str, ...], workorder: str, limit: int, after: str) -> None:
    from medbay.core.intake.records import Candidate

    wanted = tuple(each.upper() for each in status)
    page = session.bay().intake.page(Candidate, status=wanted, workorder=workorder, limit=limit, after=after)
    note_rest(page, after=after)
    if session.json:
        print_json([view.candidate_as_json(each) for each in page.rows])
        return
    shown = screen()
    for each in page.rows:
        if shown.terminal:
            say(
                shown.plain(
                    cut(f"{each.id}  {each.status:<9}  {each.confidence:.2f}  {clean(each.title)}", shown.width)
                )
            )
        else:
            fields(each.id, each.status, each.confidence, ",".join(each.captures), each.task_id, each.title)
    if not page.total:
        note("no candidates; medbay intake --once makes some of what was captured")
