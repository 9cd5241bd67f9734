"""Running attempts until stopped: what `up` and `worker` share. One signal ends it in order, two at once."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

from medbay.errors import UsageError

if TYPE_CHECKING:
    from medbay.bay import Bay

STILL_WAITING: Final = 75
ROUND_EVERY_S: Final = 0.5  # the line in place counts down; what happens is told when it happens


def serve(bay: Bay, name: str, *, workers: int | None, queues: tuple[str, ...] | None, until_idle: bool = False) -> int:
    """Run an engine on this store and tell what happens, under the name of the command that asked for it."""
    from medbay.cli.live import Display, Interrupts, told_on
    from medbay.cli.live_up import Telling

    display = Display()
    telling = Telling(bay, display, name=name)
    with Interrupts(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as interrupts, told_on(display, telling.note):
        daemon = bay.daemon(
            workers=workers,
            queues=queues,
            on_round=lambda: telling.round(interrupts.count),
            round_every_s=ROUND_EVERY_S,
        )
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
    telling.note(f"stopped; {name} goes on from here")
    return (code or STILL_WAITING) if until_idle else 0


def named_queues(given: str | None) -> tuple[str, ...] | None:
    """The queues of `--queue a,b`."""
    if given is None:
        return None
    queues = tuple(dict.fromkeys(name.strip() for name in given.split(",")))
    if not all(queues):
        raise UsageError(f'"{given}" is not a list of queues', hint="write --queue a,b")
    return queues
