"""`medbay triage`: triage what waiting did not heal, now, once or in a loop."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Final

import click

from medbay.cli.completion import task_ids
from medbay.cli.output import COLOURS, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session, refuse_inside_attempts
from medbay.cli.table import Cell, Column, render
from medbay.cli.up import STILL_WAITING
from medbay.errors import UsageError
from medbay.views import triage as view
from medbay.views.text import clean, wrap

if TYPE_CHECKING:
    from medbay.core.triage.cycle import Cycle, Item
    from medbay.engine.daemon import Daemon

_EVERY: Final = "5m"
_COLUMNS = (Column(gap=1), Column(), Column(), Column(cut=True, least=10))


@click.command()
@click.argument("task_id", metavar="[ID]", required=False, shell_complete=task_ids)
@click.option("--once", is_flag=True, help="One cycle (default).")
@click.option("--loop", is_flag=True, help="Cycle after cycle, until stopped.")
@click.option("--every", metavar="D", help="With --loop: the wait between two cycles. Default: 5m.")
@click.option("--max-cycles", type=click.IntRange(min=1), metavar="N", help="With --loop: end after so many.")
@click.option(
    "--source", metavar="NAME", default="native", help="Our own tasks (native), or issues of beads or of a tracker."
)
@click.option("--dry-run", is_flag=True, help="Say what would be triaged, and change nothing.")
@json_option
@pass_session
def command(
    session: Session,
    /,
    task_id: str | None,
    once: bool,
    loop: bool,
    every: str | None,
    max_cycles: int | None,
    source: str,
    dry_run: bool,
) -> int:
    """Triage the tasks that wait for it, and wait for the verdicts. ID is one task, whatever its cooldown.

    The daemon does this by itself; this is for when it does not run, or for a task you want triaged now.

    \b
    Examples:
      medbay triage --once
      medbay triage k7f2
      medbay triage --loop --every 5m
    """
    refuse_inside_attempts("medbay triage")
    if once and loop:
        raise UsageError("--once and --loop exclude each other", hint="choose one")
    if max_cycles is not None and not loop:
        raise UsageError("--max-cycles is for --loop", hint="medbay triage --loop --max-cycles 3")
    if every is not None and not loop:
        raise UsageError("--every is for --loop", hint=f"medbay triage --loop --every {every}")
    if source != "native" and task_id is not None:
        raise UsageError(f"--source {source} takes no ID", hint="medbay triage ID triages one of our own tasks")
    with _Stops(source) as stops:
        if loop:
            return _again_and_again(session, stops, task_id, every or _EVERY, max_cycles, dry_run=dry_run)
        cycle = stops.cycle(session, task_id, dry_run=dry_run)
        return stops.code(_print(session, cycle, dry_run=dry_run), cycle)


class _Stops:
    """Turns Ctrl-C and SIGTERM into a stop in order: what runs has a moment to end, and is handed back."""

    def __init__(self, source: str) -> None:
        from medbay.cli.live.display import Interrupts

        self._source = source

        self._interrupts = Interrupts(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        self._asked = threading.Event()
        self._daemon: Daemon | None = None

    def __enter__(self) -> _Stops:
        self._interrupts.__enter__()
        self._interrupts.then = self._stop
        return self

    def __exit__(self, *_: object) -> None:
        self._interrupts.__exit__()

    def cycle(self, session: Session, task_id: str | None, *, dry_run: bool) -> Cycle:
        """One cycle, which a signal ends early."""
        try:
            if self._source == "native":
                return session.bay().triage(task_id, dry_run=dry_run, begun=self._begun)
            return _of_tracker(session, self._source, dry_run=dry_run)
        finally:
            self._daemon = None

    def _begun(self, daemon: Daemon) -> None:
        self._daemon = daemon
        if self._asked.is_set():
            daemon.stop()

    def waited(self, seconds: float) -> bool:
        """Wait for the next cycle; False when it was stopped."""
        return not self._asked.wait(seconds)

    def code(self, code: int, cycle: Cycle) -> int:
        """How the command ends: a cycle that was stopped before its verdicts came is still waiting for them."""
        if not self._asked.is_set():
            return code
        left = [each for each in cycle.items if each.action == "triage_started"]
        handed = (
            f"{len(left)} handed back, medbay up or medbay triage goes on with them" if left else "nothing was running"
        )
        note(f"stopped: {handed}")
        return code or (STILL_WAITING if left else 0)

    def _stop(self, count: int) -> None:
        self._asked.set()
        if self._daemon is not None:
            self._daemon.stop()
            if count == 1:  # written past the buffer of what is being interrupted
                os.write(2, b"stopping: triages that run have a moment to end; once more ends them at once\n")


def _of_tracker(session: Session, source: str, *, dry_run: bool) -> Cycle:
    """One cycle over the failed issues of a tracker; one that is not there is what went wrong with it."""
    from medbay.core.triage.cycle import Cycle
    from medbay.integrations.trackers.protocol import TrackerError

    trackers = session.bay().trackers
    try:
        return trackers.triage(trackers.open(source), dry_run=dry_run)
    except TrackerError as error:
        return Cycle(broken=f"the issues could not be listed: {error}")


def _again_and_again(
    session: Session, stops: _Stops, task_id: str | None, every: str, max_cycles: int | None, *, dry_run: bool
) -> int:
    """Run cycle after cycle; a crash inside one is printed and the next comes, and a stop ends the wait early."""
    from medbay.core.durations import parse_duration
    from medbay.core.triage.cycle import Cycle

    wait_s = parse_duration(every) / 1000
    done = 0
    while True:
        try:
            cycle = stops.cycle(session, task_id, dry_run=dry_run)
        except Exception as error:
            if session.debug:
                raise
            cycle = Cycle(broken=f"the cycle ended early: {error}")
        code = _print(session, cycle, dry_run=dry_run)
        session.close()
        done += 1
        if (max_cycles is not None and done >= max_cycles) or not stops.waited(wait_s):
            return stops.code(code, cycle)


def _print(session: Session, cycle: Cycle, *, dry_run: bool) -> int:
    """Results on stdout, the line with every count on stderr; 1 when the items could not be listed."""
    if session.json:
        print_json(cycle.as_data())
    elif cycle.items:
        shown = screen()
        if shown.terminal:
            for line in render([_row(each, dry_run=dry_run) for each in cycle.items], _COLUMNS, shown):
                say(line)
        for each in () if shown.terminal else cycle.items:
            fields(each.issue_id, each.tier, each.action, each.detail)
    elif not cycle.broken:
        say("nothing waits for a triage")
    listed = screen().terminal and not session.json
    beside = (cycle.broken, *cycle.refused)  # what went wrong with an item stands in its row
    for error in beside if listed else cycle.errors:
        if error:
            note(clean(error))
    shown = screen(sys.stderr)
    for line in wrap(cycle.line(), shown.width) if shown.terminal else (cycle.line(),):
        note(line)
    if listed and not dry_run and any(each.tier == 3 for each in cycle.items):
        note("next: medbay inbox")
    return 1 if cycle.broken else 0


def _row(each: Item, *, dry_run: bool) -> list[Cell]:
    glyph, token = view.LOOKS[each.tier]
    words = view.item_words(each, dry_run=dry_run)
    return [
        Cell(glyph, COLOURS[token]),
        Cell(each.issue_id),
        Cell(words, COLOURS[token]),
        Cell(clean(view.item_detail(each))),
    ]
