"""Adaptive delays on a real store: retries that happened change what the next failure waits, on both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from medbay.core.model import Retry
from medbay.core.policy.learning import RETRIES_ENOUGH
from medbay.core.policy.policy import Policy
from medbay.service import explain, learning, teaching
from medbay.store import retries
from medbay.store.database import Store
from medbay.store.rows import RETRY_COLUMNS, RETRY_FIELDS
from tests.worlds import ManualClock, World, failed

REFUSED = "Error: connect ECONNREFUSED 127.0.0.1:5432"
KIND = "transient/network"
SECOND = 1_000


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines that learn."""
    return World(store, clock, policy=replace(Policy(), adaptive=True))


def remember(world: World, waited_s: int, outcome: str, count: int, *, category: str = KIND) -> None:
    """So many retries that waited so long and ended so."""
    task = world.add(f"past {category} {waited_s} {outcome}").id
    with world.store.write() as tx:
        for number in range(1, count + 1):
            row = Retry(
                task_id=task,
                attempt=number,
                category=category,
                action="retry_with_guidance",
                scheduled_at=tx.now - 10_000_000,
                due_at=tx.now,
                delay_ms=30_000,  # what was planned; what was waited counts
                status="executed",
                executed_at=tx.now - 10_000_000 + waited_s * SECOND,
                outcome=outcome,
            )
            values = [getattr(row, name) for name in RETRY_FIELDS]
            tx.execute(f"INSERT INTO retry ({RETRY_COLUMNS}) VALUES ({', '.join('?' * len(values))})", values)


def fail_once(world: World) -> str:
    """A task that failed once and waits; the engine does nothing else."""
    engine = world.engine(slots=1)
    engine.start()
    with world.store.write() as tx:
        tx.execute("UPDATE task SET paused = 1, ready = 0")
    task = world.add("now", failed(REFUSED)).id
    world.run(engine, ticks=2)
    assert world.task(task).status == "failed"
    return task


def retry_of(world: World, task: str) -> Retry:
    """Its newest retry."""
    with world.store.read() as tx:
        return retries.of_task(tx, task)[-1]


def test_a_decision_waits_as_history_says_and_tells_why(world: World) -> None:
    """Actual waits and how they ended, of the same class only; `explain` forecasts with them too."""
    remember(world, 30, "failed", 18)
    remember(world, 60, "succeeded", 12)
    remember(world, 60, "lost", 40)  # says nothing
    remember(world, 15, "succeeded", 30, category="transient/dns")
    task = fail_once(world)

    made = retry_of(world, task)
    assert abs(made.delay_ms - 60 * SECOND) <= 6 * SECOND
    assert made.due_at - made.scheduled_at == made.delay_ms
    assert made.learned == "12 of 12 retries that waited about 1m succeeded; the schedule says 30s"
    waiting = world.task(task)
    with world.store.read() as tx:
        found = explain.explain(tx, waiting, world.policy)
    assert found.coming[0].step.learned.endswith("the schedule says 2m")
    assert found.retry is not None and found.retry.learned == made.learned


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_schedule_stands_without_history_or_without_the_switch(world: World, adaptive: bool) -> None:
    """19 retries are too few; off is the default."""
    world.policy = replace(Policy(), adaptive=adaptive)
    remember(world, 60, "succeeded", RETRIES_ENOUGH - 1 if adaptive else 100)
    made = retry_of(world, fail_once(world))

    assert abs(made.delay_ms - 30 * SECOND) <= 3 * SECOND
    assert made.learned == ""


def test_what_a_person_calls_it_is_learned_of_too(world: World) -> None:
    """Reclassified, it waits as the class it belongs to."""
    remember(world, 45, "succeeded", 25, category="transient/dns")
    task = fail_once(world)
    assert retry_of(world, task).learned == ""

    with world.store.write() as tx:
        teaching.reclassify(tx, task, "transient/dns", actor="person:test", policy=world.policy)

    made = retry_of(world, task)
    assert (made.category, made.status) == ("transient/dns", "pending")
    assert abs(made.delay_ms - 45 * SECOND) <= 4.5 * SECOND and "25 of 25" in made.learned


def test_every_class_is_summed_up_from_its_newest_retries(world: World) -> None:
    """By name, and never more than are looked at."""
    remember(world, 60, "succeeded", 3, category="code_error/type")
    remember(world, 30, "failed", 600)
    with world.store.read() as tx:
        found = learning.all_learned(tx)

    assert [(each.kind, each.tries, each.well) for each in found] == [("code_error/type", 3, 3), (KIND, 500, 0)]
