"""A round in one transaction comes to what its steps come to; where it cannot be done, each step is taken alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from medbay.core.outcome import Requeued
from medbay.engine.round import Engine
from medbay.errors import StoreUnavailable
from medbay.service import tasks, waking
from medbay.store.database import Store, Tx
from medbay.store.sqlite import SqliteStore
from tests.worlds import ManualClock, World, failed, quick_policy

ROUNDS = 14
KEPT = {
    "task": "t.title, t.status, t.attempts, t.streak, t.charged, t.ready, t.recovery, t.due_at, t.since, t.live",
    "attempt": "t.title, x.number, x.outcome, x.started_at, x.ended_at, x.charged, x.exit_code",
    "history": "t.title, x.source, x.target, x.reason, x.at",
    "event": "t.title, x.name, x.attempt, x.at",
    "retry": "t.title, x.attempt, x.due_at, x.delay_ms, x.status, x.outcome, x.executed_at",
}
ORDER = {"attempt": "x.number", "history": "x.id", "event": "x.seq", "retry": "x.attempt"}


@pytest.fixture
def world(store: Store, clock: ManualClock, tmp_path: Path) -> World:
    """A store with engines on it; whatever fails is tried again at once."""
    return World(store, clock, policy=quick_policy(0), root=tmp_path)


def live_through(world: World, engine: Engine) -> list[list[Any]]:
    """Some rounds of work of many kinds; what the store then says of it."""
    first = world.add("first", failed(), failed())
    world.add("after", after=[first.id])
    world.add("good")
    world.add("asks", Requeued(asked=True, why="later"), failed())
    world.add("hopeless", *[failed("ModuleNotFoundError: No module named 'x'")] * ROUNDS, takes_advice=True)
    world.add("cannot start", "no such program")
    cancelled = world.add("cancelled", None)
    world.add("later", at="+10s")
    for number in range(ROUNDS):
        if number == 4:
            world.act(tasks.cancel, cancelled.id)
        world.run(engine, step_ms=300)  # most rounds come before it looks for dead workers again
    with world.store.read() as tx:
        return [kept(tx, table) for table in KEPT]


def kept(tx: Tx, table: str) -> list[Any]:
    """The rows of a table that say what happened, in the order of tasks and then of time."""
    source = "task t" if table == "task" else f"{table} x JOIN task t ON t.id = x.task_id"
    order = f", {ORDER[table]}" if table in ORDER else ""
    return tx.rows(f"SELECT {KEPT[table]} FROM {source} ORDER BY t.created_at, t.title{order}")


def test_a_turn_comes_to_what_its_steps_come_to(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tasks end the same way, at the same times, by the same moves and with the same events."""
    engine = world.engine(slots=20)
    turns: list[bool] = []
    real = Engine.turn

    def counted(self: Engine) -> bool:
        turns.append(real(self))
        return turns[-1]

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "turn", counted)
        at_once = live_through(world, engine)

    clock = ManualClock()
    other = World(
        SqliteStore(":memory:", clock, new_store_id="other", machine_id="machine"),
        clock,
        policy=quick_policy(0),
        root=world.root,
    )
    monkeypatch.setattr(Engine, "turn", lambda self: False)
    step_by_step = live_through(other, other.engine(slots=20))

    assert sum(turns) >= ROUNDS // 3
    for one, two in zip(at_once, step_by_step, strict=True):
        assert [tuple(row) for row in one] == [tuple(row) for row in two]


def test_a_turn_is_one_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed is stored, released and claimed again, and what is ready is claimed beside it."""
    engine = world.engine()
    again = world.add("again", failed())
    engine.start()
    engine.tick()
    fresh = world.add("fresh", None)
    writes: list[str] = []
    real = world.store.write

    @contextmanager
    def counted() -> Iterator[Tx]:
        writes.append("write")
        with real() as tx:
            yield tx

    monkeypatch.setattr(world.store, "write", counted)
    engine.tick()

    assert len(writes) == 1
    assert [world.task(each.id).live for each in (again, fresh)] == [2, 1]
    assert {launch.task_id for launch in world.runner.started[1:]} == {again.id, fresh.id}


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), ValueError("a mistake of ours")])
def test_what_a_turn_cannot_do_is_done_step_by_step(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Nothing of it counts, and nothing is lost: the results are stored, and what was claimed is claimed again."""
    engine = world.engine()
    done, ready = world.add("done"), world.add("ready", None, at="+1s")
    engine.start()
    engine.tick()
    world.clock.advance(900)
    real, broken = waking.wake, [error]

    def wake(tx: Tx, *given: Any, **named: Any) -> int:
        found = real(tx, *given, **named)
        if broken:
            raise broken.pop()
        return found

    monkeypatch.setattr(waking, "wake", wake)
    world.clock.advance(99)
    engine.tick()
    assert world.task(done.id).status == "completed"

    world.clock.advance(1)
    engine.tick()
    engine.tick()
    assert world.task(ready.id).live == 1
    assert not broken


def test_a_turn_whose_commit_was_not_heard_of_is_not_claimed_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it claimed is handed back unattempted, and what it stored is not stored again."""
    engine = world.engine()
    done, ready = world.add("done"), world.add("ready", None, None)
    world.act(tasks.pause, ready.id)
    engine.start()
    engine.tick()
    world.act(tasks.resume, ready.id)
    real = world.store.write
    deaf = [True]

    @contextmanager
    def unheard() -> Iterator[Tx]:
        with real() as tx:
            yield tx
        if deaf:
            deaf.pop()
            raise StoreUnavailable("the connection was lost")

    monkeypatch.setattr(world.store, "write", unheard)
    engine.tick()
    engine.tick()
    engine.tick()

    assert world.task(done.id).status == "completed"
    assert world.task(ready.id).live == 2
    with world.store.read() as tx:
        outcomes = tx.rows("SELECT number, outcome FROM attempt WHERE task_id = ? ORDER BY number", (ready.id,))
    assert [tuple(row) for row in outcomes] == [(1, "requeued"), (2, None)]
    assert [launch.number for launch in world.runner.started if launch.task_id == ready.id] == [2]
