"""The one judgement of `doctor`, the simulator and the fault harness, over a whole store."""

from __future__ import annotations

import pytest

from medbay.service import liveness
from medbay.store import workers
from medbay.store.database import Store
from tests.worlds import ManualClock, World


@pytest.mark.parametrize("how", ["lost", "crashed"])
def test_a_live_attempt_of_a_worker_that_was_given_up_stands_still(store: Store, clock: ManualClock, how: str) -> None:
    """Whoever gives a worker up has to end or take over all it ran; nobody looks at what was left."""
    world = World(store, clock)
    task = world.add("a", None)
    engine = world.engine()
    world.run(engine)
    with store.read() as tx:
        assert liveness.standstills(tx) == []

    with store.write() as tx:
        workers.end(tx, engine.worker, how=how)

    with store.read() as tx:
        assert liveness.standstills(tx) == [(task.id, "its live attempt belongs to a worker that is gone")]


def test_what_a_stopped_worker_left_is_taken_over_by_the_next(store: Store, clock: ManualClock) -> None:
    """Where the store was away at the stop, the next engine gives the attempt back."""
    world = World(store, clock)
    task = world.add("a", None)
    engine = world.engine()
    world.run(engine)
    with store.write() as tx:
        workers.end(tx, engine.worker, how="stopped")

    with store.read() as tx:
        assert liveness.standstills(tx) == []
    world.run(world.engine(), ticks=3)

    assert world.task(task.id).status == "completed"


def test_the_history_of_a_task_is_replayed_from_its_first_row(store: Store, clock: ManualClock) -> None:
    """A row that is missing in the middle is found, not only a wrong end."""
    world = World(store, clock)
    task = world.add("a")
    world.run(world.engine(), ticks=2)
    done = world.task(task.id)
    with store.read() as tx:
        assert liveness.replayed(tx, done) is None

    with store.write() as tx:
        tx.execute("DELETE FROM history WHERE task_id = ? AND source = 'pending'", (task.id,))

    with store.read() as tx:
        assert liveness.replayed(tx, done) == "in_progress follows pending"
        assert liveness.contradictions(tx) == []
