"""Attempts that outlive their engine, in a place that has such: recovery takes up what still runs, the rest is lost."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from medbay.core.outcome import Succeeded
from medbay.errors import SpawnFailed
from medbay.places.here import Here
from medbay.places.protocol import AttemptKey, Launch, Leftovers, Runner, Running
from medbay.store import attempts
from medbay.store.database import Store
from tests.worlds import ManualClock, ScriptedRunning, World


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
