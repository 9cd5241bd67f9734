"""Commands that are claimed and wait for a slot, so that the next one starts the moment another ends.

Only where commands are short: then the store would take longer to say what comes next than the command takes to run.
What waits has no process. It is handed back as if it had not been claimed when no slot comes free for it in time.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Final

from medbay.core.attempt.ahead import AHEAD_MAX, WAITING_S
from medbay.core.outcome import Cancelled, Failed, Outcome, Output, Requeued
from medbay.errors import SpawnFailed
from medbay.places.protocol import LASTING_S, Identity, Launch

if TYPE_CHECKING:
    from collections.abc import Callable

    from medbay.runners.shell.runner import ShellRunning

    Spawn = Callable[[Launch, float], ShellRunning]

_WAIT_S: Final = 0.1  # about how long one may have to wait, given how long commands take
_NEWEST_SHARE: Final = 0.2  # what the newest command counts for in that average


class CommandsAhead:
    """Those of one runner, and whether its commands are short enough lately."""

    def __init__(self, spawn: Spawn) -> None:
        self.lock = threading.RLock()  # a command may be ended from beside the loop
        self._spawn = spawn
        self._waiting: deque[CommandAhead] = deque()
        self._begun: weakref.WeakSet[ShellRunning] = weakref.WeakSet()
        self._average_s: float | None = None

    @property
    def are_short(self) -> bool:
        """Whether commands are over in a moment lately."""
        return self._average_s is not None and self._average_s < LASTING_S

    def room(self, free: int) -> int:
        """How many more may wait behind those that will be over in a moment."""
        if not self.are_short or self._average_s is None:
            return 0
        short = sum(not each.lasting for each in self._begun)
        behind_each = min(AHEAD_MAX, int(_WAIT_S / max(self._average_s, 0.001)))
        return max(0, behind_each * (free + short) - len(self._waiting))

    def add(self, launch: Launch, monotonic_s: float) -> CommandAhead:
        """One more that waits."""
        with self.lock:
            command = CommandAhead(self, launch, monotonic_s)
            self._waiting.append(command)
            return command

    def begin(self, free: int, monotonic_s: float) -> None:
        """Start as many as there are free slots."""
        with self.lock:
            while free > 0 and self._waiting:
                free -= 1
                self._waiting.popleft().begin(self._spawn, monotonic_s)

    def withdraw(self, command: CommandAhead) -> None:
        """It is never begun."""
        self._waiting.remove(command)

    def began(self, running: ShellRunning) -> None:
        """A command was started, after waiting or not."""
        self._begun.add(running)

    def ended(self, running: ShellRunning, *, took_s: float) -> None:
        """A command ended by itself."""
        self._begun.discard(running)
        before_s = took_s if self._average_s is None else self._average_s
        self._average_s = before_s + _NEWEST_SHARE * (took_s - before_s)


class CommandAhead:
    """One command, before it is begun and after."""

    def __init__(self, among: CommandsAhead, launch: Launch, monotonic_s: float) -> None:
        self._among = among
        self._launch = launch
        self._hand_back_s = monotonic_s + WAITING_S
        self._process: ShellRunning | None = None
        self._outcome: Outcome | None = None  # of one that was never begun

    @property
    def waiting(self) -> bool:
        """Whether it has no process and may yet get one."""
        return self._process is None and self._outcome is None

    @property
    def lasting(self) -> bool:
        """Whether its process runs for more than a moment."""
        return self._process is not None and self._process.lasting

    @property
    def left_nothing(self) -> bool:
        """Whether it was never begun."""
        return self._outcome is not None

    @property
    def identity(self) -> Identity | None:
        """Its process, once it has one."""
        return None if self._process is None else self._process.identity

    def fileno(self) -> int:
        """As its process says; -1 while it waits for a slot."""
        return -1 if self._process is None else self._process.fileno()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended; what waited for too long is handed back, for others to have."""
        if self._process is not None:
            return self._process.poll(monotonic_s)
        if monotonic_s >= self._hand_back_s:
            self.hand_back(monotonic_s, why="no slot came free for it")
        return self._outcome

    def deadline_s(self) -> float | None:
        """The next time that matters to its process, or until which it waits for a slot."""
        if self._process is not None:
            return self._process.deadline_s()
        return self._hand_back_s if self._outcome is None else None

    def cancel(self, monotonic_s: float) -> None:
        """End it because a person asked."""
        process = self._withdrawn(Cancelled(output=self._no_output()))
        if process is not None:
            process.cancel(monotonic_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End it because the worker stops."""
        process = self._withdrawn(Requeued(asked=False, why=why, output=self._no_output()))
        if process is not None:
            process.hand_back(monotonic_s, why=why)

    def kill(self) -> None:
        """End it at once, and do not wait for it."""
        process = self._withdrawn(Requeued(asked=False, why="killed by the worker", output=self._no_output()))
        if process is not None:
            process.kill()

    def begin(self, spawn: Spawn, monotonic_s: float) -> None:
        """There is a slot for it."""
        try:
            self._process = spawn(self._launch, monotonic_s)
        except SpawnFailed as error:
            said = Output(tail=str(error), total_bytes=len(str(error)), log_path=str(self._launch.log_path))
            self._outcome = Failed(output=said, spawn_error=str(error))

    def _withdrawn(self, outcome: Outcome) -> ShellRunning | None:
        """The process that has to be ended; one that was not begun never will be, and ends like this."""
        with self._among.lock:
            if self.waiting:
                self._among.withdraw(self)
                self._outcome = outcome
            return self._process

    def _no_output(self) -> Output:
        return Output(log_path=str(self._launch.log_path))
