"""Expected in time, in the real engine on both databases: a late job and a strangely long run become one question."""

from __future__ import annotations

import pytest

from medbay.core.model import Question
from medbay.core.outcome import Succeeded
from medbay.store import attempts, questions
from medbay.store.database import Store
from tests.worlds import ManualClock, World

HOUR = 3_600_000


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """At two in the night."""
    clock.advance(24 * HOUR - clock.wall_ms % (24 * HOUR) + 2 * HOUR)
    return World(store, clock)


def open_questions(world: World) -> list[Question]:
    """What waits for a person."""
    with world.store.read() as tx:
        return questions.open_questions(tx)


def test_a_job_that_does_not_succeed_by_then_is_asked_about_until_it_does(world: World) -> None:
    """One question, not before its time, withdrawn by the success."""
    engine = world.engine(lease_ms=HOUR)
    job = world.add("backup", None, cron="0 3 * * *", expect_by="06:00")

    world.run(engine, ticks=119, step_ms=2 * 60_000)  # until two minutes before six
    assert open_questions(world) == []
    world.run(engine, ticks=60, step_ms=2 * 60_000)
    (asked,) = open_questions(world)
    assert (asked.task_ids, asked.owner.id if asked.owner else "") == ((job.id,), job.id)
    assert "expected by 06:00" in asked.why
    assert world.task(job.id).status == "in_progress"

    world.runner.running[-1].outcome = Succeeded()
    world.run(engine)
    assert open_questions(world) == []


def test_a_job_that_succeeded_is_not_asked_about(world: World) -> None:
    """On no day."""
    engine = world.engine(lease_ms=HOUR)
    world.add("backup", cron="0 3 * * *", expect_by="06:00")

    world.run(engine, ticks=150, step_ms=20 * 60_000)

    assert open_questions(world) == []


def test_a_run_that_takes_more_than_five_times_its_median_is_asked_about(world: World) -> None:
    """After five successes; the time limit of the task has nothing to do with it."""
    engine = world.engine(lease_ms=HOUR)
    job = world.add("sync", *([None] * 6), every="1h")
    for _ in range(5):
        world.run(engine, ticks=40, step_ms=2 * 60_000)
        for running in world.runner.running:
            running.outcome = running.outcome or Succeeded()
        world.run(engine)
    with world.store.read() as tx:
        took = attempts.success_durations(tx, job.id, 11)
    world.run(engine, ticks=30, step_ms=2 * 60_000)
    assert world.task(job.id).live is not None and open_questions(world) == []

    world.run(engine, ticks=-(-5 * max(took) // 120_000), step_ms=2 * 60_000)

    (asked,) = open_questions(world)
    assert "more than 5 times as long as it usually takes" in asked.why
