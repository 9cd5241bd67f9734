"""The checks of one attempt side by side, as one thing that runs: the engine polls and stops it like any other."""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from medbay.core.attempt import checks as gate
from medbay.core.model import CheckResult
from medbay.core.outcome import Cancelled, Checked, Failed, Outcome, Output, Requeued
from medbay.errors import SpawnFailed
from medbay.places.protocol import Identity, Launch, Runner, Running

TRY_AGAIN_S: Final = 0.5  # a check that cannot be spawned is tried once more, after this
BLIND_S: Final = 0.05  # where no descriptor is left to wait on, it has to be polled


@dataclass(slots=True)
class _Member:
    """One check: planned, running, or ended with its outcome."""

    result: CheckResult
    launch: Launch
    running: Running | None = None
    outcome: Outcome | None = None
    again_at_s: float | None = None  # its second start, after a first that failed


class Verification:
    """All checks of one attempt. With `fail_fast` the first that fails or breaks stops the others."""

    def __init__(
        self,
        checks: Sequence[tuple[CheckResult, Launch]],
        runner: Runner,
        *,
        fail_fast: bool,
        threshold: float = 1.0,
        now_ms: Callable[[], int],
        monotonic_s: float,
    ) -> None:
        self._members = [_Member(result, launch) for result, launch in checks]
        self._runner = runner
        self._fail_fast = fail_fast
        self._threshold = threshold
        self._now_ms = now_ms
        self._stopped = False  # by `fail_fast`
        self._interrupted: Outcome | None = None  # a person's cancel, or handed back
        self._seen_s = monotonic_s
        self._ready = _new_epoll()
        for member in self._members:
            if member.result.position != gate.LANDING:
                self._start(member, monotonic_s)
        self._land(monotonic_s)

    @property
    def identity(self) -> Identity | None:
        """Several processes, none of which stands for the attempt."""
        return None

    def fileno(self) -> int:
        """Readable when the main process of any check has ended."""
        return -1 if self._ready is None or self._ready.closed else self._ready.fileno()

    def poll(self, monotonic_s: float) -> Outcome | None:
        """Start what is to be tried again, note what ended; the outcome once every check has."""
        self._seen_s = monotonic_s
        for member in self._members:
            if member.running is None and member.outcome is None:
                self._go_on(member, monotonic_s)
            if member.running is not None and member.outcome is None:
                outcome = member.running.poll(monotonic_s)
                if outcome is not None:
                    self._end(member, outcome)
        self._stop_the_others(monotonic_s)
        self._land(monotonic_s)
        if any(member.outcome is None for member in self._members):
            return None
        if self._ready is not None:
            self._ready.close()
        if self._interrupted is not None and any(_was_interrupted(member) for member in self._members):
            return self._interrupted
        return Checked(results=tuple(member.result for member in self._members))

    def deadline_s(self) -> float | None:
        """The next time that matters to any of them."""
        waiting = [member for member in self._members if member.outcome is None]
        times = [member.running.deadline_s() if member.running else member.again_at_s for member in waiting]
        if self._ready is None:
            times.append(self._seen_s + BLIND_S)
        return min((time for time in times if time is not None), default=None)

    def cancel(self, monotonic_s: float) -> None:
        """End every tree because a person asked."""
        self._interrupted = Cancelled()
        for running in self._running():
            running.cancel(monotonic_s)

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """End every tree because the worker stops; the next owner of the attempt repeats the checks."""
        self._interrupted = self._interrupted or Requeued(asked=False, why=why)
        for running in self._running():
            running.hand_back(monotonic_s, why=why)

    def kill(self) -> None:
        """End every tree at once."""
        self._interrupted = self._interrupted or Requeued(asked=False, why="killed by the worker")
        for running in self._running():
            running.kill()

    def _land(self, monotonic_s: float) -> None:
        """Once all checks have passed the work is merged; where they have not, it never is."""
        last = self._members[-1]
        checked = [each for each in self._members if each.result.position != gate.LANDING]
        begun = last.running is not None or last.outcome is not None or last.again_at_s is not None
        if last in checked or begun or any(each.outcome is None for each in checked):
            return
        results = [each.result for each in checked]
        if not results or gate.judge(results, self._threshold).verdict == "PASS":
            self._start(last, monotonic_s)
        else:
            self._end(last, Cancelled())

    def _running(self) -> list[Running]:
        return [each.running for each in self._members if each.running is not None and each.outcome is None]

    def _start(self, member: _Member, monotonic_s: float) -> None:
        try:
            member.running = self._runner.start(member.launch, monotonic_s)
        except SpawnFailed as error:
            if member.again_at_s is None:
                member.again_at_s = monotonic_s + TRY_AGAIN_S
                return
            output = Output(tail=str(error), total_bytes=len(str(error)))
            self._end(member, Failed(output=output, spawn_error=str(error)))
            return
        if self._ready is not None and (descriptor := member.running.fileno()) >= 0:
            self._ready.register(descriptor, select.EPOLLIN)

    def _go_on(self, member: _Member, monotonic_s: float) -> None:
        """A check whose first start failed: its second, or none when the checks were stopped meanwhile."""
        if self._interrupted is not None or self._stopped:
            self._end(member, self._interrupted or Cancelled())
        elif member.again_at_s is not None and monotonic_s >= member.again_at_s:
            self._start(member, monotonic_s)

    def _end(self, member: _Member, outcome: Outcome) -> None:
        member.outcome = outcome
        member.result = replace(
            member.result,
            status=gate.status_of(outcome),
            exit_code=getattr(outcome, "exit_code", None),
            signal=getattr(outcome, "signal", None),
            ended_at=self._now_ms(),
            head=outcome.output.head,
            tail=outcome.output.tail if member.launch.answer_path is None else _answer(outcome),
            total_bytes=outcome.output.total_bytes,
        )

    def _stop_the_others(self, monotonic_s: float) -> None:
        decided = any(member.result.status in ("FAIL", "ERROR") for member in self._members)
        if not self._fail_fast or not decided or self._stopped or self._interrupted is not None:
            return
        self._stopped = True
        for running in self._running():
            running.cancel(monotonic_s)


def _answer(outcome: Outcome) -> str:
    """What a process that was asked something printed."""
    return str((outcome.output.result or {}).get("answer", ""))


def _new_epoll() -> select.epoll | None:
    try:
        return select.epoll()
    except OSError:  # no descriptor left
        return None


def _was_interrupted(member: _Member) -> bool:
    """Whether it was ended from outside, so that its result says nothing."""
    outcome = member.outcome
    return isinstance(outcome, Cancelled) or (isinstance(outcome, Requeued) and not outcome.asked)
