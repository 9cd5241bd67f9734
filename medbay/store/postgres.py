"""PostgreSQL, for many machines: row locks, the server's clock, wake-ups as a hint, and reconnecting by itself.

Imported only when a store's address asks for it: the driver is an extra, and takes a while to load.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, Final

import psycopg
from psycopg.abc import RV, Buffer, PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int2Dumper
from psycopg.types.string import StrDumper

from medbay.env import Clock, SystemClock, seeded
from medbay.errors import MedbayError, NotAllowed, StoreBusy, StoreError, StoreUnavailable, UsageError
from medbay.store import migrations
from medbay.store.batch import Putting, Together, Values
from medbay.store.database import Query, Row, Violation, refuse_other_process
from medbay.store.dialect import NO_LOCKS, POSTGRES

BEGIN_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
CLOCK_SQL: Final = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
NUMBER_LAST_SQL: Final = "SELECT pg_advisory_xact_lock(hashtext('medbay events'))"
SERIALISE_SQL: Final = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
TRY_SERIALISE_SQL: Final = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))"
OWN_COLUMN: Final = "xid"  # of an event: the transaction it came with, drawn again for a copied one
COLUMNS_SQL: Final = (
    "SELECT attname::text FROM pg_attribute WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped"
    " AND attname <> ? ORDER BY attnum"
)
AFTER_COPY_SQL: Final = {
    "task": "SELECT setval('task_count', (SELECT count(*) FROM task))",
    "history": "SELECT setval(pg_get_serial_sequence('history', 'id'), (SELECT max(id) FROM history))",
    "record_history": (
        "SELECT setval(pg_get_serial_sequence('record_history', 'id'), (SELECT max(id) FROM record_history))"
    ),
    "event": "SELECT setval(pg_get_serial_sequence('event', 'seq'), (SELECT max(seq) FROM event))",
}
DAMAGE_SQL: Final = (
    "SELECT 'the server found ' || checksum_failures || ' damaged pages' FROM pg_stat_database"
    " WHERE datname = current_database() AND checksum_failures > 0 UNION ALL"
    " SELECT 'the index ' || indexrelid::regclass || ' is not valid' FROM pg_index JOIN pg_class c ON c.oid = indrelid"
    " WHERE NOT indisvalid AND pg_table_is_visible(c.oid)"
)
LOOK_S: Final = 1.0  # how often `changed` is true without a notification
LOOK_UNTOLD_S: Final = 0.25  # the same where notifications are off
REST_S: Final = 0.25  # after a failed connect: how long the next call fails at once
# Servers that shut down, start up, fail over or are read-only for now, and races that were lost: try again.
_PASSING: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.IdleInTransactionSessionTimeout,
)


class PostgresTx(Putting):
    """One open transaction. Tasks are locked when they are read in order to be changed."""

    dialect = POSTGRES

    def __init__(self, connection: Link, now: int, store_id: str, *, writing: bool) -> None:
        super().__init__()
        self._connection = connection
        self._cursor = connection.cursor()
        self._depth = 0
        self._decision = 0
        self._last: list[tuple[int, str, Sequence[Any]]] = []  # with the decision it belongs to
        self._unsent: list[str] = []  # what needs no answer: it goes with the next statement that has one
        self._foreseen: dict[tuple[str, tuple[Any, ...]], list[Row]] = {}
        self.now = now
        self.store_id = store_id
        self.locks = POSTGRES.locks if writing else NO_LOCKS
        self.wrote = False

    def execute(self, sql: str, params: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it changed."""
        self.wrote = True
        self._foreseen.clear()
        return self._run(sql, params).rowcount

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """Every row of a query."""
        known = self._answer(sql, params)
        return known if known is not None else self._run(sql, params).fetchall()

    def one(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        known = self._answer(sql, params)
        if known is not None:
            return known[0] if known else None
        return self._run(sql, params).fetchone()

    def foresee(self, *queries: Query) -> None:
        """Ask them all at once; each answer is given to the next who asks the same, unless something is written."""
        self._write_waiting()
        asked = [(sql, tuple(params)) for sql, params in queries]
        asked = [query for query in asked if query not in self._foreseen]
        if len(asked) < 2:  # it may as well be asked when it is
            return
        with translated(), self._connection.pipeline():
            self._send_unsent()
            sent = [self._connection.execute(placeholders(sql), params) for sql, params in asked]
        for query, cursor in zip(asked, sent, strict=True):
            self._foreseen[query] = cursor.fetchall()

    def _answer(self, sql: str, params: Sequence[Any]) -> list[Row] | None:
        """What was foreseen, once; None where something was written or waits to be."""
        if not self._foreseen or self._waiting is not None:
            return None
        return self._foreseen.pop((sql, tuple(params)), None)

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table, in their order; without what only this server has a use for."""
        return tuple(row[0] for row in self.rows(COLUMNS_SQL, (table, OWN_COLUMN)))

    def insert_as_is(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Save rows of another store with the numbers they have; later numbers come after them."""
        self.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")  # no number is drawn meanwhile
        marks = ", ".join("?" * len(columns))
        self.execute_many(f"INSERT INTO {table} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE VALUES ({marks})", rows)
        if table in AFTER_COPY_SQL:
            self.rows(AFTER_COPY_SQL[table])

    def execute_last(self, sql: str, params: Sequence[Any]) -> None:
        """Keep it for the end of the transaction."""
        self._last.append((self._decision, sql, params))

    def begin_decision(self) -> None:
        """What is put or kept from here on belongs to another decision."""
        self._decision += 1
        super().begin_decision()

    def serialise(self, name: str) -> None:
        """From here to the end of the transaction, no other transaction is past the same name."""
        with translated():
            self._ask(SERIALISE_SQL, (name,))

    def try_serialise(self, name: str) -> bool:
        """The same without waiting; False when somebody else is past the name."""
        with translated():
            row = self._ask(TRY_SERIALISE_SQL, (name,)).fetchone()
        return bool(row and row[0])

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What happens inside is undone alone when it raises."""
        self._write_waiting()
        self._depth += 1
        name, kept = f"s{self._depth}", len(self._last)
        begin = f"SAVEPOINT {name}"
        self._unsent.append(begin)
        try:
            yield
        except BaseException:
            del self._last[kept:]
            self._foreseen.clear()
            if not self._never_sent(begin):
                self._unsent.clear()  # all of it came after the savepoint
                with translated():
                    self._cursor.execute(f"ROLLBACK TO {name}; RELEASE {name}")
            raise
        finally:
            self._depth -= 1
        if not self._never_sent(begin):
            self._unsent.append(f"RELEASE {name}")

    def _never_sent(self, begin: str) -> bool:
        """Whether nothing was asked since a savepoint was to be made; then it need not be made at all."""
        if begin not in self._unsent:
            return False
        del self._unsent[self._unsent.index(begin) :]
        return True

    def commit(self, *, notify: bool) -> None:
        """Number what comes last, wake the others, and commit: one way to the server and back.

        Numbers are drawn under a lock that is held until the commit is seen by all. Without it a reader that resumes
        after the highest number would miss a lower one that commits later.
        """
        cursor = self._cursor
        with translated():
            if not self.wrote and not self._last:
                cursor.execute("COMMIT")  # which releases what was not released
            else:
                with self._connection.pipeline():
                    self._send_unsent()
                    if self._last:
                        cursor.execute(NUMBER_LAST_SQL)
                        for sql, sets, _ in self._kept().taken():
                            send(self._connection, sql, sets)
                    if notify:
                        cursor.execute(f"NOTIFY {CHANNEL}")
                    cursor.execute("COMMIT")
        # A transaction in which something failed is undone by COMMIT, and only this word says so.
        if cursor.statusmessage != "COMMIT":
            raise StoreError("the store undid a transaction in which something had failed")

    def _kept(self) -> Together:
        """What was kept for the end, the same statement of several decisions at once."""
        kept, before = Together(), -1
        for decision, sql, params in self._last:
            if decision != before:
                kept.floor = 0
            before = decision
            kept.add(sql, params)
        return kept

    def _run_all(self, steps: Sequence[tuple[str, Sequence[Values]]]) -> list[int]:
        self.wrote = True
        self._foreseen.clear()
        with translated():
            if not self._unsent:
                return send_all(self._connection, steps)
            with self._connection.pipeline():
                self._send_unsent()
                sent = [send(self._connection, *step) for step in steps]
        return changed_by(sent)

    def _run(self, sql: str, params: Sequence[Any]) -> psycopg.Cursor[Row]:
        self._write_waiting()
        with translated():
            return self._ask(placeholders(sql), params)

    def _ask(self, text: str, params: Sequence[Any]) -> psycopg.Cursor[Row]:
        """Run a statement now, and before it what only waited for one."""
        if not self._unsent:
            return self._cursor.execute(text, params)
        with self._connection.pipeline():
            self._send_unsent()
            return self._cursor.execute(text, params)

    def _send_unsent(self) -> None:
        unsent, self._unsent = self._unsent, []
        for text in unsent:
            self._cursor.execute(text)


class PostgresStore:
    """A store on a server, on one connection that is made when it is needed and made again when it broke."""

    kind: Final = "postgresql"

    def __init__(
        self,
        url: str,
        clock: Clock | None = None,
        *,
        new_store_id: str,
        notify: bool = True,
    ) -> None:
        """Connect, migrate what is older, refuse what is newer. Without a clock the server's is asked."""
        self._parameters = parameters(url)
        self._clock = clock
        self._notify = notify
        self.store_id = ""
        self._reset()
        with translated():
            self.migrated: Sequence[str] = tuple(migrations.migrate(self._connected(), POSTGRES))
        self.store_id = self._identify(new_store_id)

    def _reset(self) -> None:
        self._time = SystemClock()
        self._jitter = seeded(f"{id(self)}")
        self._opened_by = os.getpid()
        self._connection: Link | None = None
        self._rest_until_s = 0.0
        self._look_at_s = 0.0

    @contextmanager
    def write(self) -> Iterator[PostgresTx]:
        """A transaction that may change things; committed, and synced, when the block ends without an error."""
        with self._transaction(BEGIN_WRITE, writing=True) as tx:
            yield tx

    @contextmanager
    def read(self) -> Iterator[PostgresTx]:
        """A transaction that sees one state of the store and changes nothing."""
        with self._transaction(BEGIN_READ, writing=False) as tx:
            yield tx

    def check(self) -> list[str]:
        """What the server knows to be damaged; rows that point to nothing it never takes."""
        with self.read() as tx:
            return [row[0] for row in tx.rows(DAMAGE_SQL)]

    def backup(self, path: str) -> None:
        """Refused: a server has a better way."""
        raise NotAllowed("a store on PostgreSQL is backed up by its server's own means", hint="use pg_dump")

    def changed(self) -> bool:
        """Whether a commit was notified, or it is time to poll anyway; only the first call asks."""
        connection = self._connection
        told = False
        if connection is not None and not connection.closed:
            with translated():
                told = self._notify and connection.was_told()
        now_s = self._time.monotonic_s()
        if not told and now_s < self._look_at_s:
            return False
        self._look_at_s = now_s + (LOOK_S if self._notify else LOOK_UNTOLD_S) * self._jitter.uniform(0.75, 1.25)
        return True

    def fileno(self) -> int:
        """The connection, which is readable when a commit was notified; -1 while there is none."""
        connection = self._connection
        if connection is None or connection.closed or not (self._notify and connection.listening):
            return -1
        return connection.fileno()

    def sibling(self) -> PostgresStore:
        """The same store on a connection of its own, made at its first transaction."""
        other = object.__new__(PostgresStore)
        other._parameters, other._clock, other._notify = self._parameters, self._clock, self._notify
        other.store_id, other.migrated = self.store_id, ()
        other._reset()
        return other

    def close(self) -> None:
        """Give the connection back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    @contextmanager
    def _transaction(self, begin: str, *, writing: bool) -> Iterator[PostgresTx]:
        refuse_other_process(self._opened_by)
        connection = self._connected()
        try:
            tx = PostgresTx(connection, self._begin(connection, begin), self.store_id, writing=writing)
            yield tx
            tx.commit(notify=self._notify and writing)
        except BaseException:
            self._undo(connection)
            raise

    def _begin(self, connection: Link, begin: str) -> int:
        with translated():
            if self._clock is not None:
                connection.execute(begin)
                return self._clock.now_ms()
            cursor = connection.execute(f"{begin}; {CLOCK_SQL}")
            cursor.nextset()
            row = cursor.fetchone()
        assert row is not None
        return int(row[0])

    def _undo(self, connection: Link) -> None:
        """Nothing of it stays; a connection that cannot say so is given up, and the server undoes it."""
        with suppress(psycopg.Error):
            if not connection.closed:
                connection.execute("ROLLBACK")
        if connection.closed or connection.broken:
            self.close()

    def _connected(self) -> Link:
        if self._connection is not None and not self._connection.closed:
            return self._connection
        self.close()
        now_s = self._time.monotonic_s()
        if now_s < self._rest_until_s:
            raise StoreUnavailable("the store could not be reached a moment ago")
        try:
            self._connection = connect(self._parameters)
        except psycopg.Error as error:
            self._rest_until_s = self._time.monotonic_s() + REST_S
            raise StoreUnavailable(f"the store cannot be reached: {told_by(error)}") from None
        return self._connection

    def _identify(self, new_store_id: str) -> str:
        wanted = "SELECT value FROM meta WHERE key = 'store_id'"
        with self.read() as tx:  # reading must not wait behind a long write
            found = tx.one(wanted)
        if found is None:
            with self.write() as tx:
                put = "INSERT INTO meta (key, value) VALUES ('store_id', ?) ON CONFLICT (key) DO NOTHING"
                tx.execute(put, (new_store_id,))
                found = tx.one(wanted)
        assert found is not None
        return str(found[0])


@contextmanager
def translated() -> Iterator[None]:
    """PostgreSQL's errors in our words."""
    try:
        yield
    except MedbayError:
        raise
    except psycopg.IntegrityError as error:
        raise Violation(told_by(error)) from error
    except (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure) as error:
        raise StoreBusy(f"another process was changing the same: {told_by(error)}", hint="try again") from error
    except _PASSING as error:
        raise StoreUnavailable(f"the store did not answer: {told_by(error)}") from error
    except psycopg.DataError:
        raise  # a value of ours that no column takes: a mistake of one task, not of the store
    except psycopg.Error as error:
        raise StoreError(f"the store refused: {told_by(error)}") from error


def told_by(error: psycopg.Error) -> str:
    """What the server or the driver said, in one line."""
    told = error.diag.message_primary or str(error)
    return " ".join(told.split()) or type(error).__name__


CHANNEL: Final = "medbay"
ANSWER_S: Final = 45.0  # a server that says nothing at all for this long is given up, whatever it promised
# Where the address says nothing else. A server that vanished is noticed within half a minute.
PARAMETERS: Final[Mapping[str, str]] = {
    "connect_timeout": "5",
    "application_name": "medbay",
    "target_session_attrs": "read-write",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
# No statement, wait for a lock or idle transaction lasts for ever; commits are synced whatever the server's default.
SESSION_SQL: Final = (
    "SET statement_timeout = '30s'; SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s';"
    " SET client_min_messages = error; SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)


class Link(psycopg.Connection[Row]):
    """A connection that hears what others say, and never waits for ever."""

    told: bool = False
    listening: bool = False

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Drive an exchange with the server, for a limited time."""
        return super().wait(_bounded(gen, self), interval, timeout)

    def was_told(self) -> bool:
        """Whether another connection committed since the last call; the first one begins to listen, and says yes.

        Reads what has arrived, and waits for nothing. Who never asks is never sent anything.
        """
        if not self.listening:
            self.execute(f"LISTEN {CHANNEL}")
            self.listening = self.told = True
        self.pgconn.consume_input()
        while (said := self.pgconn.notifies()) is not None:
            self._hear(said.be_pid)
        told, self.told = self.told, False
        return told

    def _hear(self, pid: int) -> None:
        if pid != self.pgconn.backend_pid:
            self.told = True


def parameters(url: str) -> Mapping[str, Any]:
    """What a store's address says, with our limits where it is silent."""
    try:
        return {**PARAMETERS, **conninfo_to_dict(url)}
    except psycopg.ProgrammingError:
        # What the driver says would repeat the address, and the address may hold a password.
        raise UsageError(
            "the address of the PostgreSQL store cannot be read", hint="write postgresql://USER@HOST/DATABASE"
        ) from None


def connect(wanted: Mapping[str, Any]) -> Link:
    """A new connection with our limits; raises the driver's error."""
    link = Link.connect(autocommit=True, cursor_factory=psycopg.RawCursor, **wanted)  # texts go as they are: no parsing
    try:
        link.execute(SESSION_SQL)
    except BaseException:
        link.close()
        raise
    link.adapters.register_dumper(bool, _FlagDumper)
    link.adapters.register_dumper(str, _TextDumper)
    link.add_notify_handler(lambda said: link._hear(said.pid))
    return link


@lru_cache(maxsize=2_048)
def placeholders(sql: str) -> str:
    """The shared text of a statement as the server wants it: `?` is `$1`, `$2` and so on, except between quotes."""
    numbers = itertools.count(1)
    parts = sql.split("'")
    parts[::2] = [re.sub(r"\?", lambda _: f"${next(numbers)}", part) for part in parts[::2]]
    return "'".join(parts)


class _FlagDumper(Int2Dumper):
    """Flags are 0 or 1, as on SQLite."""

    def dump(self, obj: Any) -> Buffer | None:
        return super().dump(int(obj))


class _TextDumper(StrDumper):
    """A text of PostgreSQL holds every character but one; logs may hold that one too."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\0", "\N{SYMBOL FOR NULL}") if "\0" in obj else obj)


def _bounded(gen: PQGen[RV], link: Link) -> PQGen[RV]:
    """The same exchange, given up when the server is silent for too long."""
    clock = SystemClock()
    heard_s = clock.monotonic_s()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            now_s = clock.monotonic_s()
            if ready:
                heard_s = now_s
            elif now_s - heard_s > ANSWER_S:
                link.close()
                raise psycopg.OperationalError(f"no answer for {ANSWER_S:.0f} s")
            wanted = gen.send(ready)
    except StopIteration as done:
        result: RV = done.value
        return result


# Rows of one INSERT go in powers of two, so that a few texts serve any number and the server keeps their plans.
ROWS_AT_ONCE: Final = 64
_INSERT: Final = re.compile(r"(INSERT INTO .* VALUES )(\([^()]*\))(.*)", re.DOTALL)
# What updates a row that exists already may meet the same one twice, which one statement refuses.
_ONE_BY_ONE: Final = "DO UPDATE"


def send_all(link: Link, steps: Sequence[tuple[str, Sequence[Values]]]) -> list[int]:
    """Run statements, each once for each of its sets of values; how many rows each changed in all.

    Nothing waits for the answer to what was sent before it.
    """
    if len(steps) == 1 and len(steps[0][1]) == 1:  # a pipeline costs more than it saves
        sent = [send(link, *steps[0])]
    else:
        with link.pipeline():
            sent = [send(link, sql, sets) for sql, sets in steps]
    return changed_by(sent)


def changed_by(sent: Iterable[Sequence[psycopg.Cursor[Row]]]) -> list[int]:
    """How many rows each of several statements changed in all, once the pipeline they went through has ended."""
    return [sum(max(0, cursor.rowcount) for cursor in cursors) for cursors in sent]


def send(link: Link, sql: str, sets: Sequence[Values]) -> list[psycopg.Cursor[Row]]:
    """Send one of them; in a pipeline its cursors know how many rows they changed when that ends."""
    if len(sets) == 1:
        return [link.execute(placeholders(sql), sets[0])]
    if _with_rows(sql, 2):
        return [link.execute(text, values) for text, values in _in_rows(sql, sets)]
    cursor = link.cursor()
    cursor.executemany(placeholders(sql), sets)
    return [cursor]


def _in_rows(sql: str, sets: Sequence[Values]) -> Iterator[tuple[str, list[Any]]]:
    begin = 0
    while (left := len(sets) - begin) > 0:
        size = min(ROWS_AT_ONCE, 1 << (left.bit_length() - 1))
        yield _with_rows(sql, size), [value for each in sets[begin : begin + size] for value in each]
        begin += size


@lru_cache(maxsize=1_024)
def _with_rows(sql: str, rows: int) -> str:
    """The same INSERT for so many rows; empty when it can take only one."""
    parts = _INSERT.fullmatch(sql)
    if parts is None or _ONE_BY_ONE in parts[3]:
        return ""
    return placeholders(parts[1] + ", ".join([parts[2]] * rows) + parts[3])
