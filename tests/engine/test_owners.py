"""Agents, people, reviews and evaluations through the engine's steps, on every kind of database."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from medbay.core.agent import Profile
from medbay.core.model import Role, Task
from medbay.core.outcome import Failed, Outcome, Output, Requeued, Succeeded
from medbay.core.redaction import Redaction
from medbay.core.rules import on_added
from medbay.core.triage.case import Means
from medbay.engine.round import Engine
from medbay.places.protocol import Launch
from medbay.runners.agent.runner import AgentRunner
from medbay.service import additions, liveness, requests, tasks
from medbay.store import attempts, checks, history, questions, retries
from medbay.store.apply import Arrival, insert_tasks
from medbay.store.database import Store
from tests.worlds import ManualClock, ScriptedRunning, World, failed

PROFILES = {"fake": Profile(name="fake", command=("fake", "{prompt_file}"), provider="acme")}
RESCUE = Means(evaluate="look", timeout_ms=7_000)


@pytest.fixture
def world(store: Store, clock: ManualClock, tmp_path: Path) -> World:
    """A store with engines on it, whose agents are given files."""
    return World(store, clock, root=tmp_path)


def engine(world: World, **settings: Any) -> Engine:
    """An engine with agents."""
    return world.engine(runners={"agent": AgentRunner(PROFILES, world.runner)}, **settings)


def add(world: World, title: str, **options: Any) -> Task:
    """A task that runs no command of its own."""
    with world.store.write() as tx:
        new = requests.new_task({"title": title, **options}, now=tx.now, agents=PROFILES)
        return additions.add(tx, new, ids=world.ids, actor="person:test")


def serving(world: World, subject: str, role: Role, **fields: Any) -> str:
    """A task that serves another; its id."""
    with world.store.write() as tx:
        serves: dict[str, Any] = {"role": role, "owner_kind": "task", "owner_id": subject}
        own = Task(id=f"serves-{subject}", title=role, created_by="triage", **serves, **fields)
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


@pytest.mark.parametrize("role", ["review", "fix"])
def test_a_subject_that_was_put_behind_what_serves_it_goes_on(world: World, role: Role) -> None:
    """`edit --after` its own review or fix: no circle, and both ends of it are met in one step."""
    here = engine(world)
    if role == "review":
        subject = blocked_for_spec(world)
    else:
        subject = world.add("subject", failed(), every="1h", max_iterations=1).id
        world.run(here, ticks=2)
        assert world.task(subject).status == "failed"
    world.runner.scripts["serve"] = [Succeeded(output=Output(result={"spec": "better"}))]
    serves = serving(world, subject, role, runner="shell", command="serve")
    world.act(tasks.edit, subject, fields={}, reset_failures=False, after=[serves])
    world.run(here, ticks=4)

    assert (world.task(serves).status, world.task(subject).status) == ("completed", "completed")
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


def runs_while_it_is_fixed(world: World, here: Engine, *script: Any) -> tuple[str, str]:
    """A recurring task that was triaged, with its second attempt under way, and the fix that is worked on."""
    subject = world.add("subject", failed(), None, *script, every="1h")
    world.run(here, ticks=2)
    with world.store.write() as tx:
        tx.execute("UPDATE task SET triages = 1, triaged_at = ? WHERE id = ?", (tx.now, subject.id))
    world.runner.scripts["fix"] = [None]
    fix = serving(world, subject.id, "fix", runner="shell", command="fix")
    world.run(here)
    world.act(tasks.retry, subject.id)
    world.run(here)
    assert world.task(subject.id).live == 2 and world.task(fix).live == 1
    return subject.id, fix


def running_of(here: Engine, task_id: str) -> Any:
    """The attempt of a task that goes on until it is told how to end."""
    return next(each.running for key, each in here.live.items() if key[0] == task_id)


def test_a_fix_that_is_completed_while_its_subject_runs_makes_it_due_when_that_fails(world: World) -> None:
    """The attempt began before the fix was there."""
    here = engine(world)
    subject, fix = runs_while_it_is_fixed(world, here)
    running_of(here, fix).outcome = Succeeded()
    world.run(here, ticks=2)
    assert (world.task(fix).status, world.task(subject).live) == ("completed", 2)

    running_of(here, subject).outcome = failed()
    world.run(here, ticks=3)

    assert outcomes(world, subject) == ["failed", "failed", "succeeded"]
    with world.store.read() as tx:
        assert [each.status for each in retries.of_task(tx, subject)] == ["cancelled", "executed"]
    expect_no_standstill(world)


def test_a_fix_that_was_there_before_the_attempt_began_lets_its_backoff_be(world: World) -> None:
    """What fails in spite of its fix waits as ever; a success has nothing to catch up with."""
    here = engine(world)
    subject, fix = runs_while_it_is_fixed(world, here, failed())
    running_of(here, fix).outcome = Succeeded()
    world.run(here, ticks=2)
    running_of(here, subject).outcome = failed()
    world.run(here, ticks=6)

    assert outcomes(world, subject) == ["failed"] * 3
    assert world.task(subject).status == "failed"


@pytest.mark.parametrize(
    "ends", [failed(), Requeued(asked=False, why="the worker stops")], ids=["failed", "handed back"]
)
def test_a_fix_that_is_cancelled_while_its_subject_runs_is_asked_about_when_that_ends(
    world: World, ends: Outcome
) -> None:
    """Blocked, once, as when it had not run."""
    here = engine(world)
    subject, fix = runs_while_it_is_fixed(world, here)
    world.act(tasks.cancel, fix)
    world.run(here, ticks=2)
    assert (world.task(fix).status, asked(world)) == ("cancelled", [])

    running_of(here, subject).outcome = ends
    world.run(here, ticks=3)

    left = world.task(subject)
    assert (left.status, left.block_kind, left.due_at) == ("blocked", "dependency", None)
    assert asked(world) == [(subject,)]
    expect_no_standstill(world)


def test_a_fix_that_is_cancelled_while_its_subject_heals_asks_nobody(world: World) -> None:
    """There is nothing left to fix."""
    here = engine(world)
    subject, fix = runs_while_it_is_fixed(world, here)
    world.act(tasks.cancel, fix)
    world.run(here, ticks=2)
    running_of(here, subject).outcome = Succeeded()
    world.run(here, ticks=3)

    assert (world.task(subject).status, asked(world)) == ("pending", [])


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


# What leaves this machine

KEEPS = Redaction(patterns=(re.compile("ACME-[0-9]+"),))
SECRETS = ("ACME-123456", "a very long secret value", "ghp_" + "a1B2" * 9)
TELLS = " and ".join(SECRETS)


def test_a_specification_under_review_is_shown_without_its_secrets(world: World) -> None:
    """By the rules of this engine; the task itself keeps what a person wrote."""
    subject = blocked_for_spec(world)
    env = (("MY_TOKEN", SECRETS[1]),)
    review = serving(world, subject, "review", runner="agent:fake", command=(), spec=f"use {TELLS}", env=env)
    world.runner.scripts["('fake', '{prompt_file}')"] = [None]
    world.run(engine(world, redaction=KEEPS), ticks=2)

    (launch,) = world.runner.started
    assert "use [redacted] and [redacted] and [redacted]" in launch.prompt
    assert world.task(review).spec == f"use {TELLS}"


def test_who_judges_a_failure_is_shown_nothing_secret(world: World) -> None:
    """The evaluator of an attempt and the agent of a triage, by the same rules."""
    world.runner.scripts["look"] = evaluates(*['{"score": 0.1}'] * 3)
    task = world.add("work", *[failed("ImportError: x")] * 3, spec=f"use {TELLS}", env={"MY_TOKEN": SECRETS[1]})
    world.run(engine(world, means=RESCUE, redaction=KEEPS), ticks=20)

    shown = [each.stdin_text for each in (*world.runner.started, *world.triages) if each.stdin_text]
    assert len(shown) == 4 and world.task(task.id).triages == 1
    assert all("use [redacted] and [redacted] and [redacted]" in each for each in shown)
    assert not [secret for secret in SECRETS for each in shown if secret in each]


class Thinks:
    """Starts agents that think aloud and then fail."""

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """It has ended already."""
        thought = "\n".join(f"step {number}: I look at the ledger" for number in range(300))
        return ScriptedRunning(launch, failed(f"{thought}\nsomething odd happened"))


def test_a_triage_is_shown_the_end_of_an_agents_transcript(world: World) -> None:
    """What it printed in its newest attempt, and that only once."""
    here = world.engine(runners={"agent": AgentRunner(PROFILES, Thinks())})
    add(world, "think", agent="fake")
    world.run(here, ticks=12)

    shown = json.loads(world.triages[0].stdin_text)
    assert shown["transcript"].endswith("something odd happened") and "step 150:" in shown["transcript"]
    assert "step 150:" not in shown["failures"][-1]["tail"]
