"""`medbay prompt`: exactly what the next attempt of an agent will be told."""

from __future__ import annotations

import click

from medbay.cli.completion import task_ids
from medbay.cli.output import print_json, say
from medbay.cli.session import Session, json_option, pass_session


@click.command()
@click.argument("task_id", metavar="ID", shell_complete=task_ids)
@json_option
@pass_session
def command(session: Session, task_id: str) -> None:
    """Print what the agent of a task will be told in its next attempt, to the letter.

    \b
    Example:
      medbay prompt k7f2
    """
    bay = session.bay()
    told = bay.agents.prompt(task_id)
    if session.json:
        print_json({"task": bay.get(task_id).id, "prompt": told})
        return
    say(told.rstrip("\n"))
