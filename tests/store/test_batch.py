"""Many decisions in few statements: in order, checked, and written before anybody looks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from medbay.core import rules
from medbay.core.model import Task
from medbay.errors import StaleClaim
from medbay.service import tasks
from medbay.store import history
from medbay.store.apply import apply
from medbay.store.batch import Together, Values
from medbay.store.database import Store
from tests.worlds import ManualClock, World, failed


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines on it."""
    return World(store, clock)


def run(together: Together) -> list[tuple[str, int]]:
    """What is run: each statement with how many sets of values."""
    done: list[tuple[str, int]] = []

    def run_all(steps: Sequence[tuple[str, Sequence[Values]]]) -> list[int]:
        done.extend((sql, len(sets)) for sql, sets in steps)
        return [len(sets) for _, sets in steps]

    together.run(run_all)
    return done


def test_the_same_statement_of_several_decisions_runs_once() -> None:
    """Ten decisions that write three things each are three statements."""
    together = Together()
    for number in range(10):
        together.floor = 0
        for sql in ("update", "history", "event"):
            together.add(sql, (number,))

    assert run(together) == [("update", 10), ("history", 10), ("event", 10)]
    assert run(together) == []


def test_what_one_decision_writes_is_never_turned_round() -> None:
    """One closes its retry before it inserts the next, although another has inserted one already."""
    together = Together()
    together.add("insert", (1,))
    together.floor = 0
    together.add("close", (2,))
    together.add("insert", (2,))
    together.floor = 0
    together.add("insert", (3,))

    assert run(together) == [("insert", 1), ("close", 1), ("insert", 2)]


def test_one_that_moved_meanwhile_stops_all_of_them(world: World) -> None:
    """Nothing of a group is saved when one of them is not as it was read."""
    first, second = world.add("a"), world.add("b")
    world.act(tasks.pause, second.id)

    with pytest.raises(StaleClaim, match="changed while this was decided"):
        _claim_all(world, [first, second])

    assert [world.task(each.id).status for each in (first, second)] == ["pending", "pending"]


def test_whoever_reads_sees_what_was_put_before(world: World) -> None:
    """Inside the block, too: nothing is decided on a state that is not there any more."""
    task = world.add("a")

    with world.store.write() as tx, tx.together():
        apply(tx, rules.on_claimed(task, tx.now, worker_id="w-1"))
        (row,) = history.of_task(tx, task.id)

    assert row.target == "in_progress"


def test_events_of_a_group_keep_the_order_of_its_decisions(world: World) -> None:
    """Their numbers follow what was decided first."""
    added = [world.add(name) for name in "abc"]

    _claim_all(world, added)

    with world.store.read() as tx:
        told = [event.task_id for event in history.events_since(tx, 0, limit=50) if event.name == "task:started"]
    assert told == [each.id for each in added]


def test_a_result_counts_although_its_task_was_edited_meanwhile(world: World) -> None:
    """What the worker remembers is old then: all are read anew, and each is ended alone."""
    engine = world.engine(slots=2)
    edited, other = world.add("a", None, failed()), world.add("b", None)
    engine.tick()
    world.act(tasks.edit, edited.id, fields={"priority": 0}, reset_failures=False)
    for live in engine.live.values():
        live.running.outcome = failed()  # type: ignore[attr-defined]

    engine.collect()

    assert [world.task(each.id).status for each in (edited, other)] == ["failed", "failed"]
    assert world.task(edited.id).priority == 0


def test_two_that_end_together_free_what_comes_after_both(world: World) -> None:
    """Each takes one off what the other left, in the same transaction."""
    engine = world.engine(slots=2)
    first, second = world.add("a"), world.add("b")
    last = world.add("c", after=(first.id, second.id))

    engine.tick()
    engine.collect()

    assert (world.task(last.id).unmet, world.task(last.id).ready) == (0, True)


def _claim_all(world: World, wanted: list[Task]) -> None:
    with world.store.write() as tx, tx.together():
        for task in wanted:
            apply(tx, rules.on_claimed(task, tx.now, worker_id="w-1"))
