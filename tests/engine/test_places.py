"""Attempts elsewhere: recovery takes up what still runs there, the rest is lost; a place has slots of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from medbay.core.attempt.checks import ROUNDS_MAX
from medbay.core.model import Task
from medbay.core.outcome import Lost, Outcome, Succeeded
from medbay.engine.round import Engine
from medbay.errors import SpawnFailed, StoreUnavailable
from medbay.places.here import Here
from medbay.places.protocol import AttemptKey, Launch, Leftovers, Runner, Running
from medbay.service import checks as checking
from medbay.service import tasks
from medbay.store import attempts, history
from medbay.store.database import Store
from tests.worlds import ManualClock, ScriptedRunning, World, deaf, failed

CLUSTER = "cluster"

pytestmark = pytest.mark.parametrize(
    "open_store", ["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.long])], indirect=True
)


class Elsewhere(Here):
    """A place whose attempts go on without their engine, unless a test says that they ended."""

    def __init__(self, runners: dict[str, Runner], leftovers: Leftovers) -> None:
        super().__init__(runners, leftovers)
        self.asked: list[Mapping[AttemptKey, str]] = []
        self.taken_up: list[ScriptedRunning] = []
        self.gone: set[AttemptKey] = set()  # asked in time
        self.vanishing = False  # gone between the question and the answer

    def still_running(self, attempts: Mapping[AttemptKey, str]) -> frozenset[AttemptKey]:
        """All but those that are gone."""
        self.asked.append(attempts)
        return frozenset(attempts) - self.gone

    def reattach(self, launch: Launch, monotonic_s: float) -> Running:
        """The same attempt, as another engine sees it."""
        if self.vanishing:
            raise SpawnFailed("it is not there any more")
        self.taken_up.append(ScriptedRunning(launch, None))
        return self.taken_up[-1]


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines on it."""
    return World(store, clock)


@pytest.fixture
def place(world: World) -> Elsewhere:
    """One for both engines, as a place elsewhere is."""
    return Elsewhere({"shell": world.runner}, world.leftovers)


def outcomes(world: World, task_id: str) -> list[str | None]:
    """How a task's attempts ended."""
    with world.store.read() as tx:
        return [each.outcome for each in attempts.of_task(tx, task_id, 100)]


def test_what_still_runs_elsewhere_is_taken_up_by_the_next_engine(world: World, place: Elsewhere) -> None:
    """The same attempt, under another worker: nothing is lost, no crash is counted, and it ends once."""
    task = world.add("a", None)
    first = world.engine(place=lambda *_: place)
    world.run(first)
    world.sightings[first.worker.pid] = "dead"

    second = world.engine(place=lambda *_: place)
    second.start()
    with world.store.read() as tx:
        taken = attempts.get(tx, task.id, 1)
    place.taken_up[0].outcome = Succeeded()
    world.run(second)

    done = world.task(task.id)
    assert {(task.id, 1): ""} in place.asked
    assert taken is not None
    assert taken.worker_id == second.worker.id
    assert (done.status, done.attempts, done.crashes) == ("completed", 1, 0)
    assert outcomes(world, task.id) == ["succeeded"]


@pytest.mark.parametrize("in_time", [True, False])
def test_what_is_gone_elsewhere_is_lost_like_any_other(world: World, place: Elsewhere, in_time: bool) -> None:
    """Whether the place knew when it was asked, or only when it was to be taken up."""
    task = world.add("a", None, Succeeded())
    first = world.engine(place=lambda *_: place)
    world.run(first)
    world.sightings[first.worker.pid] = "dead"
    place.gone = {(task.id, 1)} if in_time else set()
    place.vanishing = not in_time

    second = world.engine(place=lambda *_: place)
    second.start()
    world.run(second, ticks=3)

    assert world.task(task.id).status == "completed"
    assert outcomes(world, task.id) == ["lost", "succeeded"]


def engine_of(world: World, place: Elsewhere, *, slots_there: int = 4) -> Engine:
    """An engine that has this many slots at the cluster."""
    return world.engine(place=lambda *_: place, place_slots={CLUSTER: slots_there})


def next_engine(world: World, place: Elsewhere, dead: Engine) -> Engine:
    """The one that comes after a death, when it has begun."""
    world.sightings[dead.worker.pid] = "dead"
    after = engine_of(world, place)
    after.start()
    return after


def running_there(world: World, place: Elsewhere, *script: Outcome | None, **options: Any) -> tuple[Engine, Task]:
    """A task of the cluster whose attempt was begun, and its engine."""
    task = world.add("work", *(script or (None,)), place=CLUSTER, **options)
    engine = engine_of(world, place)
    world.run(engine)
    return engine, task


def started(world: World) -> list[str]:
    """What was started, in order."""
    return [str(each.command) for each in world.runner.started]


def _away(*_: object, **__: object) -> None:
    raise StoreUnavailable("away")


def test_what_ended_elsewhere_has_its_slot_until_its_checks_are_read(
    world: World, place: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As here: where they cannot be begun yet, nothing takes the slot meanwhile."""
    world.add("work", Succeeded(), place=CLUSTER, check=["lint"], priority=1)
    later = world.add("later", place=CLUSTER)
    engine = engine_of(world, place, slots_there=1)

    with monkeypatch.context() as patched:
        patched.setattr(checking, "begin", _away)
        world.run(engine, ticks=4)
    assert started(world) == ["work"]

    world.run(engine, ticks=3)
    assert started(world) == ["work", "lint", "later"]
    assert world.task(later.id).status == "completed"


@pytest.mark.parametrize("there", [CLUSTER, None])
def test_a_suspect_is_alone_until_its_checks_have_begun(
    world: World, place: Elsewhere, monkeypatch: pytest.MonkeyPatch, there: str | None
) -> None:
    """Whether that was recorded may be unknown: another whose engine or worker died before waits as long."""
    died = Lost(why="its worker fell silent", hard_crash=True)
    world.add("one", died, Succeeded(), place=there, check=["lint"], priority=1)
    world.add("two", died, None, place=there)
    engine = engine_of(world, place)
    world.run(engine, ticks=2)

    with monkeypatch.context() as patched:
        patched.setattr(checking, "begin", _away)
        world.run(engine, ticks=4)
    assert started(world) == ["one", "two", "one"]

    world.run(engine, ticks=3)
    assert started(world) == ["one", "two", "one", "lint", "two"]


@pytest.mark.parametrize("outcome", [failed(), Lost(why="its worker fell silent"), Succeeded()])
def test_who_comes_after_what_was_taken_up_and_cancelled_is_asked(
    world: World, place: Elsewhere, outcome: Outcome
) -> None:
    """However it ended: its cancel was requested before this engine had it, so every ending but a success is final."""
    first, task = running_there(world, place)
    follower = world.add("follower", after=[task.id])
    world.act(tasks.cancel, task.id)

    second = next_engine(world, place, first)
    place.taken_up[0].outcome = outcome
    second.tick()

    done = isinstance(outcome, Succeeded)
    assert world.task(task.id).status == ("completed" if done else "cancelled")
    assert world.task(follower.id).block_kind == (None if done else "dependency")


def test_what_runs_elsewhere_waits_for_an_engine_that_knows_the_place(world: World, place: Elsewhere) -> None:
    """Another gives up the dead engine and nothing more: it cannot say what became of it."""
    first, task = running_there(world, place)

    world.sightings[first.worker.pid] = "dead"
    stranger = world.engine()
    stranger.start()
    world.run(stranger, ticks=2)
    assert (world.task(task.id).live, outcomes(world, task.id)) == (1, [None])

    engine_of(world, place).start()
    place.taken_up[0].outcome = Succeeded()
    assert [each.launch.number for each in place.taken_up] == [1]
    assert world.task(task.id).attempts == 1


def test_the_death_of_an_engine_is_no_crash_of_what_it_had_elsewhere(world: World, place: Elsewhere) -> None:
    """The cluster never heard of it: lost, and under no suspicion."""
    first, task = running_there(world, place)
    place.gone = {(task.id, 1)}

    next_engine(world, place, first)

    assert outcomes(world, task.id) == ["lost"]
    assert world.task(task.id).crashes == 0


def test_checks_elsewhere_are_read_again_by_every_next_engine(world: World, place: Elsewhere) -> None:
    """More often than checks are begun here; the work is never taken up again, nor is a death a crash of it."""
    world.runner.scripts["lint"] = [None] * (ROUNDS_MAX + 2)
    engine, task = running_there(world, place, Succeeded(), check=["lint"])
    world.run(engine)

    for _ in range(ROUNDS_MAX + 1):
        engine = next_engine(world, place, engine)
        world.run(engine)
    world.runner.running[-1].outcome = Succeeded()
    world.run(engine)

    done = world.task(task.id)
    assert started(world) == ["work", *["lint"] * (ROUNDS_MAX + 2)]
    assert (place.taken_up, done.status, done.attempts, done.crashes) == ([], "completed", 1, 0)


def test_what_was_taken_up_by_a_commit_without_an_answer_goes_on(
    world: World, place: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is this engine's, and nobody else will see to it: not handed back, and not lost."""
    first, task = running_there(world, place)
    world.sightings[first.worker.pid] = "dead"
    second = engine_of(world, place)

    with deaf(world.store, monkeypatch), pytest.raises(StoreUnavailable):
        second.start()
    world.run(second)
    place.taken_up[0].outcome = Succeeded()
    world.run(second)

    assert outcomes(world, task.id) == ["succeeded"]


def test_the_end_of_work_that_was_stored_without_an_answer_is_stored_once(
    world: World, place: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checks are all that is left to come."""
    engine, task = running_there(world, place, check=["lint"])
    world.runner.running[0].outcome = Succeeded()
    with deaf(world.store, monkeypatch):
        engine.collect()
    assert world.task(task.id).status == "pending_verification"

    world.run(engine, ticks=3)

    with world.store.read() as tx:
        told = [each.name for each in history.events_since(tx, 0, limit=100, task_id=task.id)]
    assert told.count("task:verifying") == 1
    assert world.task(task.id).status == "completed"


class Away(Elsewhere):
    """The cluster does not answer."""

    def unreachable(self) -> Mapping[str, str]:
        """Why nothing can be started there."""
        return {CLUSTER: "no answer"}


@pytest.mark.parametrize("known", [True, False])
def test_what_a_place_that_is_away_would_run_holds_no_mutex_back(world: World, known: bool) -> None:
    """The most urgent of those that can be started runs, whether this engine misses the place or never had it."""
    first = world.add("there", place=CLUSTER, mutex="db", priority=1)
    world.add("also there", place=CLUSTER, mutex="other", priority=1)
    here = world.add("here", mutex="db")
    away = Away({"shell": world.runner}, world.leftovers)
    engine = engine_of(world, away) if known else world.engine()

    world.run(engine, ticks=3)

    assert started(world) == ["here"]
    assert (world.task(here.id).status, world.task(first.id).status) == ("completed", "pending")


def test_a_mutex_goes_to_the_most_urgent_of_the_places_with_room(world: World, place: Elsewhere) -> None:
    """What waits for a slot there does not keep it from here; where both have room the order is that of any mutex."""
    world.add("busy", None, place=CLUSTER, priority=0)
    engine = engine_of(world, place, slots_there=1)
    world.run(engine)
    world.add("there", None, place=CLUSTER, mutex="db", priority=1)
    world.add("here", mutex="db", priority=2)
    world.add("last", mutex="db", priority=3)

    world.run(engine)
    assert started(world) == ["busy", "here"]
    world.runner.running[0].outcome = Succeeded()
    world.run(engine, ticks=2)

    assert started(world) == ["busy", "here", "there"]
