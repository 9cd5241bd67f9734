"""A worker of the simulated cluster: the real order and the real errand, on a simulated machine that fails.

It ends what it runs when it cannot reach the cluster any more, as the real one does, and its guardian when it cannot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from medbay.core.outcome import Cancelled, Lost, Outcome
from medbay.core.redaction import Redaction
from medbay.engine.errand import Errand
from medbay.engine.lease import KILL_AT
from medbay.env import Random
from medbay.places.here import Here
from medbay.places.orders import AttemptReport, read_order, write_report
from medbay.places.protocol import AttemptKey
from medbay.places.temporal_worker import CUT_OFF_AT
from medbay.sim.cluster import BEAT_SHARE, ClusterEntry, SimCluster
from medbay.sim.machines import Machines, SimLeftovers, SimulatedMachine, SimulatedProcess, write_nothing
from medbay.sim.plan import MINUTE, SECOND
from medbay.sim.runner import SimRunner
from medbay.sim.scripts import NEVER_MS, Work

GUARD_AT: Final = KILL_AT  # of the longest silence: then its guardian ends what it runs
REACHED_SHARE: Final = 1 / 6  # how old its last answer from the cluster can be
GRACE_MS: Final = 10 * SECOND
AGAIN_MS: Final = 10 * SECOND  # how long it waits for an answer
_FOLDER: Final = Path("/simulated/worker")


@dataclass(slots=True)
class ToldResult:
    """How an attempt ended, to be told to the cluster."""

    report: bytes = b""
    outcome: Outcome | None = None
    again_ms: int = 0


class SimErrand(Errand):
    """The real errand, with what its worker remembers of it."""

    cancelled = False

    @property
    def checking(self) -> bool:
        """Whether its work is done and its checks run."""
        return self._work is not None


class SimPlaceWorker:
    """One worker: up or down, stopped or awake, in touch with the cluster or cut off."""

    def __init__(
        self, name: str, machine: SimulatedMachine, cluster: SimCluster, machines: Machines, work: Work, rng: Random
    ) -> None:
        self.name = name
        self.machine = machine
        self.errands: dict[AttemptKey, SimErrand] = {}
        self.cut_until_ms = 0
        self.suspended_until_ms = 0
        self.slots = rng.choice((1, 2, 4))
        self._cluster = cluster
        self._machines = machines
        self._work = work
        self._rng = rng
        self._lives = 0
        self._start_ms = 0
        self._reached_ms: int | None = None  # when it last reached the cluster; None: it is in touch
        self._stopping = False
        self._cancels: dict[AttemptKey, int] = {}  # when it hears that an attempt was cancelled
        self._outbox: dict[AttemptKey, ToldResult] = {}  # what the cluster has not answered to
        self._pid = 0
        self._boot = 0
        self._killers: list[SimulatedProcess] = []
        self._here: Here | None = None

    @property
    def identity(self) -> str:
        """Who it is to the cluster: after a restart another."""
        return f"{self.name}/{self._lives}"

    @property
    def up(self) -> bool:
        """Whether its process is there."""
        return self._here is not None

    @property
    def healthy(self) -> bool:
        """Up, awake and in touch."""
        now = self._cluster.clock.elapsed_ms
        in_touch = now >= self.cut_until_ms and now >= self._cluster.down_until_ms
        return in_touch and now >= self.suspended_until_ms and self._here is not None

    def next_ms(self) -> int:
        """When it wants to do something next."""
        if self._here is None:
            return self._start_ms
        back_ms = max(self.cut_until_ms, self._cluster.down_until_ms)
        if self._is_free:  # as in most steps of a world
            return max(back_ms if self._cluster.has_waiting else NEVER_MS, self.suspended_until_ms)
        at = [round(end * 1000) for each in self.errands.values() if (end := each.deadline_s()) is not None]
        at += self._cancels.values()
        if self._reached_ms is not None:
            at.append(back_ms)
            if self.errands:
                at.append(self._reached_ms + math.ceil(self._cluster.heartbeat_ms * CUT_OFF_AT))
        at += [max(back_ms, each.again_ms) for each in self._outbox.values()]
        if (self._has_room and self._cluster.has_waiting) or self._unheard_cancels():
            at.append(back_ms)
        if self._stopping and not (self.errands or self._outbox):
            at.append(0)
        return max(min(at, default=NEVER_MS), self.suspended_until_ms)

    def act(self) -> str:
        """Take one step; what it was."""
        now = self._cluster.clock.elapsed_ms
        if not self.up:
            return self._begin()
        if self.machine.boot != self._boot or self._is_killed_by_its_work(now):
            self.kill()
            return "dies"
        if self._is_cut_off(now):
            return self._give_up_all()
        if self._linked and self._reached_ms is not None:
            self._in_touch()
            return "is in touch again"
        if self._hear_cancels(now):
            return "hears of a cancel"
        for key, errand in self.errands.items():
            report = errand.poll(now / 1000)
            if report is not None:
                del self.errands[key]
                self._report(key, errand, report)
                return f"ended {key[0]} {key[1]}"
        for key, result in self._outbox.items() if self._linked else ():
            if result.again_ms <= now:
                return self._tell(key, result, now)
        if self._stopping and not (self.errands or self._outbox):
            self._leave(now)
            return "stopped"
        if self._linked and self._has_room and (entry := self._cluster.take(self.identity)) is not None:
            return self._run(entry, now)
        return "looks"

    def checking(self) -> list[AttemptKey]:
        """The attempts whose checks it runs now."""
        return [key for key, each in self.errands.items() if each.checking]

    def silence(self) -> None:
        """From now on the cluster does not hear of it; what was last heard is a moment old."""
        now, hb = self._cluster.clock.elapsed_ms, self._cluster.heartbeat_ms
        if self._reached_ms is None:
            self._reached_ms = now - self._rng.randint(0, round(hb * REACHED_SHARE))
        for entry in self._cluster.of_worker(self.identity):
            if entry.beat_ms is None:
                entry.beat_ms = max(entry.since_ms, now - self._rng.randint(0, round(hb * BEAT_SHARE)))

    def kill(self) -> None:
        """Killed with SIGKILL: its guardian ends its trees in a moment, those of a machine that restarts are gone."""
        now = self._cluster.clock.elapsed_ms
        self.silence()
        for process in self.machine.living(now):
            if process.engine_pid == self._pid:
                process.end(now + self._rng.randint(1, SECOND))
        self._leave(now)

    def suspend(self, for_ms: int) -> None:
        """SIGSTOP: it does nothing for a while, its trees go on until its guardian ends them."""
        now = self._cluster.clock.elapsed_ms
        self.silence()
        self.suspended_until_ms = now + for_ms
        assert self._reached_ms is not None
        struck_ms = max(now + 1, self._reached_ms + round(self._cluster.heartbeat_ms * GUARD_AT))
        if struck_ms <= self.suspended_until_ms:
            for process in self.machine.living(now):
                if process.engine_pid == self._pid:
                    process.end(struck_ms)

    def stop(self) -> None:
        """SIGTERM: what it runs is handed back, then it ends."""
        self._stopping = True
        for errand in self.errands.values():
            errand.hand_back(self._cluster.clock.monotonic_s(), why="its worker is stopping")

    @property
    def _is_free(self) -> bool:
        """Whether it has nothing to do but to take what waits."""
        busy = self.errands or self._outbox or self._cancels or self._stopping
        return not busy and self._reached_ms is None

    @property
    def _linked(self) -> bool:
        return self._cluster.answers and self._cluster.clock.elapsed_ms >= self.cut_until_ms

    @property
    def _has_room(self) -> bool:
        return len(self.errands) < self.slots and not self._stopping

    def _begin(self) -> str:
        self._pid = self._machines.new_pid()
        self._lives += 1
        self._boot = self.machine.boot
        clock = self._cluster.clock
        runner = SimRunner(
            self._machines, self.machine, self._pid, self._work, clock, grace_ms=GRACE_MS, elsewhere=True
        )
        self._killers = runner.killers
        kinds = {"shell": runner, "triage": runner, "agent": runner}
        self._here = Here(kinds, SimLeftovers(self.machine, clock), write=write_nothing)
        self._reached_ms, self._stopping = None, False
        if not self._linked:
            self._reached_ms = clock.elapsed_ms
        return "start"

    def _leave(self, now: int) -> None:
        self._here = None
        self.errands.clear()
        self._cancels.clear()
        self._outbox.clear()
        self.suspended_until_ms = 0
        self._start_ms = now + self._rng.randint(10, self._rng.choice((SECOND, 30 * SECOND, 5 * MINUTE)))

    def _in_touch(self) -> None:
        self._reached_ms = None
        for entry in self._cluster.of_worker(self.identity):
            entry.beat_ms = None if entry.key in self.errands else entry.beat_ms
        for key in self.errands:  # what the cluster has given up is ended here too
            if self._cluster.entries[key].over:
                self._cancels[key] = self._cluster.clock.elapsed_ms

    def _is_killed_by_its_work(self, now: int) -> bool:
        held = [each for each in self._killers if (each.task_id, each.number) in self.errands]
        if not any(each.gone_ms is None and each.ends_ms <= now for each in held):
            return False
        self._cluster.met["worker killed by its work"] += 1
        return True

    def _is_cut_off(self, now: int) -> bool:
        silent_ms = 0 if self._reached_ms is None else now - self._reached_ms
        return bool(self.errands) and silent_ms >= self._cluster.heartbeat_ms * CUT_OFF_AT

    def _give_up_all(self) -> str:
        """It was cut off for too long: how these end says nothing."""
        self._cluster.met["worker cut off"] += 1
        for key, errand in self.errands.items():
            errand.kill()
            self._outbox[key] = ToldResult(outcome=Lost(why="its worker was cut off from the cluster"))
        self.errands.clear()
        return "ends all it runs"

    def _hear_cancels(self, now: int) -> bool:
        every_ms = round(self._cluster.heartbeat_ms * BEAT_SHARE)
        for key in self._unheard_cancels() if self._linked else ():
            self._cancels[key] = now + self._rng.randint(1, every_ms)
        due = [key for key, at_ms in self._cancels.items() if at_ms <= now]
        for key in due:
            del self._cancels[key]
            if (errand := self.errands.get(key)) is not None and not errand.cancelled:
                errand.cancelled = True
                errand.cancel(now / 1000)
        return bool(due)

    def _unheard_cancels(self) -> list[AttemptKey]:
        """What was cancelled, runs here, and is not to be heard of yet."""
        return [
            key
            for key, errand in self.errands.items()
            if self._cluster.entries[key].cancel and not errand.cancelled and key not in self._cancels
        ]

    def _run(self, entry: ClusterEntry, now: int) -> str:
        assert self._here is not None
        self.errands[entry.key] = SimErrand(
            read_order(entry.order, folder=_FOLDER),
            self._here,
            host=self.machine.name,
            redaction=Redaction(),
            now_ms=self._cluster.clock.now_ms,
            monotonic_s=now / 1000,
        )
        return f"takes {entry.key[0]} {entry.key[1]}"

    def _report(self, key: AttemptKey, errand: SimErrand, report: AttemptReport) -> None:
        if errand.cancelled and isinstance(report.outcome, Cancelled):
            self._outbox[key] = ToldResult(outcome=Cancelled())
        else:
            self._outbox[key] = ToldResult(report=write_report(report))

    def _tell(self, key: AttemptKey, result: ToldResult, now: int) -> str:
        """Tell the cluster how one ended, until it answers; what is sent arrives, whatever becomes of its sender."""
        cluster = self._cluster
        entry = cluster.entries[key]
        entry.beat_ms = now if entry.beat_ms is None and not entry.over else entry.beat_ms  # it is silent from now on
        result.again_ms = now + AGAIN_MS
        if cluster.goes_wrong("result lost"):
            return f"its result is lost: {key[0]} {key[1]}"
        arrive = partial(cluster.end, key, self.identity, report=result.report, outcome=result.outcome)
        late = cluster.goes_wrong("result late")
        cluster.send(arrive, late=late)
        if cluster.goes_wrong("result twice"):
            cluster.send(arrive, late=True)
        if not late:
            del self._outbox[key]
        return f"tells of {key[0]} {key[1]}"
