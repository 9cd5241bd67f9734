"""`medbay add`: one task from options, or many from a file of JSON lines. Prints ids alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from medbay.cli.files import read_lines
from medbay.cli.output import note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.values import DashCommand, given_values, refuse_missing_files, value_options
from medbay.errors import MedbayError, UsageError

if TYPE_CHECKING:
    from medbay.bay import Bay


@click.command(cls=DashCommand)
@click.argument("title", required=False)
@value_options
@click.option("--at", metavar="TIME", help="Not before: 2026-11-15T03:00 (UTC unless it says otherwise), or +10m.")
@click.option("--key", metavar="K", help="A name of your own; adding it twice gives the same task.")
@click.option(
    "--on-conflict", type=click.Choice(["return", "refuse", "replace"]), help="When the key is taken: return (default)."
)
@click.option("--assess", is_flag=True, default=None, help="Say how risky its --spec is, by what failed before.")
@click.option("--file", "file", metavar="TASKS.jsonl", help="Add one task per line, all or none; - is stdin.")
@json_option
@click.pass_context
@pass_session
def command(session: Session, ctx: click.Context, /, title: str | None, file: str | None, **values: Any) -> None:
    """Add a task and print its id.

    It runs with the environment of the daemon (`medbay up`), not of this shell; --env, --env-file and
    --env-from add to it.
    A line of --file is a JSON object with the names of the options: title, run (text or list), after, tag, ...

    \b
    Examples:
      medbay add "nightly pull" --run './pull.sh && make' --timeout 10m --tag nightly
      medbay add pull -- ./pull.sh --all
      medbay add --file tasks.jsonl
    """
    given = given_values(ctx, values)
    if file is not None:
        if title is not None or given:
            raise UsageError("--file stands alone", hint="put the options into its lines")
        _add_file(session, file)
        return
    if title is None:
        raise UsageError("a task needs a title", hint="medbay add TITLE --run 'CMD'")
    _refuse_replacing([given])
    bay = session.bay(create=True)
    refuse_missing_files(bay, given)
    added = bay.add(title, **given)
    _print(session, [added])
    if given.get("spec") and (found := _assessment(bay, added.id)):
        note(found)
    if screen(sys.stderr).terminal and not bay.workers():
        note("nothing runs tasks yet: medbay up does")


def _refuse_replacing(wanted: Iterable[Mapping[str, Any]]) -> None:
    """To replace a task is to cancel it, which is for people."""
    if any(each.get("on_conflict") == "replace" for each in wanted):
        refuse_inside_attempts("--on-conflict replace", kind="option")


def _assessment(bay: Bay, task_id: str) -> str:
    """What was recorded about the risk of a specification, where anything was."""
    events = [each for each in bay.events(task_id=task_id) if each.name == "task:assessed"]
    if not events:
        return ""
    found = events[-1].data
    risk = f"risk {found['score']:.2f}"
    return f'{risk}: "{found["sentence"]}"; {found["why"]}' if found["sentence"] else f"{risk}: nothing like it failed"


def _add_file(session: Session, file: str) -> None:
    name = "stdin" if file == "-" else file
    lines = list(read_lines(file, name))
    _refuse_replacing(line for _, line in lines)
    bay = session.bay(create=True)
    for number, line in lines:
        try:
            refuse_missing_files(bay, line)
        except MedbayError as error:
            raise UsageError(f"{name}:{number}: {error.message}", hint="nothing was added") from None
    try:
        added = bay.add_many([line for _, line in lines])
    except MedbayError as error:
        if error.line_number:
            error.message = f"{name}:{lines[error.line_number - 1][0]}: {error.message}"
            error.hint = error.hint or "nothing was added"
        raise
    _print(session, added)


def _print(session: Session, added: list[Any]) -> None:
    if session.json:
        from medbay.views import task as view

        print_json([view.summary(task) for task in added])
        return
    for task in added:
        say(task.id)
