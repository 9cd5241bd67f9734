"""`medbay add`: one task from options, or many from a file of JSON lines. Prints ids alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

import click

from medbay.cli.output import note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.values import DashCommand, given_values, value_options
from medbay.errors import ConfigError, MedbayError, UsageError

_LINE_BYTES_MAX: Final = 4_000_000


@click.command(cls=DashCommand)
@click.argument("title", required=False)
@value_options
@click.option("--at", metavar="TIME", help="Not before: 2026-11-15T03:00 (UTC unless it says otherwise), or +10m.")
@click.option("--key", metavar="K", help="A name of your own; adding it twice gives the same task.")
@click.option(
    "--on-conflict", type=click.Choice(["return", "refuse", "replace"]), help="When the key is taken: return (default)."
)
@click.option("--file", "file", metavar="TASKS.jsonl", help="Add one task per line, all or none; - is stdin.")
@json_option
@click.pass_context
@pass_session
def command(session: Session, ctx: click.Context, /, title: str | None, file: str | None, **values: Any) -> None:
    """Add a task and print its id.

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
    bay = session.bay(create=True)
    _tell(session, [bay.add_many([{"title": title, **given}])[0]])
    if screen(sys.stderr).terminal and not bay.workers():
        note("nothing runs tasks yet: medbay up does")


def _add_file(session: Session, file: str) -> None:
    name = "stdin" if file == "-" else file
    lines = list(_read_lines(file, name))
    try:
        added = session.bay(create=True).add_many([line for _, line in lines])
    except MedbayError as error:
        if error.line_number is not None:
            error.message = f"{name}:{lines[error.line_number - 1][0]}: {error.message}"
            error.hint = error.hint or "nothing was added"
        raise
    _tell(session, added)


def _read_lines(file: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every line with its number; blank ones are skipped."""
    try:
        with sys.stdin.buffer if file == "-" else open(file, "rb") as stream:
            for number, raw in enumerate(iter(lambda: stream.readline(_LINE_BYTES_MAX), b""), start=1):
                if raw.strip():
                    yield number, _parse(raw, name, number)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}", hint="name a file of JSON lines") from None


def _parse(raw: bytes, name: str, number: int) -> dict[str, Any]:
    def wrong(message: str) -> ConfigError:
        return ConfigError(message, file=name, line=number, hint="nothing was added")

    try:
        line = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        raise wrong("is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise wrong(f"is not JSON: {said}") from None
    if not isinstance(line, dict):
        raise wrong(f"is not a JSON object but {type(line).__name__}")
    return line


def _tell(session: Session, added: list[Any]) -> None:
    if session.json:
        from medbay.service import views

        print_json([views.summary(task) for task in added])
        return
    for task in added:
        say(task.id)
