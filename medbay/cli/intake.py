"""`medbay intake`: the worker that turns captures into candidates."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import click

from medbay.cli.output import note, print_json, print_json_lines, say
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.core.durations import parse_duration
from medbay.core.intake import bundle
from medbay.errors import UsageError
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.areas.intake import IntakeRun

_FAILED: Final = 1


@click.command()
@click.option("--once", is_flag=True, help="One event and its workorder (default).")
@click.option("--loop", is_flag=True, help="Again and again, until stopped.")
@click.option(
    "--every", metavar="D", default="5s", show_default=True, help="With --loop: the wait when nothing is due."
)
@click.option("--max-cycles", type=click.IntRange(min=1), metavar="N", help="With --loop: end after so many.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of the bundle that an agent answers with.")
@json_option
@pass_session
def command(session: Session, /, once: bool, loop: bool, every: str, max_cycles: int | None, schema: bool) -> int:
    """Turn captures into candidates: take the oldest event, ask the agent, let the gate judge its answer.

    `medbay up` does the same beside its other work. Exit status 1 when the gate did not let the answer pass.

    \b
    Examples:
      medbay intake --once
      medbay intake --loop --every 1m
    """
    if schema:
        print_json(bundle.schema())
        return 0
    refuse_inside_attempts("medbay intake")
    if once and loop:
        raise UsageError("--once and --loop exclude each other", hint="choose one")
    if max_cycles is not None and not loop:
        raise UsageError("--max-cycles is for --loop", hint="medbay intake --loop --max-cycles 3")
    wait_s, done, bay = parse_duration(every) / 1000, 0, session.bay()
    while True:
        found = bay.intake.once(early=not loop)
        code = _print(session, found, loop=loop)
        done += 1
        if not loop or (max_cycles is not None and done >= max_cycles):
            return code
        if not found.workorder:
            threading.Event().wait(wait_s)


def _print(session: Session, found: IntakeRun, *, loop: bool) -> int:
    """The result on stdout, errors on stderr; 1 when the answer did not pass."""
    if session.json and loop:
        print_json_lines([found.as_data()])
    elif session.json:
        print_json(found.as_data())
    elif found.workorder:
        say(f"{found.workorder}  {found.verdict or 'not ended'}  {len(found.captures)} captures")
        for each in found.candidates:
            say(f"  {each.id}  {clean(each.title)}")
    elif not loop:
        say(found.reason or "no event to process")
    for error in found.errors:
        note(clean(error))
    return _FAILED if found.errors else 0
