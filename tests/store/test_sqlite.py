"""The SQLite store: durable, private, migrated, and honest about what it cannot do."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from medbay.env import SystemClock
from medbay.errors import StoreError, StoreRemoved, StoreTooNew, StoreUnavailable, UsageError
from medbay.store import migrations
from medbay.store.dialect import SQLITE
from medbay.store.sqlite import BUSY_TIMEOUT_MS, Commits, SqliteStore


def open_at(path: Path) -> SqliteStore:
    """The store of a file."""
    return SqliteStore(path, SystemClock(), new_store_id="s", machine_id="m")


def test_a_store_syncs_every_commit_and_is_private(tmp_path: Path) -> None:
    """WAL with full syncs, and nobody else may read the file."""
    store = open_at(tmp_path / "a.db")

    with store.read() as tx:
        assert tx.one("PRAGMA journal_mode") == ("wal",)
        assert tx.one("PRAGMA synchronous") == (2,)
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600


def test_a_newer_store_is_refused_and_not_touched(tmp_path: Path) -> None:
    """What a later version wrote is not for us to read."""
    open_at(tmp_path / "a.db").close()
    raw = sqlite3.connect(tmp_path / "a.db")
    raw.execute("PRAGMA user_version = 9999")
    raw.close()

    with pytest.raises(StoreTooNew, match="schema 9999"):
        open_at(tmp_path / "a.db")


def test_an_older_store_is_migrated(tmp_path: Path) -> None:
    """A file that stopped at an earlier migration gets the rest, and keeps what it had."""
    raw = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    assert migrations.version(raw, SQLITE) == 0

    open_at(tmp_path / "a.db").close()

    assert migrations.version(raw, SQLITE) == migrations.available("sqlite")[-1][0]


def test_no_two_migrations_have_the_same_number() -> None:
    """The second of them would be skipped in silence; both databases have the same ones."""
    steps = [(number, name) for number, name, _ in migrations.available("sqlite")]

    assert len({number for number, _ in steps}) == len(steps)
    assert steps == [(number, name) for number, name, _ in migrations.available("postgres")]


def test_a_fresh_schema_equals_a_migrated_one(tmp_path: Path) -> None:
    """Step by step or at once, the tables and indexes are the same."""
    steps = sqlite3.connect(tmp_path / "steps.db", isolation_level=None)
    for number, _, _ in migrations.available("sqlite"):
        migrations.migrate(steps, SQLITE, upto=number)
    open_at(tmp_path / "fresh.db").close()
    fresh = sqlite3.connect(tmp_path / "fresh.db")

    wanted = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"

    assert fresh.execute(wanted).fetchall() == steps.execute(wanted).fetchall()


def test_a_failed_migration_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a migration happens, or nothing."""
    good = migrations.available("sqlite")
    bad = [*good, (good[-1][0] + 1, "broken", "CREATE TABLE half (a); CREATE TABLE half (a)")]
    open_at(tmp_path / "a.db").close()
    monkeypatch.setattr(migrations, "available", lambda dialect: bad)

    with pytest.raises(sqlite3.OperationalError):
        migrations.migrate(sqlite3.connect(tmp_path / "a.db", isolation_level=None), SQLITE)

    raw = sqlite3.connect(tmp_path / "a.db")
    assert raw.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)


def test_a_locked_store_is_away_not_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody holds the write lock for longer than we wait: the same call may succeed later."""
    monkeypatch.setattr("medbay.store.sqlite.BUSY_TIMEOUT_MS", 1)
    store = open_at(tmp_path / "a.db")
    other = open_at(tmp_path / "a.db")

    with other.write(), pytest.raises(StoreUnavailable), store.write():
        pass


def test_a_writer_that_had_to_wait_is_next(tmp_path: Path) -> None:
    """It looks again every millisecond: one who commits without pause leaves the place free for no longer."""
    store, other = open_at(tmp_path / "a.db"), open_at(tmp_path / "a.db")
    entered = threading.Event()

    def write() -> None:
        with store.write():
            entered.set()

    with other.write():
        waiting = threading.Thread(target=write)
        waiting.start()
        assert not entered.wait(0.05)
    assert entered.wait(10)
    waiting.join()
    with store.read() as tx:
        assert tx.one("PRAGMA busy_timeout") == (BUSY_TIMEOUT_MS,)


def test_a_new_file_that_somebody_else_is_making_is_waited_for(tmp_path: Path) -> None:
    """Two commands may be the first at the same moment."""
    path, opened = tmp_path / "a.db", threading.Event()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def open_it() -> None:
        open_at(path)
        opened.set()

    waiting = threading.Thread(target=open_it)
    waiting.start()
    assert not opened.wait(0.05)
    other.execute("ROLLBACK")

    assert opened.wait(10)
    waiting.join()
    other.close()


def test_where_the_kernel_cannot_tell_one_has_to_look(tmp_path: Path) -> None:
    """No log to watch, and no descriptor: -1, and nothing to read or close."""
    commits = Commits(str(tmp_path / "nothing.db"))

    assert commits.fileno() == -1
    commits.take()
    commits.close()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    """Rubbish is refused with the path and a hint, not a traceback."""
    (tmp_path / "a.db").write_bytes(b"this is not a database, whatever its name says" * 100)

    with pytest.raises(StoreError, match=r"a\.db"):
        open_at(tmp_path / "a.db")


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    """The hint says which directory to make."""
    with pytest.raises(StoreError, match="make the directory"):
        open_at(tmp_path / "no" / "where" / "a.db")


def test_a_store_whose_file_was_removed_takes_no_more_writes(tmp_path: Path) -> None:
    """SQLite itself would go on into a file nobody can see."""
    store = open_at(tmp_path / "a.db")
    (tmp_path / "a.db").unlink()

    with pytest.raises(StoreRemoved, match="removed"), store.write():
        pass


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """And holds no more descriptors for each try."""
    store = open_at(tmp_path / "a.db")
    with store.write() as tx:
        tx.execute("INSERT INTO meta (key, value) VALUES ('before', '1')")
    store.close()
    held = len(os.listdir("/proc/self/fd"))

    for begin in (store.write, store.read):
        with pytest.raises(UsageError, match="the store is closed"), begin():
            pass
    with pytest.raises(UsageError, match="the store is closed"):
        store.changed()

    assert len(os.listdir("/proc/self/fd")) == held


# It goes on with the connection that its parent opened.
_FORKED = """
import os, sys
import medbay
with medbay.open(sys.argv[1]) as bay:
    bay.add("parent", run="true")
    if os.fork() == 0:
        for act in (lambda: bay.add("child", run="true"), bay.counts):
            try:
                act()
            except Exception as error:
                print(type(error).__name__, error, flush=True)
        os._exit(0)
    os.wait()
    bay.add("parent again", run="true")
    print(len(bay.select()))
"""


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_store_that_was_opened_before_a_fork_is_refused_after_it(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Two processes on one connection lose what they acknowledge, and damage the file."""
    url = f"sqlite:///{tmp_path}/a.db"
    if kind == "postgres":
        url = request.getfixturevalue("postgres").url(request.getfixturevalue("own_database"))
    command = [sys.executable, "-c", _FORKED, url]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, cwd=tmp_path).stdout

    assert told.splitlines() == [
        *["UsageError the store was opened before a fork; open it in each process by itself"] * 2,
        "2",
    ]


# Another process looks at the store and goes away again.
_VISITOR = """
import sqlite3, sys
seen = sqlite3.connect(sys.argv[1])
print(seen.execute("SELECT count(*) FROM meta WHERE key IN ('before', 'after')").fetchone()[0])
seen.close()
"""


def visit(path: Path) -> str:
    """What another process finds in the store."""
    command = [sys.executable, "-c", _VISITOR, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def test_a_store_takes_no_more_writes_once_the_index_of_its_log_was_removed(tmp_path: Path) -> None:
    """Others would begin another one, and neither would see what the other commits. What was committed is there."""
    store = open_at(tmp_path / "a.db")
    with store.write() as tx:
        tx.execute("INSERT INTO meta (key, value) VALUES ('before', '1')")
    (tmp_path / "a.db-shm").unlink()

    with pytest.raises(StoreRemoved, match="a.db-shm was removed while it was in use"), store.write():
        pass

    assert visit(tmp_path / "a.db") == "1"


def test_a_second_connection_takes_no_lock_from_the_first(tmp_path: Path) -> None:
    """Else a visitor would think itself the last one and delete a WAL in use, and commits after it would be lost."""

    store = open_at(tmp_path / "a.db")
    store.sibling().close()
    with store.write() as tx:
        tx.execute("INSERT INTO meta (key, value) VALUES ('before', '1')")
    assert visit(tmp_path / "a.db") == "1"

    with store.write() as tx:
        tx.execute("INSERT INTO meta (key, value) VALUES ('after', '1')")

    assert visit(tmp_path / "a.db") == "2"
