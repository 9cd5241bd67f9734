"""Figures from the event log: what is counted, hour by hour, and that a recount gives the same."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.budget import Budget
from medbay.service import statistics, tasks
from medbay.store import history, questions
from medbay.store import statistics as rows
from medbay.store.database import Store, Tx
from medbay.store.sqlite import SqliteStore
from medbay.views import statistics as views
from tests.properties import examples
from tests.worlds import ManualClock, World, failed

NETWORK = "connect ECONNREFUSED 10.0.0.1:443"
HOUR_MS = 3_600_000


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with some work that fails, heals and asks."""
    made = World(store, clock)
    made.add("heals", failed(NETWORK), failed(NETWORK))
    made.add("fine")
    made.add("odd", *[failed("something odd happened")] * 9)
    asks = made.add("asks")
    made.act(tasks.block, asks.id, kind="human", reason="why not", timeout_ms=HOUR_MS)
    engine = made.engine()
    engine.start()
    made.run(engine, ticks=40, step_ms=2_000)
    clock.advance(2 * HOUR_MS)
    made.act(tasks.unblock, asks.id, attempts=2)
    made.run(engine, ticks=4, step_ms=2_000)
    return made


def test_what_healed_and_what_a_person_did(world: World, store: Store) -> None:
    """Counted once each, with how often it failed before and how long it took."""
    statistics.catch_up(store)

    with store.read() as tx:
        found = statistics.load(tx, since=tx.now - 24 * HOUR_MS, until=tx.now)

    assert found.done == {"healed": 1, "person": 1, "plain": 1}
    assert found.healed == {"transient/network": 1}
    assert found.created == 4
    assert dict(found.retries) == {0: 2, 2: 1}
    assert sum(number for _, number in found.heal) == 1
    assert ("transient/network", "", "1", 1, 0) in found.retry_success
    assert ("transient/network", "", "2", 1, 1) in found.retry_success
    assert {name for _, name, _ in found.failures} >= {"transient/network"}
    assert found.fingerprints[0].known is not None
    said = views.as_json(found, Budget())
    assert said["heal"]["n"] == 1 and said["heal"]["p50_s"] <= said["heal"]["p90_s"]
    assert said["fingerprints"][0]["new"] is True


def test_counting_ends_while_more_happens_all_the_time(
    world: World, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes while it counts is left to the next time."""
    counting = statistics.roll_up

    def busy(tx: Tx, limit: int = 5) -> int:
        counted = counting(tx, limit)
        tx.execute("INSERT INTO event (at, name, data) VALUES (?, 'worker:started', '{}')", (tx.now,))
        return counted

    monkeypatch.setattr(statistics, "roll_up", busy)
    with store.read() as tx:
        before = history.last_event_seq(tx)

    assert before <= statistics.catch_up(store, batches=before * 2) <= before + 5
    with store.read() as tx:
        assert rows.cursor(tx) >= before


def test_a_recount_gives_the_same(world: World, store: Store) -> None:
    """However small the steps were in which it was counted."""
    for _ in range(1_000):
        with store.write() as tx:
            if not statistics.roll_up(tx, limit=3):
                break
    with store.read() as tx:
        before = rows.every(tx)

    statistics.recount(store)

    with store.read() as tx:
        assert rows.every(tx) == before
        assert before


def test_nothing_is_counted_twice(world: World, store: Store) -> None:
    """A second look adds nothing."""
    assert statistics.catch_up(store) > 10
    assert statistics.catch_up(store) == 0


def test_a_share_of_nothing_has_no_time() -> None:
    """Where nothing healed."""
    assert views.quantile([], 0.5) is None
    assert views.quantile([(2.0, 1), (4.0, 1)], 0.5) == 2.0


def test_figures_are_those_of_the_tags_and_agents_of_their_time(store: Store, clock: ManualClock) -> None:
    """What a task is called later, and who goes on with it, changes nothing of what was counted; nor does a recount."""
    world = World(store, clock)
    task = world.add("heals", failed(NETWORK), tag="before")
    engine = world.engine()
    engine.start()
    world.run(engine, ticks=1)
    world.run(engine, ticks=1)
    statistics.catch_up(store)
    world.act(tasks.edit, task.id, fields={"tags": ("after",)}, reset_failures=False)
    world.run(engine, ticks=10, step_ms=2_000)
    statistics.catch_up(store)

    with store.read() as tx:
        before = statistics.load(tx, since=0, until=tx.now)
    statistics.recount(store)
    with store.read() as tx:
        after = statistics.load(tx, since=0, until=tx.now)

    assert before.tags == after.tags == (("after", "person", 1), ("before", "failed", 1))
    assert before == after


SCRIPTS = st.lists(
    st.tuples(
        st.lists(st.sampled_from([NETWORK, "something odd happened", "fatal: Authentication failed"]), max_size=3),
        st.sampled_from([(), ("a",), ("a", "b")]),
        st.sampled_from(["", "cancel", "answer"]),
    ),
    min_size=1,
    max_size=6,
)


@examples(40)
@given(SCRIPTS)
def test_counts_equal_a_slow_recount(scripts: list[tuple[list[str], tuple[str, ...], str]]) -> None:
    """Whatever happened: the sums by hour are what a loop over all events and tasks finds."""
    clock = ManualClock()
    store = SqliteStore(":memory:", clock, new_store_id="s", machine_id="m")
    world = World(store, clock)
    added = [
        world.add(f"task {at}", *map(failed, script), tag=list(tags)) for at, (script, tags, _) in enumerate(scripts)
    ]
    engine = world.engine()
    engine.start()
    world.run(engine, ticks=20, step_ms=5_000)
    for task, (_, _, then) in zip(added, scripts, strict=True):
        with store.read() as tx:
            asks = questions.open_of_task(tx, task.id)
        if then == "cancel" and not world.task(task.id).finished:
            world.act(tasks.cancel, task.id)
        elif then == "answer" and asks is not None:
            with store.write() as tx:
                tasks.answer(tx, asks.id, "1", actor="person:test")
    world.run(engine, ticks=20, step_ms=5_000)
    statistics.catch_up(store)

    with store.read() as tx:
        found = statistics.load(tx, since=0, until=tx.now)
        events = history.events_since(tx, 0, limit=100_000)

    now = [world.task(each.id) for each in added]
    by_status = Counter(each.status for each in now)
    names = Counter(each.name for each in events)
    assert sum(number for how, number in found.done.items() if how != "cancelled") == by_status["completed"]
    assert found.done.get("cancelled", 0) == by_status["cancelled"]
    assert found.attempts.get("failed", 0) == names["task:failed"] == sum(n for *_, n in found.failures)
    assert sum(found.healed.values()) == found.done.get("healed", 0)
    tagged = Counter((tag, each.name) for each in events for tag in each.data.get("tags", ()))
    for tag in "ab":
        counted = Counter({how: number for name, how, number in found.tags if name == tag})
        done = sum(tag in each.tags for each in now if each.status == "completed")
        assert counted["failed"] == tagged[tag, "task:failed"]
        assert counted["cancelled"] == tagged[tag, "task:cancelled"]
        assert counted["plain"] + counted["healed"] + counted["person"] == done
    store.close()
