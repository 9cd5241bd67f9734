"""One seed, one world: a scheduler that lets one actor act at a time, first with faults, then without.

Safety phase: anything may go wrong, every promise holds. Liveness phase: nothing goes wrong any more, people answer,
and within bounded virtual time every task has ended.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from medbay.env import Clock, Ids, Random, seeded
from medbay.sim.checker import Checker
from medbay.sim.clock import VirtualClock
from medbay.sim.daemon import Ground, SimDaemon
from medbay.sim.deliveries import Courier, Hooks
from medbay.sim.faults import Faults
from medbay.sim.ledger import Broken
from medbay.sim.machines import Machines, SimulatedProcess
from medbay.sim.memory import remembered_diagnoses
from medbay.sim.person import Person
from medbay.sim.plan import HOUR, MINUTE, SECOND, Plan
from medbay.sim.scripts import Work
from medbay.sim.second_place import SecondPlace
from medbay.sim.trouble import Trouble
from medbay.store.database import Store, Tx
from medbay.store.remembering import MemoryStore

OpenStore = Callable[[Clock], Store]

LINES_KEPT: Final = 40
SPINS_FROM: Final = 4_000
SPINS_PER_TASK: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How one world went."""

    seed: int
    tasks: int
    attempts: int
    crashes: int
    steps: int
    virtual_ms: int
    digest: str
    statuses: dict[str, int]
    faults: dict[str, int] = field(default_factory=dict)  # of the second place, and how often each happened
    broken: str | None = None  # the promise and what is wrong
    last_lines: tuple[str, ...] = ()


class World:
    """Everything of one seed."""

    def __init__(self, plan: Plan, open_store: OpenStore | None = None) -> None:
        """A store in memory, unless another is given."""
        self.plan = plan
        self.clock = VirtualClock()
        self.steps = 0
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._digest = hashlib.blake2b(digest_size=8)
        self._rng = self._stream("schedule")
        self.store = (open_store or _in_memory)(self.clock)
        self.checker = Checker(self.store, self.clock, slots=plan.slots, queue_slots=plan.queue_slots)
        self.machines = Machines(plan.hosts, self.clock, self._process_started)
        self.ground = Ground(
            plan=plan,
            clock=self.clock,
            store=self.store,
            ids=Ids(self._stream("ids")),
            machines=self.machines,
            work=Work(plan),
            committed=self._committed,
            between=self._between,
            undone=self.checker.undone,
            log=self._log,
        )
        hosts = self.machines.hosts
        self.daemons = [
            SimDaemon(f"engine{n}", hosts[n % len(hosts)], self.ground, self._stream(f"engine{n}"))
            for n in range(plan.engines)
        ]
        self.elsewhere = self.ground.elsewhere = self.checker.elsewhere = self._second_place()
        self.hooks = Hooks(self.store, self.clock, self._stream("hooks"))
        self.couriers = self._couriers() if plan.channels else []
        self.person = Person(self.ground, self._stream("person"))
        self.trouble = Trouble(self.ground, self.daemons, self._stream("trouble"))
        self._actors: tuple[SimDaemon | Courier | SecondPlace, ...] = (*self.daemons, *self.couriers)
        self._actors += (self.elsewhere,) if self.elsewhere is not None else ()
        self._person_ms = 0
        self._trouble_ms = self._after(plan.trouble_gap_ms)
        self._settled = False  # whether nothing was committed since the open tasks were counted
        self._open = True
        self._ended = 0  # how many tasks had ended then
        self._minute = self._minute_began_at = 0
        self._sweep_at = plan.sweep_every

    def run(self) -> Report:
        """Both phases; what happened, and which promise broke if one did."""
        broken = None
        try:
            with _quiet(), remembered_diagnoses():
                self._safety()
                self._liveness()
        except Broken as error:
            broken = str(error)
        except Exception as error:
            broken = f"the engine raised {type(error).__name__}: {error}"
            logging.getLogger("medbay.sim").exception("seed %d", self.plan.seed)
        finally:
            self.store.close()
        return self._report(broken)

    def _safety(self) -> None:
        """Faults, and a person who does anything."""
        plan = self.plan
        early = max(1, plan.tasks // 2)
        for _ in range(early):
            self.person.add()
        gap_ms = plan.safety_ms // (plan.tasks - early + 1)
        next_add_ms = gap_ms
        while self.clock.elapsed_ms < plan.safety_ms:
            now = self.clock.elapsed_ms
            if now >= next_add_ms:
                self.person.add()
                next_add_ms += gap_ms
            if now >= self._person_ms:
                self._log(f"person {self.person.act_at_random()}")
                self._person_ms = now + self._after(plan.person_gap_ms)
            if now >= self._trouble_ms:
                self._log(f"trouble: {self.trouble.strike()}")
                self._trouble_ms = now + self._after(plan.trouble_gap_ms)
            self._turn(min(self._person_ms, self._trouble_ms, next_add_ms, plan.safety_ms))

    def _liveness(self) -> None:
        """No faults, and a person who answers: everything must end, and something within every so many days.

        Not all within those: hopeless parts that a triage made run one after another, each until a person gives up.
        """
        self._log("faults stop")
        self.ground.work.healed = self.hooks.healed = True
        for daemon in self.daemons:
            daemon.calm()
        for courier in self.couriers:
            courier.faults.stop()
        if self.elsewhere is not None:
            self.elsewhere.calm()
        until_ms, ended = self.clock.elapsed_ms + self.plan.patience_ms, 0
        desk_ms = self.clock.elapsed_ms
        while not (self._all_ended() and self._all_delivered()):
            now = self.clock.elapsed_ms
            if self._ended > ended:
                until_ms, ended = now + self.plan.patience_ms, self._ended
            if now >= until_ms:
                if not self._unfinished():
                    raise Broken("deliveries: at least once", f"missing: {self.hooks.missing()}")
                raise Broken("everything ends", f"still open: {', '.join(self._unfinished()[:5])}")
            if now >= desk_ms:
                self._log(f"person {self.person.clear_the_desk()}")
                desk_ms = now + HOUR
            self._turn(desk_ms)
        self.checker.sweep(self.person.added)

    def _turn(self, until_ms: int) -> None:
        """Let one actor take one step, or time pass until one wants to."""
        away = self.elsewhere is not None and self.elsewhere.troubled
        self.ground.troubled = away or not all(each.healthy for each in self.daemons)
        now = self.clock.elapsed_ms
        awake, next_ms = [], until_ms
        for actor in self._actors:
            at_ms = actor.next_ms()
            if at_ms <= now:
                awake.append(actor)
            elif at_ms < next_ms:
                next_ms = at_ms
        if awake:
            actor = self._rng.choice(awake)
            self._log(f"{actor.name} {actor.act()}")
            self._pass(self._rng.choice((0, 1, 1, 2, 5, 20)))
        else:
            self._pass(max(1, next_ms - now))
        self.steps += 1
        if self.steps >= self._sweep_at:
            self._sweep_at = self.steps + self.plan.sweep_every
            self.checker.sweep(self.person.added)
        self._refuse_to_spin()

    def _refuse_to_spin(self) -> None:
        """However much goes on, a minute has a limited number of steps."""
        minute = self.clock.elapsed_ms // MINUTE
        if minute != self._minute:
            self._minute, self._minute_began_at = minute, self.steps
        if self.steps - self._minute_began_at > SPINS_FROM + SPINS_PER_TASK * self.plan.tasks:
            raise Broken("bounded work", f"{self.steps - self._minute_began_at} steps within a minute")

    def _pass(self, by_ms: int) -> None:
        """Let time pass; heartbeats that fall into it happen, however busy or asleep the loops are."""
        clock = self.clock
        target = clock.elapsed_ms + by_ms
        while (beat_ms := min([each.next_beat_ms() for each in self.daemons])) <= target:
            if not self.ground.troubled:
                if by_ms > SECOND:
                    self._leap(target)
                clock.advance(target - clock.elapsed_ms)
                self._beat()
                return
            clock.advance(max(0, beat_ms - clock.elapsed_ms))
            self._beat()
        clock.advance(target - clock.elapsed_ms)

    def _leap(self, target: int) -> None:
        """Pass a stretch in which nothing goes wrong: of each engine's heartbeats only the last is made."""
        last = sorted((each.last_beat_ms(target), at) for at, each in enumerate(self.daemons))
        for beat_ms, at in last:
            if beat_ms <= target:
                self.clock.advance(max(0, beat_ms - self.clock.elapsed_ms))
                self.daemons[at].catch_up()

    def _beat(self) -> None:
        due = [each for each in self.daemons if each.next_beat_ms() <= self.clock.elapsed_ms]
        self._rng.shuffle(due)
        for daemon in due:
            daemon.beat()

    def _committed(self, actor: str) -> None:
        self.checker.committed(actor, self.person.added)
        if self.checker.fresh_events:
            self.hooks.hear(self.checker.fresh_events)
            self.ground.work_left = bool(self.checker.waiting)
            self.ground.commits += 1
            self.ground.last_commit_ms = self.clock.elapsed_ms
            self._settled = False
            for event in self.checker.fresh_events:
                about = " ".join(str(each) for each in (event.task_id, event.attempt) if each is not None)
                self._log(f"  {event.name} {about}")

    def _between(self, actor: str, tx: Tx) -> None:
        self.checker.between(tx, actor, self.person.added)

    def _process_started(self, process: SimulatedProcess) -> None:
        self._log(f"  starts {process.task_id} {process.number} ({process.fate.kind}, {process.fate.after_ms} ms)")
        self.checker.process_started(process, self.machines)

    def _all_ended(self) -> bool:
        if not self._settled:
            self._settled = True
            unfinished = self._unfinished()
            self._open, self._ended = bool(unfinished), len(self._everything()) - len(unfinished)
        return not self._open

    def _all_delivered(self) -> bool:
        return not self.couriers or self.hooks.all_arrived

    def _unfinished(self) -> list[str]:
        known = self.checker.known
        return [task_id for task_id in self._everything() if not known[task_id].task.finished]

    def _everything(self) -> tuple[str, ...]:
        return (*self.person.added, *self.checker.splits.all_parts())

    def _after(self, mean_ms: int) -> int:
        return SECOND + round(self._rng.expovariate(1 / max(MINUTE, mean_ms)))

    def _couriers(self) -> list[Courier]:
        named = [(each, self._stream(f"{each.name}/outbox")) for each in self.daemons]
        return [Courier(daemon, self.ground, self.hooks, rng) for daemon, rng in named]

    def _second_place(self) -> SecondPlace | None:
        if not self.plan.places:
            return None
        return SecondPlace(self.plan, self.clock, self.machines, self.ground.work, self._log)

    def _faults(self) -> list[Faults]:
        return [*(each.faults for each in self.daemons), *(each.faults for each in self.couriers)]

    def _stream(self, name: str) -> Random:
        return seeded(f"{self.plan.seed}/{name}")

    def _log(self, line: str) -> None:
        told = f"{self.clock.elapsed_ms / 1000:12.3f} {line}"
        self._digest.update(told.encode())
        self._lines.append(told)

    def _report(self, broken: str | None) -> Report:
        known = self.checker.known
        promised = [known[task_id].task for task_id in self._everything() if task_id in known]
        return Report(
            seed=self.plan.seed,
            tasks=len(self.person.added),
            attempts=self.checker.attempts_run,
            crashes=sum(each.crashes for each in self._faults()) + self.trouble.kills,
            steps=self.steps,
            virtual_ms=self.clock.elapsed_ms,
            digest=self._digest.hexdigest(),
            statuses=dict(sorted(Counter(each.status for each in promised).items())),
            faults=dict(sorted(self.elsewhere.cluster.met.items())) if self.elsewhere is not None else {},
            broken=broken,
            last_lines=tuple(self._lines) if broken else (),
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """The engine's warnings are what the simulation is about; they are not worth printing here."""
    log = logging.getLogger("medbay.engine")
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before


def _in_memory(clock: Clock) -> Store:
    return MemoryStore(clock)
