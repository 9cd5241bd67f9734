"""`medbay lifecycle show`: the tables of states and moves, for people, for diagrams and for programs."""

from __future__ import annotations

import click

from medbay.cli.complaint import unknown
from medbay.cli.output import note, say, screen
from medbay.cli.session import Session, json_option, pass_session


@click.group()
def command() -> None:
    """The states of tasks, stories and the rest, and the allowed moves."""


@command.command("show")
@click.argument("name", default="task")
@click.option("--format", "form", type=click.Choice(["text", "mermaid", "json"]), default="text", show_default=True)
@json_option
@pass_session
def show(session: Session, name: str, form: str) -> None:
    """Print one lifecycle: task (default), story, hotfix, workorder, capture or candidate.

    \b
    Example:
      medbay lifecycle show task --format mermaid
    """
    from medbay.core import machine
    from medbay.core.lifecycles import LIFECYCLES

    if name not in LIFECYCLES:
        raise unknown("lifecycle", name, LIFECYCLES, otherwise=f"there are {', '.join(LIFECYCLES)}")
    draw = {"text": machine.draw_text, "mermaid": machine.draw_mermaid, "json": machine.draw_json}
    say(draw["json" if session.json else form](LIFECYCLES[name]))
    if form == "text" and not session.json and screen().terminal:
        others = [other for other in LIFECYCLES if other != name]
        note(f"also: medbay lifecycle show {'|'.join(others)}")
