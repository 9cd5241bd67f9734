"""The worker processes that wait for their next call, by directory, never more than the engine has slots."""

from __future__ import annotations

import os
import signal
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Final

from medbay.runners.processes import send_group
from medbay.runners.python_process import WorkerProcess

_CLOSING_S: Final = 2.0
_CLOSING_LOOK_S: Final = 0.002


class Pool:
    """Idle worker processes. One serves one directory only: the same module name is other code elsewhere."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._owner = os.getpid()
        self._idle: list[WorkerProcess] = []
        self._dying: list[WorkerProcess] = []
        self._all: weakref.WeakSet[WorkerProcess] = weakref.WeakSet()

    def take(self, cwd: Path, *, memory_bytes: int | None) -> WorkerProcess | None:
        """One that stands in this directory and has room below the memory limit; None when there is none."""
        self._reap()
        for worker in reversed(self._idle):
            if worker.cwd == cwd and (memory_bytes is None or worker.resident_bytes <= memory_bytes // 2):
                self._idle.remove(worker)
                return worker
        return None

    def admit(self, worker: WorkerProcess) -> None:
        """A new one; where that is one too many, the idle one that waited longest goes."""
        self._all.add(worker)
        if len(self._all) > self._size and self._idle:
            self.end(self._idle.pop(0))

    def give_back(self, worker: WorkerProcess) -> None:
        """It waits for its next call."""
        self._idle.append(worker)

    def end(self, worker: WorkerProcess) -> None:
        """End one that runs no call."""
        self.forget(worker)
        send_group(worker.pid, signal.SIGKILL)
        self._dying.append(worker)

    def forget(self, worker: WorkerProcess) -> None:
        """It is gone, or somebody else sees to its end."""
        self._all.discard(worker)
        worker.let_go()

    def close(self) -> None:
        """End all that wait, and see them dead."""
        if os.getpid() != self._owner:
            return  # a fork of the engine, which owns none of them
        while self._idle:
            self.end(self._idle.pop())
        until_s = time.monotonic() + _CLOSING_S
        while self._dying and time.monotonic() < until_s:
            self._reap()
            time.sleep(_CLOSING_LOOK_S if self._dying else 0)

    def _reap(self) -> None:
        """Take the exit status of what has ended; one that was too old ended by itself."""
        for worker in [worker for worker in self._idle if _is_over(worker)]:
            self._idle.remove(worker)
            self.end(worker)  # whatever it left in its group goes with it
        for worker in [worker for worker in self._dying if _is_over(worker)]:
            self._dying.remove(worker)
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG)
            worker.child.popen.returncode = 0
            if worker.child.pidfd >= 0:
                os.close(worker.child.pidfd)


def _is_over(worker: WorkerProcess) -> bool:
    """Look without reaping: until then nobody else has its number."""
    try:
        return os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True
