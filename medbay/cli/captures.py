"""`medbay captures`: what was captured, and what became of it."""

from __future__ import annotations

from typing import Final

import click

from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.pages import note_rest, paged
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.views import intake as view
from medbay.views import moments
from medbay.views.text import clean, clean_lines, cut

STATUSES: Final = ("PENDING", "PROCESSED", "POISON", "DISCARDED")
_STATUS = click.option(
    "--status", "status", multiple=True, type=click.Choice(STATUSES, case_sensitive=False), help="Only those."
)


@click.group(invoke_without_command=True)
@_STATUS
@paged
@json_option
@click.pass_context
def command(context: click.Context, status: tuple[str, ...], limit: int, after: str) -> None:
    """List the captures, or show, edit, retry or discard one.

    \b
    Example:
      medbay captures --status PENDING
    """
    if context.invoked_subcommand is None:
        _list(context.ensure_object(Session), status, limit, after)


@command.command("list")
@_STATUS
@paged
@json_option
@pass_session
def list_them(session: Session, status: tuple[str, ...], limit: int, after: str) -> None:
    """List the captures, the oldest first."""
    _list(session, status, limit, after)


@command.command("show")
@click.argument("capture_id", metavar="ID")
@json_option
@pass_session
def show(session: Session, capture_id: str) -> None:
    """Show one capture, with the workorders it was in and the candidates and tasks made of it."""
    found = session.bay().intake.show_capture(capture_id)
    if session.json:
        print_json(found)
        return
    say(f"{found['id']}  {found['status']}")
    for line in clean_lines(found["text"]):
        say(f"  {line}")
    if found["workorders"]:
        say(f"  workorders: {', '.join(found['workorders'])}")
    for each in found["candidates"]:
        task = f" -> task {each['task']}" if each["task"] else ""
        say(f"  candidate {each['id']}  {each['status']}  {clean(each['title'])}{task}")


@command.command("edit")
@click.argument("capture_id", metavar="ID")
@click.argument("text")
@json_option
@pass_session
def edit(session: Session, capture_id: str, text: str) -> None:
    """Change the text of a capture that waits."""
    refuse_inside_attempts("medbay captures edit")
    made = session.bay().intake.edit_capture(capture_id, text)
    _print(session, view.capture_as_json(made), f"{made.id}: changed")


@command.command("retry")
@click.argument("capture_id", metavar="ID")
@json_option
@pass_session
def retry(session: Session, capture_id: str) -> None:
    """Let a capture be triaged at once; one that is POISON gets new tries."""
    refuse_inside_attempts("medbay captures retry")
    made = session.bay().intake.release_capture(capture_id)
    _print(session, view.capture_as_json(made), f"{made.id}: {made.status}")


@command.command("discard")
@click.argument("capture_id", metavar="ID")
@json_option
@pass_session
def discard(session: Session, capture_id: str) -> None:
    """Discard a capture that waits or is POISON."""
    from medbay.core.intake.records import Capture
    from medbay.errors import NotFound

    refuse_inside_attempts("medbay captures discard")
    bay = session.bay()
    known = bay.intake.show_capture(capture_id)["id"]
    made = bay.intake.discard(known)
    if not isinstance(made, Capture):
        raise NotFound(f'there is no capture "{capture_id}"', hint="medbay captures lists them")
    _print(session, view.capture_as_json(made), f"{made.id}: discarded")


def _print(session: Session, data: object, words: str) -> None:
    if session.json:
        print_json(data)
    else:
        say(words)


def _list(session: Session, status: tuple[str, ...], limit: int, after: str) -> None:
    from medbay.core.intake.records import Capture

    wanted = tuple(each.upper() for each in status)
    page = session.bay().intake.page(Capture, status=wanted, limit=limit, after=after)
    note_rest(page, after=after)
    if session.json:
        print_json([view.capture_as_json(each) for each in page.rows])
        return
    shown = screen()
    for each in page.rows:
        if shown.terminal:
            say(shown.plain(cut(f"{each.id}  {each.status:<9}  {clean(each.text)}", shown.width)))
        else:
            fields(each.id, each.status, each.tries, moments.iso(each.created_at), each.text)
    if not page.total:
        note('no captures; medbay capture "TEXT" makes one')
