"""Figures from the event log: what is counted, hour by hour, and that a recount gives the same."""

from __future__ import annotations

import pytest

from medbay.core.budget import Budget
from medbay.service import statistics, tasks
from medbay.store import history
from medbay.store import statistics as rows
from medbay.store.database import Store, Tx
from medbay.views import statistics as views
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
