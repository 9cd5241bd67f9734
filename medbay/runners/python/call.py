"""One call of a Python function, from being handed to a process to its outcome.

It may wait behind others first. A short call is never more than a message and its answer; once it lasts, its process
is watched like the process of a command, with the same limits over its whole tree, and its log is there to be read.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from medbay.core.attempt.ahead import WAITING_S
from medbay.core.outcome import Cancelled, Failed, Outcome, Output, Requeued, Succeeded
from medbay.places import files
from medbay.places.logs import append_note
from medbay.places.protocol import LASTING_S, Identity, Launch
from medbay.places.tree import Exit, ProcessTree, TreeEnd
from medbay.runners.python.process import Call, CallAnswer, WorkerProcess
from medbay.runners.report import ended_itself, report
from medbay.runners.result import Result

if TYPE_CHECKING:
    from medbay.runners.python.runner import PythonRunner

_LEAVING_S: Final = 5.0  # how long a process has to end after its last answer
_NO_RESULT: Final = Result()


class PythonRunning:
    """One live call and the process that makes it, or has yet to make it."""

    def __init__(self, runner: PythonRunner, call: Call, launch: Launch, monotonic_s: float) -> None:
        self.call = call
        self.launch = launch
        self.key = launch.attempt_key
        self.worker: WorkerProcess | None = None
        self.begun_afresh = False  # a process that knew old code passed it on to a new one
        self._runner = runner
        self._asked_s = monotonic_s
        self._seen_s = monotonic_s
        self._begun_s: float | None = None
        self._answer: CallAnswer | None = None
        self._process: ProcessTree | None = None  # once it is watched
        self._shown = False  # its log is the file that its process writes to
        self._leave_by_s: float | None = None  # set once nothing more is heard from its process
        self._cut_off = False  # it went on without being able to answer, and was ended
        self._outcome: Outcome | None = None

    @property
    def identity(self) -> Identity | None:
        """The worker process, once the call has run in it for more than a moment."""
        return self.worker.child.identity if self.worker is not None and self._process is not None else None

    @property
    def waiting(self) -> bool:
        """Whether it is not begun, as far as is known."""
        return self._begun_s is None and self._answer is None and self._outcome is None

    @property
    def left_nothing(self) -> bool:
        """Whether its process said so, or it was never begun."""
        if self._outcome is None:
            return False
        return self._begun_s is None if self._answer is None else self._answer.clean

    def fileno(self) -> int:
        """Readable when it answered or its process ended; -1 while it waits for others."""
        if self._outcome is not None or self.waiting or self.worker is None or self._is_answered():
            return -1
        return self._process.fileno() if self._process is not None and self._is_leaving() else self.worker.fileno()

    def deadline_s(self) -> float | None:
        """The next time that matters to it or its process, or until which that has to be gone."""
        if self._outcome is not None:
            return None
        if self._is_answered():
            return self._asked_s  # heard together with another's answer: nothing else will wake the engine for it
        if self._begun_s is None:
            return self._asked_s + WAITING_S
        if self._process is None:
            return self._lasting_from_s(self._begun_s)
        times = (self._process.deadline_s(), self._leave_by_s)
        return min((time for time in times if time is not None), default=None)

    def poll(self, monotonic_s: float) -> Outcome | None:
        """Listen, enforce the limits, and say how the call ended if it did."""
        with self._runner.lock:
            self._seen_s = monotonic_s
            if self._outcome is None:
                self._end_as(self._look(monotonic_s))
            return self._outcome

    def cancel(self, monotonic_s: float) -> None:
        """End it with its tree because a person asked; what has answered already stays so."""
        with self._runner.lock:
            if not self._is_settled(Cancelled(output=self._no_output()), monotonic_s):
                self._begun_process(monotonic_s).cancel(monotonic_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End it with its tree because the worker stops."""
        with self._runner.lock:
            if not self._is_settled(Requeued(asked=False, why=why, output=self._no_output()), monotonic_s):
                self._begun_process(monotonic_s).hand_back(monotonic_s, why=why)

    def kill(self) -> None:
        """End it with its tree at once, and do not wait for it."""
        with self._runner.lock:
            handed_back = Requeued(asked=False, why="killed by the worker", output=self._no_output())
            if not self._is_settled(handed_back, self._seen_s):
                self._begun_process(self._seen_s).kill()
                if self.worker is not None and self._answer is None:
                    self._runner.give_up(self.worker)

    # What its runner calls

    def handed_to(self, worker: WorkerProcess | None) -> None:
        """This process has it now; None: it waits for one, whatever was prepared while another had it."""
        if worker is None:
            if self._shown:
                files.remove(os.fspath(self.launch.log_path))
            self._shown = False
            self._begun_s = self._process = self._leave_by_s = None
        self.worker = worker

    def begin(self, monotonic_s: float) -> None:
        """Its process makes it from now on."""
        if self._begun_s is not None:
            return
        self._begun_s = monotonic_s
        limited = self.launch.memory_bytes is not None or self.launch.cpu_s is not None
        if self.call.isolated or limited:
            self._watch()

    def answered(self, answer: CallAnswer) -> None:
        """Its process said how it ended."""
        self._answer = answer

    def lost(self, monotonic_s: float) -> None:
        """Its process closed the connection, or died in it."""
        self._leave_by_s = monotonic_s + _LEAVING_S

    def not_started(self, why: str) -> None:
        """There is no process to make it."""
        said = Output(tail=why, total_bytes=len(why), log_path=str(self.launch.log_path))
        self._outcome = Failed(output=said, spawn_error=why)

    # How it goes on

    def _end_as(self, outcome: Outcome | None) -> None:
        """Unless a process could not be started for it meanwhile."""
        if self._outcome is None:
            self._outcome = outcome

    def _look(self, monotonic_s: float) -> Outcome | None:
        worker = self.worker
        if worker is not None and worker.keys and worker.keys[0] == self.key and not self._is_leaving():
            self._runner.listen(worker, monotonic_s)
        if self._outcome is not None:
            return self._outcome
        if self.waiting:
            return self._wait(monotonic_s)
        if self._answer is None and self._process is None and self._leave_by_s is None:
            if monotonic_s < self._lasting_from_s(self._begun_s or monotonic_s):
                return None
            assert worker is not None
            self._runner.clear_behind(worker, monotonic_s)
            self._watch()
            self._runner.listen(worker, monotonic_s)  # it may have ended while we showed its log
        if self._answer is not None and self._is_answered():
            return self._conclude(self._answer)
        return self._look_at_process(monotonic_s)

    def _wait(self, monotonic_s: float) -> Outcome | None:
        if monotonic_s < self._asked_s + WAITING_S or not self._runner.withdraw(self):
            return None
        return Requeued(asked=False, why="no process was free to begin it", output=self._no_output())

    def _conclude(self, answer: CallAnswer) -> Outcome:
        """Its process has nothing to do with it any more."""
        if self._process is not None:
            self._process.release()
            if self._shown and not answer.has_log:
                files.remove(os.fspath(self.launch.log_path))  # shown just after it had ended
        elif answer.total_bytes > files.TEXT_BYTES_MAX:
            self._runner.trim_log(self.launch)
        return outcome_of(self.launch, answer)

    def _look_at_process(self, monotonic_s: float) -> Outcome | None:
        """Until the process is gone."""
        process = self._process or self._watch()
        if self._leave_by_s is None and self._answer is not None:
            self._leave_by_s = monotonic_s + _LEAVING_S
        was_ending = process.is_ending
        assert self.worker is not None
        if not self._shown and self.worker.is_over():
            self._show(at_any_rate=True)
        ended = process.poll(monotonic_s)
        if ended is not None:
            outcome = report(process.launch, ended)  # first: its result is where its process left it
            return self._after(outcome, self.worker, monotonic_s, was_ending=was_ending)
        if self._leave_by_s is not None and monotonic_s >= self._leave_by_s:
            self._leave_by_s = None
            self._cut_off = self._answer is None
            process.kill()
        return None

    def _after(self, ended: Outcome, worker: WorkerProcess, monotonic_s: float, *, was_ending: bool) -> Outcome:
        """Its process is gone: with an answer that is the outcome, without one the process's own end is."""
        if not was_ending and self._answer is None and self._leave_by_s is None:
            self._runner.listen(worker, monotonic_s)  # it answered and ended since the last look
        self._runner.bury(worker, self.launch)
        if self._answer is None:
            return ended_in_call(self.launch, ended, cut_off=self._cut_off)
        return outcome_of(self.launch, self._answer)

    def _is_answered(self) -> bool:
        """Whether it ended with an answer and nothing else; its process may be gone by now, or be another's."""
        ending = self._process is not None and self._process.is_ending
        return self._answer is not None and self._answer.clean and not ending

    def _is_leaving(self) -> bool:
        ending = self._process is not None and self._process.is_ending
        return self._answer is not None or self._leave_by_s is not None or ending

    def _lasting_from_s(self, begun_s: float) -> float:
        limit_s = self.launch.timeout_s
        return begun_s + (LASTING_S if limit_s is None else min(LASTING_S, limit_s))

    def _is_settled(self, outcome: Outcome, monotonic_s: float) -> bool:
        """Whether it needs no end: it has one, it has answered, or it was not begun and now never will be."""
        for _ in range(2):  # one that is begun just now is known to be once its predecessor's answer is heard
            if self.worker is not None and self.worker.keys and not self._is_leaving():
                self._runner.listen(self.worker, monotonic_s)
            if self._outcome is not None or (self._answer is not None and self._answer.clean):
                return True
            if not self.waiting:
                return False
            if self._runner.withdraw(self):
                self._outcome = outcome
                return True
        return False

    def _begun_process(self, monotonic_s: float) -> ProcessTree:
        """Of a call that is to be ended: nothing may go on behind it."""
        assert self.worker is not None
        if self._begun_s is None:
            self._begun_s = monotonic_s
        if self._answer is None:
            self._runner.clear_behind(self.worker, monotonic_s)
        return self._process or self._watch()

    def _watch(self) -> ProcessTree:
        """Watch its process from now on, with limits that count from its beginning; its log is there to be read."""
        assert self.worker is not None
        assert self._begun_s is not None
        launch, spool = self.launch, self.worker.spool
        self._shown = not spool
        if spool:
            launch = replace(launch, result_path=Path(files.result_beside(spool)))
            self._show(at_any_rate=self._leave_by_s is not None)
        self._process = self._runner.watch(self.call, launch, self.worker, self._begun_s)
        return self._process

    def _show(self, *, at_any_rate: bool) -> None:
        """Let what its process writes be its log; while that lives, a log that is there already is its own doing."""
        assert self.worker is not None
        do = files.place if at_any_rate else files.link
        with suppress(OSError):
            do(self.worker.spool, os.fspath(self.launch.log_path))
            self._shown = True

    def _no_output(self) -> Output:
        return Output(log_path=str(self.launch.log_path))


def outcome_of(launch: Launch, answer: CallAnswer) -> Outcome:
    """As a command with this exit code would have ended, with what the function said as its result."""
    if answer.left:
        append_note(launch.log_path, f"left running: {answer.left}; the worker process was ended")
    if answer.text is not None and not answer.has_result and not answer.left:  # all is known: no file is opened
        output = Output(
            tail=answer.text,
            total_bytes=answer.total_bytes,
            log_path=str(launch.log_path),
            result=_said(answer) or None,
        )
        ended = ended_itself(launch, Exit(code=answer.code), output=output, result=_NO_RESULT)
        if not isinstance(ended, Requeued):
            return ended
    else:
        ended = report(launch, TreeEnd(exit=Exit(code=answer.code), log=launch.log_path))
    result = {**(ended.output.result or {}), **_said(answer)}
    output = replace(ended.output, result=result or None)
    if isinstance(ended, Requeued) and answer.retry_after is not None:
        return replace(ended, output=output, why=answer.summary or ended.why, retry_after=answer.retry_after)
    if isinstance(ended, Requeued):
        return replace(ended, output=output, why=answer.summary or ended.why)
    return replace(ended, output=output)


def ended_in_call(launch: Launch, ended: Outcome, *, cut_off: bool) -> Outcome:
    """The process was gone before the function returned: no success, whatever its exit code."""
    if cut_off:
        why = "the function closed the connection of its process and was ended"
    elif isinstance(ended, Succeeded):
        why = "the process ended with exit code 0 before the function returned"
    else:
        return ended
    append_note(launch.log_path, why)
    said = {"type": "medbay.ProcessEnded", "message": why, "traceback": "", "causes": []}
    return Failed(output=replace(ended.output, result={**(ended.output.result or {}), **said}))


def _said(answer: CallAnswer) -> dict[str, Any]:
    """The value of a success, the exception of a failure, the wish of one that asks to be tried again."""
    if answer.error is not None:
        return dict(answer.error)
    if answer.code == 0:
        return {"value": answer.value}
    wish = {"summary": answer.summary, "retry_after": answer.retry_after}
    return {name: value for name, value in wish.items() if value}
