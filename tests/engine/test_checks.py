"""Checks through the engine's steps: side by side in the attempt's own slot, stopped, repeated, taken over."""

from __future__ import annotations

import os

import pytest

from medbay.core.model import CheckResult
from medbay.core.outcome import Failed, Succeeded, TimedOut
from medbay.engine.round import Engine
from medbay.engine.verification import Verification
from medbay.errors import StoreUnavailable
from medbay.service import liveness, tasks
from medbay.store import attempts, checks, history
from medbay.store.database import Store
from tests.worlds import ManualClock, ScriptedRunning, World, failed


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines on it."""
    return World(store, clock)


def commands(world: World) -> list[str]:
    """What was started, in order."""
    return [str(launch.command) for launch in world.runner.started]


def checks_of(world: World, task_id: str, number: int = 1) -> list[tuple[str, int]]:
    """Status and round of the checks of an attempt."""
    with world.store.read() as tx:
        return [(each.status, each.round) for each in checks.of_attempt(tx, task_id, number)]


def results_of(world: World, task_id: str, number: int = 1) -> tuple[CheckResult, ...]:
    """The checks of an attempt."""
    with world.store.read() as tx:
        return checks.of_attempt(tx, task_id, number)


def outcomes_of(world: World, task_id: str) -> list[str | None]:
    """How a task's attempts ended."""
    with world.store.read() as tx:
        return [each.outcome for each in attempts.of_task(tx, task_id, 100)]


def names_of(world: World, task_id: str) -> list[str]:
    """The names of a task's events."""
    with world.store.read() as tx:
        return [event.name for event in history.events_since(tx, 0, limit=1_000, task_id=task_id)]


def running_check(world: World, command: str) -> ScriptedRunning:
    """The newest start of this command."""
    return [each for each in world.runner.running if each.launch.command == command][-1]


def expect_no_standstill(world: World) -> None:
    """Nothing stands still, and the record agrees with itself."""
    with world.store.read() as tx:
        assert liveness.standstills(tx) + liveness.contradictions(tx) == []


def verifying(world: World, engine: Engine, *names: str, **options: object) -> str:
    """A task whose work is done and whose checks run; its id."""
    for name in names:
        world.runner.scripts.setdefault(name, [None])
    task = world.add("work", check=list(names), **options)
    world.run(engine, ticks=2)
    assert world.task(task.id).status == "pending_verification"
    return task.id


def _away(*_: object, **__: object) -> None:
    raise StoreUnavailable("away")


def test_a_result_counts_once_all_its_checks_passed(world: World) -> None:
    """The same attempt, row and slot; one more settle through the same door."""
    engine = world.engine(slots=1)
    task_id = verifying(world, engine, "lint", "test")
    world.add("next")
    world.run(engine)
    assert commands(world) == ["work", "lint", "test"]
    assert checks_of(world, task_id) == [("RUNNING", 1), ("RUNNING", 1)]
    assert not engine.is_idle()
    expect_no_standstill(world)

    running_check(world, "lint").outcome = Succeeded()
    world.run(engine)
    assert world.task(task_id).status == "pending_verification"
    running_check(world, "test").outcome = Succeeded()
    world.run(engine)

    done = world.task(task_id)
    assert (done.status, done.attempts, done.live) == ("completed", 1, None)
    assert outcomes_of(world, task_id) == ["succeeded"]
    assert checks_of(world, task_id) == [("PASS", 1), ("PASS", 1)]
    assert commands(world)[-1] == "next"
    assert names_of(world, task_id) == [
        "task:created",
        "task:started",
        "task:verifying",
        "gate:passed",
        "task:completed",
    ]
    expect_no_standstill(world)


def test_checks_run_like_the_work_with_logs_and_limits_of_their_own(world: World) -> None:
    """Same directory, variables and keys; a log and a mark for each."""
    engine = world.engine()
    verifying(world, engine, "lint", env={"A": "b"}, cwd="/somewhere", check_timeout="7s", timeout="1h")

    work, check = world.runner.started
    assert (check.cwd, check.env, check.idempotency_key) == (work.cwd, work.env, work.idempotency_key)
    assert (check.timeout_s, check.runner) == (7.0, "shell")
    assert os.path.basename(check.log_path) == "1.check-1.log"
    assert check.result_path != work.result_path
    assert check.attempt_key == f"{work.attempt_key}/check-1"


def test_a_failing_check_fails_the_attempt_and_the_next_one_heals(world: World) -> None:
    """Diagnosed from the check's own output; the guidance names it."""
    world.runner.scripts["test"] = [failed("FAILED test_a.py::test_b - assert 0", 1), Succeeded()]
    task = world.add("work", check="test")
    engine = world.engine()

    world.run(engine, ticks=3)
    sick = world.task(task.id)
    assert (sick.status, sick.charged, sick.last_category) == ("failed", 1, "test_failure")
    world.run(engine, ticks=4)

    assert (world.task(task.id).status, world.task(task.id).attempts) == ("completed", 2)
    assert outcomes_of(world, task.id) == ["failed", "succeeded"]
    assert "check 1 (test) failed" in world.runner.started[2].guidance
    assert results_of(world, task.id)[0].tail.startswith("FAILED test_a.py")


def test_a_check_that_cannot_be_spawned_is_tried_once_more(world: World) -> None:
    """The second start counts."""
    world.runner.scripts["test"] = ["no process left", Succeeded()]
    task = world.add("work", check="test")

    world.run(world.engine(), ticks=4)

    assert world.task(task.id).status == "completed"
    assert commands(world) == ["work", "test", "test"]


def test_a_gate_that_breaks_twice_in_a_row_asks_a_person(world: World) -> None:
    """Each broken check was tried twice; nothing is charged."""
    world.runner.scripts["test"] = ["cannot start"] * 8
    task = world.add("work", check="test")

    world.run(world.engine(), ticks=10)

    asked = world.task(task.id)
    assert (asked.status, asked.block_kind, asked.attempts, asked.charged) == ("blocked", "human", 2, 0)
    assert commands(world) == ["work", "test", "test"] * 2
    assert names_of(world, task.id).count("gate:error") == 2
    expect_no_standstill(world)


def test_a_required_check_that_times_out_is_an_error_another_is_a_warning(world: World) -> None:
    """Never a silent pass."""
    world.runner.scripts["slow"] = [TimedOut(limit_s=1.0), TimedOut(limit_s=1.0)]
    lenient = world.add("lenient", check=["slow", "quick"])
    strict = world.add("strict", check="quick", required_check="slow")

    world.run(world.engine(), ticks=3)

    assert world.task(lenient.id).status == "completed"
    assert world.task(strict.id).last_category == "unknown/gate_error"


@pytest.mark.parametrize("first", [failed("no", 3), Failed(exit_code=127)], ids=["fail", "error"])
def test_fail_fast_stops_the_others(world: World, first: Failed) -> None:
    """The first FAIL or ERROR; those that were stopped are outside the share."""
    engine = world.engine()
    task_id = verifying(world, engine, "bad", "long", "longer", fail_fast=True)
    running_check(world, "bad").outcome = first

    world.run(engine, ticks=2)

    assert [status for status, _ in checks_of(world, task_id)][1:] == ["STOPPED", "STOPPED"]
    assert world.task(task_id).status in ("failed", "pending", "pending_verification", "in_progress")
    assert outcomes_of(world, task_id)[0] == "failed"


def test_without_fail_fast_every_check_says_its_word(world: World) -> None:
    """One failure does not stop the others."""
    engine = world.engine()
    task_id = verifying(world, engine, "bad", "long")
    running_check(world, "bad").outcome = failed("no", 3)

    world.run(engine, ticks=3)

    assert world.task(task_id).status == "pending_verification"


def test_fail_fast_does_not_start_again_what_could_not_be_started(world: World) -> None:
    """It is stopped before its second try."""
    world.runner.scripts["odd"] = ["cannot start"]
    world.runner.scripts["bad"] = [failed("no", 3)]
    task = world.add("work", check=["odd", "bad"], fail_fast=True)

    world.run(world.engine(), ticks=4, step_ms=100)

    assert [status for status, _ in checks_of(world, task.id)] == ["STOPPED", "FAIL"]


def test_cancelling_while_verifying_ends_the_checks(world: World) -> None:
    """Then the task is cancelled, and its checks are recorded as stopped."""
    engine = world.engine()
    task_id = verifying(world, engine, "lint", "test")

    world.act(tasks.cancel, task_id)
    world.run(engine, ticks=2)

    assert world.task(task_id).status == "cancelled"
    assert outcomes_of(world, task_id) == ["cancelled"]
    assert [status for status, _ in checks_of(world, task_id)] == ["STOPPED", "STOPPED"]
    assert not engine.live


def test_editing_the_checks_applies_from_the_next_attempt(world: World) -> None:
    """What the attempt was started with is what judges it."""
    world.runner.scripts["old"] = [failed("no", 1)]
    task = world.add("work", None, check="old")
    engine = world.engine()
    world.run(engine)

    world.act(tasks.edit, task.id, fields={"checks": ()}, reset_failures=False)
    world.runner.running[0].outcome = Succeeded()
    world.run(engine, ticks=2)
    assert outcomes_of(world, task.id) == ["failed"]
    world.run(engine, ticks=4)

    assert (world.task(task.id).status, world.task(task.id).attempts) == ("completed", 2)
    assert commands(world) == ["work", "old", "work"]


def test_a_worker_lost_while_verifying_has_its_checks_repeated_on_the_same_host(world: World) -> None:
    """The work is not run again: same attempt, next round, after its leftovers were ended."""
    first = world.engine()
    task_id = verifying(world, first, "lint")
    world.sightings[first.worker.pid] = "dead"
    second = world.engine()
    asked = world.leftovers.asked

    second.start()
    world.run(second)

    assert commands(world) == ["work", "lint", "lint"]
    assert checks_of(world, task_id) == [("RUNNING", 2)]
    assert world.leftovers.asked > asked + 1
    with world.store.read() as tx:
        (attempt,) = attempts.of_task(tx, task_id, 10)
    assert (attempt.number, attempt.worker_id, attempt.ended_at) == (1, second.worker.id, None)
    assert world.task(task_id).crashes == 1
    expect_no_standstill(world)
    running_check(world, "lint").outcome = Succeeded()
    world.run(second)
    assert (world.task(task_id).status, world.task(task_id).crashes) == ("completed", 0)


def test_the_lost_worker_cannot_write_once_its_checks_were_taken_over(world: World) -> None:
    """The fence holds for checks as for work."""
    first = world.engine()
    task_id = verifying(world, first, "lint")
    world.sightings[first.worker.pid] = "dead"
    second = world.engine()
    second.start()
    world.run(second)

    next(each for each in world.runner.running if each.launch.command == "lint").outcome = failed("too late")
    first.collect()

    assert world.task(task_id).status == "pending_verification"
    assert names_of(world, task_id).count("gate:failed") == 0


def test_another_host_repeats_the_attempt(world: World) -> None:
    """The result is on the host that was lost."""
    first = world.engine()
    task_id = verifying(world, first, "lint")
    world.sightings[first.worker.pid] = "elsewhere"
    world.clock.advance(60_000)
    second = world.engine(host="there")

    second.start()
    world.run(second, ticks=2)

    assert commands(world) == ["work", "lint", "work", "lint"]
    assert outcomes_of(world, task_id) == ["lost", None]
    assert checks_of(world, task_id) == [("STOPPED", 1)]
    assert world.task(task_id).streak == 0


def test_checks_are_begun_three_times_at_most(world: World) -> None:
    """Then the attempt is lost, and repeated as a whole."""
    engine = world.engine()
    task_id = verifying(world, engine, "lint")
    world.runner.scripts["lint"] = [None] * 5
    for _ in range(3):
        world.sightings[engine.worker.pid] = "rebooted"
        engine = world.engine()
        engine.start()
        world.run(engine)

    world.run(engine)

    assert commands(world) == ["work", "lint", "lint", "lint", "work", "lint"]
    assert outcomes_of(world, task_id) == ["lost", None]
    assert world.task(task_id).crashes == 0


def test_checks_that_kill_their_engine_end_as_a_question_and_only_they(world: World) -> None:
    """After a crash they run one at a time; those that only waited are not blamed."""
    world.runner.scripts["deadly"] = [None] * 5
    world.runner.scripts["good"] = [None, *[Succeeded()] * 4]
    bad = world.add("bad", check="deadly")
    good = world.add("good work", check="good")
    engine = world.engine()
    world.run(engine, ticks=2)
    for _ in range(4):
        world.sightings[engine.worker.pid] = "dead"
        engine = world.engine()
        engine.start()
        world.run(engine, ticks=3)

    assert (world.task(bad.id).status, world.task(bad.id).block_kind) == ("blocked", "human")
    assert world.task(good.id).status == "completed"
    assert commands(world).count("bad") == commands(world).count("good work") == 1
    expect_no_standstill(world)


def test_checks_that_were_taken_over_wait_for_a_slot(world: World) -> None:
    """And no new work is claimed before them."""
    first = world.engine(slots=3)
    for n in range(3):
        world.runner.scripts[f"check{n}"] = [None, None]
        world.add(f"w{n}", check=f"check{n}")
    world.run(first, ticks=2)
    world.sightings[first.worker.pid] = "rebooted"
    world.add("fresh")
    second = world.engine(slots=1)

    second.start()
    world.run(second, ticks=2)

    assert len(second.live) == 1
    assert "fresh" not in commands(world)
    for _ in range(3):
        for each in world.runner.running:
            each.outcome = each.outcome or Succeeded()
        world.run(second)
    world.run(second, ticks=3)
    with world.store.read() as tx:
        assert attempts.live_keys(tx) == frozenset()
    assert commands(world)[-1] == "fresh"


@pytest.mark.parametrize("refused", [False, True])
def test_what_waits_for_its_checks_has_its_slot_and_its_part_of_the_share(
    world: World, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    """Taken over by an engine that runs, or not begun as the store refused: fresh work comes before more recovery."""
    world.runner.scripts["lint"] = [None]
    first = world.engine(slots=2)
    judged = world.add("judged", failed(), Succeeded(), check="lint")
    later = world.add("later", failed(), priority=0)
    world.run(first, ticks=2)
    world.act(tasks.pause, later.id)
    world.run(first, ticks=3)
    assert (world.task(judged.id).status, world.task(later.id).streak) == ("pending_verification", 1)
    fresh, _ = world.add("fresh", None, priority=1), world.add("more", None)
    world.act(tasks.resume, later.id)
    world.sightings[first.worker.pid] = "rebooted"
    second = world.engine(slots=2)
    if refused:
        second.recover()
        monkeypatch.setattr("medbay.service.checks.begin", _away)
    world.run(second)

    with world.store.read() as tx:
        assert {task_id for task_id, _ in attempts.live_keys(tx)} == {judged.id, fresh.id}


def test_a_stopping_worker_leaves_its_checks_to_the_next(world: World) -> None:
    """What was done is not done again because somebody restarts the daemon."""
    first = world.engine()
    task_id = verifying(world, first, "lint")
    first.claiming = False
    first.hand_back_all("the worker is stopping")
    assert first.collect() and not first.live
    first.stop()
    assert world.task(task_id).status == "pending_verification"
    expect_no_standstill(world)

    second = world.engine()
    second.start()
    world.run(second)

    assert commands(world) == ["work", "lint", "lint"]
    assert (checks_of(world, task_id), world.task(task_id).crashes) == ([("RUNNING", 2)], 0)


def test_what_a_stopped_worker_left_is_repeated_as_a_whole_elsewhere(world: World) -> None:
    """No lease has to run out first: the worker said goodbye."""
    first = world.engine()
    task_id = verifying(world, first, "lint")
    first.claiming = False
    first.kill_all()
    first.collect()
    first.stop()

    second = world.engine(host="there")
    second.start()
    world.run(second)

    assert outcomes_of(world, task_id) == ["lost", None]


def test_a_cancelled_task_is_not_taken_over(world: World) -> None:
    """Its end is recorded at once by whoever finds it."""
    first = world.engine()
    task_id = verifying(world, first, "lint")
    world.act(tasks.cancel, task_id)
    world.sightings[first.worker.pid] = "dead"

    world.engine().start()

    assert world.task(task_id).status == "cancelled"


def test_checks_whose_lease_hung_are_begun_again_when_it_is_back(world: World) -> None:
    """The trees were ended in time; the attempt is still this worker's."""
    engine = world.engine(lease_ms=30_000)
    task_id = verifying(world, engine, "lint")
    world.runner.scripts["lint"] = [None]
    world.clock.advance(21_000)
    assert engine.lease.guard(lambda: [each.running for each in engine.live.values()]) == "terminating"

    engine.collect()
    assert not engine.live
    world.run(engine, step_ms=1)

    assert checks_of(world, task_id) == [("RUNNING", 2)]
    assert outcomes_of(world, task_id) == [None]


def test_a_lease_that_hangs_again_and_again_loses_the_attempt(world: World) -> None:
    """Three rounds by the same worker are three rounds."""
    engine = world.engine(lease_ms=30_000)
    task_id = verifying(world, engine, "lint")
    world.runner.scripts["lint"] = [None] * 5
    for _ in range(3):
        engine.hand_back_all("the lease could not be renewed")
        world.run(engine, step_ms=1)

    world.run(engine, ticks=2)

    assert outcomes_of(world, task_id) == ["lost", None]
    assert commands(world) == ["work", "lint", "lint", "lint", "work", "lint"]


def test_a_store_that_is_away_delays_the_checks_and_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They begin in a later round."""
    task = world.add("work", check="lint")
    engine = world.engine()
    world.run(engine)
    with monkeypatch.context() as patched:
        patched.setattr("medbay.service.checks.waiting", _away)
        world.run(engine)
    assert checks_of(world, task.id) == [("WAITING", 0)]

    world.run(engine, ticks=2)

    assert world.task(task.id).status == "completed"


def test_without_a_descriptor_to_wait_on_time_tells(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine out of descriptors slows checks down and breaks nothing."""

    def refuse() -> None:
        raise OSError("too many open files")

    monkeypatch.setattr("select.epoll", refuse)
    engine = world.engine()
    task_id = verifying(world, engine, "lint")
    (live,) = engine.live.values()
    assert isinstance(live.running, Verification)
    assert live.running.fileno() == -1
    assert live.running.identity is None
    assert live.running.deadline_s() == pytest.approx(world.clock.monotonic_s() + 0.05)

    running_check(world, "lint").outcome = Succeeded()
    world.run(engine)

    assert world.task(task_id).status == "completed"
