"""What the rest of Medbay sees of a database: transactions that carry their time. Dialects implement it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

from medbay.errors import UsageError
from medbay.store.dialect import Dialect, Locks

Row = tuple[Any, ...]
Query = tuple[str, Sequence[Any]]  # with its values

_LISTED_AT_ONCE: Final = 16


def listed(values: Sequence[str]) -> tuple[str, list[str]]:
    """Marks and values of a list; there are few lengths, so that statements are prepared once."""
    many = len(values)
    fill = (1 << (many - 1).bit_length()) - many if many < _LISTED_AT_ONCE else -many % _LISTED_AT_ONCE
    wanted = [*values, *[values[-1]] * fill]
    return ", ".join("?" * len(wanted)), wanted


def refuse_other_process(opened_by: int) -> None:
    """Raise UsageError where a store is used by another process than the one that opened it, or after it was closed.

    No connection survives a fork: both would take themselves for the one that holds its locks. 0: it was closed.
    """
    if opened_by == os.getpid():
        return
    if opened_by == 0:
        raise UsageError("the store is closed", hint="open it again")
    raise UsageError("the store was opened before a fork", hint="open it in each process by itself")


class Violation(Exception):
    """The database refused a row that must never exist; a mistake of ours, or a race that was lost."""


class Tx(Protocol):
    """An open transaction. `now` is the store's clock at its start."""

    now: int
    store_id: str
    dialect: Dialect
    locks: Locks  # none in a transaction that only reads

    def execute(self, sql: str, params: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it changed."""
        ...

    def execute_many(self, sql: str, params: Iterable[Sequence[Any]]) -> int:
        """Run a statement once for each set of values; how many rows it changed in all."""
        ...

    def put(self, sql: str, params: Sequence[Any], *, stale: str = "") -> None:
        """Run a statement whose answer is not needed: now, or inside `together` with others like it.

        With `stale` it has to change exactly one row; if it does not, StaleClaim says this.
        """
        ...

    def together(self) -> AbstractContextManager[None]:
        """What is put inside runs once for many; it is written when the block ends, or before anything is read."""
        ...

    def begin_decision(self) -> None:
        """What is put from here on belongs to another decision, about other rows."""
        ...

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """Every row of a query."""
        ...

    def one(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        ...

    def foresee(self, *queries: Query) -> None:
        """Say what will be asked next: a server is asked all of it at once. Answers hold until something is written."""
        ...

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table, in their order."""
        ...

    def insert_as_is(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Save rows of another store with the numbers they have; later numbers come after them."""
        ...

    def execute_last(self, sql: str, params: Sequence[Any]) -> None:
        """Run a statement so that its rows are numbered in the order of commits; PostgreSQL does it at the very end."""
        ...

    def serialise(self, name: str) -> None:
        """From here to the end of the transaction, no other transaction is past the same name."""
        ...

    def try_serialise(self, name: str) -> bool:
        """The same without waiting; False when somebody else is past the name."""
        ...

    def savepoint(self) -> AbstractContextManager[None]:
        """What happens inside is undone alone when it raises."""
        ...


class Store(Protocol):
    """A durable store, one connection. A thread of its own takes a `sibling`."""

    @property
    def store_id(self) -> str:
        """The name every child process of this store carries."""
        ...

    @property
    def kind(self) -> str:
        """`sqlite` or `postgresql`."""
        ...

    def write(self) -> AbstractContextManager[Tx]:
        """A transaction that may change things; committed, and synced, when the block ends without an error."""
        ...

    def read(self) -> AbstractContextManager[Tx]:
        """A transaction that sees one state of the store and changes nothing."""
        ...

    def changed(self) -> bool:
        """Whether another process committed since the last call: a cheap hint to look again."""
        ...

    def fileno(self) -> int:
        """Readable when another process may have committed and `changed` is worth a call; else -1."""
        ...

    def sibling(self) -> Store:
        """The same store on a connection of its own."""
        ...

    def close(self) -> None:
        """Give the connection back."""
        ...


class KeptStore(Store, Protocol):
    """A store with what its maintenance needs; an engine never uses that."""

    @property
    def migrated(self) -> Sequence[str]:
        """The migrations that were applied when it was opened."""
        ...

    def check(self) -> list[str]:
        """What the database itself finds wrong with its files; nothing when all is well."""
        ...

    def backup(self, path: str) -> None:
        """A consistent copy in a new private file, while others go on writing."""
        ...
