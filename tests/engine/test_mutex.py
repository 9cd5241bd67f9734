"""One at a time: mutexes, the slots of queues and the load of machines, in the real engine on both databases."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest

from medbay.core.model import TASK_FIELDS, Task
from medbay.core.outcome import Succeeded
from medbay.engine.round import Engine
from medbay.places.here import Here
from medbay.places.protocol import Leftovers, Runner
from medbay.service import circumstances, explain, idle, liveness, tasks
from medbay.store import history
from medbay.store import tasks as task_rows
from medbay.store.database import Store, Violation
from medbay.store.rows import TASK_COLUMNS
from tests.worlds import ManualClock, World, failed


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store of each kind."""
    return World(store, clock)


def live(world: World) -> list[str]:
    """The titles of what runs."""
    return [each.launch.command for each in world.runner.running if each.outcome is None]  # type: ignore[misc]


def end(world: World, title: str) -> None:
    """Let what runs under a title end well."""
    next(each for each in world.runner.running if each.launch.command == title).outcome = Succeeded()


def add(world: World, title: str, *script: object, **options: object) -> Task:
    """Add one after the other."""
    world.clock.advance(1)
    return world.add(title, *(script or (None,)), **options)  # type: ignore[arg-type]


def codes(world: World, task: Task, slots: Mapping[str, int] | None = None) -> list[str]:
    """Everything that holds a task back."""
    with world.store.read() as tx:
        now = tasks.resolve(tx, task.id)
        return [each.code for each in explain.explain(tx, now, world.policy, queue_slots=slots or {}).reasons]


def test_one_task_of_a_mutex_runs_at_a_time(world: World) -> None:
    """On two engines together, the most urgent first; what has no mutex is not held up."""
    one, two = world.engine(), world.engine()
    add(world, "late", mutex="db", priority=3)
    add(world, "first", mutex="db", priority=1)
    add(world, "other", mutex="deploy")
    add(world, "free")

    world.run(one)
    world.run(two)
    assert sorted(live(world)) == ["first", "free", "other"]

    end(world, "first")
    world.run(one)
    assert sorted(live(world)) == ["free", "late", "other"]


def test_the_database_itself_refuses_a_second_one(world: World) -> None:
    """Whatever an engine does wrong."""
    add(world, "one", mutex="db")
    world.run(world.engine())
    second = add(world, "two", mutex="db")

    with pytest.raises(Violation), world.store.write() as tx:
        tx.execute("UPDATE task SET live = 1 WHERE id = ?", (second.id,))


def test_neither_a_forced_retry_nor_a_canary_passes_a_mutex(world: World) -> None:
    """It waits, and says for whom."""
    engine = world.engine()
    first = add(world, "first", mutex="db")
    world.run(engine)
    waiting = add(world, "waiting", mutex="db")

    world.act(tasks.retry, waiting.id)
    world.run(engine)

    assert live(world) == ["first"]
    assert codes(world, waiting) == ["mutex"]
    with world.store.read() as tx:
        reason = circumstances.first_reason(tx, tasks.resolve(tx, waiting.id), recovery_share=0.5)
        assert reason is not None and (reason.number, reason.needs) == (16, "capacity")
        assert first.id in reason.what
        assert not liveness.standstills(tx)
        assert not idle.is_idle(tx, ("default",))


def test_a_mutex_can_be_given_and_taken_away_later(world: World) -> None:
    """An edit parks it, another one lets it go."""
    engine = world.engine()
    add(world, "first", mutex="db")
    other = add(world, "other", at="+1h")
    world.run(engine)

    world.act(tasks.edit, other.id, fields={"mutex": "db"}, reset_failures=False)
    world.run(engine, ticks=401, step_ms=9_000)
    assert (live(world), world.task(other.id).hold) == (["first"], "mutex:db")

    world.act(tasks.edit, other.id, fields={"mutex": ""}, reset_failures=False)
    world.run(engine)
    assert sorted(live(world)) == ["first", "other"]


def test_what_failed_gives_the_mutex_back_while_it_waits(world: World) -> None:
    """A retry in an hour holds nobody up."""
    engine = world.engine()
    add(world, "fails", failed("something odd"), None, mutex="db")
    add(world, "next", mutex="db")

    world.run(engine, ticks=2)

    assert live(world) == ["next"]


def test_missed_occurrences_behind_a_mutex_are_skipped(world: World) -> None:
    """Of those planned meanwhile the last one runs."""
    engine = world.engine()
    add(world, "long", mutex="db")
    world.run(engine)
    add(world, "often", mutex="db", every="1m")
    world.run(engine, ticks=30, step_ms=10_000)
    end(world, "long")
    world.run(engine)

    assert live(world) == ["often"]
    with world.store.read() as tx:
        skipped = [each for each in history.events_since(tx, 0, limit=100) if each.name == "task:occurrences_skipped"]
    assert [(each.data["reason"], each.data["number"]) for each in skipped] == [("hold", 5)]


def test_a_hundred_thousand_behind_one_mutex_cost_a_claim_next_to_nothing(world: World) -> None:
    """Under 2 ms; the quickest of many claims, the others met what else the machine does."""
    engine = world.engine()
    add(world, "first", mutex="db")
    waiting = add(world, "waiting", mutex="db")
    world.run(engine)
    same = {"id": "'w' || n", "key": "NULL", "ready_at": "n"}
    columns = ", ".join(same.get(name, f"task.{name}") for name in TASK_FIELDS)
    numbers = (
        "(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000) SELECT n FROM c) numbers"
    )
    with world.store.write() as tx:
        sql = f"INSERT INTO task ({TASK_COLUMNS}) SELECT {columns} FROM {numbers}, task WHERE task.id = ?"
        tx.execute(sql, (waiting.id,))

    taken = [_claim_s(engine) for _ in range(21)]

    assert live(world) == ["first"]
    assert min(taken) < 0.002
    end(world, "first")
    world.run(engine)
    assert sum(each.live is not None for each in _some(world)) == 1


def _claim_s(engine: Engine) -> float:
    begun = time.perf_counter()
    assert engine.claim() == []
    return time.perf_counter() - begun


def _some(world: World) -> list[Task]:
    with world.store.read() as tx:
        return task_rows.select(tx, task_rows.TaskFilter(statuses=("in_progress",)))


def test_the_slots_of_a_queue_hold_on_all_engines_together(world: World) -> None:
    """Two engines with four slots each start two of six; the other queue is not held up."""
    limited: Callable[[], Engine] = lambda: world.engine(queues=("slow", "default"), queue_slots={"slow": 2})  # noqa: E731
    one, two = limited(), limited()
    slow = [add(world, f"slow {number}", queue="slow") for number in range(6)]
    add(world, "quick")

    world.run(one)
    world.run(two)

    assert sorted(live(world)) == ["quick", "slow 0", "slow 1"]
    assert codes(world, slow[5], {"slow": 2}) == ["queue_slots"]
    end(world, "slow 0")
    world.run(two, ticks=2)
    world.run(one)
    assert len([each for each in live(world) if each.startswith("slow")]) == 2


def test_retries_wait_while_the_machine_is_short_of_cpu(world: World) -> None:
    """Fresh work starts; the retry starts once there is enough of everything; explain names the reason."""
    short = ["CPU"]

    def place(runners: Mapping[str, Runner], leftovers: Leftovers) -> Here:
        return Here(runners, leftovers, measure=lambda: short[0])

    engine = world.engine(place=place, load_aware=True)
    again = add(world, "again", failed("something odd"), None)
    world.run(engine, ticks=2)
    add(world, "fresh")
    world.run(engine, ticks=2)

    assert live(world) == ["fresh"]
    assert codes(world, again) == ["load"]
    short[0] = ""
    world.run(engine, ticks=2)
    assert sorted(live(world)) == ["again", "fresh"]
