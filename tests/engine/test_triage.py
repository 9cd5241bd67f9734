"""Triages in the engine: one per failure, given way to another engine, found again after a crash; on both databases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from medbay.core.outcome import Outcome, Output, Requeued, Succeeded
from medbay.core.triage import effects
from medbay.core.triage.case import Means
from medbay.engine.round import Engine
from medbay.places.protocol import Launch
from medbay.service import breakers, liveness, tasks, triage, working_set
from medbay.service import idle as idling
from medbay.store import attempts, history, questions, retries, triages
from medbay.store import breakers as stored_breakers
from medbay.store.database import Store
from tests.worlds import ManualClock, ScriptedRunning, World, failed


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """An empty store."""
    return World(store, clock)


ADJUSTED = {"verdict": "ADJUST", "why": "too slow", "adjust": {"guidance": "read it in pages"}}


class Says:
    """A triage agent that answers what it is told to, or goes on for ever."""

    def __init__(self, *answers: dict[str, Any] | Outcome | None) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """The next answer, or how it fails; None never ends."""
        self.asked.append(json.loads(launch.stdin_text))
        answer = self.answers.pop(0) if self.answers else {"verdict": "NOOP", "why": "wait"}
        said = None if isinstance(answer, dict) else answer
        if isinstance(answer, dict):
            said = Succeeded(output=Output(result={"answer": json.dumps(answer)}))
        return ScriptedRunning(launch, said)


def events_of(world: World, task_id: str) -> list[str]:
    """The names of everything that was told of a task."""
    with world.store.read() as tx:
        return [each.name for each in history.events_since(tx, 0, limit=1_000, task_id=task_id)]


def actions(world: World, task_id: str) -> list[str]:
    """What came of the triages of a task, the newest first."""
    with world.store.read() as tx:
        return [each.action for each in triages.of_task(tx, task_id)]


def fails_until(world: World, engine: Engine, task_id: str, streak: int) -> None:
    """Let a task fail so often in a row, and what follows from it happen."""
    for _ in range(600):
        if world.task(task_id).streak >= streak:
            break
        world.run(engine, step_ms=20_000)
    world.run(engine, ticks=2)
    assert world.task(task_id).streak == streak


def test_two_tasks_with_the_same_failure_are_looked_at_one_after_the_other(world: World) -> None:
    """While a triage of a fingerprint runs, no second one starts for it."""
    agent = Says(None)
    engine = world.engine(runners={"triage": agent})
    first, second = (world.add(title, *[failed()] * 3) for title in ("a", "b"))
    world.run(engine, ticks=10)

    assert len(agent.asked) == 1
    assert {world.task(each.id).waits_for for each in (first, second)} == {"triage"}
    assert [world.task(each.id).wants_triage for each in (first, second)].count(True) == 1
    running = next(each for key, each in engine.live.items() if key[0].startswith(".triage-"))
    running.running.outcome = Succeeded(  # type: ignore[attr-defined]
        output=Output(result={"answer": json.dumps({"verdict": "NOOP", "why": "wait"})})
    )
    world.run(engine, ticks=6)

    assert len(agent.asked) == 2
    assert (actions(world, first.id), actions(world, second.id)) == (["no_action"], ["no_action"])


def test_a_triage_that_was_lost_with_its_engine_asks_a_person_once(world: World) -> None:
    """No second triage: the agent may have been the reason."""
    agent = Says(None)
    first = world.engine(runners={"triage": agent})
    task = world.add("a", *[failed()] * 9)
    world.run(first, ticks=8)
    assert len(agent.asked) == 1

    world.sightings[first.worker.pid] = "dead"
    second = world.engine(runners={"triage": agent})
    second.start()
    world.run(second, ticks=4)

    assert len(agent.asked) == 1
    assert actions(world, task.id) == ["triage_failed"]
    assert world.task(task.id).block_kind == "human"
    told = events_of(world, task.id)
    assert (told.count("triage:failed"), told.count("question:asked")) == (1, 1)
    with world.store.read() as tx:
        assert len(questions.open_questions(tx)) == 1


def test_a_triage_whose_provider_is_down_waits_and_looks_again(world: World) -> None:
    """Nobody is asked; when the provider is well, its verdict is applied."""
    agent = Says(failed("anthropic: 503 Service Unavailable"), failed("API Error: 529 overloaded_error"))
    engine = world.engine(runners={"triage": agent})
    task = world.add("a", *[failed()] * 3)
    world.run(engine, ticks=40, step_ms=20_000)

    assert len(agent.asked) == 3
    assert (actions(world, task.id), world.task(task.id).status) == (["no_action"], "completed")
    assert "triage:failed" not in events_of(world, task.id)
    with world.store.read() as tx:
        assert questions.open_questions(tx) == [] and stored_breakers.get(tx, "agency") is None


def test_a_verdict_about_a_task_that_somebody_edited_meanwhile_changes_nothing(world: World) -> None:
    """It is dropped as stale, and the task goes on by the ladder."""
    agent = Says(None)
    engine = world.engine(runners={"triage": agent})
    task = world.add("a", *[failed()] * 3)
    world.run(engine, ticks=8)
    world.act(tasks.edit, task.id, fields={"priority": 1}, reset_failures=False)
    running = next(each for key, each in engine.live.items() if key[0].startswith(".triage-"))
    running.running.outcome = Succeeded(  # type: ignore[attr-defined]
        output=Output(result={"answer": json.dumps({"verdict": "PAUSE", "why": "harm"})})
    )
    world.run(engine, ticks=6)

    found = world.task(task.id)
    assert actions(world, task.id) == ["stale"]
    assert (found.paused, found.status) == (False, "completed")


def test_a_verdict_about_an_earlier_failure_leaves_the_later_one_to_the_next_look(world: World) -> None:
    """Retried by a person while its triage ran, it failed in the same way: a person is asked, and no retry waits."""
    agent = Says(None)
    engine = world.engine(runners={"triage": agent})
    task = world.add("a", *[failed()] * 9)
    world.run(engine, ticks=8)
    world.act(tasks.retry, task.id, attempts=1)
    world.run(engine, ticks=4)
    assert (world.task(task.id).streak, world.task(task.id).wants_triage) == (4, True)
    running = next(each for key, each in engine.live.items() if key[0].startswith(".triage-"))
    running.running.outcome = Succeeded(  # type: ignore[attr-defined]
        output=Output(result={"answer": json.dumps({"verdict": "NOOP", "why": "wait"})})
    )
    world.run(engine, ticks=2)

    assert actions(world, task.id) == ["stale"]
    assert world.task(task.id).block_kind == "human"
    with world.store.read() as tx:
        assert [each for each in retries.of_task(tx, task.id) if each.status == "pending"] == []
        assert len(questions.open_questions(tx)) == 1


def test_a_rule_that_breaks_on_a_verdict_leaves_nobody_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The triage is over, its task is a person's matter, and the next failure like it can be looked at."""

    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError("ours")

    engine = world.engine(runners={"triage": Says({"verdict": "NOOP", "why": "wait"})})
    task = world.add("a", *[failed()] * 3)
    monkeypatch.setattr(effects, "judge", breaks)
    world.run(engine, ticks=10)

    assert actions(world, task.id) == ["triage_failed"]
    found, own = world.task(task.id), world.task(f".triage-{task.id}-1")
    assert (found.status, found.block_kind, found.waits_for) == ("blocked", "human", None)
    assert (own.status, own.live) == ("cancelled", None)
    with world.store.read() as tx:
        (asked,) = questions.open_questions(tx)
        assert "please report it: ZeroDivisionError: ours" in asked.need
        assert triages.being_looked_at(tx) == frozenset()
        (attempt,) = attempts.of_task(tx, own.id, 5)
        assert attempt.diagnosis is not None and attempt.diagnosis.kind == "unknown/engine_error"
        assert stored_breakers.get(tx, "agency") is None
        assert liveness.standstills(tx) + liveness.contradictions(tx) == []


def test_an_agent_that_keeps_failing_is_left_alone_and_let_through_one_at_a_time(world: World) -> None:
    """The agency breaker: five failures in a row open it, three good ones close it."""
    agent = Says(*({"verdict": 7} for _ in range(5)))
    engine = world.engine(runners={"triage": agent})
    for number in range(5):
        world.add(f"t{number}", *[failed(f"odd thing number {number} in module {chr(97 + number)}")] * 3)
    world.run(engine, ticks=20)
    assert len(agent.asked) == 5

    late = [world.add(f"late{number}", *[failed(f"strange {chr(97 + number)} it was")] * 3) for number in range(4)]
    world.run(engine, ticks=8)
    assert len(agent.asked) == 5
    assert [world.task(each.id).wants_triage for each in late] == [True] * 4

    world.run(engine, ticks=60, step_ms=20_000)
    assert len(agent.asked) == 9
    assert [actions(world, each.id) for each in late] == [["no_action"]] * 4


def test_a_triage_that_somebody_cancels_before_it_runs_leaves_nobody_waiting(world: World) -> None:
    """Its task is a person's matter then, and the next failure like it can be looked at."""
    engine = world.engine(slots=1, runners={"triage": Says(None)})
    task = world.add("a", *[failed()] * 3)
    while not world.task(task.id).triages:
        world.clock.advance(2_000)
        engine.lease.beat(world.store)
        engine.collect()
        engine.release()
        engine.triager.start()
        if not world.task(task.id).triages:
            engine.launch(engine.claim())
    world.act(tasks.cancel, f".triage-{task.id}-1")

    assert actions(world, task.id) == ["triage_failed"]
    assert (world.task(task.id).block_kind, world.task(task.id).waits_for) == ("human", None)
    with world.store.read() as tx:
        assert triages.being_looked_at(tx) == frozenset()
        assert len(questions.open_questions(tx)) == 1


def test_a_triage_that_is_cancelled_and_handed_back_at_once_leaves_nobody_waiting(world: World) -> None:
    """The engine stops in the moment in which somebody cancels it."""
    engine = world.engine(runners={"triage": Says(None)})
    task = world.add("a", *[failed()] * 3)
    world.run(engine, ticks=10)
    world.act(tasks.cancel, f".triage-{task.id}-1")
    live = next(each for key, each in engine.live.items() if key[0].startswith(".triage-"))
    live.running.outcome = Requeued(asked=False, why="the worker is stopping")  # type: ignore[attr-defined]
    engine.collect()

    assert actions(world, task.id) == ["triage_failed"]
    assert (world.task(task.id).block_kind, world.task(task.id).waits_for) == ("human", None)


def test_triages_that_cannot_be_read_are_a_persons_matter_and_stop_nobody(world: World) -> None:
    """What happens to one never affects another."""
    engine = world.engine(runners={"triage": Says()})
    broken, other = world.add("a", *[failed("one")] * 9), world.add("b", *[failed("two")] * 9)
    for _ in range(40):
        if actions(world, broken.id) == actions(world, other.id) == ["no_action"]:
            break
        world.run(engine, ticks=1)
    with world.store.write() as tx:
        tx.execute("UPDATE triage SET verdict = ? WHERE task_id = ?", ("{", broken.id))
        tx.execute("UPDATE task SET wants_triage = 1 WHERE id IN (?, ?)", (broken.id, other.id))
        settings = engine.settings
        found = triage.start_wanted(tx, None, working_set.load(tx), policy=settings.policy, means=settings.means)

    why = {task.id: words for task, words in found.to_a_person}
    assert "cannot be read" in why[broken.id] and "the same failure again" in why[other.id]
    assert (world.task(broken.id).block_kind, world.task(broken.id).wants_triage) == ("human", False)


def test_a_triage_starts_for_what_has_failed_and_not_for_what_runs(world: World) -> None:
    """A verdict is about the attempt it was shown."""
    agent = Says(None)
    engine = world.engine(runners={"triage": agent})
    task = world.add("poll", *[failed()] * 3, None, every="10s")
    world.run(engine, ticks=3)
    with world.store.write() as tx:
        breakers.open_one(tx, "agency", why="", until=None, actor="person:ana")
    world.run(engine, ticks=80, step_ms=5_000)
    assert (world.task(task.id).live, world.task(task.id).wants_triage) == (4, True)
    with world.store.write() as tx:
        breakers.close_one(tx, "agency", actor="person:ana")
    world.run(engine, ticks=3)

    assert agent.asked == []


def test_a_recurring_task_that_is_blocked_meanwhile_is_not_looked_at(world: World) -> None:
    """It waited for the agency breaker, and then for a person."""
    agent = Says()
    engine = world.engine(runners={"triage": agent})
    with world.store.write() as tx:
        breakers.open_one(tx, "agency", why="", until=None, actor="person:ana")
    task = world.add("poll", *[failed()] * 3, failed("HTTP 401 Unauthorized"), every="10s")
    fails_until(world, engine, task.id, 4)
    assert (world.task(task.id).status, world.task(task.id).block_kind) == ("blocked", "human")
    with world.store.write() as tx:
        breakers.close_one(tx, "agency", actor="person:ana")
    world.run(engine, ticks=4)

    assert (agent.asked, world.task(task.id).wants_triage) == ([], False)


def test_a_recurring_task_that_fails_in_the_same_way_after_its_triage_asks_once_and_goes_on(world: World) -> None:
    """Within its cooldown the same failure is a person's; another failure is not, and neither is an answered one."""
    engine = world.engine(runners={"triage": Says(ADJUSTED)})
    task = world.add("poll", *[failed()] * 3, failed("disk quota of module nine"), *[failed()] * 5, every="10s")
    fails_until(world, engine, task.id, 4)
    assert actions(world, task.id) == ["adjusted"]
    assert "question:asked" not in events_of(world, task.id)

    fails_until(world, engine, task.id, 5)
    found = world.task(task.id)
    assert (found.status, found.block_kind, found.wants_triage) == ("failed", None, False)
    with world.store.read() as tx:
        (asked,) = questions.open_questions(tx)
    assert "the same failure again" in asked.why
    with world.store.write() as tx:
        tasks.answer(tx, asked.id, "1", actor="person:ana")
    fails_until(world, engine, task.id, 7)

    assert actions(world, task.id) == ["adjusted"]
    told = events_of(world, task.id)
    assert (told.count("question:asked"), told.count("task:escalated")) == (1, 1)


def test_no_action_on_a_recurring_task_is_silent_until_the_cooldown_is_over(world: World) -> None:
    """Nothing has to change, so the same failure afterwards is no reason to ask."""
    engine = world.engine(runners={"triage": Says()})
    task = world.add("poll", *[failed()] * 9, every="10s")
    fails_until(world, engine, task.id, 7)

    assert actions(world, task.id) == ["no_action"]
    assert "question:asked" not in events_of(world, task.id)


def test_a_recurring_task_asks_nobody_else_while_its_fix_is_worked_on(world: World) -> None:
    """The fix is a question already; once it is done, the same failure again is one of its own."""
    fix = {"verdict": "FILE_FIX", "fix": {"title": "repair the ledger"}, "root_cause": "it is broken"}
    engine = world.engine(runners={"triage": Says(fix)})
    task = world.add("poll", *[failed()] * 9, every="10s")
    fails_until(world, engine, task.id, 5)
    assert actions(world, task.id) == ["fix_filed"]
    with world.store.read() as tx:
        (asked,) = questions.open_questions(tx)
        filed = triages.open_fix(tx, task.id)
        assert filed is not None and asked.task_ids == (filed.id,)

    with world.store.write() as tx:
        tasks.answer(tx, asked.id, "done", actor="person:ana")
    world.run(engine, ticks=4)
    with world.store.read() as tx:
        assert triages.open_fix(tx, task.id) is None
        (asked,) = questions.open_questions(tx)
    assert (asked.task_ids, world.task(task.id).streak) == ((task.id,), 6)


def test_however_many_wait_those_behind_them_are_looked_at_too(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each look takes some; the next begins where the last one ended. What is held back is told as one number."""
    monkeypatch.setattr(triage, "AT_ONCE", 2)
    with world.store.write() as tx:
        breakers.open_one(tx, "agency", why="", until=None, actor="person:ana")
    agent = Says(None, *[{"verdict": "NOOP", "why": "wait"}] * 9)
    engine = world.engine(slots=8, runners={"triage": agent})
    for number in range(5):
        world.add(f"alike {number}", *[failed("something odd happened")] * 3)
    world.run(engine, ticks=8)
    world.clock.advance(1)
    other = world.add("other", *[failed("quite another thing in module nine broke")] * 3)
    world.run(engine, ticks=20)
    with world.store.read() as tx:
        assert triages.count_wanted(tx) == 6
    held = [each for each in caplog.messages if "suppressing triage" in each]
    assert held[-1].endswith("6 held back") and len(held) == len(set(held))

    with world.store.write() as tx:
        breakers.close_one(tx, "agency", actor="person:ana")
    world.run(engine, ticks=12)

    assert actions(world, other.id) == ["no_action"]
    assert len(agent.asked) == 2  # of those that are alike one, which goes on and on


def test_those_that_wait_for_each_other_follow_at_once(world: World) -> None:
    """The next look comes with the end of the one before, and somebody new is seen at once; no second is waited for."""
    agent = Says(None, {"verdict": "NOOP", "why": "wait"}, {"verdict": "NOOP", "why": "wait"}, None)
    engine = world.engine(runners={"triage": agent})
    for title in "abc":
        world.add(title, *[failed()] * 3)
    world.run(engine, ticks=8)
    assert len(agent.asked) == 1

    other = world.add("other", *[failed("something else broke in module nine")] * 3)
    with world.store.write() as tx:
        tx.execute("UPDATE task SET attempts = 2, streak = 2, charged = 2 WHERE id = ?", (other.id,))
    world.run(engine, ticks=3, step_ms=10)
    assert [each["task"]["title"] for each in agent.asked][1:] == ["other"]

    running = next(each for key, each in engine.live.items() if key[0].startswith(".triage-"))
    running.running.outcome = Succeeded(  # type: ignore[attr-defined]
        output=Output(result={"answer": json.dumps({"verdict": "NOOP", "why": "wait"})})
    )
    world.run(engine, ticks=4, step_ms=10)
    assert len(agent.asked) == 4


@pytest.mark.parametrize(("until", "idle"), [(None, True), (60_000, False)], ids=["for good", "for a while"])
def test_a_triage_that_only_a_person_lets_start_keeps_nobody_busy(world: World, until: int | None, idle: bool) -> None:
    """Opened by hand without an end: idle, and the task waits for a person. With an end: waited for."""
    engine = world.engine(runners={"triage": Says()})
    with world.store.write() as tx:
        at = None if until is None else tx.now + until
        breakers.open_one(tx, "agency", why="", until=at, actor="person:ana")
    task = world.add("a", *[failed()] * 3)
    world.run(engine, ticks=8)
    assert world.task(task.id).wants_triage

    assert engine.is_idle() is idle
    with world.store.read() as tx:
        assert idling.exit_code(tx, engine.worker_ids) == (75 if idle else 0)
        held = stored_breakers.get(tx, "agency")
        assert held is not None and breakers.count_held(tx, held) == 1
    if not idle:
        world.run(engine, ticks=40)
        assert world.task(task.id).status == "completed"
        with world.store.read() as tx:
            held = stored_breakers.get(tx, "agency")
            assert held is not None and breakers.count_held(tx, held) == 0


def test_a_triage_that_runs_in_another_queue_is_waited_for(world: World) -> None:
    """`medbay triage` runs it in a queue of its own; its verdict may give this one work."""
    engine = world.engine(runners={"triage": Says()})
    with world.store.write() as tx:
        breakers.open_one(tx, "agency", why="", until=None, actor="person:ana")
    task = world.add("a", *[failed()] * 3)
    world.run(engine, ticks=8)
    with world.store.write() as tx:
        breakers.close_one(tx, "agency", actor="person:ana")
        work = working_set.load(tx)
        triage.start_wanted(tx, None, work, policy=world.policy, means=Means(), queue="run-x")
    assert not engine.is_idle()

    other = world.engine(queues=("run-x",), runners={"triage": Says(None)})
    world.run(other)
    assert not engine.is_idle()
    other.hand_back_all("it stops")
    other.collect()
    other.stop()
    world.run(engine, ticks=6)

    assert actions(world, task.id) == ["no_action"]
    assert world.task(task.id).status == "completed"
    assert engine.is_idle()


def test_a_triage_that_nobody_serves_is_taken_and_one_that_somebody_serves_is_not(world: World) -> None:
    """A stopped engine handed it back to its queue."""
    first = world.engine(runners={"triage": Says(None)})
    task = world.add("a", *[failed()] * 3)
    world.run(first, ticks=8)
    first.hand_back_all("it stops")
    first.collect()
    with world.store.write() as tx:
        assert triage.take_unserved(tx, "run-x") == []
    first.stop()
    with world.store.write() as tx:
        assert triage.take_unserved(tx, "run-x", "another") == []
        assert [each.task_id for each in triage.take_unserved(tx, "run-x", task.id)] == [task.id]

    other = world.engine(queues=("run-x",), runners={"triage": Says()})
    world.run(other, ticks=3)
    assert actions(world, task.id) == ["no_action"]
