"""A night of a synthetic fleet under a policy of ours: the real engine, store and breakers on virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from medbay.core.holds.breaker import Limits
from medbay.core.policy.learning import WENT_WELL
from medbay.core.policy.policy import Policy
from medbay.core.policy.replay import Played
from medbay.core.triage.cycle import RUNNER
from medbay.engine.round import Engine
from medbay.engine.settings import Settings
from medbay.env import Ids, seeded
from medbay.places.here import Here
from medbay.service import additions, waking
from medbay.service.additions import NewTask
from medbay.sim.clock import VirtualClock
from medbay.sim.daemon import ROOT
from medbay.sim.fleets import NIGHT_MS, SLOTS, Fleet, Job
from medbay.sim.machines import Machines, SimLeftovers, write_nothing
from medbay.sim.memory import remembered_diagnoses
from medbay.sim.runner import SimRunner
from medbay.store import attempts, questions
from medbay.store import tasks as task_rows
from medbay.store.database import Store, Tx
from medbay.store.sqlite import SqliteStore

_LOOK_MS = 20  # after a round that may have left something to claim
_ATTEMPTS_MAX = 10_000


def play(fleet: Fleet, policy: Policy, limits: Limits) -> tuple[dict[str, Played], int]:
    """How each task went by the end of the night, and how many questions were asked in all; they are not answered."""
    with remembered_diagnoses(), _opened() as (store, clock):
        night = _Night(fleet, policy, limits, store, clock)
        night.run()
        with store.read() as tx:
            return {job.id: _played(tx, job, task_id) for task_id, job in night.added.items()}, questions.count(tx)


class _Night:
    def __init__(self, fleet: Fleet, policy: Policy, limits: Limits, store: Store, clock: VirtualClock) -> None:
        self.added: dict[str, Job] = {}
        self._clock = clock
        self._store = store
        self._ids = Ids(seeded("night"))
        self._coming = sorted(fleet.jobs.values(), key=lambda job: (job.arrives_ms, job.id))
        machines = Machines(1, clock, lambda _: None)
        (host,) = machines.hosts
        pid = machines.new_pid()
        host.engines.add(pid)
        runner = SimRunner(machines, host, pid, fleet, clock, grace_ms=1_000)
        self._engine = Engine(
            store=store,
            clock=clock,
            ids=self._ids,
            place=Here({"shell": runner, RUNNER: runner}, SimLeftovers(host, clock), write=write_nothing),
            see=host.see,
            settings=Settings(root=ROOT, slots=SLOTS, lease_ms=10 * NIGHT_MS, policy=policy, limits=limits),
            host=host.identity(pid),
        )

    def run(self) -> None:
        """From the first arrival to the end of the night, or until nothing happens any more."""
        self._engine.start()
        while self._clock.elapsed_ms < NIGHT_MS:
            self._arrive()
            self._engine.tick()
            wait_ms = self._wait_ms()
            if wait_ms is None:
                return
            self._clock.advance(max(_LOOK_MS, min(wait_ms, NIGHT_MS - self._clock.elapsed_ms)))

    def _arrive(self) -> None:
        now = self._clock.elapsed_ms
        come = [job for job in self._coming if job.arrives_ms <= now]
        if not come:
            return
        self._coming = self._coming[len(come) :]
        new = [NewTask(title=job.id, command=job.command, resources=job.resources) for job in come]
        with self._store.write() as tx:
            made = additions.add_many(tx, new, ids=self._ids, actor="person:sim")
        self.added.update((task.id, job) for task, job in zip(made, come, strict=True))

    def _wait_ms(self) -> int | None:
        """Until something ends, wakes or arrives; None when nothing ever will."""
        now = self._clock.elapsed_ms
        ends = [each.running.deadline_s() for each in self._engine.live.values()] + [self._engine.triager.again_s]
        wakes = [round(end * 1000) - now for end in ends if end is not None]
        wakes += [self._coming[0].arrives_ms - now] if self._coming else []
        with self._store.read() as tx:
            at = waking.next_at(tx)
        if at is not None:
            wakes.append(at - self._clock.now_ms())
        return min(wakes, default=None)


def _played(tx: Tx, job: Job, task_id: str) -> Played:
    """How one task went, from what the store recorded of it."""
    task = task_rows.get(tx, task_id)
    assert task is not None
    runs = attempts.of_task(tx, task_id, _ATTEMPTS_MAX)
    wasted = sum(each.outcome is not None and each.outcome not in WENT_WELL for each in runs)
    tokens = wasted * job.group.tokens
    if task.status == "completed":
        assert task.ended_at is not None
        return Played(end="healed", wasted=wasted, tokens=tokens, heal_ms=task.ended_at - task.created_at)
    asked = questions.open_of_task(tx, task_id)
    if asked is not None:
        return Played(end="blocked", wasted=wasted, tokens=tokens, person=asked.id)
    return Played(end="open", wasted=wasted, tokens=tokens)


@contextmanager
def _opened() -> Iterator[tuple[Store, VirtualClock]]:
    clock = VirtualClock()
    store = SqliteStore(":memory:", clock, new_store_id="simulated", machine_id="")
    try:
        yield store, clock
    finally:
        store.close()
