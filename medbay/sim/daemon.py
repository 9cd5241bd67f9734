"""An engine's life in the simulation: started, ticking step by step, suspended, stopped in order, or killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from medbay.core.agent import profile_of
from medbay.core.model import DEFAULT_QUEUE
from medbay.core.triage.case import Means
from medbay.engine.lease import KILL_AT, Lease
from medbay.engine.live import Process as Footprint
from medbay.engine.round import Engine
from medbay.engine.settings import Settings
from medbay.env import Ids, Random
from medbay.errors import StoreError
from medbay.places.here import Here
from medbay.places.protocol import Place
from medbay.places.routing import Places
from medbay.service import waking
from medbay.service.attempts import Capacity, Claim
from medbay.sim.clock import VirtualClock
from medbay.sim.faults import Faults, FaultyStore, SimulatedCrash
from medbay.sim.machines import Machines, SimLeftovers, SimulatedMachine, SimulatedProcess, write_nothing
from medbay.sim.plan import MINUTE, SECOND, Plan
from medbay.sim.runner import SimRunner
from medbay.sim.scripts import AGENT, ELSEWHERE, NEVER_MS, Work
from medbay.sim.second_place import SecondPlace
from medbay.store.database import Store, Tx


@dataclass(slots=True)
class Heart:
    """While it stands still the loop goes on, the lease is not renewed, and only the guardian guards it."""

    lease_ms: int
    stands_until_ms: int = 0
    struck_ms: int = 0

    def strike_ms(self, lease: Lease) -> int:
        """When the guardian of a heart that stands strikes next: from five sixths of the lease on, again and again."""
        silent_ms = round(lease.renewed_s * 1000 + self.lease_ms * KILL_AT)
        return max(silent_ms, self.struck_ms + SECOND)


AWAY_MS: Final = 500
NOTICED_AFTER_MS: Final = 50  # how soon another's commit is noticed
ROOT: Final = Path("/simulated/.medbay")
AGENTS: Final = Means(fix_agent=profile_of(AGENT), profiles=(profile_of(AGENT),))


@dataclass(slots=True)
class Ground:
    """What every actor of one world stands on."""

    plan: Plan
    clock: VirtualClock
    store: Store
    ids: Ids
    machines: Machines
    work: Work
    committed: Callable[[str], None]
    between: Callable[[str, Tx], None]
    undone: Callable[[], None]
    log: Callable[[str], None]
    elsewhere: SecondPlace | None = None
    commits: int = 0  # heartbeats not counted
    last_commit_ms: int = 0
    work_left: bool = False  # whether the last commit left something for an engine to do
    troubled: bool = True  # something is down or cut off: look often


class WatchedEngine(Engine):
    """The engine, which lets the checkers look before it claims: in a turn something was stored and woken by then."""

    watch: Callable[[Tx], None]

    def _claim_in(self, tx: Tx, capacity: Capacity) -> tuple[list[Claim], list[Footprint]]:
        self.watch(tx)
        return super()._claim_in(tx, capacity)


class SimDaemon:
    """One place where an engine runs, dies and is started again."""

    def __init__(self, name: str, machine: SimulatedMachine, ground: Ground, rng: Random) -> None:
        self.name = name
        self.machine = machine
        self.engine: Engine | None = None
        self.faults = Faults(rng, ground.plan.crash_share, ground.plan.refusal_share)
        self.faults.unheard_share = 0.5 if ground.plan.places else 0.0  # the older worlds stay what they were
        self.suspended_until_ms = 0
        self.beats_lost_until_ms = 0
        self.heart = Heart(ground.plan.lease_ms)
        self._ground = ground
        self._rng = rng
        self._pid = 0
        self._steps: Iterator[tuple[str, int]] | None = None
        self._next_ms = rng.randint(0, 5 * SECOND)
        self._beat_ms = 0
        self._renewed_ms = 0
        self._seen_commits = 0
        self._away = False
        self._stopping = False
        self._stored = True
        self._look_ms = 0
        self._asleep_in_commit = False
        self._doze_ms = 0
        self._ambush: tuple[str, Callable[[], object]] | None = None
        # On PostgreSQL events are numbered when a transaction ends: no reader sees them before.
        self._turns = ground.plan.turns and ground.store.kind == "sqlite"
        self._killers: list[SimulatedProcess] = []  # what it started that will kill it

    @property
    def healthy(self) -> bool:
        """Up, running, in touch with the store, and under a lease."""
        engine = self.engine
        if engine is None or self._away:
            return False
        now = self._ground.clock.elapsed_ms
        silent = now < self.beats_lost_until_ms or now < self.heart.stands_until_ms
        if silent or now < self.suspended_until_ms or now < self.faults.away_until_ms:
            return False
        return engine.lease.state() == "held"

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop, and ends in order."""
        return self._stopping

    def next_ms(self) -> int:
        """When it wants to take its next step."""
        at, ground = self._next_ms, self._ground
        noticed = ground.work_left and ground.commits > self._seen_commits
        if noticed and self.engine is not None and self._steps is None:
            at = min(at, ground.last_commit_ms + NOTICED_AFTER_MS)
        return at if at > self.suspended_until_ms else self.suspended_until_ms

    def next_beat_ms(self) -> int:
        """When its heartbeat is due, or its guardian strikes; never while it is down."""
        if self.engine is None:
            return NEVER_MS
        heart, now = self.heart, self._ground.clock.elapsed_ms
        beat_ms = max(self._beat_ms, self.suspended_until_ms, heart.stands_until_ms)
        if now >= heart.stands_until_ms:
            return beat_ms
        return min(beat_ms, heart.strike_ms(self.engine.lease))

    def act(self) -> str:
        """Take one step; what it was."""
        try:
            if self.engine is None:
                return self._start()
            self._die_if_its_work_kills_it(self.engine)
            name = self._step(self.engine)
            if self._ambush is not None and name in (self._ambush[0], "turn") and self.engine is not None:
                deed = self._ambush[1]
                self._ambush = None
                deed()
            return name
        except SimulatedCrash:
            self.crash()
            return "killed"

    def beat(self) -> None:
        """Renew the lease and guard it, as its thread does."""
        engine = self.engine
        assert engine is not None
        now = self._ground.clock.elapsed_ms
        if now < self.heart.stands_until_ms:
            self._strike()
            return
        try:
            if now >= self.beats_lost_until_ms and engine.lease.beat(engine.store):
                self._renewed_ms = now
            engine.lease.guard(lambda: [each.running for each in list(engine.live.values())])
        except SimulatedCrash:
            self.crash()
            return
        held = engine.lease.state() == "held"
        self._beat_ms = now + (round(engine.lease.interval_s * 1000) if held else SECOND)
        if not held:  # the loop, too, looks once a second
            self._next_ms = min(self._next_ms, now + SECOND)

    def last_beat_ms(self, until_ms: int) -> int:
        """When the last heartbeat of a quiet stretch is due, or would be after its end."""
        first_ms = self.next_beat_ms()
        if self.engine is None or first_ms > until_ms:
            return first_ms
        every_ms = round(self.engine.lease.interval_s * 1000)
        return until_ms - (until_ms - first_ms) % every_ms

    def catch_up(self) -> None:
        """The last heartbeat of a quiet stretch; all before it went well, and each was in time for the next."""
        engine = self.engine
        assert engine is not None
        before_s = self._ground.clock.boottime_s() - engine.lease.interval_s
        engine.lease.renewed_s = max(engine.lease.renewed_s, before_s)
        self.faults.spared = True
        self.beat()
        self.faults.spared = False

    def crash(self) -> None:
        """Killed with SIGKILL: the engine object is gone, its processes are not."""
        self._ground.log(f"{self.name} is killed")
        self._guard_trees(within_ms=SECOND)
        self._let_go()
        self.engine, self._steps = None, None
        self._asleep_in_commit = False
        longest = self._rng.choice((SECOND, 30 * SECOND, 5 * MINUTE))
        self._next_ms = self._ground.clock.elapsed_ms + self._rng.randint(10, longest)
        self.suspended_until_ms = 0

    def suspend(self, for_ms: int) -> None:
        """SIGSTOP: neither loop nor heartbeat run for a while. At once, or when it is about to store what ended."""
        if self._rng.random() < 0.5:
            self._doze_ms = for_ms
        else:
            self._fall_asleep(for_ms)

    def _fall_asleep(self, for_ms: int) -> None:
        self.suspended_until_ms = self._ground.clock.elapsed_ms + for_ms
        self._beat_ms = self.suspended_until_ms + self._rng.randint(0, 10 * SECOND)
        silent_ms = self._renewed_ms + round(self._ground.plan.lease_ms * KILL_AT)
        if silent_ms <= self.suspended_until_ms:
            self._guard_trees(within_ms=max(1, silent_ms - self._ground.clock.elapsed_ms))

    def _strike(self) -> None:
        self.heart.struck_ms = self._ground.clock.elapsed_ms
        self._guard_trees(within_ms=1)
        self._next_ms = min(self._next_ms, self.heart.struck_ms + SECOND)  # the loop hears that something ended

    def stop(self) -> None:
        """SIGTERM: the round is finished, then everything is handed back in order."""
        if self.engine is not None:
            self._stopping = True
            self._next_ms = self._ground.clock.elapsed_ms

    def hear(self) -> None:
        """Something it waits for has happened elsewhere."""
        self._next_ms = min(self._next_ms, self._ground.clock.elapsed_ms)

    def ambush(self, step: str, deed: Callable[[], object]) -> None:
        """Let something happen right after its next step of this name."""
        self._ambush = (step, deed)

    def calm(self) -> None:
        """The liveness phase: no more faults. Who sleeps wakes when it was to, as its heart and its guardian expect."""
        self.faults.stop()
        self.beats_lost_until_ms = self.heart.stands_until_ms = self._doze_ms = 0
        self._ambush = None

    def _start(self) -> str:
        ground = self._ground
        self._pid = ground.machines.new_pid()
        self.heart.stands_until_ms = 0
        self.machine.engines.add(self._pid)
        store = FaultyStore(
            ground.store,
            self.name,
            ground.clock,
            faults=self.faults,
            committed=ground.committed,
            undone=ground.undone,
        )
        grace_ms = ground.plan.grace_ms
        runner = SimRunner(ground.machines, self.machine, self._pid, ground.work, ground.clock, grace_ms=grace_ms)
        self._killers = runner.killers
        try:
            engine = WatchedEngine(
                store=store,
                clock=ground.clock,
                ids=ground.ids,
                place=self._place(runner),
                see=self.machine.see,
                settings=self._settings(),
                host=self.machine.identity(self._pid),
            )
            engine.watch = partial(ground.between, self.name)
            self.engine = engine
            self._renewed_ms = ground.clock.elapsed_ms
            self._beat_ms = self._renewed_ms + round(engine.lease.interval_s * 1000)
            engine.start()
        except StoreError:  # the process ends with an error, and it is started again
            self.crash()
            return "start failed"
        self._away = self._stopping = False
        self._next_ms = ground.clock.elapsed_ms
        return "start"

    @property
    def _knows_elsewhere(self) -> bool:
        """Whether its settings name the second place: in some worlds those of one engine do not."""
        place = self._ground.elsewhere
        return place is not None and self.name not in place.unknown_to

    def _place(self, runner: SimRunner) -> Place:
        ground = self._ground
        here = Here(
            {"shell": runner, "triage": runner, "agent": runner},
            SimLeftovers(self.machine, ground.clock),
            measure=lambda: ground.work.short_of(self.machine.name, ground.clock.elapsed_ms),
            write=write_nothing,
        )
        if ground.elsewhere is None or not self._knows_elsewhere:
            return here
        return Places(here, {ELSEWHERE: ground.elsewhere.connect(self)})

    def _let_go(self) -> None:
        """Its process is gone."""
        self.machine.engines.discard(self._pid)
        if self._ground.elsewhere is not None:
            self._ground.elsewhere.disconnect(self)

    def _settings(self) -> Settings:
        plan = self._ground.plan
        means = AGENTS if plan.agents else Means()
        return Settings(
            root=ROOT,
            slots=plan.slots,
            lease_ms=plan.lease_ms,
            grace_ms=plan.grace_ms,
            means=means,
            queue_slots={DEFAULT_QUEUE: plan.queue_slots} if plan.queue_slots else {},
            load_aware=plan.loaded,
            place_slots=self._ground.elsewhere.slots if self._ground.elsewhere and self._knows_elsewhere else {},
        )

    def _collect_unstored(self, engine: Engine) -> bool:
        """Ask how attempts ended, and get no further; whether there was nothing to store."""
        before_ms = self.faults.away_until_ms
        self.faults.away_until_ms = max(before_ms, self._ground.clock.elapsed_ms + 1)
        stored = engine.collect()
        self.faults.away_until_ms = before_ms
        return stored

    def _step(self, engine: Engine) -> str:
        if self._asleep_in_commit:  # its lease was checked before it fell asleep: the store has to refuse it
            self._asleep_in_commit = False
            engine.settle()
            return "wakes in a commit"
        if self._steps is None:
            now = self._ground.clock.elapsed_ms
            if self._may_sleep_on(engine):
                self._next_ms = now + self._wait_ms(engine)
                return "sleeps on"
            self._seen_commits = self._ground.commits
            longest = 15 * SECOND if self._ground.troubled else 30 * MINUTE
            self._look_ms = now + self._rng.randint(longest // 3, longest)
            self._steps = self._drain(engine) if self._stopping else self._tick(engine)
        try:
            name, wait_ms = next(self._steps)
        except StoreError:
            self._away = True
            self._steps = None
            self._next_ms = self._ground.clock.elapsed_ms + AWAY_MS
            return "store away"
        self._next_ms = self._ground.clock.elapsed_ms + wait_ms
        return name

    def _may_sleep_on(self, engine: Engine) -> bool:
        """Whether a whole tick would find nothing: another engine was faster."""
        ground = self._ground
        if self._stopping or self._away or ground.troubled or ground.work_left:
            return False
        return self._wait_ms(engine) > 0

    def _tick(self, engine: Engine) -> Iterator[tuple[str, int]]:
        """`Engine.tick` step by step, with a breath after each for others to come between; in some worlds in one turn.

        A turn is one transaction. The checkers look before it claims, as if what it stored and woke were committed.
        """
        if self._doze_ms and not self._collect_unstored(engine):
            self._fall_asleep(self._doze_ms)
            self._doze_ms, self._asleep_in_commit, self._steps = 0, True, None
            yield "falls asleep in a commit", 0
            return
        if self._turns and not self._away:
            engine.recover_when_due()  # as in the round before, when nothing had ended: turns are for ordinary rounds
            yield "recover", 0
            engine.poll()
            if engine.turn():
                self._stored, self._steps = True, None
                yield "turn", max(1, self._wait_ms(engine))
                return
        self._stored = engine.collect()
        yield "collect", 0
        engine.recover_when_due()
        yield "recover", 0
        engine.release()
        yield "release", 0
        engine.stop_cancelled()
        yield "stop cancelled", 0
        if engine.triager.start():
            yield "triage", 0
        claims = engine.claim()
        if claims:
            yield "claim", 0
            engine.launch(claims)
        if self._away:
            self._away = False
            engine.hold_reaping()
        self._steps = None
        yield "launch", max(1, self._wait_ms(engine))

    def _drain(self, engine: Engine) -> Iterator[tuple[str, int]]:
        """The end in order, as the real daemon does it."""
        engine.claiming = False
        clock, grace_ms = self._ground.clock, self._ground.plan.grace_ms
        begun_ms, asked = clock.elapsed_ms, False
        engine.leave_elsewhere()
        while engine.live or not engine.collect():
            spent_ms = clock.elapsed_ms - begun_ms
            if spent_ms >= grace_ms:
                engine.kill_all()
            elif not asked and spent_ms >= grace_ms / 2:
                engine.hand_back_all("the worker is stopping")
                asked = True
            stored = engine.collect()
            if not engine.live and not stored and (spent_ms >= grace_ms or engine.lease.state() == "gone"):
                break  # how the last attempts ended is left to the next engine
            yield "drain", 300
        try:
            engine.stop()
        except StoreError as error:  # then the process ends without a word, like one that was killed
            raise SimulatedCrash from error
        self._let_go()
        self.engine, self._steps = None, None
        yield "stopped", self._rng.randint(SECOND, 3 * MINUTE)

    def _wait_ms(self, engine: Engine) -> int:
        """How long nothing will happen that this engine knows of."""
        now = self._ground.clock.elapsed_ms
        ends = [each.running.deadline_s() for each in engine.live.values()]
        wakes = [round(end * 1000) - now for end in ends if end is not None]
        with self._ground.store.read() as tx:
            at = waking.next_at(tx)
        if at is not None:
            wakes.append(at - self._ground.clock.now_ms())
        return min([*wakes, self._look_ms - now, NEVER_MS if self._stored else AWAY_MS])

    def _die_if_its_work_kills_it(self, engine: Engine) -> None:
        """Asked of its runner, not of its machine: that forgets what ended when a neighbour starts something."""
        now = self._ground.clock.elapsed_ms
        for process in self._killers:
            held = (process.task_id, process.number) in engine.live
            if held and process.gone_ms is None and process.ends_ms <= now:
                self._ground.log(f"{self.name} is killed by {process.task_id}")
                self.faults.crashes += 1
                raise SimulatedCrash

    def _guard_trees(self, *, within_ms: int) -> None:
        """With several hosts each has a guardian: it ends what a dead engine left at once, a silent one in time."""
        if self._ground.plan.hosts == 1:
            return
        now = self._ground.clock.elapsed_ms
        for process in self.machine.living(now):
            if process.engine_pid == self._pid:
                process.end(now + self._rng.randint(1, within_ms))
