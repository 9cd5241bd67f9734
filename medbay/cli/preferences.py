"""`medbay preferences`: what you answered before, offered first when the same is asked again."""

from __future__ import annotations

import click

from medbay.cli.output import fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.views import moments
from medbay.views import question as view
from medbay.views.text import clean, cut


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context) -> None:
    """List what is remembered of your answers, or forget some of it.

    \b
    Example:
      medbay preferences
    """
    if context.invoked_subcommand is None:
        _list(context.ensure_object(Session))


@command.command("list")
@json_option
@pass_session
def list_them(session: Session) -> None:
    """List what is remembered, the newest first.

    \b
    Example:
      medbay preferences list --json
    """
    _list(session)


@command.command("forget")
@click.argument("scope")
@json_option
@pass_session
def forget(session: Session, scope: str) -> None:
    """Forget what was answered within a SCOPE: the next question there has its own default again.

    \b
    Example:
      medbay preferences forget task:k7f2
    """
    refuse_inside_attempts("medbay preferences forget")
    known = session.bay().forget_preference(scope)
    if session.json:
        print_json(view.preference_as_json(known))
    else:
        say(f"{clean(known.scope)}: forgotten, was {known.answer}")


def _list(session: Session) -> None:
    from medbay.env import SystemClock

    found = session.bay().preferences()
    if session.json:
        print_json([view.preference_as_json(each) for each in found])
        return
    shown, now = screen(), SystemClock().now_ms()
    for each in found:
        if not shown.terminal:
            fields(each.scope, each.answer, each.told_by, moments.iso(each.told_at), each.used)
            continue
        again = f", again {'once' if each.used == 1 else f'{each.used} times'}" if each.used else ""
        text = f"{each.answer}  by {clean(each.told_by)} {moments.ago(each.told_at, now)}{again}"
        say(shown.plain(cut(f"{clean(each.scope)}  {text}", shown.width)))
    if not found:
        note("no remembered answers yet")
    elif shown.terminal:
        note("offered first when the same is asked again; medbay preferences forget SCOPE ends that")
