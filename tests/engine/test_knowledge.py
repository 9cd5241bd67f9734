"""What was learnt changes what happens: advice that cured comes first, a person's word is followed at once."""

from __future__ import annotations

import pytest

from medbay.core.attempt.knowledge import Advice, Known
from medbay.core.outcome import Succeeded
from medbay.errors import NotAllowed, NotFound, UsageError
from medbay.service import liveness, tasks, teaching
from medbay.service.teaching import Reclassified
from medbay.store import attempts, history, patterns, questions, retries
from medbay.store.database import Store
from tests.worlds import ManualClock, World, failed, quick_policy

ODD = "zorp, and the frobnicator hums"
AUTH = "HTTP/1.1 401 Unauthorized: token expired"
PERSON = "person:test"


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines on it."""
    return World(store, clock, policy=quick_policy(10_000))


def known_of(world: World, task_id: str) -> Known:
    """What is known of the newest failure of a task."""
    fingerprint = world.task(task_id).last_fingerprint
    with world.store.read() as tx:
        found = patterns.get(tx, fingerprint)
    assert found is not None
    return found


def reclassify(world: World, given: str, kind: str) -> Reclassified:
    """Do what a person would."""
    with world.store.write() as tx:
        done = teaching.reclassify(tx, given, kind, actor=PERSON, policy=world.policy)
    with world.store.read() as tx:
        assert liveness.standstills(tx) + liveness.contradictions(tx) == []
    return done


def answer(world: World, task_id: str, note: str) -> None:
    """Release a task with a note."""
    with world.store.write() as tx:
        tasks.answer(tx, task_id, "retry", actor=PERSON, note=note)


def names(world: World, task_id: str) -> list[str]:
    """The events of a task."""
    with world.store.read() as tx:
        return [event.name for event in history.events_since(tx, 0, limit=1_000, task_id=task_id)]


def fail_at_once(world: World, title: str, text: str) -> str:
    """A task that failed like this and stands where that put it."""
    engine = world.engine()
    engine.start()
    task = world.add(title, *[failed(text)] * 20)
    world.run(engine, ticks=2, step_ms=100)
    engine.stop()
    return task.id


# Advice


def test_a_note_that_cured_is_the_advice_for_the_next_task_with_that_failure(world: World) -> None:
    """Twice it helped when a person said it; the third task hears it at its first failure."""
    engine = world.engine()
    engine.start()
    for title in ("first", "second"):
        task = world.add(title, failed(AUTH), Succeeded())
        world.run(engine, ticks=2)
        assert world.task(task.id).status == "blocked"
        answer(world, task.id, "run vault login first")
        world.run(engine, ticks=3)
        assert world.task(task.id).status == "completed"

    third = world.add("third", failed(AUTH))
    world.run(engine, ticks=2)

    with world.store.read() as tx:
        asked = questions.open_of_task(tx, third.id)
    assert asked is not None and asked.need == "third: run vault login first (worked 2 of 2 times)"
    found = known_of(world, third.id)
    assert (found.count, found.tasks) == (3, 3)
    assert found.advice == (Advice("run vault login first", 2, 2),)


def test_advice_that_cured_is_given_to_the_next_attempt(world: World) -> None:
    """The runner gets it with its record, and what did not help is not said twice."""
    engine = world.engine()
    engine.start()
    for number in range(2):
        task = world.add(f"seen {number}", *[failed(ODD)] * 4, Succeeded(), takes_advice=True)
        world.run(engine, ticks=14, step_ms=12_000)
        answer(world, task.id, "tune it with a fork")
        world.run(engine, ticks=3)
        assert world.task(task.id).status == "completed"

    task = world.add("new", failed(ODD), failed(ODD), Succeeded(), takes_advice=True)
    world.run(engine, ticks=2)

    (told,) = world.task(task.id).guidance
    assert told.advice == "tune it with a fork"
    assert "tune it with a fork (worked 2 of 2 times)" in told.text
    world.run(engine, ticks=3, step_ms=12_000)
    own, second = world.task(task.id).guidance[0], world.task(task.id).guidance[1]
    assert (own.cured, second.cured) == (False, None)
    assert second.advice != "tune it with a fork"
    second_attempt = next(each for each in reversed(world.runner.started) if each.number == 2)
    assert "Advice: tune it with a fork (worked 2 of 2 times)" in second_attempt.guidance


def test_what_nobody_was_told_is_nobodys_cure(world: World) -> None:
    """A release without a note does not credit the guidance of an attempt that failed."""
    engine = world.engine()
    engine.start()
    task = world.add("a", *[failed(ODD)] * 4, Succeeded(), takes_advice=True)
    world.run(engine, ticks=14, step_ms=12_000)
    answer(world, task.id, "")
    world.run(engine, ticks=3)

    assert world.task(task.id).status == "completed"
    assert [each.cured for each in known_of(world, task.id).advice] == [0, 0]
    assert sum(each.given for each in known_of(world, task.id).advice) == 3


# Teaching


def test_a_taught_fingerprint_changes_the_path_of_the_next_failure(world: World) -> None:
    """What was charged is free from now on, on other tasks as well."""
    task_id = fail_at_once(world, "first", ODD)
    assert world.task(task_id).charged == 1

    reclassify(world, task_id, "transient/service")
    other = fail_at_once(world, "second", ODD)

    found = world.task(other)
    assert (found.last_category, found.charged, found.uncharged) == ("transient/service", 0, 1)
    with world.store.read() as tx:
        attempt = attempts.get(tx, other, 1)
    assert attempt is not None and attempt.diagnosis is not None
    assert (attempt.diagnosis.pattern.rule, attempt.diagnosis.confidence) == ("taught", 1.0)
    known = known_of(world, other)
    assert (known.category, known.kind, known.count) == ("unknown", "transient/service", 2)


def test_a_waiting_task_is_decided_about_again_and_heals(world: World) -> None:
    """Its retry is replaced in the same transaction, and its attempt is corrected."""
    task_id = fail_at_once(world, "a", ODD)
    world.runner.scripts["a"] = [Succeeded()]
    with world.store.read() as tx:
        (before,) = retries.of_task(tx, task_id)
    world.clock.advance(3_000)

    done = reclassify(world, task_id, "transient/network")

    assert (done.attempt, done.before, done.after, done.decided_again) == (1, "unknown", "transient/network", True)
    with world.store.read() as tx:
        (retry,) = retries.of_task(tx, task_id)
        attempt = attempts.get(tx, task_id, 1)
    assert (retry.status, retry.category) == ("pending", "transient/network")
    assert retry.scheduled_at == before.scheduled_at + 3_000
    assert attempt is not None and not attempt.charged
    assert "task:retry_cancelled" in names(world, task_id)
    engine = world.engine()
    engine.start()
    world.run(engine, ticks=4, step_ms=12_000)
    assert world.task(task_id).status == "completed"
    with world.store.read() as tx:
        assert [each.outcome for each in retries.of_task(tx, task_id)] == ["succeeded"]
    assert Advice("Try again; if it lasts, check that the host is up and can be reached from here.", 1, 1) in (
        known_of(world, task_id).advice
    )


def test_a_blocked_task_is_released_when_its_failure_was_none_of_that_kind(world: World) -> None:
    """Its question is answered by the command, and it starts after the delay of the new class."""
    task_id = fail_at_once(world, "a", AUTH)
    world.runner.scripts["a"] = [Succeeded()]
    assert world.task(task_id).status == "blocked"

    reclassify(world, task_id, "transient/service")

    task = world.task(task_id)
    assert (task.status, task.block_kind, task.charged, task.uncharged) == ("pending", None, 0, 1)
    assert task.due_at is not None and task.due_at > world.clock.now_ms()
    with world.store.read() as tx:
        (asked,) = questions.of_task(tx, task_id)
    assert (asked.status, asked.answered_by, asked.answer) == (
        "answered",
        PERSON,
        "reclassified as transient/service",
    )
    engine = world.engine()
    engine.start()
    world.run(engine, ticks=4, step_ms=12_000)
    assert world.task(task_id).status == "completed"


def test_a_block_of_another_kind_asks_a_new_question(world: World) -> None:
    """What is needed now is asked, the old question is closed."""
    task_id = fail_at_once(world, "a", AUTH)

    reclassify(world, task_id, "dependency_missing/command")

    with world.store.read() as tx:
        old, new = questions.of_task(tx, task_id)
    assert (old.status, new.status) == ("answered", "open")
    assert "Install the command" in new.need
    assert world.task(task_id).status == "blocked"


def test_everybody_who_waits_for_the_same_answer_is_decided_about_again(world: World) -> None:
    """They were stopped by the same failure; nobody is left behind with a closed question."""
    first, second, third = (fail_at_once(world, title, AUTH) for title in ("a", "b", "c"))
    with world.store.read() as tx:
        asked = questions.open_of_task(tx, first)
    assert asked is not None and len(asked.task_ids) == 3

    done = reclassify(world, second, "unknown/permission")

    assert done.tasks[0].id == second and len(done.tasks) == 3
    with world.store.read() as tx:
        found = {each: questions.open_of_task(tx, each) for each in (first, second, third)}
        closed = questions.get(tx, asked.id)
    assert closed is not None and closed.status == "answered"
    new = {each.id for each in found.values() if each is not None}
    assert len(new) == 1 and asked.id not in new
    answered = [names(world, each).count("question:answered") for each in (first, second, third)]
    assert sum(answered) == 1
    reclassify(world, first, "transient")
    assert {world.task(each).status for each in (first, second, third)} == {"pending"}


def test_a_correction_that_was_wrong_is_corrected(world: World) -> None:
    """Blocked, released, charged after all: each time the open decision is taken again."""
    task_id = fail_at_once(world, "a", AUTH)

    for kind, status, charged in (
        ("transient", "pending", 0),
        ("code_error", "pending", 1),
        ("unknown/auth", "blocked", 0),
        ("test_failure", "pending", 1),
    ):
        reclassify(world, task_id, kind)

        task = world.task(task_id)
        assert (task.status, task.charged, task.streak) == (status, charged, 1), kind
        assert len(task.guidance) == (1 if status == "pending" else 0)


def test_an_older_attempt_only_teaches(world: World) -> None:
    """What the task waits for now was decided by a newer failure."""
    engine = world.engine()
    engine.start()
    task = world.add("a", failed(ODD), failed("zap: something else"), failed(ODD))
    world.run(engine, ticks=4, step_ms=12_000)
    before = world.task(task.id)
    assert (before.attempts, before.status) == (2, "failed")

    done = reclassify(world, f"{task.id}/1", "timeout")

    assert not done.decided_again
    after = world.task(task.id)
    assert (after.due_at, after.charged, after.guidance) == (before.due_at, before.charged, before.guidance)
    with world.store.read() as tx:
        first = attempts.get(tx, task.id, 1)
    assert first is not None and first.diagnosis is not None and first.diagnosis.kind == "timeout"


def test_a_task_that_a_person_blocked_stays_blocked(world: World) -> None:
    """Its question is about something else."""
    task_id = fail_at_once(world, "a", ODD)
    world.act(tasks.block, task_id, kind="human", reason="hands off", timeout_ms=0)

    done = reclassify(world, task_id, "transient")

    assert not done.decided_again
    assert world.task(task_id).reason == "hands off"
    with world.store.read() as tx:
        asked = questions.open_of_task(tx, task_id)
    assert asked is not None and asked.status == "open"


def test_a_finished_task_can_still_teach(world: World) -> None:
    """The next failure like it follows."""
    engine = world.engine()
    engine.start()
    task = world.add("a", failed(ODD), Succeeded())
    world.run(engine, ticks=5, step_ms=12_000)
    assert world.task(task.id).status == "completed"

    done = reclassify(world, task.id, "transient")

    assert (done.attempt, done.decided_again) == (1, False)
    assert known_of(world, task.id).kind == "transient"
    assert world.task(task.id).status == "completed"


def test_a_paused_task_is_decided_about_again_and_stays_paused(world: World) -> None:
    """Pausing and reclassifying do not meet."""
    task_id = fail_at_once(world, "a", ODD)
    world.act(tasks.pause, task_id)

    reclassify(world, task_id, "transient")

    assert world.task(task_id).paused and world.task(task_id).status == "failed"


@pytest.mark.parametrize(
    ("given", "error"),
    [("{id}/9", NotFound), ("{id}/x", UsageError), ("{id}/", UsageError), ("zzzz", NotFound), ("{fresh}", NotAllowed)],
)
def test_what_does_not_name_a_failed_attempt_is_refused(world: World, given: str, error: type[Exception]) -> None:
    """With the reason, and nothing is changed."""
    task_id = fail_at_once(world, "a", ODD)
    fresh = world.add("fresh").id

    with pytest.raises(error):
        reclassify(world, given.format(id=task_id, fresh=fresh), "transient")


def test_a_fingerprint_is_named_by_its_beginning(world: World) -> None:
    """One that means several, or none, is refused."""
    first = fail_at_once(world, "a", ODD)
    fail_at_once(world, "b", "zap: something else entirely now")
    whole = world.task(first).last_fingerprint

    with world.store.read() as tx:
        assert teaching.resolve_pattern(tx, whole[:-1]).fingerprint == whole
        assert teaching.resolve_pattern(tx, f" {whole} ").fingerprint == whole
        with pytest.raises(UsageError, match="type one more letter|could be"):
            teaching.resolve_pattern(tx, "unknown:")
        for nothing in ("", "nothing:1"):
            with pytest.raises(NotFound, match="nothing is known"):
                teaching.resolve_pattern(tx, nothing)
