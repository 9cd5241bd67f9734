"""`medbay export`: tasks as JSON lines under the names of `add`."""

from __future__ import annotations

from typing import Any

import click

from medbay.cli.filters import chosen, filter_options
from medbay.cli.output import note, print_json_lines
from medbay.cli.session import Session, json_option, pass_session


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also what has ended.")
@filter_options
@json_option
@pass_session
def command(session: Session, /, everything: bool, **given: Any) -> None:
    """Print the open tasks as JSON lines, oldest first: what `medbay import` and `medbay add --file` read.

    Variables of a task are printed as they are; keep the file to yourself.

    \b
    Example:
      medbay export --tag nightly > tasks.jsonl
    """
    lines = session.bay().export(chosen(given, everything=everything))
    print_json_lines(lines)
    if not lines:
        note("nothing matches" if any(given.values()) else "no open tasks; medbay export --all has the others")
