"""SQLite, the embedded default. WAL and full syncs, read back and asserted: nothing acknowledged may be lost."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NoReturn

from medbay.env import Clock, SystemClock
from medbay.errors import (
    NotAllowed,
    StoreError,
    StoreRemoved,
    StoreUnavailable,
    UsageError,
)
from medbay.store import migrations
from medbay.store.batch import Putting, Values
from medbay.store.database import Query, Row, Violation, refuse_other_process
from medbay.store.dialect import NO_LOCKS, SQLITE
from medbay.store.sqlite_files import (
    forbid_checkpoint,
    full,
    inode,
    make_private,
    refuse_network_file_system,
    refuse_no_file,
    sync_directory,
    why_not,
)

BUSY_TIMEOUT_MS: Final = 10_000
TRY_AGAIN_S: Final = 0.001  # how soon a writer looks again whether the other one is done
STATEMENTS_CACHED: Final = 256
_FULL_SYNC: Final = 2
_ASKED_STEPS_MAX: Final = 100_000

# They become what they are anyway, but else `sqlite3` looks for adapters in vain: with 40 of them in the row of a task
# that takes longer than all its other values together.
_NOTHING: Final[dict[None, None]] = {}
sqlite3.register_adapter(type(None), _NOTHING.get)
sqlite3.register_adapter(bool, int)


class SqliteTx(Putting):
    """One open transaction on one connection. Who writes is alone, so no row has to be locked."""

    waits = ("put", "execute_last")
    dialect = SQLITE
    locks = NO_LOCKS

    def __init__(self, connection: sqlite3.Connection, now: int, store_id: str) -> None:
        super().__init__()
        self._cursor = connection.cursor()
        self._depth = 0
        self.now = now
        self.store_id = store_id

    def execute(self, sql: str, params: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it changed."""
        return self._run(sql, params).rowcount

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """Every row of a query."""
        return self._run(sql, params).fetchall()

    def one(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        found: Row | None = self._run(sql, params).fetchone()
        return found

    def foresee(self, *queries: Query) -> None:
        """Nothing: there is no way to a server and back."""

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table, in their order."""
        return tuple(row[0] for row in self.rows("SELECT name FROM pragma_table_info(?) ORDER BY cid", (table,)))

    def insert_as_is(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Save rows of another store with the numbers they have; later numbers come after them by themselves."""
        marks = ", ".join("?" * len(columns))
        self._cursor.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)

    execute_last = Putting.put  # like any other: no other can commit before this transaction does

    def serialise(self, name: str) -> None:
        """There is only one writer."""

    def try_serialise(self, name: str) -> bool:
        """There is only one writer."""
        return True

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What happens inside is undone alone when it raises."""
        self._write_waiting()
        self._depth += 1
        name = f"s{self._depth}"
        self._cursor.execute(f"SAVEPOINT {name}")
        try:
            yield
        except BaseException:
            self._cursor.execute(f"ROLLBACK TO {name}")
            raise
        finally:
            self._cursor.execute(f"RELEASE {name}")
            self._depth -= 1

    def _run(self, sql: str, params: Sequence[Any]) -> sqlite3.Cursor:
        if self._waiting is not None:
            self._write_waiting()
        try:
            return self._cursor.execute(sql, params)
        except sqlite3.Error as error:
            raise _told(error) from error
        except OverflowError as error:
            raise UsageError("a number is too large", hint="a whole number has at most 18 digits here") from error

    def _run_all(self, steps: Sequence[tuple[str, Sequence[Values]]]) -> list[int]:
        run = self._cursor.executemany
        try:
            return [max(0, run(sql, sets).rowcount) for sql, sets in steps]
        except sqlite3.Error as error:
            raise _told(error) from error


def _told(error: sqlite3.Error) -> Exception:
    """What went wrong in one statement, in our words; the rest is raised where a transaction ends."""
    if isinstance(error, sqlite3.IntegrityError):
        return Violation(str(error))
    if isinstance(error, sqlite3.OperationalError):
        return StoreUnavailable(f"the store did not answer: {error}")
    return error


class Transaction:
    """The block of one transaction: begun, committed when the block ends without an error, undone otherwise."""

    __slots__ = ("_begin", "_clock", "_connection", "_store_id", "_translated")

    def __init__(
        self,
        connection: sqlite3.Connection,
        clock: Clock,
        store_id: str,
        translated: _Translated,
        begin: Callable[[], None],
    ) -> None:
        self._translated = translated
        self._connection = connection
        self._clock = clock
        self._store_id = store_id
        self._begin = begin

    def __enter__(self) -> SqliteTx:
        with self._translated:
            self._begin()
        # The clock is read after the lock is held, so that times follow the order of commits.
        return SqliteTx(self._connection, self._clock.now_ms(), self._store_id)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._translated:
            try:
                if error is not None:
                    raise error
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


class SqliteStore:
    """A store in one file (or in memory, for the simulator)."""

    kind: Final = "sqlite"

    def __init__(self, path: Path | str, clock: Clock, *, new_store_id: str, machine_id: str) -> None:
        """Open the file, make it if it is new, migrate it if it is older, refuse it if it is newer."""
        self._path = str(path)
        self._clock = clock
        self._translated = _Translated(self._path)
        self._connection = self._open()
        self._waits_ms = BUSY_TIMEOUT_MS
        self._opened_by = os.getpid()
        self._data_version = -1
        self._commits: Commits | None = None
        self._inode = inode(self._path)
        # What SQLite keeps beside the file, once it is there: the write-ahead log and the index of it that all share.
        self._beside: dict[str, int | None] = {f"{self._path}-wal": None, f"{self._path}-shm": None}
        self.store_id = ""
        self.migrated: Sequence[str] = ()
        try:
            with self._translated:
                self.migrated = self._migrate()
            self.store_id = self._identify(new_store_id, machine_id)
            self._refuse_removed()
        except BaseException:
            self._connection.close()
            raise

    def write(self) -> Transaction:
        """A transaction that may change things; committed, and synced, when the block ends without an error."""
        return Transaction(self._connection, self._clock, self.store_id, self._translated, self._begin_writing)

    def read(self) -> Transaction:
        """A transaction that sees one state of the store and changes nothing."""
        return Transaction(self._connection, self._clock, self.store_id, self._translated, self._begin_reading)

    def check(self) -> list[str]:
        """What SQLite finds wrong with the file, and rows that point to nothing."""
        self._wait_at_most(BUSY_TIMEOUT_MS)
        with self._translated:
            found = [row[0] for row in self._connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
            for table, rowid, parent, _ in self._connection.execute("PRAGMA foreign_key_check").fetchmany(20):
                found.append(f"row {rowid} of {table} points to a {parent} that is not there")
        return found

    def backup(self, path: str) -> None:
        """A consistent copy in a new private file, checked before it gets its name; others go on writing."""
        self._wait_at_most(BUSY_TIMEOUT_MS)
        unfinished = f"{path}.unfinished"
        try:
            os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            raise StoreError(f"cannot write {unfinished}: {error.strerror}", hint="choose another place") from None
        try:
            with self._translated:
                copy_database(self._connection, unfinished)
            os.link(unfinished, path)  # fails where a file has this name already
            sync_directory(path)
        except FileExistsError:
            raise NotAllowed(f"{path} exists already", hint="choose another name; nothing is overwritten") from None
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}", hint="choose another place") from None
        finally:
            os.unlink(unfinished)

    def changed(self) -> bool:
        """Whether another connection committed since the last call."""
        if self._commits is not None:
            self._commits.take()  # first: what is said from here on is for the next call
        self._refuse_removed()
        self._wait_at_most(BUSY_TIMEOUT_MS)
        with self._translated:
            version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        seen, self._data_version = self._data_version, version
        return bool(seen != version)

    def fileno(self) -> int:
        """Readable after a write to the file's log; -1 where the kernel does not notify."""
        if self._path == ":memory:":
            return -1
        if self._commits is None:
            self._commits = Commits(self._path)
        return self._commits.fileno()

    def sibling(self) -> SqliteStore:
        """The same file on a connection of its own; a store in memory has only the one."""
        if self._path == ":memory:":
            return self
        return SqliteStore(self._path, self._clock, new_store_id=self.store_id, machine_id="")

    def close(self) -> None:
        """Give the connection back."""
        if self._commits is not None:
            self._commits.close()
        self._connection.close()
        self._opened_by = 0

    def _open(self) -> sqlite3.Connection:
        return connect(self._path)

    def _migrate(self) -> Sequence[str]:
        return migrations.migrate(self._connection, SQLITE)

    def _begin_writing(self) -> None:
        """Take the one place of a writer.

        SQLite's own waiting sleeps up to 100 ms between two tries; next to a process that adds one task after the other
        it hardly ever finds the place free.
        """
        self._refuse_removed()
        self._wait_at_most(0)
        _when_free(self._connection, "BEGIN IMMEDIATE")

    def _begin_reading(self) -> None:
        refuse_other_process(self._opened_by)
        self._wait_at_most(BUSY_TIMEOUT_MS)  # a log that is read after a crash is in the way of readers too
        self._connection.execute("BEGIN")

    def _wait_at_most(self, milliseconds: int) -> None:
        """How long SQLite itself waits from here on; who only writes does not say it each time."""
        if milliseconds != self._waits_ms:
            self._connection.execute(f"PRAGMA busy_timeout = {milliseconds}")
            self._waits_ms = milliseconds

    def _refuse_removed(self) -> None:
        """Raise StoreRemoved where SQLite would go on writing into files that nobody else can see."""
        refuse_other_process(self._opened_by)
        if self._path == ":memory:":
            return
        if inode(self._path) != self._inode:
            raise StoreRemoved(f"the store {self._path} was removed or replaced", hint="start again")
        for name, known in self._beside.items():
            now = inode(name)
            if known is None:
                self._beside[name] = now
            elif now != known:
                self._give_up(name, gone=now is None)

    def _give_up(self, name: str, *, gone: bool) -> NoReturn:
        """A file beside the store is not the one that was used: nothing may be written into it from here on."""
        self._wait_at_most(BUSY_TIMEOUT_MS)
        if gone and name.endswith("-wal"):  # nobody has begun another log: what this one holds can still be saved
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        forbid_checkpoint(self._path)  # the end of this process would take away the log that others begin meanwhile
        raise StoreRemoved(
            f"{name} was removed while it was in use", hint="start again, and never remove the files beside a store"
        )

    def _identify(self, new_store_id: str, machine_id: str) -> str:
        wanted = "SELECT value FROM meta WHERE key = 'store_id'"
        with self.read() as tx:  # reading must not wait behind a long write
            found = tx.one(wanted)
        if found is not None:
            return str(found[0])
        with self.write() as tx:
            found = tx.one(wanted)
            if found is None:
                tx.execute("INSERT INTO meta (key, value) VALUES ('store_id', ?)", (new_store_id,))
                tx.execute("INSERT INTO meta (key, value) VALUES ('machine_id', ?)", (machine_id,))
                return new_store_id
            return str(found[0])


def _when_free(connection: sqlite3.Connection, sql: str) -> None:
    """Run a statement as soon as no other process is in its way; gives up when that takes too long."""
    clock = SystemClock()
    give_up_s = clock.monotonic_s() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute(sql)
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or clock.monotonic_s() > give_up_s:
                raise
        time.sleep(TRY_AGAIN_S)


def connect(path: str) -> sqlite3.Connection:
    """A connection with the settings that every store has, to a file that is no other program's."""
    if path != ":memory:":
        refuse_network_file_system(path)
        refuse_no_file(path)
        make_private(path)
    try:
        connection = sqlite3.connect(
            path,
            isolation_level=None,
            timeout=BUSY_TIMEOUT_MS / 1000,
            cached_statements=STATEMENTS_CACHED,
            check_same_thread=False,
        )
        refuse_other_database(connection, path)  # before anything in it is changed
        _when_free(connection, "PRAGMA journal_mode = WAL")  # of a new file, which SQLite itself does not wait for
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
        sync = connection.execute("PRAGMA synchronous").fetchone()[0]
    except sqlite3.Error as error:
        raise full(path, error) or StoreError(f"cannot open the store {path}: {error}", hint=why_not(path)) from error
    if path != ":memory:" and (journal, sync) != ("wal", _FULL_SYNC):
        raise StoreError(f"the store {path} refuses durable settings (journal {journal}, sync {sync})")
    return connection


def refuse_other_database(connection: sqlite3.Connection, path: str) -> None:
    """A database that another program made is never written to."""
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1000")}
    if names and not {"meta", "task"} <= names:
        what = f"cannot open the store {path}: it is a database of another program"
        raise StoreError(what, hint="name another file with --store")


class _Translated:
    """A block that raises SQLite's errors in our words."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        if isinstance(error, sqlite3.OperationalError | StoreUnavailable) and (found := full(self._path, error)):
            raise found from error
        match error:
            case UnicodeEncodeError():
                raise UsageError("a text is not valid UTF-8", hint="write it in UTF-8") from error
            case sqlite3.OperationalError():
                raise StoreUnavailable(f"the store did not answer: {error}") from error
            case sqlite3.IntegrityError() | sqlite3.ProgrammingError():
                return
            case sqlite3.DatabaseError():
                raise StoreError(f"the store is damaged: {error}", hint="restore a backup") from error


def machine_of(path: str) -> str:
    """The machine that a store says it was made on, asked of a file that may be anything; empty where it does not say.

    Nothing is written, nothing but a table is read, and a query made to run for ever is ended.
    """
    from urllib.parse import quote

    try:
        connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=1, isolation_level=None)
    except sqlite3.Error:
        return ""
    try:
        connection.set_progress_handler(lambda: 1, _ASKED_STEPS_MAX)
        connection.execute("PRAGMA trusted_schema = OFF")
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta' AND type = 'table'").fetchone() is None:
            return ""
        found = connection.execute("SELECT value FROM meta WHERE key = 'machine_id'").fetchone()
        return str(found[0]) if found else ""
    except (sqlite3.Error, ValueError, OverflowError):
        return ""
    finally:
        connection.close()


def copy_database(source: sqlite3.Connection, path: str) -> None:
    """All of a database into another file, synced and checked."""
    target = sqlite3.connect(path)
    try:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # one file, and no other
        found = target.execute("PRAGMA quick_check(1)").fetchone()[0]
    finally:
        target.close()
    if found != "ok":
        raise StoreError(f"the copy is damaged: {found}", hint="medbay db check says more")
    with open(path, "rb") as file:
        os.fsync(file.fileno())


_MODIFIED: Final = 0x2  # IN_MODIFY
_AT_ONCE: Final = 4_096


class Commits:
    """A descriptor that is readable after a write to the log. The commit itself may be seen a moment later."""

    def __init__(self, path: str) -> None:
        self._descriptor = _watch(os.fsencode(f"{path}-wal"))

    def fileno(self) -> int:
        """The descriptor; -1 where the kernel does not notify, and it has to be polled."""
        return self._descriptor

    def take(self) -> None:
        """Forget what was said."""
        if self._descriptor >= 0:
            with suppress(BlockingIOError):
                while len(os.read(self._descriptor, _AT_ONCE)) == _AT_ONCE:
                    pass

    def close(self) -> None:
        """Listen no more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _watch(path: bytes) -> int:
    try:
        libc = ctypes.CDLL(None)
        descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, AttributeError):  # no Linux
        return -1
    if descriptor >= 0 and libc.inotify_add_watch(descriptor, path, ctypes.c_uint32(_MODIFIED)) < 0:
        os.close(descriptor)
        return -1
    return descriptor
