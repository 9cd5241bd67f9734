"""Agents, people, reviews and evaluations through the engine's steps, on every kind of database."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.agent import Profile
from medbay.core.model import Role, Task
from medbay.core.outcome import Failed, Output, Succeeded
from medbay.core.rules import on_added
from medbay.core.triage.case import Means
from medbay.engine.engine import Engine
from medbay.runners.agent import AgentRunner
from medbay.service import liveness, requests, tasks
from medbay.store import attempts, checks, history, questions
from medbay.store.apply import Arrival, insert_tasks
from medbay.store.database import Store
from tests.worlds import ManualClock, World, failed

PROFILES = {"fake": Profile(name="fake", command=("fake", "{prompt_file}"), provider="acme")}
RESCUE = Means(evaluate="look", timeout_ms=7_000)


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines on it."""
    return World(store, clock)


def engine(world: World, **settings: Any) -> Engine:
    """An engine with agents."""
    return world.engine(runners={"agent": AgentRunner(PROFILES, world.runner)}, **settings)


def add(world: World, title: str, **options: Any) -> Task:
    """A task that runs no command of its own."""
    with world.store.write() as tx:
        new = requests.new_task({"title": title, **options}, now=tx.now, agents=PROFILES)
        return tasks.add(tx, new, ids=world.ids, actor="person:test")


def serving(world: World, subject: str, role: Role, **fields: Any) -> str:
    """A task that serves another; its id."""
    with world.store.write() as tx:
        own = Task(id=f"serves-{subject}", title=role, role=role, subject=subject, created_by="triage", **fields)
        insert_tasks(tx, [Arrival.of(on_added(own, tx.now))])
    return own.id


def answer(world: World, given: str, option: str, note: str = "") -> None:
    """A person answers."""
    with world.store.write() as tx:
        tasks.answer(tx, given, option, actor="person:test", note=note)


def asked(world: World) -> list[tuple[str, ...]]:
    """For whom questions are open."""
    with world.store.read() as tx:
        return [each.task_ids for each in questions.open_questions(tx)]


def outcomes(world: World, task_id: str) -> list[str | None]:
    """How a task's attempts ended."""
    with world.store.read() as tx:
        return [each.outcome for each in attempts.of_task(tx, task_id, 100)]


def names(world: World, task_id: str) -> list[str]:
    """The names of a task's events."""
    with world.store.read() as tx:
        return [event.name for event in history.events_since(tx, 0, limit=1_000, task_id=task_id)]


def expect_no_standstill(world: World) -> None:
    """Nothing stands still, and the record agrees with itself."""
    with world.store.read() as tx:
        assert liveness.standstills(tx) + liveness.contradictions(tx) == []


def evaluates(*answers: str | None) -> list[Any]:
    """A script of evaluators that print these; None goes on running."""
    return [None if text is None else Succeeded(output=Output(result={"answer": text})) for text in answers]


# Agents and people


def test_a_profile_that_is_not_configured_here_is_a_question(world: World) -> None:
    """The command comes from the configuration of the engine that starts it."""
    task = add(world, "think", agent="fake")
    assert (task.runner, task.command, task.resources) == ("agent:fake", (), ("provider:acme",))
    here = world.engine(runners={"agent": AgentRunner({}, world.runner)})
    world.run(here, ticks=2)

    stopped = world.task(task.id)
    assert (stopped.status, stopped.block_kind) == ("blocked", "human")
    assert asked(world) == [(task.id,)]
    assert world.runner.started == []


def test_a_persons_task_is_never_claimed(world: World) -> None:
    """It is a question from the start, whatever comes before or after it; idle is idle."""
    first = add(world, "sign", person=True)
    then = world.add("then", after=[first.id])
    last = add(world, "file it", person=True, after=[then.id])
    here = engine(world)
    world.run(here, ticks=2)
    assert here.is_idle()
    assert (world.task(first.id).status, world.task(last.id).status) == ("blocked", "pending")

    answer(world, first.id, "done", "signed")
    world.run(here, ticks=2)

    assert world.task(first.id).status == world.task(then.id).status == "completed"
    assert asked(world) == [(last.id,)]
    assert here.is_idle()
    expect_no_standstill(world)


# Who serves whom


def blocked_for_spec(world: World) -> str:
    """A task that waits for its specification; its id."""
    subject = world.add("subject")
    world.act(tasks.block, subject.id, kind="spec", reason="unclear", timeout_ms=60_000)
    return subject.id


def test_a_review_reaches_its_subject_in_the_same_step(world: World) -> None:
    """Its result holds the specification; the subject runs with it."""
    subject = blocked_for_spec(world)
    world.runner.scripts["review"] = [Succeeded(output=Output(result={"spec": "better"}))]
    review = serving(world, subject, "review", runner="shell", command="review")
    here = engine(world)
    world.run(here, ticks=3)

    assert world.task(review).status == "completed"
    assert (world.task(subject).status, world.task(subject).spec) == ("completed", "better")
    told = names(world, subject)
    assert told[told.index("task:edited") :][:3] == ["task:edited", "task:unblocked", "task:started"]
    expect_no_standstill(world)


def test_a_cancelled_fix_asks_about_a_recurring_subject_once(world: World) -> None:
    """Blocked, whoever cancels it."""
    subject = world.add("subject", failed(), failed(), every="1h")
    here = engine(world)
    world.run(here, ticks=2)
    assert world.task(subject.id).streak == 1
    world.runner.scripts["fix"] = [None]
    fix = serving(world, subject.id, "fix", runner="shell", command="fix")
    world.run(here)

    world.act(tasks.cancel, fix)
    world.run(here, ticks=2)

    assert world.task(fix).status == "cancelled"
    left = world.task(subject.id)
    assert (left.status, left.block_kind) == ("blocked", "dependency")
    assert asked(world) == [(subject.id,)]


def test_a_completed_fix_makes_a_recurring_subject_due(world: World) -> None:
    """Long before its backoff would end."""
    subject = world.add("subject", failed(), every="1h")
    here = engine(world)
    world.run(here, ticks=2)
    assert world.task(subject.id).status == "failed"

    serving(world, subject.id, "fix", runner="shell", command="fix")
    world.run(here, ticks=3)

    assert outcomes(world, subject.id) == ["failed", "succeeded"]
    expect_no_standstill(world)


# Rescue


def test_a_rescued_attempt_is_a_success(world: World) -> None:
    """Looked at in its own slot, with what there is to know on its standard input."""
    world.runner.scripts["look"] = evaluates('{"score": 0.8, "why": "fine"}')
    task = world.add("work", Failed(output=Output(tail="half", total_bytes=4), exit_code=3))
    here = engine(world, means=RESCUE, slots=1)
    world.run(here)
    world.run(here)
    assert world.task(task.id).status == "pending_verification"
    expect_no_standstill(world)
    world.run(here)

    done = world.task(task.id)
    assert (done.status, done.streak, done.attempts) == ("completed", 0, 1)
    assert outcomes(world, task.id) == ["rescued"]
    launch = world.runner.started[1]
    assert (launch.command, launch.timeout_s, launch.part) == ("look", 7.0, "evaluation")
    assert launch.log_path.name == "1.evaluation.log"
    assert '"tail": "half"' in launch.stdin_text and launch.answer_path is not None
    with world.store.read() as tx:
        kept = attempts.output(tx, task.id, 1)
        (row,) = checks.of_attempt(tx, task.id, 1)
    assert kept is not None and kept.tail == "half"
    assert (row.position, row.status, row.tail) == (0, "PASS", '{"score": 0.8, "why": "fine"}')
    assert names(world, task.id)[-3:] == ["task:verifying", "task:rescued", "task:completed"]


def test_what_is_not_rescued_is_retried_as_ever(world: World) -> None:
    """Each failure is looked at; only bad answers are warned about."""
    world.runner.scripts["look"] = evaluates('{"score": 0.1}', "rubbish")
    task = world.add("work", failed("ImportError: x", 1), failed("ImportError: x", 1))
    here = engine(world, means=RESCUE)
    world.run(here, ticks=12)

    assert world.task(task.id).status == "completed"
    assert outcomes(world, task.id) == ["failed", "failed", "succeeded"]
    assert names(world, task.id).count("triage:failed") == 1


def test_a_lost_worker_repeats_the_evaluation_and_after_three_the_failure_counts(world: World) -> None:
    """The outcome of the work is known throughout; the work itself is not repeated for it."""
    world.runner.scripts["look"] = evaluates(None, None, None, None)
    task = world.add("work", failed("ImportError: x", 1))
    for round_ in range(1, 4):
        here = engine(world, means=RESCUE, crash_budget=9)
        here.start()
        world.run(here, ticks=2)
        with world.store.read() as tx:
            assert [each.round for each in checks.of_attempt(tx, task.id, 1)] == [round_]
        world.sightings.clear()

    assert [each.command for each in world.runner.started].count("work") == 1
    here = engine(world, means=RESCUE, crash_budget=9)
    here.start()
    world.run(here, ticks=1)

    assert outcomes(world, task.id)[0] == "failed"
    assert (world.task(task.id).charged, world.task(task.id).last_category) == (1, "code_error/runtime")


def test_another_host_takes_the_failure_as_it_is(world: World) -> None:
    """What the work left is not there, so nobody looks at it any more."""
    world.runner.scripts["look"] = evaluates(None)
    task = world.add("work", failed("ImportError: x", 1))
    here = engine(world, means=RESCUE)
    world.run(here, ticks=2)
    world.sightings.clear()

    there = engine(world, means=RESCUE, host="there")
    world.clock.advance(100_000)
    there.lease.beat(world.store)
    there.start()

    assert outcomes(world, task.id)[0] == "failed"
    assert "task:lost" not in names(world, task.id)


def test_a_cancel_ends_an_evaluation(world: World) -> None:
    """And the task with it."""
    world.runner.scripts["look"] = evaluates(None)
    task = world.add("work", failed())
    here = engine(world, means=RESCUE)
    world.run(here, ticks=2)

    world.act(tasks.cancel, task.id)
    world.run(here, ticks=2)

    assert world.task(task.id).status == "cancelled"
    assert outcomes(world, task.id) == ["cancelled"]
