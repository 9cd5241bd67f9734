"""`medbay beads`: open issues of Beads as work."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import click

from medbay.cli.output import note, print_json, say
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.core.durations import format_duration, parse_duration
from medbay.errors import UsageError
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.areas.trackers import Dispatch

_BROKEN: Final = 1


@click.group()
def command() -> None:
    """Work on the open issues of Beads that carry the tag of a workflow."""


@command.command("dispatch")
@click.option("--once", is_flag=True, help="One cycle (default).")
@click.option("--loop", is_flag=True, help="Cycle after cycle, until stopped.")
@click.option("--every", metavar="D", help="With --loop: the wait between two cycles. Default: [beads] poll.")
@click.option("--max-cycles", type=click.IntRange(min=1), metavar="N", help="With --loop: end after so many.")
@json_option
@pass_session
def dispatch(session: Session, /, once: bool, loop: bool, every: str | None, max_cycles: int | None) -> int:
    """Take up issues with a workflow tag, run them, close what succeeded, record in the notes what failed.

    An issue with an active failure record or `needs_human` in its notes is never taken up. [beads] agent or run says
    how issues are worked on; `medbay workflow list --dispatchable` names the tags.

    \b
    Examples:
      medbay beads dispatch --once
      medbay beads dispatch --loop --every 1m
    """
    refuse_inside_attempts("medbay beads dispatch")
    if once and loop:
        raise UsageError("--once and --loop exclude each other", hint="choose one")
    if (max_cycles is not None or every is not None) and not loop:
        raise UsageError("--every and --max-cycles are for --loop", hint="medbay beads dispatch --loop --every 1m")
    done = 0
    while True:
        bay = session.bay()
        wait_ms = parse_duration(every) if every else bay.place.config.beads.poll_ms
        code = _print(session, bay.trackers.dispatch(bay.trackers.beads()))
        done += 1
        if not loop or (max_cycles is not None and done >= max_cycles):
            return code
        note(f"next cycle in {format_duration(wait_ms)}")
        threading.Event().wait(wait_ms / 1000)


def _print(session: Session, found: Dispatch) -> int:
    """The result on stdout, errors on stderr; 1 when the issues could not be listed."""
    if session.json:
        print_json(found.as_data())
    else:
        for issue in found.dispatched:
            say(f"{clean(issue)}  {found.outcome(issue)}")
        skipped = ", ".join(f"{len(ids)} {name.replace('_', ' ')}" for name, ids in found.skipped.items() if ids)
        end = f"; skipped: {skipped}" if skipped else ""
        say(f"{found.issues_found} open, {len(found.dispatched)} dispatched{end}")
    for error in (*filter(None, (found.broken,)), *found.errors):
        note(clean(error))
    return _BROKEN if found.broken else 0
