"""How often an engine waits for a PostgreSQL server: a turn has a fixed number of ways, however much ends in it.

The ceilings only fall. A way is one wait for an answer; what is sent without waiting is free.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.waiting import WAIT_R

from medbay.core.outcome import Outcome, Succeeded
from medbay.engine.round import Engine
from medbay.store.postgres import PostgresStore
from tests.postgres_server import Server
from tests.worlds import ManualClock, ScriptedRunning, World, failed, quick_policy

pytestmark = pytest.mark.postgres
MANY = 32
TURN_MAX = {"succeeds": 9, "fails": 14}
IDLE_MAX = 6  # one look at what is due and one at what is ready, each in a transaction of its own
RECOVER_MAX = 15
BEAT_MAX = 3


@pytest.fixture
def world(postgres: Server, database: str, clock: ManualClock) -> Iterator[World]:
    """A store on the server; whatever fails is tried again at once."""
    store = PostgresStore(postgres.url(database), clock, new_store_id="teststore")
    yield World(store, clock, policy=quick_policy(0))
    store.close()


@contextmanager
def ways() -> Iterator[list[str]]:
    """Every time that a connection waits for an answer and has nothing to send, as long as this lasts."""
    seen: list[str] = []
    plainly = psycopg.Connection.wait

    def watched(exchange: Any) -> Generator[Any, Any, Any]:
        waited, ready = False, None
        try:
            wanted = next(exchange)
            while True:
                if wanted == WAIT_R and not waited:
                    waited = True
                    seen.append(exchange.__name__)
                ready = yield wanted
                wanted = exchange.send(ready)
        except StopIteration as done:
            return done.value

    def wait(connection: Any, exchange: Any, *rest: Any, **named: Any) -> Any:
        return plainly(connection, watched(exchange), *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Connection, "wait", wait)
        yield seen


def busy(world: World, many: int, outcome: Callable[[int], Outcome]) -> Engine:
    """An engine that did all of it once, and in which as many attempts have ended again."""
    engine = world.engine(slots=many)
    for round_ in range(2):
        if not engine.live:
            for number in range(many):
                world.add(f"{round_} {number}", None, None, None)
            world.run(engine, step_ms=300)
        assert len(engine.live) == many
        for at, each in enumerate(engine.live.values()):
            assert isinstance(each.running, ScriptedRunning)
            each.running.outcome = outcome(at)
        world.clock.advance(1)
        if round_ == 0:
            engine.tick()
    return engine


def alike(at: int) -> Outcome:
    """The same failure whoever it is."""
    return failed("x.py:3: AssertionError: row 77")


def different(at: int) -> Outcome:
    """A failure with a fingerprint of its own."""
    letter = string.ascii_letters[at]
    return failed(f"x{letter * 3}.py:3: AssertionError: {letter * 4} is wrong")


def shared(at: int) -> Outcome:
    """One cause that hits many."""
    return failed("curl: (6) Could not resolve host: api.example.com", exit_code=6)


@pytest.mark.parametrize(
    ("many", "outcome", "what"),
    [
        (1, lambda _: Succeeded(), "succeeds"),
        (MANY, lambda _: Succeeded(), "succeeds"),
        (1, alike, "fails"),
        (MANY, alike, "fails"),
        (MANY, different, "fails"),
        (MANY, shared, "fails"),
    ],
    ids=["a success", "successes", "a failure", "failures alike", "different failures", "failures of one cause"],
)
def test_a_turn_takes_as_few_ways_however_many_attempts_ended(
    world: World, many: int, outcome: Callable[[int], Outcome], what: str
) -> None:
    """From the end of the attempts to the start of what comes next: all in one transaction."""
    engine = busy(world, many, outcome)

    with ways() as seen:
        engine.tick()

    parks = outcome is shared  # an incident looks at what its tasks need, and holds them
    assert len(seen) <= TURN_MAX[what] + 2 * parks, seen


def test_an_idle_round_and_a_heartbeat_take_few_ways(world: World) -> None:
    """A round that only looks, one that also looks for dead workers, and the renewal of the lease."""
    engine = world.engine(slots=MANY)
    world.run(engine)
    world.clock.advance(1)

    with ways() as idle:
        engine.tick()
    with ways() as beat:
        engine.lease.beat(world.store)
    world.clock.advance(1_500)
    with ways() as recovering:
        engine.tick()

    assert len(idle) <= IDLE_MAX, idle
    assert len(beat) <= BEAT_MAX, beat
    assert len(recovering) <= RECOVER_MAX, recovering


def test_a_savepoint_in_which_nothing_is_asked_never_reaches_the_server(world: World) -> None:
    """Neither it nor its release; one in which something is goes with it."""
    with world.store.write() as tx, ways() as seen:
        with tx.savepoint():
            pass
        with pytest.raises(ZeroDivisionError), tx.savepoint():
            raise ZeroDivisionError
        assert seen == []
        with tx.savepoint():
            tx.execute("INSERT INTO meta (key, value) VALUES ('kept', 'yes')")
            with pytest.raises(ZeroDivisionError), tx.savepoint():
                tx.execute("INSERT INTO meta (key, value) VALUES ('undone', 'yes')")
                raise ZeroDivisionError
        assert tx.rows("SELECT key FROM meta WHERE key IN ('kept', 'undone')") == [("kept",)]

    with world.store.read() as tx:
        assert tx.rows("SELECT key FROM meta WHERE key IN ('kept', 'undone')") == [("kept",)]


def test_what_was_foreseen_is_asked_again_once_something_is_written(world: World) -> None:
    """And given once: who asks twice wants to know what has changed."""
    tx_sql = "SELECT value FROM meta WHERE key = ?"
    with world.store.write() as tx:
        tx.execute("INSERT INTO meta (key, value) VALUES ('a', '1'), ('b', '1')")
        tx.foresee((tx_sql, ("a",)), (tx_sql, ("b",)))
        with ways() as seen:
            assert tx.one(tx_sql, ("a",)) == ("1",)
            assert seen == []
            assert tx.one(tx_sql, ("a",)) == ("1",)
            assert len(seen) == 1

        tx.execute("UPDATE meta SET value = '2' WHERE key = 'b'")

        assert tx.one(tx_sql, ("b",)) == ("2",)
        tx.foresee((tx_sql, ("a",)), (tx_sql, ("b",)))
        with tx.together():
            tx.put("UPDATE meta SET value = '3' WHERE key = 'b'", ())
            assert tx.rows(tx_sql, ("b",)) == [("3",)]
