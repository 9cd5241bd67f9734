"""What an engine claims beyond its slots for processes that take calls ahead, and what it remembers of their ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from medbay.core.model import Task
from medbay.core.outcome import Requeued, Succeeded
from medbay.engine.round import Engine
from medbay.places.protocol import Launch, Running
from medbay.store import attempts
from medbay.store.database import Store
from tests.worlds import ManualClock, ScriptedRunner, ScriptedRunning, World, failed

HERE = "/here"


@dataclass
class FeedingRunner(ScriptedRunner):
    """Runs as many calls as it has processes; what is started beyond them waits ahead."""

    room: int = 3
    waiting: list[Running] = field(default_factory=list)
    clean: list[Running] = field(default_factory=list)

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """Begun, or waiting until the test begins it."""
        running = super().start(launch, monotonic_s)
        if running.outcome is None and launch.ahead:
            self.waiting.append(running)
        return running

    def waits(self, running: Running) -> bool:
        """Until it is begun."""
        return running in self.waiting

    def count_waiting(self) -> int:
        """How many are not begun."""
        return len(self.waiting)

    def left_nothing(self, running: Running) -> bool:
        """As the test says."""
        return running in self.clean

    def begin_waiting(self, free: int, monotonic_s: float) -> None:
        """As a process that became free would."""
        for each in [each for each in self.running if self.waits(each) and each.outcome is None][:free]:
            self.waiting.remove(each)

    def room_ahead(self, free: int) -> Mapping[str, int]:
        """What is left of it."""
        return {HERE: self.room - sum(self.waits(each) and each.outcome is None for each in self.running)}


@pytest.fixture
def runner() -> FeedingRunner:
    """A runner with two processes and room for three ahead."""
    return FeedingRunner()


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines on it."""
    return World(store, clock)


def add(world: World, runner: FeedingRunner, *script: Any, **options: Any) -> Task:
    """A call that goes on until the test ends it, or as its script says; it comes after all before it."""
    world.clock.advance(1)
    task = world.add("call", run=None, python="m:f", args=[len(runner.scripts)], **{"cwd": HERE, **options})
    runner.scripts[str(task.command)] = list(script) or [None]
    return task


def live(engine: Engine) -> list[tuple[str, bool]]:
    """Which tasks are claimed, and whether each waits."""
    return [(task_id, engine._place.waits(each.running)) for (task_id, _), each in engine.live.items()]


def test_calls_are_claimed_ahead_of_the_slots_in_their_order(world: World, runner: FeedingRunner) -> None:
    """As many as there is room for."""
    tasks = [add(world, runner) for _ in range(8)]
    engine = world.engine(slots=2, runners={"python": runner})

    world.run(engine, ticks=3)

    assert live(engine) == [(task.id, n >= 2) for n, task in enumerate(tasks[:5])]


def test_nothing_overtakes_a_task_that_needs_a_slot(world: World, runner: FeedingRunner) -> None:
    """A command in between ends what is fed."""
    first = [add(world, runner) for _ in range(3)]
    world.clock.advance(1)
    world.add("command", None)
    add(world, runner)
    engine = world.engine(slots=2, runners={"python": runner})

    world.run(engine, ticks=3)

    assert live(engine) == [(first[0].id, False), (first[1].id, False), (first[2].id, True)]


def test_an_end_makes_room_for_the_next(world: World, runner: FeedingRunner) -> None:
    """What waited is begun by its process, and the engine claims one more."""
    tasks = [add(world, runner) for _ in range(7)]
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=2)

    runner.running[0].outcome = Succeeded()
    world.run(engine, ticks=1)

    assert [task_id for task_id, _ in live(engine)] == [task.id for task in tasks[1:6]]


def test_an_end_is_followed_by_the_next_before_it_is_stored(world: World, runner: FeedingRunner) -> None:
    """Between two rounds, and never with more than there are slots."""
    tasks = [add(world, runner) for _ in range(5)]
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=2)

    runner.running[1].outcome = Succeeded()
    more = engine.slots.turn_over()

    assert [waits for _, waits in live(engine)] == [False, False, False, True, True]
    assert (more, world.task(tasks[1].id).status) == (False, "in_progress")
    world.run(engine, ticks=1)
    assert world.task(tasks[1].id).status == "completed"


def test_much_that_waits_lets_ends_be_stored_together(world: World, runner: FeedingRunner) -> None:
    """As long as more waits than could begin at once."""
    for _ in range(7):
        add(world, runner)
    runner.room = 5
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=2)

    assert [engine.slots.turn_over() for _ in range(2)] == [True, True]
    for each in runner.running[:3]:
        each.outcome = Succeeded()
    assert not engine.slots.turn_over()


def test_as_much_as_waits_is_stored_while_that_is_done(world: World, runner: FeedingRunner) -> None:
    """The engine does not look on while the processes work on what they have."""
    for _ in range(12):
        add(world, runner)
    runner.room = 10
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=2)
    waiting = engine.slots.waiting

    for each in runner.running[:3]:
        each.outcome = Succeeded()
    few = engine.slots.turn_over()
    for each in runner.running[: waiting // 2 + 2]:
        each.outcome = Succeeded()
    many = engine.slots.turn_over()

    assert (waiting, few, many) == (10, True, False)
    assert engine.slots.waiting > engine.settings.slots


def test_nothing_that_waits_begins_without_the_lease(world: World, runner: FeedingRunner) -> None:
    """Another may run it by now."""
    for _ in range(3):
        add(world, runner)
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=2)
    runner.running[0].outcome = Succeeded()

    world.clock.suspend(engine.settings.lease_ms)
    engine.slots.turn_over()
    engine.slots.begin_waiting(1)

    assert runner.waits(runner.running[2])


def test_an_attempt_that_will_be_checked_keeps_its_slot(world: World, runner: FeedingRunner) -> None:
    """Its checks run there."""
    add(world, runner, check=["true"])
    for _ in range(2):
        add(world, runner)
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=2)
    runner.running[0].outcome = Succeeded()

    engine.slots.turn_over()
    between = runner.waits(runner.running[2])
    world.runner.scripts["true"] = [None]
    world.run(engine, ticks=1)

    assert (between, runner.waits(runner.running[2])) == (True, True)


def test_recovery_ahead_keeps_to_its_share_of_all_places(world: World, runner: FeedingRunner) -> None:
    """Half of two slots and three places ahead, rounded up."""
    sick = [add(world, runner, failed(), None) for _ in range(5)]
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=4, step_ms=100)
    assert all(world.task(task.id).status == "failed" for task in sick)
    world.clock.advance(5_000)
    for _ in range(5):
        add(world, runner)

    world.run(engine, ticks=2)

    assert sum(each.claim.task.recovery for each in engine.live.values()) == 3
    assert len(engine.live) == 5


def test_a_stopping_engine_hands_back_what_is_not_begun(world: World, runner: FeedingRunner) -> None:
    """And lets the others go on."""
    for _ in range(4):
        add(world, runner)
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=1)

    engine.hand_back_all("the worker is stopping", waiting_only=True)

    assert [isinstance(each.outcome, Requeued) for each in runner.running] == [False, False, True, True]


@pytest.mark.parametrize("clean", [True, False])
def test_what_left_nothing_is_not_looked_for_before_its_retry(world: World, runner: FeedingRunner, clean: bool) -> None:
    """Anything else is: a look at every process of the host."""
    task = add(world, runner, None, None)
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=1)
    (running,) = runner.running
    runner.clean, running.outcome = [running] if clean else [], failed()
    before = world.leftovers.asked

    world.run(engine, ticks=3, step_ms=5_000)

    assert world.task(task.id).attempts == 2
    assert world.leftovers.asked == before + (not clean)


def test_the_process_of_a_call_is_recorded_when_it_lasts(world: World, runner: FeedingRunner) -> None:
    """Not that of one that may be over in a moment."""
    task = add(world, runner)
    engine = world.engine(slots=2, runners={"python": runner})
    world.run(engine, ticks=1)
    process, runner.running[0].identity = runner.running[0].identity, None
    add(world, runner)
    world.run(engine, ticks=1)
    first = pid_of(world, task.id)

    runner.running[0].identity = process
    add(world, runner)
    world.run(engine, ticks=1)

    assert (first, pid_of(world, task.id)) == (None, 4242)


def pid_of(world: World, task_id: str) -> int | None:
    """The recorded process of the first attempt."""
    with world.store.read() as tx:
        found = attempts.get(tx, task_id, 1)
    assert found is not None
    return found.pid


class SuspendedRunner(FeedingRunner):
    """Is suspended for longer than a lease between two instructions, on its way to a process."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.clock = clock
        self.suspended_in = ""

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """The process comes when the machine is awake again."""
        self._suspend("start")
        return super().start(launch, monotonic_s)

    def begin_waiting(self, free: int, monotonic_s: float) -> None:
        """So does that of what waited ahead."""
        self._suspend("begin")
        super().begin_waiting(free, monotonic_s)

    def _suspend(self, where: str) -> None:
        if where == self.suspended_in:
            self.clock.advance(60_000)


@pytest.mark.parametrize("where", ["start", "begin"])
def test_what_began_although_the_lease_was_over_by_then_is_ended_at_once(
    world: World, clock: ManualClock, where: str
) -> None:
    """Suspended after it had asked for its lease and before it had a process: another machine may run it by now."""
    runner = SuspendedRunner(clock)
    for _ in range(4):
        add(world, runner)
    engine = world.engine(slots=1, runners={"python": runner})
    if where == "begin":
        world.run(engine, ticks=2)
        assert len(runner.waiting) == 3
        runner.running[0].outcome = Succeeded()

    runner.suspended_in = where
    if where == "begin":
        engine.slots.turn_over()
    else:
        engine.launch(engine.claim())

    begun = [each for each in runner.running if each not in runner.waiting]
    assert len(begun) >= 1
    assert all(each.killed for each in begun)
