"""`medbay workorders`: the runs of the intake agent."""

from __future__ import annotations

import click

from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.pages import note_rest, paged
from medbay.cli.session import Session, json_option, pass_session
from medbay.views import intake as view
from medbay.views import moments
from medbay.views.text import clean, cut


@click.group(invoke_without_command=True)
@paged
@json_option
@click.pass_context
def command(context: click.Context, limit: int, after: str) -> None:
    """List the workorders, or show one with its snapshot, bundle, run record and pause state.

    \b
    Example:
      medbay workorders show wo-1 --json
    """
    if context.invoked_subcommand is None:
        _list(context.ensure_object(Session), limit, after)


@command.command("list")
@paged
@json_option
@pass_session
def list_them(session: Session, limit: int, after: str) -> None:
    """List the workorders, the oldest first."""
    _list(session, limit, after)


@command.command("show")
@click.argument("workorder_id", metavar="ID")
@json_option
@pass_session
def show(session: Session, workorder_id: str) -> None:
    """Show everything about one workorder."""
    found = session.bay().intake.workorder(workorder_id)
    order, record, asked = found.workorder, found.run_record, found.question
    if session.json:
        more = {"captures": found.captures, "candidates": found.candidates, "record": record, "question": asked}
        print_json(view.workorder_in_full(order, snapshot=found.snapshot, **more))  # type: ignore[arg-type]
        return
    say(f"{order.id}  {order.status}  by {order.agent}, task {order.task_id}")
    say(f"  captures: {', '.join(each.id for each in found.captures)}")
    if record is not None:
        say(f"  gate: {record.gate_result}, {clean(record.gate_reason)}")
    if asked is not None:
        pause = view.pause_as_json(asked)
        say(f"  paused: {pause['reason']} ({asked.id}, {asked.status})")
        for number, action in enumerate(pause["actions"], start=1):
            say(f"    {number} {clean(action)}")
    for each in found.candidates:
        say(f"  candidate {each.id}  {each.status}  {clean(each.title)}")


def _list(session: Session, limit: int, after: str) -> None:
    from medbay.core.intake.records import Workorder

    page = session.bay().intake.page(Workorder, limit=limit, after=after)
    note_rest(page, after=after)
    if session.json:
        print_json([view.workorder_as_json(each) for each in page.rows])
        return
    shown = screen()
    for each in page.rows:
        if shown.terminal:
            say(shown.plain(cut(f"{each.id}  {each.status:<8}  {each.agent}  {clean(each.reason)}", shown.width)))
        else:
            fields(each.id, each.status, each.agent, moments.iso(each.created_at), each.task_id, each.reason)
    if not page.total:
        note("no workorders yet; medbay intake --once makes one of what was captured")
