"""Two workers of intake on PostgreSQL, step by step in every order: one workorder per event, no capture twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from medbay.core.intake.records import Capture, Workorder
from medbay.core.intake.workorder import IntakeWork
from medbay.env import Ids
from medbay.errors import StaleClaim
from medbay.service import intake
from medbay.store import intake as rows
from medbay.store.database import Store
from medbay.store.postgres import PostgresStore
from tests.postgres_server import Server
from tests.stepping import Actor, interleave, orders
from tests.worlds import ManualClock

pytestmark = pytest.mark.postgres
WORK = IntakeWork(command=("true",), batch=2)
CLAIM, SCHEDULE = 3, 3  # steps of a transaction: its lock, its first change, its commit
Job = Callable[[Any], object]


@pytest.fixture
def sides(postgres: Server, database: str, clock: ManualClock) -> Iterator[tuple[Store, list[Actor], Any]]:
    """A store, two workers with connections of their own, and a connection that sees who waits."""
    stores = [PostgresStore(postgres.url(database), clock, new_store_id="s") for _ in range(3)]
    with psycopg.connect(postgres.url(database), autocommit=True) as monitor:
        yield stores[0], [Actor(each) for each in stores[1:]], monitor
    for each in stores:
        each.close()


def claims_and_schedules(by: str) -> Job:
    """What a worker does with the oldest event: two transactions."""

    def job(store: Any) -> None:
        with store.write() as tx:
            event = intake.claim(tx, by=by)
        if event is not None:
            with store.write() as tx:
                intake.schedule(tx, event.id, WORK, by=by)

    return job


def schedules(by: str, event_id: int) -> Job:
    """A worker that took an event before, perhaps too long ago."""

    def job(store: Any) -> None:
        with store.write() as tx:
            intake.schedule(tx, event_id, WORK, by=by)

    return job


def captured(store: Store, count: int) -> list[str]:
    """The ids of new captures, each with its event."""
    with store.write() as tx:
        return [intake.capture(tx, f"thought {number}", ids=Ids(), actor="ada").id for number in range(count)]


def check(store: Store, ids: list[str], order: str, *, taken: int) -> None:
    """Every capture is in one workorder at most, and every workorder has an event of its own."""
    with store.read() as tx:
        found = [rows.get(tx, Capture, each) for each in ids]
        made = [one for one in (rows.get(tx, Workorder, each.workorder) for each in found if each) if one is not None]
        made = list({one.id: one for one in made}.values())
        batches = [each.id for one in made for each in rows.captures_of(tx, one.id)]
    assert len(batches) == len(set(batches)), order
    assert len({one.event_id for one in made}) == len(made), order
    assert sum(each is not None and each.workorder != "" for each in found) == taken, order


@pytest.mark.parametrize("nth", [pytest.param(29, id="some"), pytest.param(1, id="all", marks=pytest.mark.long)])
def test_two_workers_take_what_the_other_has_not(sides: tuple[Store, list[Actor], Any], nth: int) -> None:
    """Three captures, two of a batch: whatever the order, all of them are taken, each once."""
    store, (a, b), monitor = sides
    for order in orders(CLAIM + SCHEDULE, CLAIM + SCHEDULE)[::nth]:
        ids = captured(store, 3)

        interleave(a, b, (claims_and_schedules("a"), claims_and_schedules("b")), order=order, monitor=monitor)

        assert (a.raised, b.raised) == (None, None), (order, a.raised, b.raised)
        check(store, ids, order, taken=3)
        _work_off(store)


def test_an_event_that_two_believe_to_have_makes_one_workorder(
    sides: tuple[Store, list[Actor], Any], clock: ManualClock
) -> None:
    """The first claim is over and another took it: who had it first is refused, in every order."""
    store, (a, b), monitor = sides
    for order in orders(SCHEDULE, SCHEDULE):
        ids = captured(store, 1)
        with store.write() as tx:
            event = intake.claim(tx, by="a")
        assert event is not None
        clock.advance(intake.CLAIM_MS + 1)
        with store.write() as tx:
            again = intake.claim(tx, by="b")
        assert again is not None and again.id == event.id

        interleave(a, b, (schedules("a", event.id), schedules("b", event.id)), order=order, monitor=monitor)

        assert isinstance(a.raised, StaleClaim) and b.raised is None, (order, a.raised, b.raised)
        check(store, ids, order, taken=1)
        _work_off(store)


def _work_off(store: Store) -> None:
    """No event and no capture is left for the next order."""
    while True:
        with store.write() as tx:
            event = intake.claim(tx, by="end")
            if event is None:
                return
            intake.schedule(tx, event.id, WORK, by="end")
