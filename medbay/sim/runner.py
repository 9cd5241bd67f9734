"""The simulated runner: attempts that end as their script says, resist signals, hit limits or hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from medbay.core.outcome import Cancelled, Failed, Outcome, Output, Requeued, TimedOut
from medbay.core.triage.cycle import RUNNER
from medbay.errors import SpawnFailed
from medbay.places.protocol import Identity, Launch
from medbay.sim.clock import VirtualClock
from medbay.sim.machines import Machines, SimulatedMachine, SimulatedProcess
from medbay.sim.scripts import Fate

Why = Literal["cancel", "hand_back", "limit"]


class Fates(Protocol):
    """Who knows what an attempt will do."""

    def fate(self, command: tuple[str, ...], task_id: str, number: int, at_ms: int) -> Fate:
        """What this attempt does when it starts now."""
        ...

    def triage_fate(self, task_id: str, number: int, asked: str) -> Fate:
        """What a triage does, and what it answers to what it is asked."""
        ...


class SimRunner:
    """Starts simulated processes for one engine on one machine."""

    def __init__(
        self,
        machines: Machines,
        machine: SimulatedMachine,
        engine_pid: int,
        work: Fates,
        clock: VirtualClock,
        *,
        grace_ms: int,
        elsewhere: bool = False,
    ) -> None:
        self._elsewhere = elsewhere
        self._machines = machines
        self._machine = machine
        self._engine_pid = engine_pid
        self._work = work
        self._clock = clock
        self._grace_ms = grace_ms
        self.killers: list[SimulatedProcess] = []  # what will kill its engine, if that still holds it when it ends

    def start(self, launch: Launch, monotonic_s: float) -> SimRunning:
        """Start it; raises SpawnFailed when the script has no binary."""
        assert not isinstance(launch.command, str)
        if launch.runner == RUNNER:
            fate = self._work.triage_fate(launch.task_id, launch.number, launch.stdin_text)
        else:
            fate = self._work.fate(tuple(launch.command), launch.task_id, launch.number, self._clock.elapsed_ms)
        if fate.kind == "spawn":
            raise SpawnFailed("cannot start sim: Resource temporarily unavailable")
        process = self._machines.start(
            self._machine,
            self._engine_pid,
            launch.task_id,
            launch.number,
            fate,
            part=launch.part,
            elsewhere=self._elsewhere,
        )
        if fate.kind == "kill":
            self.killers.append(process)
        limit_ms = None if launch.timeout_s is None else process.begun_ms + round(launch.timeout_s * 1000)
        return SimRunning(process, launch, limit_ms=limit_ms, grace_ms=self._grace_ms, now_ms=self._now_ms)

    def _now_ms(self) -> int:
        return self._clock.elapsed_ms


class SimRunning:
    """One live simulated attempt, as its engine sees it."""

    def __init__(
        self,
        process: SimulatedProcess,
        launch: Launch,
        *,
        limit_ms: int | None,
        grace_ms: int,
        now_ms: Callable[[], int],
    ) -> None:
        self.process = process
        self._launch = launch
        self._limit_ms = limit_ms
        self._grace_ms = grace_ms
        self._now_ms = now_ms
        self._why: Why | None = None
        self._words = ""
        self._outcome: Outcome | None = None

    @property
    def identity(self) -> Identity:
        """The simulated process."""
        return Identity(pid=self.process.pid, pid_start=self.process.pid, group=self.process.pid)

    def fileno(self) -> int:
        """It has to be polled."""
        return -1

    def poll(self, monotonic_s: float) -> Outcome | None:
        """Enforce the limit, and say how it ended if it did."""
        now = round(monotonic_s * 1000)
        if self._outcome is not None:
            return self._outcome
        if self._limit_ms is not None and now >= self._limit_ms:
            self._end("limit", now)
        if not self.process.alive(now):
            self._outcome = self._ended()
        return self._outcome

    def deadline_s(self) -> float | None:
        """When it ends, or hits its limit."""
        process = self.process
        ends_ms = process.ends_ms if process.gone_ms is None else min(process.ends_ms, process.gone_ms)
        if self._limit_ms is not None and self._why is None:
            ends_ms = min(ends_ms, self._limit_ms)
        return ends_ms / 1000

    def cancel(self, monotonic_s: float) -> None:
        """SIGTERM now, SIGKILL after the grace period; whatever ended it before."""
        self._end("cancel", round(monotonic_s * 1000))
        if self._why is not None:
            self._why = "cancel"

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """SIGTERM now, SIGKILL after the grace period."""
        self._words = self._words or why
        self._end("hand_back", round(monotonic_s * 1000))

    def kill(self) -> None:
        """End the tree at once."""
        now = self._now_ms()
        if self.process.alive(now):
            self._why = self._why or "hand_back"
            self._words = self._words or "killed by the worker"
            self.process.end(now)

    def _end(self, why: Why, now: int) -> None:
        if self._why is None and self.process.alive(now):
            self._why = why
            self.process.end(now + self._grace_ms if self.process.fate.resists else now + 1)

    def _ended(self) -> Outcome:
        process, log_path = self.process, str(self._launch.log_path)
        output = Output(log_path=log_path)
        if process.gone_ms is None:
            return process.fate.outcome(log_path)
        match self._why:
            case "cancel":
                return Cancelled(output=output)
            case "hand_back":
                return Requeued(asked=False, why=self._words, output=output)
            case "limit":
                return TimedOut(limit_s=self._launch.timeout_s or 0, output=output, signal=15)
            case None:  # another process on this host ended it
                return Failed(signal=9, output=output)
