"""The worker processes: those that wait for their next call, those at work, and those that are ending."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from medbay.places.processes import send_group
from medbay.runners.python.process import WorkerProcess

_CLOSING_S: Final = 2.0
_CLOSING_LOOK_S: Final = 0.002
_LEAVING_S: Final = 5.0  # how long a process has to end after its last answer


class Pool:
    """One process serves one directory only: the same module name is other code elsewhere.

    Never more than the engine has slots, except one that is to take over from another soon.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._owner = os.getpid()
        self._idle: list[WorkerProcess] = []
        self._busy: dict[WorkerProcess, None] = {}
        self._dying: list[tuple[WorkerProcess, float]] = []  # and when it is killed at the latest

    def take(self, cwd: Path, *, memory_bytes: int | None) -> WorkerProcess | None:
        """One that waits in this directory and has room below the memory limit; None when there is none."""
        self.reap()
        for worker in reversed(self._idle):
            if worker.cwd == cwd and (memory_bytes is None or worker.resident_bytes <= memory_bytes // 2):
                self._idle.remove(worker)
                self._busy[worker] = None
                return worker
        return None

    def admit(self, worker: WorkerProcess) -> None:
        """A new one that is at work; where that is one too many, the idle one that waited longest goes."""
        self._busy[worker] = None
        if len(self._busy) + len(self._idle) > self._size and self._idle:
            self.end(self._idle[0])

    def keep_ready(self, worker: WorkerProcess) -> None:
        """It waits for its next call."""
        self._busy.pop(worker, None)
        self._idle.append(worker)

    def is_ready(self, cwd: Path) -> bool:
        """Whether one waits in this directory."""
        return any(worker.cwd == cwd for worker in self._idle)

    def with_room(self, cwd: Path) -> WorkerProcess | None:
        """The one at work in this directory that has the fewest calls ahead, if it takes another."""
        found, most = None, 0
        for worker in self._busy:
            if (room := worker.room) > most and (worker.cwd is cwd or worker.cwd == cwd):
                found, most = worker, room
        return found

    def with_unsent(self) -> list[WorkerProcess]:
        """Those for which calls are gathered."""
        return [worker for worker in self._busy if worker.unsent]

    def room_ahead(self, free: int) -> dict[str, int]:
        """By directory: behind the calls that are being made, and behind those that idle ones will begin."""
        found: dict[str, int] = {}
        for worker in [*self._busy, *self._idle[-free:]] if free > 0 else self._busy:
            if room := worker.room:
                found[str(worker.cwd)] = found.get(str(worker.cwd), 0) + room
        return found

    def end(self, worker: WorkerProcess) -> None:
        """End one that makes no call."""
        send_group(worker.pid, signal.SIGKILL)
        self.see_off(worker)

    def see_off(self, worker: WorkerProcess) -> None:
        """It has made its last call and ends by itself."""
        self.forget(worker)
        self._dying.append((worker, time.monotonic() + _LEAVING_S))

    def forget(self, worker: WorkerProcess) -> None:
        """It is gone, or another sees to its end."""
        if worker in self._idle:
            self._idle.remove(worker)
        self._busy.pop(worker, None)
        self._dying = [each for each in self._dying if each[0] is not worker]
        worker.let_go()

    def close(self) -> None:
        """End all that wait, and see them dead."""
        if os.getpid() != self._owner:
            return  # a fork of the engine, which owns none of them
        while self._idle:
            self.end(self._idle[-1])
        for worker, _ in self._dying:
            send_group(worker.pid, signal.SIGKILL)
        until_s = time.monotonic() + _CLOSING_S
        while self._dying and time.monotonic() < until_s:
            self.reap()
            time.sleep(_CLOSING_LOOK_S if self._dying else 0)

    def reap(self) -> None:
        """Take the exit status of what has ended; one that was too old ended by itself."""
        for worker in [worker for worker in self._idle if worker.is_over()]:
            self.end(worker)  # whatever it left in its group goes with it
        now_s = time.monotonic() if self._dying else 0.0
        for worker, kill_s in list(self._dying):
            if worker.is_over():
                self._dying.remove((worker, kill_s))
                _bury(worker)
            elif now_s >= kill_s:
                send_group(worker.pid, signal.SIGKILL)


def _bury(worker: WorkerProcess) -> None:
    send_group(worker.pid, signal.SIGKILL)  # before it is reaped: until then no other process has its number
    with suppress(ChildProcessError):
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG)
    worker.child.popen.returncode = 0
    if worker.child.pidfd >= 0:
        os.close(worker.child.pidfd)
    worker.clean_up()
