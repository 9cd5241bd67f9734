"""The one writer: guarded, complete, and refusing what the database must never hold."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core import rules
from medbay.core.decision import Decision, Draft
from medbay.core.model import Attempt, Event, Retry
from medbay.errors import StaleClaim
from medbay.service import tasks
from medbay.store import attempts, history, retries
from medbay.store import tasks as task_rows
from medbay.store.apply import apply
from medbay.store.database import Store, Violation
from tests.worlds import ManualClock, World


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines on it."""
    return World(store, clock)


def test_a_transition_writes_row_history_and_event_together(world: World) -> None:
    """What happened, who did it and why stand beside the new status."""
    task = world.add("a")

    with world.store.write() as tx:
        apply(tx, rules.on_claimed(task, tx.now, worker_id="w-1"))

    with world.store.read() as tx:
        (row,) = history.of_task(tx, task.id)
        names = [event.name for event in history.events_since(tx, 0, limit=10, task_id=task.id)]
    assert (row.source, row.target, row.actor) == ("pending", "in_progress", "worker:w-1")
    assert names == ["task:created", "task:started"]
    assert world.task(task.id).version == task.version + 1


def test_a_decision_about_a_task_that_moved_changes_nothing(world: World) -> None:
    """Compare and set: the second of two deciders is told."""
    task = world.add("a")
    world.act(tasks.pause, task.id)

    with pytest.raises(StaleClaim), world.store.write() as tx:
        apply(tx, rules.on_claimed(task, tx.now, worker_id="w-1"))

    assert world.task(task.id).status == "pending"
    with world.store.read() as tx:
        assert history.of_task(tx, task.id) == []


def test_the_database_refuses_a_second_live_attempt(world: World) -> None:
    """Whatever the code above does wrong, two live attempts of one task cannot be stored."""
    task = world.add("a")
    engine = world.engine()
    engine.claim()
    second = Attempt(task_id=task.id, number=2, worker_id=engine.worker.id, host="here")

    with pytest.raises(Violation), world.store.write() as tx:
        attempts.insert(tx, second)


def test_the_database_refuses_a_second_pending_retry(world: World) -> None:
    """At most one pending retry per task."""
    task = world.add("a")
    retry = Retry(task_id=task.id, attempt=1, category="unknown", action="x", scheduled_at=0, due_at=0, delay_ms=0)

    with pytest.raises(Violation), world.store.write() as tx:
        apply(tx, Decision(writes=(retry,)))
        apply(tx, Decision(writes=(replace(retry, attempt=2),)))

    with world.store.read() as tx:
        assert retries.of_task(tx, task.id) == []


def test_a_row_gives_the_task_that_was_stored(world: World) -> None:
    """Every field survives the way to the database and back."""
    task = world.add(
        "odd 'title' \x1b[31m \u202e",
        env={"A": "1"},
        tag=["x", "y"],
        priority=0,
        timeout="5m",
        provider="github/me",
        description="d",
        spec="s",
        key="k",
    )

    assert world.task(task.id) == task
    assert task.env == (("A", "1"),)
    assert task.resources == ("provider:github/me",)


def test_tags_follow_an_edit(world: World) -> None:
    """The tag index is rewritten with the task."""
    task = world.add("a", tag=["old"])

    world.act(tasks.edit, task.id, fields={"tags": ("new",)}, reset_failures=False)

    with world.store.read() as tx:
        assert task_rows.select(tx, task_rows.TaskFilter(tags=("old",))) == []
        assert [each.id for each in task_rows.select(tx, task_rows.TaskFilter(tags=("new",)))] == [task.id]


def test_an_event_that_does_not_exist_is_refused(world: World) -> None:
    """Names are a closed list."""
    with pytest.raises(AssertionError), world.store.write() as tx:
        apply(tx, Decision(events=(Event(name="task:danced"),)))


def test_a_draft_that_changes_nothing_writes_nothing(world: World) -> None:
    """No new version for no change."""
    task = world.add("a")

    with world.store.write() as tx:
        apply(tx, Decision(writes=(Draft(task, tx.now, actor="x").change(),)))

    assert world.task(task.id).version == task.version
