"""The lease to the letter: renewed in time or never again, and nothing is written under one that is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from medbay.core.outcome import Failed, Succeeded
from medbay.errors import StoreUnavailable
from medbay.store import attempts as attempt_rows
from medbay.store import history
from medbay.store.database import Store, Tx
from tests.worlds import ManualClock, World


class Noted:
    """A guardian that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, float]] = []

    def begin(self, renewed_s: float) -> None:
        """Noted."""
        self.told.append(("begin", renewed_s))

    def restart(self, renewed_s: float) -> None:
        """Noted."""
        self.told.append(("anew", renewed_s))

    def tend(self, renewed_s: float) -> None:
        """Noted."""
        self.told.append(("tend", renewed_s))

    def close(self, *, in_order: bool) -> None:
        """Nothing to note."""


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store, a clock and engines on top."""
    return World(store, clock)


def outcomes_of(world: World, task_id: str) -> list[str | None]:
    """How its attempts ended so far."""
    with world.store.read() as tx:
        return [each.outcome for each in attempt_rows.of_task(tx, task_id, limit=100)]


@pytest.mark.parametrize(("share", "renewed"), [(18.9 / 24, True), (19.1 / 24, False), (1.5, False)])
def test_a_lease_is_renewed_in_time_or_never_again(world: World, share: float, renewed: bool) -> None:
    """Nobody reaped it, and still a late heartbeat does not revive it: its trees are being ended."""
    engine = world.engine(lease_ms=30_000)
    world.clock.advance(round(30_000 * share))

    assert engine.lease.beat(world.store) is renewed
    assert (engine.lease.state() == "held") is renewed


def test_a_heartbeat_that_waited_too_long_for_the_store_does_not_count(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store was locked for most of a lease; by then the guardian may have struck."""
    engine = world.engine(lease_ms=30_000)
    write = world.store.write

    @contextmanager
    def locked() -> Iterator[Tx]:
        world.clock.advance(29_000)
        with write() as tx:
            yield tx

    with monkeypatch.context() as patched:
        patched.setattr(world.store, "write", locked)
        assert not engine.lease.beat(world.store)

    assert engine.lease.state() == "killing"


def test_the_guardian_hears_of_a_renewal_before_the_lease_counts_it(world: World) -> None:
    """Stopped in between, an engine takes itself for lost rather than its guardian for idle."""
    engine = world.engine(lease_ms=30_000)
    seen: list[tuple[float, float]] = []
    engine.lease._on_renewal = lambda renewed_s: seen.append((renewed_s, engine.lease.renewed_s))
    before_s = engine.lease.renewed_s
    world.clock.advance(10_000)

    engine.lease.beat(world.store)

    assert seen == [(before_s + 10, before_s)]
    assert engine.lease.renewed_s == before_s + 10


def test_a_machine_that_was_suspended_knows_that_its_lease_is_over(world: World) -> None:
    """The monotonic clock stands still meanwhile; the lease does not."""
    engine = world.engine(lease_ms=30_000)
    before = engine.worker.id
    world.clock.suspend(31_000)

    assert engine.lease.state() == "gone"
    engine.tick()

    assert engine.worker.id != before
    assert engine.lease.state() == "held"
    with world.store.read() as tx:
        assert "clock:jumped" in [event.name for event in history.events_since(tx, 0, limit=100)]


def test_what_ended_after_five_sixths_is_not_taken_for_work_that_failed(world: World) -> None:
    """The guardian killed it: the attempt is lost, the streak stays, and it runs again."""
    task = world.add("a", None, Succeeded())
    engine = world.engine(lease_ms=30_000)
    world.run(engine)
    world.clock.advance(26_000)
    world.runner.running[0].outcome = Failed(signal=9)

    engine.collect()
    assert outcomes_of(world, task.id) == [None]
    world.clock.advance(20_000)  # past the end, and the grace others wait
    world.run(engine, ticks=20, step_ms=5_000)

    assert outcomes_of(world, task.id) == ["lost", "succeeded"]
    assert (world.task(task.id).status, world.task(task.id).crashes) == ("completed", 0)


def test_what_ended_in_time_is_stored_until_the_lease_ends_and_not_after(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store was away: results wait in memory, and a lease that is over writes nothing."""
    tasks = [world.add(name, None) for name in ("a", "b")]
    engine = world.engine(lease_ms=30_000)
    world.run(engine)
    for running in world.runner.running:
        running.outcome = Succeeded()

    def away() -> Iterator[Tx]:
        raise StoreUnavailable("away")

    with monkeypatch.context() as patched:
        patched.setattr(world.store, "write", contextmanager(away))
        assert not engine.collect()
    world.clock.advance(29_000)
    late = list(engine._settler.unstored[1:])
    del engine._settler.unstored[1:]
    assert engine.collect()
    engine._settler.take(late)
    world.clock.advance(2_000)
    assert not engine.collect()

    assert sorted(str(each) for task in tasks for each in outcomes_of(world, task.id)) == ["None", "succeeded"]


@pytest.mark.parametrize(("refusals", "commits"), [(1, 1), (2, 3), (3, 2)])
def test_a_commit_that_failed_is_tried_again_and_then_one_by_one(
    world: World, monkeypatch: pytest.MonkeyPatch, refusals: int, commits: int
) -> None:
    """Together, once more together, then each alone; what is still refused waits for the next round."""
    tasks = [world.add(name, None) for name in ("a", "b", "c")]
    engine = world.engine()
    world.run(engine)
    for running in world.runner.running:
        running.outcome = Succeeded()
    write = world.store.write
    made: list[bool] = []

    @contextmanager
    def refusing() -> Iterator[Tx]:
        made.append(len(made) < refusals)
        if made[-1]:
            raise StoreUnavailable("refused")
        with write() as tx:
            yield tx

    with monkeypatch.context() as patched:
        patched.setattr(world.store, "write", refusing)
        stored = engine.collect()

    assert (stored, made.count(False)) == (refusals < 3, commits)
    assert engine.collect()
    assert [world.task(task.id).status for task in tasks] == ["completed"] * 3


def test_a_new_identity_has_a_guardian_that_knows_nothing_of_the_old_lease(world: World) -> None:
    """Otherwise the old one would end what the new identity starts."""
    engine = world.engine(lease_ms=30_000)
    engine.guardian = noted = Noted()
    world.add("a", None)
    world.clock.advance(31_000)

    engine.tick()

    assert noted.told[0] == ("anew", world.clock.boottime_s())
    assert len(engine.live) == 1
