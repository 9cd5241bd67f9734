"""`medbay up`: the daemon. Runs what is due until it is stopped, or until nothing is left to do."""

from __future__ import annotations

import signal
from typing import Final

import click

from medbay.cli.session import Session, pass_session
from medbay.errors import UsageError

STILL_WAITING: Final = 75


@click.command(name="up", short_help="run what is due until stopped, or --until-idle")
@click.option("--until-idle", is_flag=True, help="End when nothing runs, is ready or waits to be retried.")
@click.option("--workers", type=click.IntRange(1, 1000), metavar="N", help="How many attempts run at once.")
@click.option("--queue", metavar="A,B", help="Serve these queues instead of default.")
@click.option("--no-web", is_flag=True, help="Without the dashboard (this version has none).")
@pass_session
def command(session: Session, /, until_idle: bool, workers: int | None, queue: str | None, no_web: bool) -> int:
    """Run what is due, heal what fails, ask about the rest. Ctrl-C ends it in order, twice at once.

    With --until-idle it exits 1 when something was given up, else 75 when something waits for a
    person (or it was stopped before all was done), else 0.
    """
    from medbay.cli.live import Display, Interrupts, told_on
    from medbay.cli.live_up import Telling

    queues = tuple(dict.fromkeys(name.strip() for name in queue.split(","))) if queue is not None else None
    if queues is not None and not all(queues):
        raise UsageError(f'"{queue}" is not a list of queues', hint="write --queue a,b")
    bay = session.bay(create=True)
    display = Display()
    telling = Telling(bay, display)
    with Interrupts(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as interrupts, told_on(display, telling.note):
        daemon = bay.daemon(workers=workers, queues=queues, on_round=lambda: telling.round(interrupts.count))
        telling.greet(daemon)
        interrupts.then = lambda count: daemon.stop()
        try:
            code = daemon.run(until_idle=until_idle)
            telling.round()
        finally:
            interrupts.then = None
            display.clear()
    if until_idle and not interrupts.count:
        telling.sum_up(bay.inbox())
        return code
    telling.note("stopped; medbay up goes on from here")
    return (code or STILL_WAITING) if until_idle else 0
