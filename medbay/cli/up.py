"""`medbay up` and `medbay worker`: run attempts until stopped, or until nothing is left to do."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import click

from medbay.cli.output import note
from medbay.cli.session import Session, pass_session
from medbay.core.model import DEFAULT_QUEUE
from medbay.errors import StoreFull, UsageError
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.bay import Bay
    from medbay.cli.live.page import PageProcess
    from medbay.cli.live.up import Reporter

ROOM_LOOK_S: Final = 1.0
Made = TypeVar("Made")


@click.command(name="up", short_help="run what is due until stopped, or --until-idle")
@click.option("--until-idle", is_flag=True, help="End when nothing runs, is ready or waits to be retried.")
@click.option("--workers", type=click.IntRange(1, 1000), metavar="N", help="How many attempts run at once.")
@click.option("--queue", metavar="A,B", help="Serve these queues instead of default.")
@click.option("--web/--no-web", default=None, help="With or without the dashboard. With --until-idle: without.")
@pass_session
def command(session: Session, /, until_idle: bool, workers: int | None, queue: str | None, web: bool | None) -> int:
    """Run what is due, heal what fails, ask about the rest. Ctrl-C stops gracefully; press twice to stop now.

    The dashboard is a process of its own: it comes up after a second, and the link that opens it is printed.

    With --until-idle it exits 1 when something was given up, else 75 when something waits for a
    person (or it was stopped before all was done), else 0.
    """

    from medbay.areas.beside import CycleThread
    from medbay.areas.intake import POLL_S
    from medbay.areas.stories import POLL_S as STORY_S
    from medbay.bay import Bay

    bay, queues = when_there_is_room(lambda: session.bay(create=True)), named_queues(queue)
    page = web if web is not None else bay.place.config.web.enabled and not until_idle
    run = partial(serve, bay, "medbay up", workers=workers, until_idle=until_idle, page=page, store=session.store)

    def another() -> Bay:
        return Bay(bay.place, actor=bay.actor)

    with ExitStack() as threads:
        served = (queues or (DEFAULT_QUEUE,))[0]
        intake = CycleThread("intake", another, lambda each: each.intake.cycle(served), _report, every_s=POLL_S)
        intake.start()
        threads.callback(intake.stop)
        stories = CycleThread("stories", another, lambda each: each.stories.conductor.cycle(), _report, every_s=STORY_S)
        stories.start()
        threads.callback(stories.stop)
        if bay.place.config.beads.dispatch:
            from medbay.areas.trackers import QUEUE

            owner, every_s = bay.ids.store(), bay.place.config.beads.poll_ms / 1000
            turns = partial(CycleThread, "tracker", another, lambda each: each.trackers.cycle(owner), _report)
            tracker = turns(every_s=every_s, last=True)
            tracker.start()
            threads.callback(tracker.stop)
            queues = (*(queues or (DEFAULT_QUEUE,)), QUEUE)
        return run(queues=queues)


def _report(error: str) -> None:
    note(clean(error))


@click.command(name="worker")
@click.option("--queue", metavar="A,B", help="Serve these queues instead of default.")
@click.option("--workers", type=click.IntRange(1, 1000), metavar="N", help="How many attempts run at once.")
@pass_session
def worker(session: Session, /, queue: str | None, workers: int | None) -> int:
    """Run attempts of a store that others use too, until stopped. Ctrl-C stops gracefully, twice stops now.

    \b
    Example:
      medbay worker --queue gpu,default --workers 2
    """

    queues = named_queues(queue)
    return serve(when_there_is_room(session.bay), "medbay worker", workers=workers, queues=queues)


def when_there_is_room(make: Callable[[], Made], wait: Callable[[float], None] = time.sleep) -> Made:
    """Wait for space on the disk of the store, however long that takes; said once."""
    said = False
    while True:
        try:
            return make()
        except StoreFull as error:
            if not said:
                note(clean(f"{error}; waiting for it"))
            said = True
            wait(ROOM_LOOK_S)


STILL_WAITING: Final = 75
ROUND_EVERY_S: Final = 0.5  # the line in place counts down; events are printed when they happen


def serve(
    bay: Bay,
    name: str,
    *,
    workers: int | None,
    queues: tuple[str, ...] | None,
    until_idle: bool = False,
    page: bool = False,
    store: str | None = None,
) -> int:
    """Run an engine on this store and print its events, under the name of the command that started it."""
    from medbay.cli.live.display import Display, Interrupts, log_to
    from medbay.cli.live.up import Reporter

    display = Display()
    reporter = Reporter(bay, display, name=name)
    with Interrupts(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as interrupts, log_to(display, reporter.note):
        daemon = when_there_is_room(
            lambda: bay.daemon(
                workers=workers,
                queues=queues,
                on_round=lambda: reporter.round(interrupts.count),
                round_every_s=ROUND_EVERY_S,
            )
        )
        reporter.greet(daemon)
        interrupts.then = lambda count: daemon.stop()
        beside = _page(reporter, store) if page else None
        try:
            code = daemon.run(until_idle=until_idle)
            reporter.round()
        finally:
            interrupts.then = None
            if beside is not None:
                beside.stop()
            display.clear()
    if until_idle and not interrupts.count:
        reporter.sum_up(bay.inbox())
        return code
    reporter.note(f"stopped; {name} goes on from here")
    return (code or STILL_WAITING) if until_idle else 0


def _page(reporter: Reporter, store: str | None) -> PageProcess:
    """The dashboard beside the engine."""
    from medbay.cli.live.page import PageProcess
    from medbay.env import SystemClock

    made = PageProcess(reporter.note, store=store, clock=SystemClock().monotonic_s)
    made.start()
    return made


def named_queues(given: str | None) -> tuple[str, ...] | None:
    """The queues of `--queue a,b`."""
    if given is None:
        return None
    queues = tuple(dict.fromkeys(name.strip() for name in given.split(",")))
    if not all(queues):
        raise UsageError(f'"{given}" is not a list of queues', hint="write --queue a,b")
    return queues
