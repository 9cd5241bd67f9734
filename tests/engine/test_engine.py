"""The engine's steps on a real store: claim, settle, release, recover, stop, in the order the rules say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medbay.core.outcome import Lost, Succeeded, TimedOut
from medbay.engine.daemon import Daemon
from medbay.engine.round import Engine
from medbay.env import SystemClock
from medbay.errors import StoreBusy, StoreUnavailable
from medbay.service import idle, tasks
from medbay.store import attempts, history, meta, questions, retries, workers
from medbay.store.database import Store
from tests.worlds import ManualClock, World, failed


@pytest.fixture
def world(store: Store, clock: ManualClock, tmp_path: Path) -> World:
    """A store with engines on it."""
    return World(store, clock, root=tmp_path)  # what a task comes after is handed to it in a file


def events_of(world: World, task_id: str) -> list[str]:
    """The names of a task's events."""
    with world.store.read() as tx:
        return [event.name for event in history.events_since(tx, 0, limit=1_000, task_id=task_id)]


def outcomes_of(world: World, task_id: str) -> list[str | None]:
    """How a task's attempts ended."""
    with world.store.read() as tx:
        return [each.outcome for each in attempts.of_task(tx, task_id, 100)]


def test_a_good_task_completes_at_its_first_attempt(world: World) -> None:
    """Claimed, launched, collected."""
    task = world.add("a")

    world.run(world.engine(), ticks=2)

    done = world.task(task.id)
    assert (done.status, done.attempts, done.streak, done.live) == ("completed", 1, 0, None)
    assert events_of(world, task.id) == ["task:created", "task:started", "task:completed"]


def test_a_failing_task_walks_the_ladder_to_a_person_and_heals_when_answered(world: World) -> None:
    """Fails, retried, fails, retried, fails, a different approach, fails, a person, an answer, success."""
    task = world.add("a", failed(), failed(), failed(), failed(), Succeeded(), takes_advice=True)
    engine = world.engine()

    world.run(engine, ticks=12)

    asked = world.task(task.id)
    assert (asked.status, asked.block_kind, asked.attempts, asked.charged) == ("blocked", "human", 4, 4)
    with world.store.read() as tx:
        assert [each.action for each in retries.of_task(tx, task.id)] == [
            "retry_with_guidance",
            "retry_with_guidance",
            "retry_with_guidance",
        ]
    assert len(world.triages) == 1
    assert "different approach" in world.runner.started[3].guidance

    with world.store.write() as tx:
        tasks.answer(tx, task.id, "1", actor="person:ana", note="the fixture was stale")
    world.run(engine, ticks=2)

    healed = world.task(task.id)
    assert (healed.status, healed.attempts, healed.streak) == ("completed", 5, 0)
    assert "the fixture was stale" in world.runner.started[4].guidance
    with world.store.read() as tx:
        (question,) = questions.of_task(tx, task.id)
        assert (question.status, question.answered_by) == ("answered", "person:ana")
        moves = [(row.source, row.target) for row in history.of_task(tx, task.id)]
    assert moves[0] == ("pending", "in_progress")
    assert moves[-1] == ("in_progress", "completed")


def test_clearing_for_retry_never_loses_the_count(world: World) -> None:
    """Fail, release by hand, fail, release, fail: the streak goes on, and a grant ends with the same question."""
    task = world.add("a", *[failed()] * 10, takes_advice=True)
    engine = world.engine()
    world.run(engine, ticks=12)
    assert world.task(task.id).streak == 4

    world.act(tasks.unblock, task.id)
    world.run(engine, ticks=4)

    again = world.task(task.id)
    assert (again.streak, again.attempts, again.status, again.block_kind) == (6, 6, "blocked", "human")


def test_a_category_with_fewer_retries_is_exhausted_first(world: World) -> None:
    """Three retries for a time limit; the fourth failure is the end, whatever the rung."""
    task = world.add("a", *[TimedOut(limit_s=1.0)] * 4, takes_advice=True)

    world.run(world.engine(), ticks=12)

    ended = world.task(task.id)
    assert (ended.status, ended.block_kind, ended.attempts) == ("blocked", "exhausted", 4)
    assert "task:retry_exhausted" in events_of(world, task.id)


def test_a_task_starts_after_what_it_comes_after(world: World) -> None:
    """The counter of unmet tasks goes down in the transaction of the success."""
    first = world.add("first", failed(), Succeeded())
    second = world.add("second", after=[first.id])
    engine = world.engine()

    world.run(engine, ticks=2)
    assert world.task(second.id).status == "pending"

    world.run(engine, ticks=4)
    assert [launch.command for launch in world.runner.started] == ["first", "first", "second"]
    assert world.task(second.id).status == "completed"


def test_urgent_work_goes_first_then_what_waited_longest(world: World) -> None:
    """Priority, then ready since."""
    world.add("old")
    world.clock.advance(10)
    world.add("new")
    world.add("urgent", priority=0)

    world.run(world.engine(slots=1), ticks=5)

    assert [launch.command for launch in world.runner.started] == ["urgent", "old", "new"]


def test_recovery_never_takes_more_than_its_share_from_fresh_work(world: World) -> None:
    """Half of the slots, rounded up, while fresh work is ready."""
    sick = [world.add(f"sick{n}", failed(), None) for n in range(6)]
    engine = world.engine(slots=6)
    world.run(engine, ticks=2, step_ms=100)
    assert all(world.task(task.id).status == "failed" for task in sick)
    world.clock.advance(5_000)
    for n in range(6):
        world.add(f"fresh{n}", None)

    world.run(engine, ticks=1)

    live = [each.claim.task for each in engine.live.values()]
    assert sum(task.recovery for task in live) == 3
    assert len(live) == 6


def test_with_one_slot_fresh_work_and_recovery_take_turns(world: World) -> None:
    """Neither starves the other."""
    for n in range(3):
        world.add(f"sick{n}", failed())
    engine = world.engine(slots=1)
    world.run(engine, ticks=7, step_ms=100)
    for n in range(3):
        world.add(f"fresh{n}")
    world.clock.advance(2_000)
    world.runner.started.clear()

    world.run(engine, ticks=7, step_ms=1)

    kinds = ["again" if "sick" in str(launch.command) else "fresh" for launch in world.runner.started]
    assert kinds in (["fresh", "again"] * 3, ["again", "fresh"] * 3)


def test_a_paused_task_is_not_started_and_keeps_its_counters(world: World) -> None:
    """Its retry falls due and waits for resume."""
    task = world.add("a", failed(), Succeeded())
    engine = world.engine()
    world.run(engine, ticks=2, step_ms=100)
    world.act(tasks.pause, task.id)

    world.run(engine, ticks=5)
    paused = world.task(task.id)
    assert (paused.status, paused.attempts, paused.streak) == ("failed", 1, 1)

    world.act(tasks.resume, task.id)
    world.run(engine, ticks=3)
    assert world.task(task.id).status == "completed"


def test_cancelling_a_running_task_ends_its_tree_first(world: World) -> None:
    """The owner ends it and records it; what came after is blocked with a question."""
    task = world.add("a", None)
    after = world.add("b", after=[task.id])
    engine = world.engine()
    world.run(engine)

    asked = world.act(tasks.cancel, task.id)
    assert (asked.status, asked.cancel_requested) == ("in_progress", True)
    world.run(engine, ticks=2)

    assert world.task(task.id).status == "cancelled"
    assert outcomes_of(world, task.id) == ["cancelled"]
    blocked = world.task(after.id)
    assert (blocked.status, blocked.block_kind) == ("blocked", "dependency")
    with world.store.read() as tx:
        assert questions.open_of_task(tx, after.id) is not None


def test_tasks_stopped_by_the_same_cause_share_one_question(world: World) -> None:
    """One missing command, three tasks, one answer."""
    made = [world.add(f"t{n}", "command not found: frobnicate (ENOENT)") for n in range(3)]
    engine = world.engine()
    world.run(engine, ticks=3)

    with world.store.read() as tx:
        (question,) = questions.open_questions(tx)
    assert sorted(question.task_ids) == sorted(task.id for task in made)

    with world.store.write() as tx:
        tasks.answer(tx, made[1].id, "default", actor="person:ana")
    world.run(engine, ticks=2)

    assert all(world.task(task.id).status == "completed" for task in made)


def test_a_dead_engines_work_is_taken_over_at_once_on_the_same_host(world: World) -> None:
    """Lost is no failure; the attempt number goes on."""
    task = world.add("a", None, Succeeded())
    first = world.engine()
    world.run(first)
    world.sightings[first.worker.pid] = "dead"

    second = world.engine()
    second.start()
    world.run(second, ticks=2)

    done = world.task(task.id)
    assert (done.status, done.attempts) == ("completed", 2)
    assert outcomes_of(world, task.id) == ["lost", "succeeded"]
    assert world.leftovers.asked


def test_a_worker_that_comes_back_after_losing_its_lease_cannot_write(world: World) -> None:
    """The fence: its result is dropped, the new owner's counts."""
    task = world.add("a", None, None)
    stale = world.engine()
    world.run(stale)
    world.sightings[stale.worker.pid] = "elsewhere"
    fresh = world.engine()
    for _ in range(3):
        world.clock.advance(15_000)
        fresh.lease.beat(world.store)
    fresh.recover()
    fresh.launch(fresh.claim())
    assert world.task(task.id).attempts == 2
    stale.lease.renewed_s = world.clock.boottime_s()  # whatever it believes, the store decides

    for running in world.runner.running[:1]:
        running.outcome = failed("too late")
    stale.collect()

    assert outcomes_of(world, task.id) == ["lost", None]
    assert world.task(task.id).streak == 0


def test_another_host_waits_for_lease_and_grace(world: World) -> None:
    """A moment before, nothing is taken over."""
    world.add("a", None)
    away = world.engine(lease_ms=30_000, grace_ms=10_000)
    world.run(away)
    world.sightings[away.worker.pid] = "elsewhere"
    here = world.engine()

    for _ in range(3):
        world.clock.advance(13_333)
        here.lease.beat(world.store)
    assert here.recover() == []
    world.clock.advance(1)

    assert len(here.recover()) == 1


def test_a_task_that_kills_its_engine_ends_as_a_question_while_others_finish(world: World) -> None:
    """The crash budget: suspects run one at a time, so that the third death has a name."""
    killer = world.add("killer", *[None] * 9)
    others = [world.add(f"other{n}", None, Succeeded()) for n in range(3)]
    engine = world.engine(slots=4)
    engine.start()
    world.run(engine)
    for _ in range(2):
        world.sightings[engine.worker.pid] = "dead"
        engine = world.engine(slots=4)
        engine.start()
        while killer.id not in {key[0] for key in engine.live}:
            assert len([each for each in engine.live.values() if each.claim.task.crashes]) <= 1
            world.run(engine, step_ms=100)
    world.sightings[engine.worker.pid] = "dead"
    last = world.engine()
    last.start()
    world.run(last, ticks=6)

    asked = world.task(killer.id)
    assert (asked.status, asked.block_kind, asked.crashes) == ("blocked", "human", 3)
    assert asked.streak == 0
    assert all(world.task(task.id).status == "completed" for task in others)


def test_a_reboot_counts_no_crash(world: World) -> None:
    """Nobody's fault."""
    task = world.add("a", None)
    first = world.engine()
    world.run(first)
    world.sightings[first.worker.pid] = "rebooted"

    world.engine().start()

    assert (world.task(task.id).crashes, world.task(task.id).status) == (0, "pending")


def test_a_stopping_worker_hands_back_and_nothing_is_counted(world: World) -> None:
    """Requeued, ready at once, no failure."""
    task = world.add("a", None)
    engine = world.engine()
    world.run(engine)

    engine.hand_back_all("the worker is stopping")
    engine.collect()
    engine.stop()

    back = world.task(task.id)
    assert (back.status, back.ready, back.streak, back.attempts) == ("pending", True, 0, 1)
    assert outcomes_of(world, task.id) == ["requeued"]
    with world.store.read() as tx:
        assert workers.alive(tx) == []


def test_an_item_that_raises_is_blocked_alone_with_its_traceback(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of the batch commits."""
    from medbay.core import rules
    from medbay.core.attempt import ending

    broken, fine = world.add("broken", tag=["odd"]), world.add("fine")

    def rule(ended: Any, now: int, work: Any) -> Any:
        if ended.task.id == broken.id:
            raise ZeroDivisionError("ours")
        return ending.on_attempt_ended(ended, now, work)

    monkeypatch.setattr(rules, "on_attempt_ended", rule)
    world.run(world.engine(), ticks=2)

    assert world.task(fine.id).status == "completed"
    stuck = world.task(broken.id)
    assert (stuck.status, stuck.block_kind) == ("blocked", "human")
    with world.store.read() as tx:
        (attempt,) = attempts.of_task(tx, broken.id, 5)
        assert attempt.diagnosis is not None
        assert attempt.diagnosis.kind == "unknown/engine_error"
        assert "ZeroDivisionError" in attempt.diagnosis.pattern.excerpt
        assert not attempt.charged


def test_an_outcome_stays_in_memory_until_the_store_has_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing new is claimed while one is unstored."""
    task = world.add("a")
    engine = world.engine()
    world.run(engine)
    world.add("b")
    away = _Away(world.store)
    monkeypatch.setattr(engine._settler, "_store", away)

    assert not engine.collect()
    assert engine.claim() == []
    away.gone = False
    world.run(engine)

    assert world.task(task.id).status == "completed"
    assert len(engine.live) == 1


def test_a_lost_lease_means_another_identity(world: World) -> None:
    """The trees are ended, and the worker goes on under a new name."""
    world.add("a", None)
    engine = world.engine()
    world.run(engine)
    before = engine.worker.id
    with world.store.write() as tx:
        workers.end(tx, engine.worker, how="lost")

    assert not engine.lease.beat(world.store)
    engine.lease.guard(lambda: [each.running for each in engine.live.values()])
    engine.tick()

    assert engine.worker.id != before
    assert world.runner.running[0].killed


def test_a_lease_that_cannot_be_renewed_ends_its_trees_in_time(world: World) -> None:
    """Two thirds: SIGTERM; five sixths: SIGKILL; at its end: gone."""
    world.add("a", None)
    engine = world.engine(lease_ms=30_000)
    world.run(engine)
    running = world.runner.running[0]
    states = []

    for _ in range(4):
        states.append(engine.lease.guard(lambda: [running]))
        world.clock.advance(10_000)

    assert states[:2] == ["held", "held"]
    assert states[2:] == ["terminating", "gone"]
    assert running.killed


def test_a_clock_jump_is_told_and_nothing_is_reaped_for_one_lease(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others may only look dead."""
    away = world.engine()
    world.sightings[away.worker.pid] = "elsewhere"
    engine = world.engine()
    engine.recover_when_due()
    world.clock.wall_ms += 3_600_000
    with monkeypatch.context() as patched:
        patched.setattr(world.store, "write", _raise_unavailable)
        with pytest.raises(StoreUnavailable):
            engine.recover_when_due()

    engine.recover_when_due()
    engine.recover_when_due()

    with world.store.read() as tx:
        told = [event.data for event in history.events_since(tx, 0, limit=100) if event.name == "clock:jumped"]
        assert [each["by_ms"] for each in told] == [3_600_000], "told once, though the first try failed"
        assert len(workers.alive(tx)) == 2


def test_a_takeover_is_whole_or_comes_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attempt that could not be recorded keeps its worker alive in the store, so that it is found again."""
    task = world.add("a", None, Succeeded())
    dying = world.engine()
    world.run(dying)
    world.sightings[dying.worker.pid] = "dead"
    engine = world.engine()
    with monkeypatch.context() as patched:
        patched.setattr(engine._settler, "settle_in", lambda tx, finished, *rest: list(finished))
        assert engine.recover() == []
    assert world.task(task.id).live == 1

    world.run(engine, ticks=3)

    assert outcomes_of(world, task.id) == ["lost", "succeeded"]


def test_a_sweep_cut_short_is_made_up_for_before_anything_starts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store went away after the takeover and before the old processes were ended."""
    world.add("a", None)
    dying = world.engine()
    world.run(dying)
    world.sightings[dying.worker.pid] = "dead"
    engine = world.engine()
    with monkeypatch.context() as patched:
        patched.setattr(world.leftovers, "end", _raise_unavailable)
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                world.run(engine)
    assert len(world.runner.started) == 1

    world.run(engine)

    assert world.leftovers.asked
    assert len(world.runner.started) == 2


def test_a_store_that_leaves_while_it_is_asked_for_work_left_does_not_end_the_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the round and the question whether all is done, a server may restart."""
    task = world.add("a")
    engine = world.engine()
    answers = iter([StoreUnavailable("gone"), StoreBusy("two waited for each other")])
    is_idle, stop = engine.is_idle, engine.stop
    monkeypatch.setattr(engine, "is_idle", lambda: _raise_or(next(answers, None), is_idle))
    gone = iter([StoreUnavailable("gone again")])
    monkeypatch.setattr(engine, "stop", lambda: _raise_or(next(gone, None), stop))

    assert Daemon(engine, SystemClock()).run(until_idle=True) == 0

    assert world.task(task.id).status == "completed"


def test_a_daemon_that_lost_its_lease_stops_at_once_and_leaves_the_rest_to_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its identity never writes again, so there is nothing to wait for."""
    task = world.add("a")
    engine = world.engine()
    claims = engine.claim()
    world.clock.suspend(engine.settings.lease_ms)
    engine.launch(claims)
    daemon = Daemon(engine, world.clock)
    monkeypatch.setattr(daemon, "_sleep", lambda *_, **__: pytest.fail("it waits"))

    daemon._drain()
    engine.stop()

    assert world.task(task.id).live == 1
    world.run(world.engine(), ticks=3)
    assert (outcomes_of(world, task.id), world.task(task.id).status) == (["lost", "succeeded"], "completed")


@pytest.mark.parametrize("made_work", [True, None])
def test_work_that_was_made_beside_a_round_is_not_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch, made_work: bool | None
) -> None:
    """Its commit is of the same connection, which tells of others' commits only; once, not for ever."""
    engine = world.engine()
    engine.start()
    slept: list[float] = []
    daemon = Daemon(engine, world.clock, on_round=lambda: made_work)

    def sleep(seconds: float, **_: object) -> str:
        slept.append(seconds)
        world.clock.advance(60_000)
        return "nothing"

    monkeypatch.setattr(daemon, "_sleep", sleep)

    daemon._round()
    while world.store.changed():
        pass
    daemon._wait()

    assert bool(slept) == (not made_work)
    engine.stop()


def test_a_waiting_daemon_hears_of_commits_apart_from_ends(world: World) -> None:
    """A commit is worth a look; a stop ends the wait."""
    store = world.store
    other = store.sibling()
    daemon = Daemon(world.engine(), SystemClock())
    while store.changed():
        pass
    assert daemon._sleep(0.001, notified=store.fileno()) == "nothing"

    with other.write() as tx:
        meta.put(tx, "x", "1")
    assert daemon._sleep(30.0, notified=store.fileno()) == "commit"

    daemon.stop()
    assert daemon._sleep(30.0) == "end"
    other.close()


def test_an_engine_that_may_not_reap_yet_does_not_wake_for_it(world: World) -> None:
    """After the store was away nothing is taken over for one lease; until then there is nothing to wake for."""
    engine = world.engine()
    world.run(engine)
    engine.hold_reaping()

    world.clock.advance(5_000)

    wake_s = engine.next_wake_s()
    assert wake_s is not None and wake_s > world.clock.monotonic_s()


def _raise_unavailable(**options: Any) -> int:
    raise StoreUnavailable("gone")


def _raise_or(error: Exception | None, go_on: Callable[[], Any]) -> Any:
    if error is not None:
        raise error
    return go_on()


def test_a_parked_task_is_passed_over_once_and_not_looked_at_again(world: World) -> None:
    """Held by a breaker: it gets the key and leaves the head of the queue."""
    with world.store.write() as tx:
        tx.execute(
            "INSERT INTO breaker (key, kind, state, why, opened_by, opened_at, failures, successes, data)"
            " VALUES ('provider:p', 'provider', 'open', 'w', 'x', 0, 0, 0, '{}')"
        )
    held = world.add("held", provider="p")
    free = world.add("free")

    world.run(world.engine(), ticks=2)

    assert world.task(free.id).status == "completed"
    assert (world.task(held.id).hold, world.task(held.id).attempts) == ("provider:p", 0)


def test_idle_means_nothing_running_ready_or_waiting_to_be_retried(world: World) -> None:
    """A pending retry keeps it busy however far away; a future or paused task does not."""
    world.add("future", at="+10d")
    paused = world.add("paused")
    world.act(tasks.pause, paused.id)
    engine = world.engine()
    assert engine.is_idle()

    task = world.add("a", failed(), Succeeded())
    assert not engine.is_idle()
    world.run(engine, ticks=2, step_ms=100)
    assert world.task(task.id).status == "failed"
    assert not engine.is_idle()

    world.run(engine, ticks=3)
    assert engine.is_idle()


def test_a_lost_attempt_is_recorded_through_the_same_door(world: World) -> None:
    """One door for every ending: the outcome says lost, the task says pending."""
    task = world.add("a", Lost(why="the machine went away"), Succeeded())

    world.run(world.engine(), ticks=4)

    assert outcomes_of(world, task.id) == ["lost", "succeeded"]


class _Away:
    """A store that does not answer until it is back."""

    def __init__(self, store: Store) -> None:
        self.gone = True
        self._store = store

    def write(self) -> Any:
        """Refuse while away."""
        if self.gone:
            raise StoreUnavailable("away")
        return self._store.write()


def test_a_future_task_starts_when_its_time_comes(world: World) -> None:
    """Not a moment before."""
    task = world.add("a", at="+10s")
    engine: Engine = world.engine()

    world.run(engine, ticks=1, step_ms=9_000)
    assert world.task(task.id).attempts == 0

    world.run(engine, ticks=2, step_ms=1_000)
    assert world.task(task.id).status == "completed"


def test_what_a_dead_run_was_doing_is_adopted_by_the_ordinary_queue(world: World) -> None:
    """Its own queue is served by nobody else."""
    task = world.add("a", None, Succeeded(), queue="run-abc")
    alone = world.engine(slots=1, queues=("run-abc",))
    world.run(alone)
    world.sightings[alone.worker.pid] = "dead"

    engine = world.engine()
    engine.start()
    world.run(engine, ticks=3)

    assert (world.task(task.id).status, world.task(task.id).queue) == ("completed", "default")


def test_before_another_attempt_what_an_earlier_one_left_is_ended(world: World) -> None:
    """A child in a session of its own does not go on beside the next attempt."""
    world.add("a", failed(), Succeeded())
    engine = world.engine()
    world.run(engine, ticks=2, step_ms=100)
    asked = world.leftovers.asked

    world.run(engine, ticks=2)

    assert world.leftovers.asked > asked


@pytest.mark.parametrize(("left", "told"), [(1, "1 process that"), (2, "2 processes that"), (0, "")])
def test_what_an_attempt_of_this_engine_left_is_not_laid_to_another(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, left: int, told: str
) -> None:
    """In a fresh store there was no earlier engine: what is ended before a retry was left by the attempt before it."""
    world.add("a", failed(), Succeeded())
    engine = world.engine()
    world.run(engine, ticks=2, step_ms=100)
    monkeypatch.setattr(world.leftovers, "end", lambda **_: left)

    world.run(engine, ticks=2)

    said = [each.getMessage() for each in caplog.records if "left behind" in each.getMessage()]
    assert said == ([f"ended {told} earlier attempts left behind"] if left else [])


def test_what_comes_after_a_paused_task_does_not_keep_a_run_busy(world: World) -> None:
    """Not busy: paused tasks and what follows them; but a paused one that ran waits for a person."""
    first = world.add("first", failed())
    engine = world.engine()
    world.run(engine, ticks=2, step_ms=100)
    second = world.add("second", failed())
    world.run(engine, ticks=2, step_ms=100)
    world.act(tasks.pause, first.id)
    world.act(tasks.edit, second.id, fields={}, reset_failures=False, after=[first.id])

    assert engine.is_idle()
    with world.store.read() as tx:
        assert idle.exit_code(tx, engine.worker_ids) == 75
