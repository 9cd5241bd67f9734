"""Commands that are claimed and wait for a slot, so that the next one starts the moment another ends.

Only where commands are short: then the store would take longer to say what comes next than the command takes to run.
What waits has no process. It is handed back as if it had not been claimed when no slot comes free for it in time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Final

from medbay.core.attempt.ahead import BRIEF_AHEAD_MAX, COMMANDS, WAITING_S
from medbay.core.outcome import Cancelled, Failed, Outcome, Output, Requeued
from medbay.errors import SpawnFailed
from medbay.places.protocol import Identity, Launch, Running
from medbay.runners.shell.runner import ShellRunner, ShellRunning

_WAIT_S: Final = 0.1  # about how long one may have to wait, given how long commands take


class AheadRunner:
    """The shell runner, with commands that wait for one of its slots as long as its commands are short."""

    def __init__(self, commands: ShellRunner) -> None:
        self.lock = threading.RLock()  # a command may be ended from beside the loop
        self.commands = commands
        self._waiting: deque[CommandAhead] = deque()

    def start(self, launch: Launch, monotonic_s: float) -> ShellRunning | CommandAhead:
        """Start it, or let it wait if it is for ahead; raises SpawnFailed when there is nothing to run."""
        if not launch.ahead:
            return self.commands.start(launch, monotonic_s)
        with self.lock:
            command = CommandAhead(self, launch, monotonic_s)
            self._waiting.append(command)
            return command

    def begin_waiting(self, free: int, monotonic_s: float) -> None:
        """Start as many of the commands that wait as there are free slots."""
        with self.lock:
            while free > 0 and self._waiting:
                free -= 1
                self._waiting.popleft().begin(self.commands, monotonic_s)

    def room_ahead(self, free: int) -> Mapping[str, int]:
        """How many commands may wait behind those that will be over in a moment; none unless commands are short."""
        pace = self.commands.pace
        if not pace.is_short or pace.average_s is None:
            return {}
        behind_each = min(BRIEF_AHEAD_MAX, int(_WAIT_S / max(pace.average_s, 0.001)))
        room = behind_each * (free + pace.at_work) - len(self._waiting)
        return {COMMANDS: room} if room > 0 else {}

    def waits(self, running: Running) -> bool:
        """Whether it is a command that waits."""
        return isinstance(running, CommandAhead) and running.waiting

    def count_waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def left_nothing(self, running: Running) -> bool:
        """Whether it was never begun."""
        return isinstance(running, CommandAhead) and running.never_begun

    def close(self) -> None:
        """Of the runner itself; what waits was handed back before."""
        self.commands.close()

    def withdraw(self, command: CommandAhead) -> None:
        """It is never begun."""
        self._waiting.remove(command)


class CommandAhead:
    """One command, before it is begun and after."""

    def __init__(self, among: AheadRunner, launch: Launch, monotonic_s: float) -> None:
        self._among = among
        self._launch = launch
        self._hand_back_s = monotonic_s + WAITING_S
        self.process: ShellRunning | None = None  # once it is begun
        self._outcome: Outcome | None = None  # of one that was never begun

    @property
    def waiting(self) -> bool:
        """Whether it has no process and may yet get one."""
        return self.process is None and self._outcome is None

    @property
    def never_begun(self) -> bool:
        """Whether it has ended without a process."""
        return self._outcome is not None

    @property
    def identity(self) -> Identity | None:
        """Its process, once it has one that lasts."""
        return None if self.process is None else self.process.identity

    def fileno(self) -> int:
        """As its process says; -1 while it waits for a slot."""
        return -1 if self.process is None else self.process.fileno()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended; what waited for too long is handed back, for others to have."""
        if self.process is not None:
            return self.process.poll(monotonic_s)
        if monotonic_s >= self._hand_back_s:
            self.hand_back(monotonic_s, why="no slot came free for it")
        return self._outcome

    def deadline_s(self) -> float | None:
        """The next time that matters to its process, or until which it waits for a slot."""
        if self.process is not None:
            return self.process.deadline_s()
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

    def begin(self, commands: ShellRunner, monotonic_s: float) -> None:
        """There is a slot for it."""
        try:
            self.process = commands.start(self._launch, monotonic_s)
        except SpawnFailed as error:
            said = Output(tail=str(error), total_bytes=len(str(error)), log_path=self._launch.log_path)
            self._outcome = Failed(output=said, spawn_error=str(error))

    def _withdrawn(self, outcome: Outcome) -> ShellRunning | None:
        """The process that has to be ended; one that was not begun never will be, and ends like this."""
        with self._among.lock:
            if self.waiting:
                self._among.withdraw(self)
                self._outcome = outcome
            return self.process

    def _no_output(self) -> Output:
        return Output(log_path=self._launch.log_path)
