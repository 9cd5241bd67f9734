"""Captures, events and workorders on both databases: what is written once, refused, claimed and upserted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from medbay.core.decision import Decision
from medbay.core.intake.records import Capture, CapturesTaken, RunRecord, Workorder
from medbay.core.intake.workorder import IntakeWork
from medbay.env import Ids
from medbay.errors import StaleClaim
from medbay.service import intake
from medbay.store import intake as rows
from medbay.store import tasks
from medbay.store.apply import apply
from medbay.store.database import Store, Violation
from medbay.store.migrations import statements
from tests.worlds import ManualClock

WORK = IntakeWork(command=("true",), batch=2)


def captured(store: Store, *texts: str) -> list[str]:
    """The ids of new captures."""
    with store.write() as tx:
        return [intake.capture(tx, each, ids=Ids(), actor="ada").id for each in texts]


def scheduled(store: Store, by: str = "me") -> Workorder | None:
    """What the oldest event leads to."""
    with store.write() as tx:
        event = intake.claim(tx, by=by)
    assert event is not None
    with store.write() as tx:
        return intake.schedule(tx, event.id, WORK, by=by)[0]


def test_a_snapshot_cannot_be_changed_or_deleted(store: Store) -> None:
    """The database itself refuses it."""
    captured(store, "one")
    scheduled(store)

    for sql in ("UPDATE context_snapshot SET objective_id = 'x'", "DELETE FROM context_snapshot"):
        with pytest.raises(Violation, match="never changes"), store.write() as tx:
            tx.execute(sql)
    with store.read() as tx:
        found = rows.snapshot(tx, "snap-1")
    assert found is not None and "one" in found.full_prompt_text


def test_a_capture_is_in_one_open_workorder_at_most(store: Store) -> None:
    """The database refuses a second one, whoever writes it."""
    (one,) = captured(store, "one")
    scheduled(store)

    with pytest.raises(Violation), store.write() as tx:
        apply(tx, Decision(writes=(CapturesTaken(workorder_id="wo-9", capture_ids=(one,)),)))


def test_an_event_is_claimed_by_one_worker_and_goes_on_after_its_claim(store: Store, clock: ManualClock) -> None:
    """A worker that died is followed by another; what it does late changes nothing."""
    captured(store, "one")
    with store.write() as tx:
        event = intake.claim(tx, by="first")
        assert event is not None
        assert intake.claim(tx, by="second") is None
    clock.advance(60_001)

    assert scheduled(store, by="second") is not None
    with pytest.raises(StaleClaim), store.write() as tx:
        intake.schedule(tx, event.id, WORK, by="first")

    with store.read() as tx:
        assert len(rows.select(tx, Workorder)) == 1
        assert tasks.get(tx, ".intake-wo-1") is not None


def test_the_same_event_twice_makes_one_workorder(store: Store) -> None:
    """Also where captures came in meanwhile."""
    captured(store, "one")
    scheduled(store)
    captured(store, "two")

    with pytest.raises(StaleClaim), store.write() as tx:
        intake.schedule(tx, 1, WORK, by="me")
    with store.read() as tx:
        assert [each.id for each in rows.select(tx, Workorder)] == ["wo-1"]
        assert sorted(each.workorder for each in rows.select(tx, Capture)) == ["", "wo-1"]


def test_batches_take_the_oldest_first_and_events_without_captures_are_processed(store: Store) -> None:
    """Three captures, two of a batch: two workorders, and a third event with nothing left."""
    ids = captured(store, "one", "two", "three")

    made = [scheduled(store) for _ in range(3)]

    with store.read() as tx:
        batches = [{each.id for each in rows.captures_of(tx, order.id)} for order in made if order is not None]
        last = rows.get_event(tx, 3)
    assert sorted(map(len, batches)) == [1, 2]
    assert set.union(*batches) == set(ids)
    assert made[2] is None and last is not None and last.reason == "NO_PENDING_CAPTURES"


@pytest.mark.parametrize("crash_after", ["nothing", "claim"])
def test_a_crash_between_two_transactions_loses_nothing(store: Store, clock: ManualClock, crash_after: str) -> None:
    """An event that was claimed and not processed is processed later, once."""
    captured(store, "one")
    if crash_after == "claim":
        with store.write() as tx:
            intake.claim(tx, by="dead")
        clock.advance(60_001)
    with pytest.raises(ZeroDivisionError), store.write() as tx:  # dies before its commit
        event = intake.claim(tx, by="dying")
        assert event is not None
        intake.schedule(tx, event.id, WORK, by="dying")
        raise ZeroDivisionError

    assert scheduled(store) is not None
    with store.read() as tx:
        assert len(rows.select(tx, Workorder)) == 1


def test_two_workers_take_different_captures(open_store: Callable[[], Store]) -> None:
    """Each on its own connection, with its own event."""
    one, two = open_store(), open_store()
    captured(one, "a", "b", "c")
    with one.write() as tx:
        first = intake.claim(tx, by="one")
    with two.write() as tx:
        second = intake.claim(tx, by="two")
    assert first is not None and second is not None and first.id != second.id

    with two.write() as tx:
        _, theirs = intake.schedule(tx, second.id, WORK, by="two")
    with one.write() as tx:
        _, mine = intake.schedule(tx, first.id, WORK, by="one")

    assert len(mine) + len(theirs) == 3
    assert not {each.id for each in mine} & {each.id for each in theirs}


def test_workers_at_the_same_time_share_the_captures(open_store: Callable[[], Store]) -> None:
    """Three workers on their own connections, all at once: every capture is in one workorder, every event done once."""
    stores = [open_store() for _ in range(3)]
    ids = captured(stores[0], *(f"thought {number}" for number in range(20)))
    ready = Barrier(len(stores))

    def work(at: int) -> int:
        ready.wait()
        done = 0
        while True:
            with stores[at].write() as tx:
                event = intake.claim(tx, by=f"w{at}")
            if event is None:
                return done
            with stores[at].write() as tx:
                intake.schedule(tx, event.id, WORK, by=f"w{at}")
            done += 1

    with ThreadPoolExecutor(len(stores)) as pool:
        assert sum(pool.map(work, range(len(stores)))) == len(ids)

    with stores[0].read() as tx:
        orders = rows.select(tx, Workorder)
        taken = [each.id for order in orders for each in rows.captures_of(tx, order.id)]
    assert sorted(taken) == sorted(ids)
    assert len(orders) == len(ids) / WORK.batch


def test_two_gates_leave_one_run_record(store: Store) -> None:
    """The second one writes over the first."""
    for result in ("FAIL", "PASS"):
        with store.write() as tx:
            record = RunRecord(workorder_id="wo-1", gate_result=result, gate_reason="", at=tx.now)
            apply(tx, Decision(writes=(record,)))

    with store.read() as tx:
        found = rows.run_record(tx, "wo-1")
        count = tx.one("SELECT count(*) FROM run_record")
    assert found is not None and found.gate_result == "PASS"
    assert count == (1,)


def test_a_migration_may_have_statements_with_semicolons_inside() -> None:
    """The body of a trigger stands between two lines that say so."""
    text = "-- why\nA;\nB;\n-- statement\nTRIGGER BEGIN x; END;\n-- statement\nF $$ y; $$;\n-- statements\nC; D;\n"

    assert statements(text) == ["A", "B", "TRIGGER BEGIN x; END;", "F $$ y; $$;", "C", "D"]
