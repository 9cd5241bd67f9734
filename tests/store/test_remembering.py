"""The store of the simulator answers as SQLite does, whatever it remembers."""

from __future__ import annotations

import pytest

from medbay.env import Clock
from medbay.sim.clock import VirtualClock
from medbay.sim.many import run_seed
from medbay.store.remembering import MemoryStore
from medbay.store.sqlite import SqliteStore

COUNT = "SELECT count(*) FROM meta"
PUT = "INSERT INTO meta (key, value) VALUES (?, ?)"


def counted(store: MemoryStore) -> int:
    """How many rows a table has, asked in a block of its own."""
    with store.read() as tx:
        row = tx.one(COUNT)
    assert row is not None
    return int(row[0])


def test_an_answer_is_forgotten_when_its_table_is_written() -> None:
    """By a commit, and within the transaction that writes; what is undone changes nothing."""
    store = MemoryStore(VirtualClock())
    before = counted(store)

    with store.write() as tx:
        tx.execute(PUT, ("one", "1"))
        assert tx.one(COUNT) == (before + 1,)
    assert counted(store) == before + 1
    with pytest.raises(RuntimeError), store.write() as tx:
        tx.execute(PUT, ("two", "2"))
        assert tx.rows(COUNT) == [(before + 2,)]
        raise RuntimeError
    assert counted(store) == before + 1


def test_an_answer_that_still_holds_is_not_asked_for_again() -> None:
    """Not by a block that only reads, and not after another table was written."""
    store = MemoryStore(VirtualClock())
    counted(store)
    asked: list[str] = []
    store._connection.set_trace_callback(asked.append)

    counted(store)
    with store.write() as tx:
        tx.execute("UPDATE worker SET beat_at = 1")
        tx.one(COUNT)
    counted(store)

    assert asked == ["SAVEPOINT block", "UPDATE worker SET beat_at = 1", "RELEASE block"]


def test_the_next_world_gets_the_database_with_nothing_in_it() -> None:
    """All that a world wrote is undone at its end."""
    first = MemoryStore(VirtualClock())
    before = counted(first)
    with first.write() as tx:
        tx.execute(PUT, ("one", "1"))
    first.close()

    second = MemoryStore(VirtualClock())

    assert second._connection is first._connection
    assert counted(second) == before


def test_a_closed_store_is_out_of_the_way_of_the_next_world() -> None:
    """It may be closed again, neither written nor read; nor does a block that writes open within another."""
    first = MemoryStore(VirtualClock())
    first.close()
    second = MemoryStore(VirtualClock())

    first.close()

    for begin in (first.write, first.read):
        with pytest.raises(AssertionError, match="another world's"):
            begin()
    with second.write() as tx:
        tx.execute(PUT, ("one", "1"))
        with pytest.raises(AssertionError, match="within a transaction"), second.write():
            pass
    assert MemoryStore(VirtualClock())._connection is not second._connection


def test_a_world_goes_the_same_way_on_a_store_that_remembers_nothing() -> None:
    """Step by step: the digest is of every line of its log."""

    def forgetful(clock: Clock) -> SqliteStore:
        return SqliteStore(":memory:", clock, new_store_id="simulated", machine_id="")

    assert run_seed(8_190_001, tasks=8) == run_seed(8_190_001, tasks=8, open_store=forgetful)
