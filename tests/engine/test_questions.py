"""Questions nobody answers are sent again; what was answered is remembered; an incident has one question."""

from __future__ import annotations

from medbay.core.decision import Decision
from medbay.core.model import Option, Owner, Question
from medbay.core.outcome import Succeeded
from medbay.core.people.preference import Preference
from medbay.service import tasks
from medbay.service import teaching as preference_service
from medbay.store import history, questions
from medbay.store.apply import apply
from medbay.store.database import Store
from tests.engine.test_outages import DEAD, HOUR, MINUTE, Outage
from tests.worlds import ManualClock, World, failed

REFUSED = "remote: HTTP 401 Unauthorized\nfatal: Authentication failed"


def asked_again(world: World) -> list[int]:
    """How often the questions were sent, as events say it."""
    with world.store.read() as tx:
        told = history.events_since(tx, 0, limit=10_000)
    return [event.data["again"] for event in told if event.name == "question:asked" and "again" in event.data]


def test_a_question_is_sent_again_after_four_hours_and_then_daily(store: Store, clock: ManualClock) -> None:
    """By whichever engine wakes for it; one that was away for a week sends it once."""
    world = World(store, clock)
    task = world.add("push", failed(REFUSED))
    engine = world.engine()
    world.run(engine, ticks=2)
    assert world.task(task.id).block_kind == "human"

    world.run(engine, step_ms=4 * HOUR - 10_000)
    assert asked_again(world) == []
    wake_s = engine.next_wake_s()
    assert wake_s is not None and wake_s - clock.seconds <= 10
    world.run(engine, step_ms=10_000)
    assert asked_again(world) == [1]
    world.run(engine, ticks=3, step_ms=8 * HOUR - 2_000)
    assert asked_again(world) == [1]
    world.run(engine, step_ms=10_000)
    assert asked_again(world) == [1, 2]
    world.run(engine, ticks=2, step_ms=7 * 24 * HOUR)

    assert asked_again(world) == [1, 2, 3, 4]
    with store.read() as tx:
        (open_one,) = questions.open_questions(tx)
    assert (open_one.sent, open_one.send_at) == (5, clock.wall_ms + 24 * HOUR)


def test_who_answered_is_written_and_an_answered_question_is_not_sent_again(store: Store, clock: ManualClock) -> None:
    """Nothing else releases the task."""
    world = World(store, clock)
    task = world.add("push", failed(REFUSED))
    engine = world.engine()
    world.run(engine, ticks=2)

    with store.write() as tx:
        tasks.answer(tx, task.id, "1", actor="person:ann")
    world.run(engine, ticks=2)
    world.run(engine, ticks=3, step_ms=5 * HOUR)

    assert asked_again(world) == [] and world.task(task.id).status == "completed"
    with store.read() as tx:
        (answered,) = questions.of_task(tx, task.id)
    assert (answered.status, answered.answered_by) == ("answered", "person:ann")


def test_an_incident_has_one_question_sent_again_and_withdrawn_when_it_closes(store: Store, clock: ManualClock) -> None:
    """However many tasks met it, and however long it lasts."""
    over = clock.wall_ms + 10 * HOUR
    world = Outage(store, clock, lambda launch, now: failed(DEAD) if now < over else Succeeded())
    for number in range(6):
        world.add(f"call {number}")
    engine = world.engine()
    world.pass_time(engine, clock.wall_ms + 5 * HOUR)
    (asked,) = world.questions()
    assert asked.task_ids == () and asked.sent == 2 and asked_again(world) == [1]

    world.pass_time(engine, over + 40 * HOUR)

    assert world.questions() == [] and world.open_keys() == []
    assert len(world.events("question:withdrawn")) == 1
    assert asked_again(world) == [1]


def test_what_was_answered_is_offered_first_when_the_same_task_asks_again(store: Store, clock: ManualClock) -> None:
    """Marked, never applied by itself; a cancel is marked and not put first."""
    world = World(store, clock)
    task = world.add("push", failed(REFUSED), failed(REFUSED), failed(REFUSED))
    other = world.add("pull", failed(REFUSED))
    engine = world.engine()
    world.run(engine, ticks=2)
    with store.write() as tx:  # one question for both: the same failure of the same provider
        tasks.answer(tx, other.id, "pause", actor="person:ann")
    with store.read() as tx:
        kept = questions.every(tx)
    assert [(each.answer, each.told_by, each.used) for each in kept] == [("pause", "person:ann", 0)]
    assert kept[0].scope.startswith("cause:")

    world.act(tasks.resume, task.id)
    world.run(engine, ticks=3)
    with store.read() as tx:
        (offered,) = preference_service.offered(tx, questions.open_questions(tx))
    assert (offered.default, offered.remembered, world.task(task.id).status) == (2, 2, "blocked")
    with store.write() as tx:
        assert tasks.answer(tx, task.id, "default", actor="person:bob")[0] == "leave it for later"
        by_scope = {each.scope.partition(":")[0]: each for each in questions.every(tx)}
    assert (by_scope["cause"].used, by_scope["cause"].told_by, by_scope["task"].used) == (1, "person:bob", 0)


def test_what_is_remembered_can_be_forgotten(store: Store, clock: ManualClock) -> None:
    """By any beginning that only it has."""
    with store.write() as tx:
        for scope in ("task:abc", "task:abd"):
            questions.save(tx, Preference(scope=scope, answer="retry", told_by="p", told_at=clock.wall_ms))
        assert preference_service.forget(tx, "task:abd").scope == "task:abd"
        assert [each.scope for each in questions.every(tx)] == ["task:abc"]
        assert preference_service.forget(tx, "task:a").scope == "task:abc"
        assert questions.every(tx) == []


def test_a_question_is_sent_by_one_engine(store: Store, clock: ManualClock) -> None:
    """Two that wake at the same moment send it once."""
    world = World(store, clock)
    world.add("push", failed(REFUSED))
    engine, second = world.engine(), world.engine()
    world.run(engine, ticks=2)
    clock.advance(4 * HOUR + MINUTE)
    for each in (engine, second):
        each.lease.beat(store)
        each.tick()
    assert asked_again(world) == [1]


def test_a_recommendation_that_no_task_waits_for_is_closed_by_its_answer(store: Store) -> None:
    """It is noted, and gone from the inbox."""
    noted = Option("noted", "wait", "nothing changes")
    filed = Question(id="q-t-1-1", need="raise the limit", why="it fails", options=(noted,), scope="recommend|f:1")
    with store.write() as tx:
        apply(tx, Decision(writes=(filed,)))
        assert [each.id for each in questions.open_questions(tx)] == ["q-t-1-1"]

        assert tasks.answer(tx, "q-t-1-1", "1", actor="person:ann", note="did it") == ("noted", [])

        assert questions.open_questions(tx) == []
        answered = questions.get(tx, "q-t-1-1")
    assert answered is not None
    assert (answered.status, answered.answered_by, answered.answer) == ("answered", "person:ann", "noted: did it")


def test_free_text_is_redacted_stored_and_handed_to_the_next_attempt(store: Store, clock: ManualClock) -> None:
    """Where the question says that any words answer it; whom it is about is stored with it."""
    world = World(store, clock)
    task = world.add("push", failed(REFUSED))
    engine = world.engine()
    world.run(engine, ticks=2)
    with store.write() as tx:
        (asked,) = questions.open_questions(tx)
        assert (asked.owner, asked.free_text) == (Owner("task", task.id), False)
        tx.execute("UPDATE question SET free_text = 1 WHERE id = ?", (asked.id,))

    with store.write() as tx:
        said = "the mirror is at https://ci:hunter2secret@mirror.example"
        assert tasks.answer(tx, task.id, said, actor="person:ann", note="and hurry") == (
            asked.options[0].label,
            [task.id],
        )

    with store.read() as tx:
        answered = questions.get(tx, asked.id)
    told = world.task(task.id).guidance[-1].text
    assert answered is not None and (answered.status, answered.free_text) == ("answered", True)
    for words in (answered.answer, told):
        assert "mirror.example" in words and "hunter2secret" not in words and "and hurry" in words
