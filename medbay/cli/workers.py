"""`medbay workers`: which engines serve this store, how long their leases last, and what they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from medbay.cli.output import COLOURS, DIM, fields, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.cli.table import Cell, Column, render
from medbay.views import moments
from medbay.views import worker as view
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.core.snapshot import ObservedWorker

_CUT: Final = Column(cut=True, least=10)
_COLUMNS: Final = (Column(gap=1), Column(), Column(), Column(), Column(), _CUT, _CUT)


@click.command()
@click.option("--all", "everyone", is_flag=True, help="Also the 50 that stopped or were lost last.")
@json_option
@pass_session
def command(session: Session, everyone: bool) -> None:
    """List the engines that serve this store: host, lease, slots, and what they run.

    \b
    Example:
      medbay workers --all
    """
    from medbay.env import SystemClock

    seen, now = session.bay().fleet(stopped=50 if everyone else 0), SystemClock().now_ms()
    if session.json:
        print_json([view.as_json(each, now) for each in seen])
        return
    shown = screen()
    if shown.terminal:
        for line in render([_row(each, now) for each in seen], _COLUMNS, shown):
            say(line)
    for each in seen if not shown.terminal else ():
        fields(*_cells(each, now))
    if not seen:
        note("no engine serves this store; medbay up or medbay worker does")


def _cells(each: ObservedWorker, now: int) -> list[object]:
    """For programs: id, state, host, pid, lease until, slots, running, queues, started, policy, tasks."""
    worker = each.worker
    lease = moments.iso(worker.lease_until) if worker.stopped_at is None else moments.iso(worker.stopped_at)
    line: list[object] = [worker.id, each.state(now), worker.host, worker.pid, lease, worker.slots, len(each.running)]
    return [
        *line,
        ",".join(worker.queues),
        moments.iso(worker.started_at),
        worker.policy_hash,
        ",".join(view.running(each)),
    ]


def _row(each: ObservedWorker, now: int) -> list[Cell]:
    worker = each.worker
    glyph, token = view.LOOKS[each.state(now)]
    colour, running = COLOURS[token], " ".join(view.running(each))
    return [
        Cell(glyph, colour),
        Cell(worker.id),
        Cell(clean(f"{worker.host}:{worker.pid}")),
        Cell(view.lease(each, now), colour),
        Cell(view.slots(each)),
        Cell(clean(f"{','.join(worker.queues)}  {running}".rstrip())),
        Cell(clean(view.since(each, now)), DIM),
    ]
