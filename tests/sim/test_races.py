"""Races that seeds found, played step by step: the same actors as in a world, but the test decides who acts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from medbay.service import additions, tasks
from medbay.service.additions import NewTask
from medbay.sim.daemon import SimDaemon
from medbay.sim.faults import Fault, Faults
from medbay.sim.ledger import Broken
from medbay.sim.plan import HOUR, MINUTE, SECOND, Plan
from medbay.sim.world import World
from medbay.store import tasks as task_rows


class ScriptedFaults(Faults):
    """Faults in an order that the test knows."""

    script: Iterator[Fault | None] = iter(())

    def draw(self) -> Fault | None:
        """The next one of the script, then none."""
        return next(self.script, None)


@pytest.fixture
def world() -> World:
    """Two engines on one host, nothing to do, nothing going wrong."""
    return World(Plan(seed=1, tasks=1, safety_ms=MINUTE, slots=2))


def add(world: World, failure: str) -> str:
    """A task that always ends like this; `hang` runs until somebody ends it."""
    new = NewTask(title=failure, command=("sim", "poison", failure))
    with world.person._store.write() as tx:
        task_id = additions.add(tx, new, ids=world.ground.ids, actor="test").id
    world.person.added[task_id] = ()
    return task_id


def go_on(world: World, daemon: SimDaemon, until: str) -> None:
    """Let one engine act until its step of this name; the others wait."""
    for _ in range(200):
        if daemon.next_ms() > world.clock.elapsed_ms:
            world._pass(daemon.next_ms() - world.clock.elapsed_ms)
        if daemon.act() == until:
            return
    raise AssertionError(f"{daemon.name} never came to {until}")


def numbers_running(world: World, task_id: str) -> list[int]:
    """Which attempts of a task have living processes."""
    return [process.number for process in world.machines.running(task_id)]


def test_a_worker_suspended_between_claim_and_launch_starts_nothing(world: World) -> None:
    """Another took the task over meanwhile; two trees would run."""
    first, second = world.daemons
    task_id = add(world, "hang")
    go_on(world, first, "claim")
    first.suspend(10 * MINUTE)
    world._pass(3 * MINUTE)
    go_on(world, second, "claim")
    go_on(world, second, "launch")
    assert numbers_running(world, task_id) == [2]

    first.suspended_until_ms = world.clock.elapsed_ms
    go_on(world, first, "launch")

    assert numbers_running(world, task_id) == [2]


def test_an_engine_without_lease_and_store_forgets_nothing(world: World) -> None:
    """Its attempt must not stay live without a process once the store is back."""
    daemon = world.daemons[0]
    task_id = add(world, "hang")
    go_on(world, daemon, "claim")
    go_on(world, daemon, "launch")
    daemon.faults.away_until_ms = world.clock.elapsed_ms + 2 * world.plan.lease_ms

    world.ground.troubled = True
    while world.clock.elapsed_ms < daemon.faults.away_until_ms + 3 * MINUTE:
        world._pass(SECOND)
        if daemon.next_ms() <= world.clock.elapsed_ms:
            daemon.act()

    with world.store.read() as tx:
        task = task_rows.get(tx, task_id)
    assert task is not None
    assert task.attempts > 1
    assert numbers_running(world, task_id) == [task.live]


def test_a_reaper_that_dies_at_once_leaves_no_process_to_the_next(world: World) -> None:
    """What a dead engine ran is ended before anybody may start it again."""
    first, second = world.daemons
    task_id = add(world, "hang")
    go_on(world, first, "claim")
    go_on(world, first, "launch")
    go_on(world, second, "launch")
    first.crash()
    first.faults = ScriptedFaults(first.faults.rng, 0, 0)
    first.faults.script = iter((None, "crash_after"))
    assert second.engine is not None
    second.engine.hold_reaping()
    assert first.act() == "killed"

    go_on(world, second, "claim")
    go_on(world, second, "launch")

    assert numbers_running(world, task_id) == [2]


def test_a_block_that_times_out_keeps_the_time_a_failure_named(world: World) -> None:
    """The checker itself refuses a start before that time; it comes in the end all the same."""
    daemon = world.daemons[0]
    task_id = add(world, "limit")
    while world.checker.known[task_id].task.status != "failed":
        go_on(world, daemon, "launch")
    named = world.checker.known[task_id].not_before

    with world.person._store.write() as tx:
        task = tasks.resolve(tx, task_id)
        tasks.block(tx, task, actor="test", kind="external", reason="wait", timeout_ms=SECOND)
    while world.checker.known[task_id].task.attempts < 2:
        go_on(world, daemon, "launch")

    assert world.clock.now_ms() >= named > 0


def test_a_failed_task_behind_a_cancelled_one_is_not_left_alone(world: World) -> None:
    """It waits for something that can never happen: a person has to be asked."""
    daemon = world.daemons[0]
    task_id = add(world, "code")
    while world.checker.known[task_id].task.status != "failed":
        go_on(world, daemon, "launch")
    other = add(world, "hang")
    with world.person._store.write() as tx:
        tasks.pause(tx, tasks.resolve(tx, other), actor="test")
        task = tasks.resolve(tx, task_id)
        tasks.edit(tx, task, actor="test", fields={}, reset_failures=False, after=(other,))

    with world.person._store.write() as tx:
        tasks.cancel(tx, tasks.resolve(tx, other), actor="test")

    assert world.checker.known[task_id].task.block_kind == "dependency"


def test_the_end_of_all_faults_wakes_no_loop_without_its_heart(world: World) -> None:
    """Who sleeps goes on sleeping; its heart wakes with it, and not minutes later."""
    daemon = world.daemons[0]
    go_on(world, daemon, "launch")
    daemon._fall_asleep(10 * MINUTE)

    daemon.calm()

    assert daemon.next_ms() >= daemon.suspended_until_ms > world.clock.elapsed_ms
    assert 0 <= daemon.next_beat_ms() - daemon.suspended_until_ms <= 10 * SECOND


def test_the_guardian_of_a_heart_that_stands_strikes_before_another_host_may() -> None:
    """The loop of the first goes on and is never asked; what it started is gone when the lease is."""
    world = World(Plan(seed=1, tasks=1, safety_ms=MINUTE, slots=2, hosts=2))
    first, second = world.daemons
    task_id = add(world, "hang")
    go_on(world, first, "claim")
    go_on(world, first, "launch")
    world.ground.troubled = True
    first.heart.stands_until_ms = world.clock.elapsed_ms + 10 * MINUTE
    world._pass(world.plan.lease_ms)

    assert numbers_running(world, task_id) == []
    world._pass(MINUTE)
    go_on(world, second, "claim")
    go_on(world, second, "launch")
    assert numbers_running(world, task_id) == [2]


@pytest.mark.parametrize(("patience_ms", "ends"), [(6 * HOUR, True), (2 * HOUR, False)])
def test_the_last_phase_waits_so_long_for_each_end_and_not_for_all_together(patience_ms: int, ends: bool) -> None:
    """Two hopeless tasks, one after the other, are given up after four hours and after nine."""
    world = World(Plan(seed=1, tasks=1, safety_ms=MINUTE, slots=1, engines=1, patience_ms=patience_ms))
    first, second = (add(world, "code") for _ in range(2))
    world.person.added[second] = (first,)
    with world.person._store.write() as tx:
        task = tasks.resolve(tx, second)
        tasks.edit(tx, task, actor="test", fields={}, reset_failures=False, after=(first,))

    with nullcontext() if ends else pytest.raises(Broken, match="everything ends"):
        world._liveness()

    assert (world.clock.elapsed_ms >= patience_ms, world.checker.known[second].task.finished) == (True, ends)
