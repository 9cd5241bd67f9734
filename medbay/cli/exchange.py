"""`medbay export` and `medbay import`: tasks as JSON lines under the names of `add`, written and added again."""

from __future__ import annotations

from typing import Any

import click

from medbay.cli.files import read_lines
from medbay.cli.filters import chosen, filter_options
from medbay.cli.output import note, print_json, print_json_lines, say
from medbay.cli.session import Session, json_option, pass_session
from medbay.errors import MedbayError


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also what has ended.")
@filter_options
@json_option
@pass_session
def export(session: Session, /, everything: bool, **given: Any) -> None:
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


@click.command(name="import")
@click.argument("file", metavar="FILE")
@click.option("--key", default="", metavar="PREFIX", help="Give each the key PREFIX:ID; a second time adds nothing.")
@click.option("--all", "everything", is_flag=True, help="Also add what had ended; it runs again.")
@json_option
@pass_session
def import_(session: Session, /, file: str, key: str, everything: bool) -> None:
    """Add the tasks of FILE (- is stdin) as `medbay export` printed them, and print their new ids.

    `after` follows the new ids. Tasks that had ended are left out unless --all is given.

    \b
    Example:
      medbay export | medbay import - --store sqlite:///other.db
    """
    name = "stdin" if file == "-" else file
    lines = list(read_lines(file, name))
    try:
        added, left_out = session.bay(create=True).import_lines(lines, key=key, everything=everything)
    except MedbayError as error:
        if error.line_number is not None:
            error.message = f"{name}:{error.line_number}: {error.message}"
            error.hint = error.hint or "nothing was added"
        raise
    if session.json:
        from medbay.views import task as view

        print_json([view.summary(task) for task in added])
    else:
        for task in added:
            say(task.id)
    if left_out:
        note(f"{left_out} had ended and {'was' if left_out == 1 else 'were'} left out; --all adds them too")
