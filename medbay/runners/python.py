"""The python runner: functions called in worker processes that are kept and reused.

The process of a call is watched like the process of a command, with the same limits over its whole tree. When
the answer comes first, the process goes back to the pool; when the process ends first, that is how the call ended.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Final

from medbay.core.outcome import Failed, Outcome, Output
from medbay.errors import SpawnFailed
from medbay.runners.environment import inheritable
from medbay.runners.protocol import Identity, Launch
from medbay.runners.python_pool import Pool
from medbay.runners.python_process import Answer, Call, Closed, Lifetime, WorkerProcess, start_process
from medbay.runners.python_report import ended_in_call, outcome_of
from medbay.runners.shell import ShellRunner, ShellRunning
from medbay.runners.spawn import explain_directory, new_log
from medbay.runners.usage import UsageLimit, limit_process, limit_softly

_LEAVING_S: Final = 5.0  # how long a process has to end after its last answer
_OPEN_LOG: Final = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class PythonRunner:
    """Calls functions; keeps up to `workers` processes for the next calls until it is closed."""

    def __init__(
        self,
        grace_s: float,
        secrets: Sequence[str] = (),
        *,
        workers: int = 4,
        lifetime: Lifetime = Lifetime(),
    ) -> None:
        self._processes = ShellRunner(grace_s, secrets)
        self._inherited = inheritable(os.environ, secrets)
        self._stdin = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._lifetime = lifetime
        self._pool = Pool(workers)
        weakref.finalize(self, os.close, self._stdin)
        weakref.finalize(self, self._pool.close)

    def start(self, launch: Launch, monotonic_s: float) -> PythonRunning:
        """Hand the call to a process that waits, or start one; raises SpawnFailed."""
        try:
            call = Call.of(launch)
        except ValueError as error:
            raise SpawnFailed(f"not a Python call: {error}") from error
        if wrong := explain_directory(launch.cwd):
            raise SpawnFailed(wrong)
        log = new_log(launch)
        try:
            worker = self._hand_over(call, launch, log)
        finally:
            os.close(log)
        return PythonRunning(self, call, launch, worker, monotonic_s=monotonic_s)

    def start_afresh(self, call: Call, launch: Launch) -> WorkerProcess:
        """Hand a call that was not begun to a new process, into the log it has already."""
        try:
            log = os.open(launch.log_path, _OPEN_LOG)
        except OSError as error:
            raise SpawnFailed(f"cannot open the log file {launch.log_path}: {error.strerror}") from error
        try:
            return self._hand_to_new(call, launch, log)
        finally:
            os.close(log)

    def watch(self, call: Call, launch: Launch, worker: WorkerProcess, monotonic_s: float) -> ShellRunning:
        """The process of a call under the limits of its task."""
        usage = None
        if launch.memory_bytes is not None or launch.cpu_s is not None:
            usage = UsageLimit(monotonic_s, memory_bytes=launch.memory_bytes, cpu_s=launch.cpu_s)
            if call.isolated:
                limit_process(worker.pid, memory_bytes=launch.memory_bytes, cpu_s=launch.cpu_s)
            else:
                limit_softly(worker.pid, memory_bytes=launch.memory_bytes)
        return self._processes.watch(launch, worker.child, monotonic_s, usage=usage)

    def give_back(self, worker: WorkerProcess, answer: Answer, launch: Launch) -> None:
        """Its call is over and it waits for the next."""
        worker.resident_bytes = answer.resident_bytes
        if launch.memory_bytes is not None:
            limit_softly(worker.pid, memory_bytes=None)
        self._pool.give_back(worker)

    def forget(self, worker: WorkerProcess) -> None:
        """Its process is gone."""
        self._pool.forget(worker)

    def close(self) -> None:
        """End every process that waits."""
        self._pool.close()

    def _hand_over(self, call: Call, launch: Launch, log: int) -> WorkerProcess:
        if not call.isolated:
            while (worker := self._pool.take(launch.cwd, memory_bytes=launch.memory_bytes)) is not None:
                if worker.hand(call, launch, log=log):
                    return worker
                self._pool.end(worker)  # it was just ending by itself
        return self._hand_to_new(call, launch, log)

    def _hand_to_new(self, call: Call, launch: Launch, log: int) -> WorkerProcess:
        variables = launch.env if call.isolated else {}
        worker = start_process(
            launch, self._inherited, stdin=self._stdin, log=log, variables=variables, lifetime=self._lifetime
        )
        self._pool.admit(worker)
        worker.hand(call, launch, log=log)  # if it is dead already, its end says so
        return worker


class PythonRunning:
    """One live call and the process that makes it."""

    waiting = False
    lasting = True
    left_nothing = False

    def __init__(
        self, runner: PythonRunner, call: Call, launch: Launch, worker: WorkerProcess, *, monotonic_s: float
    ) -> None:
        self._runner = runner
        self._call = call
        self._launch = launch
        self._worker = worker
        self._process = runner.watch(call, launch, worker, monotonic_s)
        self._answer: Answer | None = None
        self._leave_by_s: float | None = None  # set once nothing more is heard from it
        self._cut_off = False  # it went on without being able to answer, and was ended
        self._started_afresh = False
        self._outcome: Outcome | None = None

    @property
    def identity(self) -> Identity:
        """The worker process."""
        return self._process.identity

    def fileno(self) -> int:
        """Readable when it answered or its process ended."""
        if self._outcome is not None:
            return -1
        return self._process.fileno() if self._is_leaving() else self._worker.fileno()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """Listen, enforce the limits, and say how the call ended if it did."""
        if self._outcome is None:
            self._outcome = self._look(monotonic_s)
        return self._outcome

    def deadline_s(self) -> float | None:
        """The next time that matters to its process, or until which that has to be gone."""
        if self._outcome is not None:
            return None
        times = (self._process.deadline_s(), self._leave_by_s)
        return min((time for time in times if time is not None), default=None)

    def cancel(self, monotonic_s: float) -> None:
        """End the process with its tree because a person asked; what has answered already stays so."""
        self._process.cancel(monotonic_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End the process with its tree because the worker stops."""
        self._process.hand_back(monotonic_s, why=why)

    def kill(self) -> None:
        """End the process with its tree at once, and do not wait for it."""
        self._process.kill()

    def _look(self, monotonic_s: float) -> Outcome | None:
        if not self._is_leaving():
            self._listen(monotonic_s)
        if self._answer is not None and self._answer.keep and not self._process.is_ending:
            self._process.release()
            self._runner.give_back(self._worker, self._answer, self._launch)
            return outcome_of(self._launch, self._answer)
        was_ending = self._process.is_ending
        ended = self._process.poll(monotonic_s)
        if ended is not None:
            return self._after(ended, monotonic_s, was_ending=was_ending)
        if self._leave_by_s is not None and monotonic_s >= self._leave_by_s:
            self._leave_by_s = None
            self._cut_off = True
            self._process.kill()
        return None

    def _listen(self, monotonic_s: float) -> None:
        try:
            self._answer = self._worker.listen(self._launch.attempt_key)
        except Closed:
            self._leave_by_s = monotonic_s + _LEAVING_S
        if self._answer is not None and not self._answer.keep:
            self._leave_by_s = monotonic_s + _LEAVING_S

    def _is_leaving(self) -> bool:
        return self._answer is not None or self._leave_by_s is not None or self._process.is_ending

    def _after(self, ended: Outcome, monotonic_s: float, *, was_ending: bool) -> Outcome | None:
        """Its process is gone: with an answer that is the outcome, without one the process's own end is."""
        if not was_ending and self._answer is None:
            self._listen(monotonic_s)  # it answered and ended since the last look
        self._runner.forget(self._worker)
        if self._answer is None:
            return ended_in_call(self._launch, ended, cut_off=self._cut_off)
        if self._answer.begun:
            return outcome_of(self._launch, self._answer)
        return self._begin_again(monotonic_s)

    def _begin_again(self, monotonic_s: float) -> Outcome | None:
        """The process knew older code than the files have now: a new one makes the call, once."""
        if self._started_afresh:
            return _not_started(self._launch, "a new worker process could not begin the call")
        try:
            self._worker = self._runner.start_afresh(self._call, self._launch)
        except SpawnFailed as error:
            return _not_started(self._launch, str(error))
        self._process = self._runner.watch(self._call, self._launch, self._worker, monotonic_s)
        self._started_afresh, self._answer, self._leave_by_s = True, None, None
        return None


def _not_started(launch: Launch, why: str) -> Failed:
    return Failed(output=Output(tail=why, total_bytes=len(why), log_path=str(launch.log_path)), spawn_error=why)
