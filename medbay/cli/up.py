"""`medbay up` and `medbay worker`: run attempts until stopped, or until nothing is left to do."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from medbay.cli.output import note
from medbay.cli.session import Session, pass_session
from medbay.core.model import DEFAULT_QUEUE
from medbay.errors import StoreFull, UsageError
from medbay.views.event import LEVELS
from medbay.views.text import clean

if TYPE_CHECKING:
    from medbay.areas.beside import CycleThread
    from medbay.bay import Bay
    from medbay.cli.live.page import PageProcess
    from medbay.cli.live.up import Reporter
    from medbay.config.fields import LogConfig

LogGiven = tuple[str | None, bool | None]  # the level, and whether lines are JSON; None: as configured
ROOM_LOOK_S: Final = 1.0
PR_LOOK_S: Final = 30.0
Made = TypeVar("Made")


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--log-level` and `--log-json`, as one argument `log`."""

    @wraps(command)
    def with_log(*args: Any, log_level: str | None, log_json: bool | None, **more: Any) -> Any:
        return command(*args, log=(log_level, log_json), **more)

    level = click.option("--log-level", type=click.Choice(LEVELS), help="What is printed: [log] level.")
    return level(click.option("--log-json/--no-log-json", default=None, help="Print JSON lines: [log] json.")(with_log))


@click.command(name="up", short_help="run what is due until stopped, or --until-idle")
@click.option("--until-idle", is_flag=True, help="End when nothing runs, is ready or waits to be retried.")
@click.option("--workers", type=click.IntRange(1, 1000), metavar="N", help="How many attempts run at once.")
@click.option("--queue", metavar="A,B", help="Serve these queues instead of default.")
@click.option("--web/--no-web", default=None, help="With or without the dashboard. With --until-idle: without.")
@log_options
@pass_session
def command(
    session: Session, /, until_idle: bool, workers: int | None, queue: str | None, web: bool | None, log: LogGiven
) -> int:
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
    run = partial(
        serve, bay, "medbay up", workers=workers, until_idle=until_idle, page=page, store=session.store, log=log
    )

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
        for source in bay.place.config.dispatching:
            tracker = _tracker_thread(bay, another, source)
            tracker.start(ahead=until_idle or source == "beads")  # nothing waits for a tracker that is slow or away
            threads.callback(tracker.stop)
            queues = (*(queues or (DEFAULT_QUEUE,)), source)
        return run(queues=queues, store=session.store, log=log)


def _tracker_thread(bay: Bay, make: Callable[[], Bay], source: str) -> CycleThread:
    """What goes round over the issues of a tracker, once more at the end."""
    from medbay.areas.beside import CycleThread

    name = "tracker" if source == "beads" else f"tracker {source}"
    owner, every_s = bay.ids.store(), bay.trackers.settings(source).poll_ms / 1000
    cycle = partial(_cycle, source, owner)
    return CycleThread(name, make, cycle, _report, every_s=every_s, last=True)


def _cycle(source: str, owner: str, bay: Bay) -> list[str]:
    return bay.trackers.cycle(source, owner)


def _report(error: str) -> None:
    note(clean(error))


@click.command(name="worker")
@click.option("--queue", metavar="A,B", help="Serve these queues instead of default.")
@click.option("--workers", type=click.IntRange(1, 1000), metavar="N", help="How many attempts run at once.")
@click.option("--place", metavar="NAME", help="Run what engines send to this place, [places.NAME]; needs no store.")
@log_options
@pass_session
def worker(session: Session, /, queue: str | None, workers: int | None, place: str | None, log: LogGiven) -> int:
    """Run attempts of a store that others use too, until stopped. Ctrl-C stops gracefully, twice stops now.

    With --place it is a worker of that cluster: it runs what engines elsewhere start there, and has no store.

    \b
    Example:
      medbay worker --queue gpu,default --workers 2
      medbay worker --place cluster --workers 8
    """
    if place is not None:
        return _serve_place(session, place, queue, workers)
    queues = named_queues(queue)
    return serve(when_there_is_room(session.bay), "medbay worker", workers=workers, queues=queues, log=log)


def _serve_place(session: Session, place: str, queue: str | None, workers: int | None) -> int:
    from medbay import app
    from medbay.areas.places import build_worker

    if queue is not None:
        raise UsageError("a place has its own task queue", hint="leave --queue out; [places.NAME] task_queue names it")
    config = app.find_settings(Path.cwd(), os.environ, trust_file=session.trust_file)
    build_worker(config, place, slots=workers, notice=lambda said: note(clean(said))).run()
    note("stopped")
    return 0


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
    log: LogGiven = (None, None),
) -> int:
    """Run an engine on this store and print its events, under the name of the command that started it."""
    from medbay.cli.live.display import Display, Interrupts, log_to
    from medbay.cli.live.up import Reporter

    wanted = _log(bay.place.config.log, log)
    display = Display(live=not wanted.json)
    reporter = Reporter(bay, display, name=name, log=wanted)
    logged = log_to(display, reporter.note, level=_engine_level(wanted.level))
    with Interrupts(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as interrupts, logged:
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
        threads = _threads(bay, until_idle=until_idle)
        gc.collect()
        gc.freeze()  # what is loaded by now stays: looking through it again takes 15 ms each time
        try:
            code = daemon.run(until_idle=until_idle)
            reporter.round()
        finally:
            interrupts.then = None
            threads.close()
            if beside is not None:
                beside.stop()
            display.clear()
    if until_idle and not interrupts.count:
        reporter.sum_up(bay.inbox())
        return code
    reporter.note(f"stopped; {name} goes on from here")
    return (code or STILL_WAITING) if until_idle else 0


def _threads(bay: Bay, *, until_idle: bool) -> ExitStack:
    """Traces, the report of the day, clearing away, pull requests, and those who hear the buttons of bots."""
    from medbay.areas.beside import CycleThread
    from medbay.areas.rounds import EVERY_S, DaemonRounds
    from medbay.areas.telegram import listeners
    from medbay.bay import Bay

    def another() -> Bay:
        return Bay(bay.place, actor=bay.actor)

    made = ExitStack()
    rounds = CycleThread("upkeep", another, DaemonRounds().cycle, _report, every_s=EVERY_S, last=True)
    rounds.start()
    made.callback(rounds.stop)
    if (git := bay.place.config.git).pr_watch_ms:
        every_s = min(PR_LOOK_S, git.pr_poll_ms / 1000)
        pulls = CycleThread("pull requests", another, lambda each: each.pulls.cycle(), _report, every_s=every_s)
        pulls.start(ahead=until_idle)  # what came back is work
        made.callback(pulls.stop)
    for each in listeners(bay, another, _report) if bay.place.config.notify else ():
        made.callback(each.stop)
    return made


def _log(config: LogConfig, given: LogGiven) -> LogConfig:
    """What is printed: as the options say, else as the settings do."""
    level, as_json = given
    return replace(config, level=level or config.level, json=config.json if as_json is None else as_json)


def _engine_level(level: str) -> str:
    """The engine's own notes of `info` are for those who examine it: they come with `debug`."""
    return "warn" if level == "info" else level


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
