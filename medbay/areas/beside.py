"""What goes round beside a daemon: a thread with a store connection of its own, for which the loop never waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from medbay.errors import MedbayError, StoreRemoved

if TYPE_CHECKING:
    from medbay.bay import Bay

LONGEST_WAIT_S: Final = 300.0
DOUBLINGS: Final = 10
STOP_S: Final = 40.0  # a cycle may be in a call of a tracker, which has 30 s


class CycleThread:
    """Calls a cycle now and then until it is stopped. What went wrong is reported once, not at every cycle."""

    def __init__(
        self,
        name: str,
        make: Callable[[], Bay],
        cycle: Callable[[Bay], list[str]],
        report: Callable[[str], None],
        *,
        every_s: float,
        last: bool = False,
    ) -> None:
        """`last`: once more when it is stopped, for what ended just before."""
        self._name = name
        self._make = make
        self._cycle = cycle
        self._report = report
        self._every_s = every_s
        self._last = last
        self._said: list[str] = []
        self._failures = 0  # in a row
        self._due = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"medbay-{name}", daemon=True)

    def start(self, *, ahead: bool = True) -> None:
        """Make the first cycle before the daemon starts, so that it finds work; go on beside it.

        Not `ahead`: the first cycle is made beside it as well, for what may keep a daemon waiting.
        """
        self._due = not ahead
        if ahead:
            with self._make() as bay:
                self._tell(self._cycle(bay))
        self._thread.start()

    def stop(self) -> None:
        """End after the cycle that runs."""
        self._stopped.set()
        self._thread.join(timeout=STOP_S)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with self._make() as bay:
                    while not self._stopped.wait(0 if self._due else self._every_s):
                        self._due = False
                        self._tell(self._cycle(bay))
                        self._failures = 0
                    if self._last:
                        self._tell(self._cycle(bay))
            except StoreRemoved:  # a new connection would write beside the old ones; the daemon says it and ends
                return
            except MedbayError as error:  # the store is away: its connection is made again
                self._wait([str(error)])
            except Exception as error:  # whatever it is: the thread goes on, and says so once
                self._wait([f"{type(error).__name__}: {error}"])

    def _wait(self, errors: list[str]) -> None:
        """Report it once, and wait longer after each failure in a row."""
        self._tell(errors)
        self._failures += 1
        self._stopped.wait(min(LONGEST_WAIT_S, self._every_s * 2 ** min(self._failures, DOUBLINGS)))

    def _tell(self, errors: list[str]) -> None:
        for error in errors:
            if error not in self._said:
                self._report(f"{self._name}: {error}")
        self._said = errors
