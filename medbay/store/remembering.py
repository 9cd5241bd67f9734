"""The store of one simulated world: SQLite in memory, whose answers are remembered until what they tell of is written.

Most steps of a world find nothing to do and ask what the step before them asked. All actors share one connection and
none is interrupted within a transaction, so an answer stays right until a commit that wrote one of its tables.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from medbay.env import Clock
from medbay.store import migrations
from medbay.store.batch import Values
from medbay.store.database import Row
from medbay.store.dialect import SQLITE
from medbay.store.sqlite import SqliteStore, SqliteTx, connect

KEPT_MAX: Final = 200  # of one statement; answers to a question that names the time are never asked for again
_READS: Final = re.compile(r"\b(?:FROM|JOIN) (\w+)")
_WRITES: Final = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_ASKS: Final = ("SELECT ", "WITH ", "PRAGMA user_version")

_EMPTY: Final[list[sqlite3.Connection]] = []  # databases of worlds that are over; migrated, and nothing is in them
_EMPTY_MAX: Final = 4  # worlds of one process follow each other, and few have more than one store

Asked = tuple[frozenset[str] | None, dict[Values, list[Row]]]  # the tables a statement reads, and its answers


@lru_cache(maxsize=4_096)
def tables_read(sql: str) -> frozenset[str] | None:
    """The tables that a question is about; None for what is no question."""
    return frozenset(_READS.findall(sql)) if sql.startswith(_ASKS) else None


@lru_cache(maxsize=4_096)
def table_written(sql: str) -> str | None:
    """The table that a statement writes; None for a question."""
    if sql.startswith(_ASKS):
        return None
    found = _WRITES.match(sql)
    return found[1] if found else None


class Answers:
    """What the store answered, by statement and values, as far as it still holds."""

    def __init__(self) -> None:
        self.known: dict[str, Asked] = {}
        self.writing = False  # whether a block that writes is open; a file has only one as well
        self._by_table: dict[str, list[dict[Values, list[Row]]]] = {}

    def meet(self, sql: str) -> Asked:
        """A statement that is asked for the first time."""
        asked = self.known[sql] = (tables_read(sql), {})
        for table in asked[0] or ():
            self._by_table.setdefault(table, []).append(asked[1])
        return asked

    def forget(self, tables: set[str]) -> None:
        """Something was committed that wrote these tables."""
        for table in tables:
            for kept in self._by_table.get(table, ()):
                if kept:
                    kept.clear()


class RememberingTx(SqliteTx):
    """A transaction that asks only for what is not known; of what it has written itself it always asks."""

    def __init__(self, connection: sqlite3.Connection, now: int, store_id: str, answers: Answers) -> None:
        super().__init__(connection, now, store_id)
        self._answers = answers
        self.written: set[str] = set()

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """Every row of a query."""
        kept = self._kept(sql)
        if kept is None:
            return super().rows(sql, params)
        key = tuple(params)
        found = kept.get(key)
        if found is None:
            found = self._keep(kept, key, super().rows(sql, params))
        return found.copy()

    def one(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        kept = self._kept(sql)
        if kept is None:
            return super().one(sql, params)
        key = ("one", *params)
        found = kept.get(key)
        if found is None:
            row = super().one(sql, params)
            found = self._keep(kept, key, [] if row is None else [row])
        return found[0] if found else None

    def insert_as_is(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Save rows of another store with the numbers they have."""
        self.written.add(table)
        super().insert_as_is(table, columns, rows)

    def _kept(self, sql: str) -> dict[Values, list[Row]] | None:
        """Where the answers to it are kept; None when it has to be asked now."""
        if self._waiting is not None:
            return None
        tables, kept = self._answers.known.get(sql) or self._answers.meet(sql)
        if tables is None or (self.written and not self.written.isdisjoint(tables)):
            return None
        return kept

    @staticmethod
    def _keep(kept: dict[Values, list[Row]], key: Values, found: list[Row]) -> list[Row]:
        if len(kept) > KEPT_MAX:
            kept.clear()
        kept[key] = found
        return found

    def _run(self, sql: str, params: Sequence[Any]) -> sqlite3.Cursor:
        if (table := table_written(sql)) is not None:
            self.written.add(table)
        return super()._run(sql, params)

    def _run_all(self, steps: Sequence[tuple[str, Sequence[Values]]]) -> list[int]:
        self.written.update(table for sql, _ in steps if (table := table_written(sql)) is not None)
        return super()._run_all(steps)


class ReadBlock:
    """A block that only reads. Nobody comes between, so it needs no transaction of the database, and one serves all."""

    __slots__ = ("_tx", "store_id")

    def __init__(self, tx: RememberingTx) -> None:
        self._tx = tx
        self.store_id = tx.store_id

    def now(self, now: int) -> None:
        """The next block begins."""
        self._tx.now = now

    def __enter__(self) -> RememberingTx:
        return self._tx

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        assert not self._tx.written, "a block that reads has written"


class WriteBlock:
    """The block of one transaction that writes: kept at its end, undone when it raises.

    To the database it is a savepoint: all that a world writes is one transaction, which is undone when the world ends.
    """

    __slots__ = ("_answers", "_connection", "_tx")

    def __init__(self, connection: sqlite3.Connection, tx: RememberingTx, answers: Answers) -> None:
        self._connection = connection
        self._tx = tx
        self._answers = answers

    def __enter__(self) -> RememberingTx:
        assert not self._answers.writing, "a transaction within a transaction"
        self._connection.execute("SAVEPOINT block")
        self._answers.writing = True
        return self._tx

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._answers.writing = False
        if error is not None:
            self._connection.execute("ROLLBACK TO block")
        self._connection.execute("RELEASE block")
        if error is None:
            self._answers.forget(self._tx.written)


class MemoryStore(SqliteStore):
    """A store in memory for one world. The next world gets its database, emptied, with all statements prepared."""

    def __init__(self, clock: Clock) -> None:
        self._answers = Answers()
        self._reader: ReadBlock | None = None
        self._closed = False
        super().__init__(":memory:", clock, new_store_id="simulated", machine_id="")

    def close(self) -> None:
        """Undo all that was written, and leave the database to the next; once."""
        if self._closed:
            return
        self._closed = True
        if self._connection.in_transaction:  # SQLite ends one by itself where it breaks
            self._connection.execute("ROLLBACK")
        if len(_EMPTY) < _EMPTY_MAX:
            _EMPTY.append(self._connection)
        else:
            self._connection.close()

    def write(self) -> WriteBlock:  # type: ignore[override]
        """A transaction that may change things."""
        assert not self._closed, "a closed store is another world's by now"
        tx = RememberingTx(self._connection, self._clock.now_ms(), self.store_id, self._answers)
        return WriteBlock(self._connection, tx, self._answers)

    def read(self) -> ReadBlock:  # type: ignore[override]
        """A block that changes nothing."""
        assert not self._closed, "its database is another world's by now"
        if self._reader is None or self._reader.store_id != self.store_id:  # which is known once it is opened
            tx = RememberingTx(self._connection, self._clock.now_ms(), self.store_id, self._answers)
            self._reader = ReadBlock(tx)
        self._reader.now(self._clock.now_ms())
        return self._reader

    def _open(self) -> sqlite3.Connection:
        return _EMPTY.pop() if _EMPTY else _migrated()

    def _migrate(self) -> Sequence[str]:
        self._connection.execute("BEGIN")  # what ends with the world
        return ()


def _migrated() -> sqlite3.Connection:
    connection = connect(":memory:")
    migrations.migrate(connection, SQLITE)
    return connection
