"""The second place of a world as one actor: its cluster, its workers, the engines that use it, and its troubles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from medbay.env import Random, seeded
from medbay.sim.clock import VirtualClock
from medbay.sim.cluster import SimCluster
from medbay.sim.cluster_client import SimElsewhere
from medbay.sim.cluster_worker import SimPlaceWorker
from medbay.sim.machines import Machines
from medbay.sim.plan import MINUTE, SECOND, Plan
from medbay.sim.scripts import ELSEWHERE, NEVER_MS, Work


class UsingEngine(Protocol):
    """What a place knows of an engine that uses it."""

    name: str
    suspended_until_ms: int

    def crash(self) -> None:
        """Kill it."""
        ...

    def hear(self) -> None:
        """Wake it: something happened that it waits for."""
        ...


class Acting(Protocol):
    """One part of the place."""

    def act(self) -> str:
        """Take one step; what it was."""
        ...


class SecondPlace:
    """Everything elsewhere. One step of one of its parts at a time."""

    name: Final = ELSEWHERE

    def __init__(
        self, plan: Plan, clock: VirtualClock, machines: Machines, work: Work, log: Callable[[str], None]
    ) -> None:
        self._plan = plan
        self._clock = clock
        self._rng = seeded(f"{plan.seed}/second place")
        self.cluster = SimCluster(
            clock,
            self._rng,
            log,
            heartbeat_ms=self._rng.choice((10, 30)) * SECOND,
            start_within_ms=self._rng.choice((MINUTE, 10 * MINUTE)),
            fault_share=self._rng.choice((0.02, 0.1, 0.2)),
        )
        self._machines, self._work = machines, work
        self.workers = [self._worker(number) for number in range(1, self._rng.choice((1, 2, 3)) + 1)]
        self._clients: dict[str, tuple[UsingEngine, SimElsewhere]] = {}
        self.slots = {ELSEWHERE: self._rng.choice((1, 2, 8))}  # of each engine there
        strangers = plan.engines > 1 and self._rng.random() < 0.3
        self.unknown_to = frozenset({"engine1"}) if strangers else frozenset()
        self._strike_ms = self._after()
        self._back_ms = NEVER_MS  # when engines are to hear that the cluster answers again
        self._calm = False
        self._lurking: Callable[[SecondPlace], str] | None = None  # what happens as soon as it meets something

    @property
    def troubled(self) -> bool:
        """Whether something of it is down or cut off."""
        now = self._clock.elapsed_ms
        if now < self.cluster.down_until_ms:
            return True
        for _, client in self._clients.values():
            if now < client.cut_until_ms:
                return True
        return not all(each.healthy for each in self.workers)

    def connect(self, engine: UsingEngine) -> SimElsewhere:
        """The place as an engine sees it that begins now."""
        client = SimElsewhere(self.cluster, engine.hear)
        self._clients[engine.name] = engine, client
        return client

    def disconnect(self, engine: UsingEngine) -> None:
        """The process of an engine is gone, and with it what it knew."""
        found = self._clients.pop(engine.name, None)
        watched = found[1].watched if found is not None else ()
        for each in watched:
            running = self.cluster.entries.get(each.key)
            if running is not None and not running.over:
                checks = each.key in {key for worker in self.workers for key in worker.checking()}
                self.cluster.met["engine gone while a check ran" if checks else "engine gone while it ran"] += 1

    def next_ms(self) -> int:
        """When anything of it wants to act."""
        at = [self._back_ms, self._strike_at(), self.cluster.next_ms()]
        at += [each.next_ms() for each in self.workers]
        at += [max(client.next_ms(), engine.suspended_until_ms) for engine, client in self._clients.values()]
        return min(at)

    def act(self) -> str:
        """Let one of those act that want to, or strike."""
        now = self._clock.elapsed_ms
        if now >= self._back_ms:
            self._back_ms = NEVER_MS
            for engine, _ in self._clients.values():
                engine.hear()
            return "answers again"
        if now >= self._strike_at():
            self._strike_ms = now + self._after()
            return f"trouble: {self._strike()}"
        if self._lurking is not None and self._is_prey_for(self._lurking):
            kind, self._lurking = self._lurking, None
            return f"trouble: {self._befall(kind)}"
        awake = [(name, part) for at, name, part in self._actors() if at <= now]
        if not awake:
            return "waits"
        name, part = self._rng.choice(awake)
        return f"{name}{part.act()}"

    def calm(self) -> None:
        """The liveness phase: nothing goes wrong from here on."""
        self._calm, self._lurking = True, None
        self.cluster.calm()

    def _actors(self) -> list[tuple[int, str, Acting]]:
        """When each of its parts wants to act, and how it is called in the log."""
        found: list[tuple[int, str, Acting]] = [(self.cluster.next_ms(), "", self.cluster)]
        found += [(each.next_ms(), f"{each.name} ", each) for each in self.workers]
        for engine, client in self._clients.values():
            found.append((max(client.next_ms(), engine.suspended_until_ms), f"{engine.name} ", client))
        return found

    def _strike_at(self) -> int:
        return NEVER_MS if self._calm else self._strike_ms

    def _after(self) -> int:
        return SECOND + round(self._rng.expovariate(1 / max(MINUTE, self._plan.trouble_gap_ms // 3)))

    def _strike(self) -> str:
        kind = self._rng.choice(_KINDS)
        if not self._is_prey_for(kind):
            self._lurking = kind
            return f"{kind.__name__.strip('_')} lurks"
        return self._befall(kind)

    def _befall(self, kind: Callable[[SecondPlace], str]) -> str:
        return f"{kind.__name__.strip('_')}{kind(self)}"

    def _is_prey_for(self, kind: Callable[[SecondPlace], str]) -> bool:
        """Whether it would meet something at work: most attempts are short, and it should not come between two."""
        if kind is SecondPlace._engine_killed_at_a_check:
            return any(each.checking() for each in self.workers)
        return any(each.errands for each in self.workers)

    def _length(self) -> int:
        hb_ms = self.cluster.heartbeat_ms
        return self._rng.randint(100, self._rng.choice((hb_ms // 2, hb_ms, 2 * hb_ms, 5 * MINUTE)))

    def _server_away(self) -> str:
        """The server is down: nobody reaches it, its timers stand still."""
        for_ms = self._length()
        self.cluster.met["place away"] += 1
        for each in self.workers:
            if each.up:
                each.silence()
        self.cluster.down_until_ms = max(self.cluster.down_until_ms, self._clock.elapsed_ms + for_ms)
        self._will_be_back(self.cluster.down_until_ms)
        return f" for {for_ms} ms"

    def _engine_cut(self) -> str:
        """One engine does not reach the cluster, the others do."""
        if not self._clients:
            return ""
        engine, client = self._rng.choice(list(self._clients.values()))
        for_ms = self._length()
        self.cluster.met["engine cut off"] += 1
        client.cut_until_ms = self._clock.elapsed_ms + for_ms
        self._will_be_back(client.cut_until_ms)
        return f" {engine.name} for {for_ms} ms"

    def _worker_cut(self) -> str:
        """One worker does not reach the cluster."""
        worker, for_ms = self._victim(), self._length()
        if worker.up:
            self.cluster.met["worker cut"] += 1
            worker.silence()
            worker.cut_until_ms = self._clock.elapsed_ms + for_ms
        return f" {worker.name} for {for_ms} ms"

    def _worker_suspended(self) -> str:
        """A worker stands still, perhaps past its heartbeat."""
        worker, for_ms = self._victim(), self._length()
        if worker.up:
            past = for_ms > self.cluster.heartbeat_ms and bool(worker.errands)
            self.cluster.met["worker stopped past its heartbeat" if past else "worker stopped for a while"] += 1
            worker.suspend(for_ms)
        return f" {worker.name} for {for_ms} ms"

    def _worker_killed(self) -> str:
        """A worker dies, and with it what it runs."""
        worker = self._victim()
        if worker.up:
            self.cluster.met["worker killed at work" if worker.errands else "worker killed"] += 1
            worker.kill()
        return f" {worker.name}"

    def _worker_told_to_stop(self) -> str:
        """A worker stops in order."""
        worker = self._victim()
        if worker.up:
            self.cluster.met["worker told to stop"] += 1
            worker.stop()
        return f" {worker.name}"

    def _engine_killed(self) -> str:
        """An engine dies that waits for something here, if there is one."""
        return self._kill_one([engine for engine, client in self._clients.values() if client.watched])

    def _engine_killed_at_a_check(self) -> str:
        """An engine dies while a check of its attempt runs here."""
        checked = {key for worker in self.workers for key in worker.checking()}
        watching = [(engine, {each.key for each in client.watched}) for engine, client in self._clients.values()]
        return self._kill_one([engine for engine, keys in watching if keys & checked])

    def _kill_one(self, waiting: list[UsingEngine]) -> str:
        if not waiting:
            return " none"
        engine = self._rng.choice(waiting)
        self.cluster.met["engine killed while it waited"] += 1
        engine.crash()
        return f" {engine.name}"

    def _victim(self) -> SimPlaceWorker:
        """A worker, rather one that is at work."""
        busy = [each for each in self.workers if each.errands]
        return self._rng.choice(busy or self.workers)

    def _will_be_back(self, at_ms: int) -> None:
        self._back_ms = at_ms + SECOND

    def _worker(self, number: int) -> SimPlaceWorker:
        """On a machine of its own, or on one that engines run on."""
        rng: Random = seeded(f"{self._plan.seed}/second place/{number}")
        shared = rng.random() < 0.3
        machine = rng.choice(self._machines.hosts) if shared else self._machines.add_host(f"far{number}")
        return SimPlaceWorker(f"worker{number}", machine, self.cluster, self._machines, self._work, rng)


_KINDS: Final[Sequence[Callable[[SecondPlace], str]]] = (
    SecondPlace._server_away,
    SecondPlace._engine_cut,
    SecondPlace._worker_cut,
    SecondPlace._worker_suspended,
    SecondPlace._worker_suspended,
    SecondPlace._worker_killed,
    SecondPlace._worker_told_to_stop,
    SecondPlace._engine_killed,
    SecondPlace._engine_killed_at_a_check,
)
