"""Owned tasks among others that end at the same moment: settled with them, for what they cost alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from medbay.core.model import Task
from medbay.core.outcome import Outcome, Succeeded
from medbay.core.rules import Loop, on_added
from medbay.engine.round import Engine
from medbay.engine.settlement import Settler
from medbay.service import schedules
from medbay.service import tasks as task_service
from medbay.store import history
from medbay.store import tasks as task_rows
from medbay.store.apply import Arrival, insert_tasks
from medbay.store.database import Store, Tx
from medbay.store.postgres import PostgresTx
from medbay.store.sqlite import SqliteTx
from tests.worlds import ManualClock, ScriptedRunning, World, failed, quick_policy

MANY = 31


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """An empty store."""
    return World(store, clock)


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every statement that reads while ended attempts are settled, for as long as this lasts."""
    seen: list[str] = []
    settling = [False]
    settle = Settler.settle_in

    def settle_in(*args: Any) -> Any:
        settling[0] = True
        try:
            return settle(*args)
        finally:
            settling[0] = False

    with monkeypatch.context() as patch:
        patch.setattr(Settler, "settle_in", settle_in)
        for kind in (SqliteTx, PostgresTx):
            for name in ("rows", "one"):
                real = getattr(kind, name)

                def read(self: Any, sql: str, params: Any = (), *, _real: Callable[..., Any] = real) -> Any:
                    seen.extend([sql] * settling[0])
                    return _real(self, sql, params)

                patch.setattr(kind, name, read)
        yield seen


def serving(world: World, subject: str, role: str = "fix") -> Task:
    """A task that a failing one owns."""
    with world.store.write() as tx:
        own = Task(
            id=f"fix-{subject}",
            title=f"fix {subject}",
            command=f"fix {subject}",
            owner_kind="task",
            owner_id=subject,
            role=role,
            created_by="triage",
        )
        insert_tasks(tx, [Arrival.of(on_added(own, tx.now))])
    return world.task(own.id)


def failing(world: World, engine: Engine, title: str = "polls") -> Task:
    """A recurring task that failed and waits for its backoff."""
    task = world.add(title, failed(), every="1h")
    world.run(engine)
    world.run(engine)
    assert (world.task(task.id).status, world.task(task.id).streak) == ("failed", 1)
    return task


def end_all(engine: Engine, world: World, outcome: Outcome | None = None) -> None:
    """Let everything that runs end at once, and settle it."""
    for each in engine.live.values():
        assert isinstance(each.running, ScriptedRunning)
        each.running.outcome = outcome or Succeeded()
    world.run(engine, step_ms=1)


def reads_of(world: World, monkeypatch: pytest.MonkeyPatch, titles: list[str], fix: Task | None = None) -> int:
    """How many reads it takes to settle these, and the fix, in one round."""
    if fix is not None:
        world.runner.scripts[fix.title] = [None]
    for title in titles:
        world.add(title, None)
    engine = world.engine(slots=MANY + 1)
    world.run(engine)
    assert len(engine.live) == len(titles) + (fix is not None)
    with counted(monkeypatch) as seen:
        end_all(engine, world)
    assert all(world.task(each).status == "completed" for each in ([fix.id] if fix else []))
    return len(seen)


def test_one_owned_task_among_many_costs_what_it_costs_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner is read, and nobody is settled one by one because of it."""
    first, second = (failing(world, world.engine(), title) for title in ("polls", "pulls"))

    many = reads_of(world, monkeypatch, [f"plain {number}" for number in range(MANY)])
    alone = reads_of(world, monkeypatch, [], serving(world, first.id))
    among = reads_of(world, monkeypatch, [f"other {number}" for number in range(MANY)], serving(world, second.id))

    assert 0 < among <= many + alone < 30, (many, alone, among)
    assert {world.task(each.id).status for each in (first, second)} & {"failed"} == set()


def test_owners_of_a_batch_are_read_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many owned tasks end together."""
    engine = world.engine()
    subjects = [world.add(f"polls {number}", failed(), every="1h") for number in range(8)]
    for _ in range(3):
        world.run(engine)
    fixes = [serving(world, each.id) for each in subjects]
    world.runner.scripts |= {each.title: [None] for each in fixes}
    engine = world.engine(slots=8)
    world.run(engine)
    assert len(engine.live) == 8

    with counted(monkeypatch) as seen:
        end_all(engine, world)

    assert sum("owner_kind = 'loop'" in sql and "UNION" in sql and "unnest" not in sql for sql in seen) == 1
    assert sum("max(number)" in sql for sql in seen) == 1
    assert {world.task(each.id).status for each in fixes} == {"completed"}
    assert all(world.task(each.id).status != "failed" for each in subjects)


def test_each_sees_what_those_before_it_did_to_its_owner(world: World) -> None:
    """Two fixes of one task and what comes after one of them, in one batch: one start, and no stale row."""
    engine = world.engine()
    subject = failing(world, engine)
    first = serving(world, subject.id)
    with world.store.write() as tx:
        second = Task(
            id="fix-two", title="two", command="two", owner_kind="task", owner_id=subject.id, role="fix", created_by="x"
        )
        insert_tasks(tx, [Arrival.of(on_added(second, tx.now))])
    world.runner.scripts |= {first.title: [None], "two": [None]}
    last = world.add("after both", after=[first.id, "fix-two"])
    engine = world.engine(slots=4)
    world.run(engine)

    end_all(engine, world)

    assert world.task(first.id).status == world.task("fix-two").status == "completed"
    assert world.task(last.id).unmet == 0
    with world.store.read() as tx:
        told = [each.name for each in history.events_since(tx, 0, limit=500, task_id=subject.id)]
    assert told.count("task:retry_executed") == 1


def test_a_loop_goes_round_beside_others(store: Store, clock: ManualClock) -> None:
    """Its turn is passed on in the batch, and a failure gives it back."""
    world = World(store, clock, policy=quick_policy(0))
    members = [world.add(f"member {number}", None, None) for number in range(3)]
    with store.write() as tx:
        asked = Loop(delay_ms=None, max_iterations=9, max_failure_restarts=3)
        schedules.make_loop(tx, [_get(tx, each) for each in members], asked, actor="person:test")
    others = [world.add(f"plain {number}", None) for number in range(3)]
    engine = world.engine(slots=8)
    world.run(engine)
    assert len(engine.live) == 4

    end_all(engine, world)
    world.run(engine)

    assert {world.task(each.id).status for each in others} == {"completed"}
    assert [world.task(each.id).waits_for for each in members] == ["turn", None, "turn"]
    end_all(engine, world, failed())
    assert [world.task(each.id).waits_for for each in members] == [None, "turn", "turn"]


def test_a_cancelled_fix_leaves_its_owner_to_a_person_beside_others(world: World) -> None:
    """The owner is asked about once, whoever else ends."""
    engine = world.engine()
    subject = failing(world, engine)
    fix = serving(world, subject.id)
    world.runner.scripts[fix.title] = [None]
    other = world.add("plain", None)
    engine = world.engine(slots=4)
    world.run(engine)
    world.act(task_service.cancel, fix.id)

    end_all(engine, world)
    world.run(engine, ticks=2)

    assert world.task(other.id).status == "completed"
    assert (world.task(fix.id).status, world.task(subject.id).block_kind) in (
        ("completed", None),
        ("cancelled", "dependency"),
    )


def _get(tx: Tx, task: Task) -> Task:
    found = task_rows.get(tx, task.id)
    assert found is not None
    return found
