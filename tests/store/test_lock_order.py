"""Locks are taken in one order, breakers first: whoever answers about an incident cannot deadlock with an engine."""

from __future__ import annotations

import threading

import pytest

from medbay.service import tasks
from medbay.store import breakers, questions
from medbay.store.postgres import PostgresStore
from tests.postgres_server import Server
from tests.worlds import ManualClock, World, failed

pytestmark = pytest.mark.postgres

DEAD = "psycopg.OperationalError: connection to server at 10.0.0.5, port 5432 failed: Connection refused"


def test_an_answer_takes_the_breakers_before_the_question(postgres: Server, database: str, clock: ManualClock) -> None:
    """An engine that has the breakers may still take the question; the answer waits, and then counts."""
    store = PostgresStore(postgres.url(database), clock, new_store_id="s")
    other = PostgresStore(postgres.url(database), clock, new_store_id="s")
    world = World(store, clock)
    engine = world.engine(slots=9)
    engine.start()
    for number in range(5):
        world.add(f"call {number}", *[failed(DEAD)] * 3)
    world.run(engine, ticks=3)
    with store.read() as tx:
        (incident,) = (each for each in breakers.not_closed(tx).values() if each.kind == "incident")
    assert incident.question_id is not None
    answered: list[object] = []

    def answer() -> None:
        with other.write() as tx:
            answered.append(tasks.answer(tx, incident.question_id or "", "retry", actor="person:test"))

    person = threading.Thread(target=answer)
    with store.write() as tx:
        breakers.not_closed(tx, changing=True)
        person.start()
        wait_until_somebody_waits(postgres, database)
        assert questions.get(tx, incident.question_id) is not None  # deadlocks when the answer has it already
    person.join(30)

    assert not person.is_alive() and len(answered) == 1
    with store.read() as tx:
        asked = questions.get(tx, incident.question_id)
    assert asked is not None and asked.status == "answered"
    store.close()
    other.close()


def wait_until_somebody_waits(postgres: Server, database: str) -> None:
    """Until a session of this database waits for a lock."""
    sql = "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = %s"
    with postgres.connect() as raw:
        for _ in range(100_000):
            row = raw.execute(sql, (database,)).fetchone()
            if row is not None and row[0]:
                return
    raise AssertionError("nobody waits")
