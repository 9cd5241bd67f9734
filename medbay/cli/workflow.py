"""`medbay workflow`: the workflows that a tag on an issue may start."""

from __future__ import annotations

import click

from medbay.cli.output import print_json, say
from medbay.cli.session import Session, json_option, pass_session


@click.group()
def command() -> None:
    """The workflows there are."""


@command.command("list")
@click.option("--dispatchable", is_flag=True, help="Only those that a tag on an issue may start.")
@json_option
@pass_session
def list_(session: Session, /, dispatchable: bool) -> None:
    """List the workflows that tags on issues stand for.

    \b
    Example:
      medbay workflow list --dispatchable
    """
    from msgspec import structs

    from medbay.core.tracker.issue import TAG_WORKFLOWS

    found = [each for each in TAG_WORKFLOWS if each.dispatchable or not dispatchable]
    if session.json:
        print_json([structs.asdict(each) for each in found])
        return
    for each in found:
        say(f"{each.name.ljust(24)}{each.does}")
