"""Simulated machines: who runs where, which process belongs to which attempt, and what survives a death."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from medbay.core.model import Worker
from medbay.engine.settings import Host
from medbay.places.protocol import LiveAttempts
from medbay.service.workers import Sighting
from medbay.sim.clock import VirtualClock
from medbay.sim.scripts import Fate


@dataclass(slots=True)
class SimulatedProcess:
    """The tree of one attempt. It may outlive the engine that started it."""

    task_id: str
    number: int
    pid: int
    engine_pid: int
    fate: Fate
    begun_ms: int
    ends_ms: int  # by itself
    gone_ms: int | None = None  # when it was ended from outside
    part: str = ""  # which check of the attempt; nothing: its work
    elsewhere: bool = False  # run by a worker of a place, not by an engine

    def alive(self, at_ms: int) -> bool:
        """Whether anything of it runs at this moment."""
        return at_ms < self.ends_ms and (self.gone_ms is None or at_ms < self.gone_ms)

    def end(self, at_ms: int) -> None:
        """End it from outside, unless it is over by then."""
        if self.alive(at_ms) and (self.gone_ms is None or at_ms < self.gone_ms):
            self.gone_ms = at_ms


@dataclass(slots=True)
class SimulatedMachine:
    """One host: its boot, its engines and its processes."""

    name: str
    boot: int = 1
    engines: set[int] = field(default_factory=set)
    processes: list[SimulatedProcess] = field(default_factory=list)

    def identity(self, pid: int) -> Host:
        """An engine's process on this host."""
        return Host(
            name=self.name,
            machine_id=f"machine-{self.name}",
            boot_id=f"boot-{self.boot}",
            pid=pid,
            pid_start=pid,
        )

    def see(self, worker: Worker) -> Sighting:
        """What this host can say about a worker."""
        if worker.host != self.name:
            return "elsewhere"
        if worker.boot_id != f"boot-{self.boot}":
            return "rebooted"
        return "alive" if worker.pid in self.engines else "dead"

    def living(self, at_ms: int) -> list[SimulatedProcess]:
        """The processes that run now; the others are forgotten."""
        self.processes = [each for each in self.processes if each.alive(at_ms)]
        return self.processes


class Machines:
    """All hosts, and the numbers of everything that ever ran on them."""

    def __init__(self, hosts: int, clock: VirtualClock, started: Callable[[SimulatedProcess], None]) -> None:
        self._clock = clock
        self._started = started
        self._last_pid = 1_000
        self.hosts = [SimulatedMachine(f"host{number}") for number in range(1, hosts + 1)]

    def new_pid(self) -> int:
        """A number no process had before."""
        self._last_pid += 1
        return self._last_pid

    def add_host(self, name: str) -> SimulatedMachine:
        """One more host, on which no engine runs."""
        self.hosts.append(SimulatedMachine(name))
        return self.hosts[-1]

    def start(
        self,
        machine: SimulatedMachine,
        engine_pid: int,
        task_id: str,
        number: int,
        fate: Fate,
        *,
        part: str = "",
        elsewhere: bool = False,
    ) -> SimulatedProcess:
        """Start the tree of an attempt."""
        now = self._clock.elapsed_ms
        process = SimulatedProcess(
            task_id,
            number,
            self.new_pid(),
            engine_pid,
            fate,
            now,
            now + fate.after_ms,
            part=part,
            elsewhere=elsewhere,
        )
        machine.processes.append(process)
        self._started(process)
        return process

    def running(self, task_id: str) -> list[SimulatedProcess]:
        """Every tree of this task that is alive somewhere."""
        now = self._clock.elapsed_ms
        return [each for host in self.hosts for each in host.living(now) if each.task_id == task_id]

    def reboot(self, machine: SimulatedMachine) -> None:
        """Everything on the host is gone at once."""
        machine.boot += 1
        machine.engines.clear()
        for process in machine.processes:
            process.end(self._clock.elapsed_ms)


class SimLeftovers:
    """Ends processes of attempts that are not live any more, on one host."""

    def __init__(self, machine: SimulatedMachine, clock: VirtualClock) -> None:
        self._machine = machine
        self._clock = clock

    def end(self, *, store_id: str, live: LiveAttempts, task_id: str | None = None) -> int:
        """End every process, or those of one task, whose (task, number) is not live; how many."""
        now = self._clock.elapsed_ms
        found = [each for each in self._machine.living(now) if task_id in (None, each.task_id)]
        named = live() if found else frozenset()
        guilty = [each for each in found if (each.task_id, each.number) not in named]
        for process in guilty:
            process.end(now)
        return len(guilty)


def write_nothing(path: str, text: str) -> None:
    """A simulated machine has no files: a world is the same for every user, and leaves nothing behind."""
