"""The PostgreSQL store: the same schema, the server's clock, limits on every wait, and never half of anything."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from medbay import app
from medbay.core.model import Event
from medbay.env import SystemClock
from medbay.errors import StoreBusy, StoreError, StoreTooNew, StoreUnavailable, UsageError
from medbay.store import history, meta, migrations
from medbay.store import postgres as postgres_connection
from medbay.store.apply import write_events
from medbay.store.dialect import POSTGRES
from medbay.store.postgres import PostgresStore, placeholders
from medbay.store.sqlite import SqliteStore
from tests.postgres_server import Server
from tests.store.test_store import PUT, together
from tests.waiting import eventually
from tests.worlds import ManualClock

pytestmark = pytest.mark.postgres

Open = Callable[..., PostgresStore]


@pytest.fixture
def opened(postgres: Server, database: str) -> Iterator[Open]:
    """Opens stores on one database, with the server's clock."""
    stores: list[PostgresStore] = []

    def open_one(**options: Any) -> PostgresStore:
        stores.append(PostgresStore(postgres.url(database), new_store_id="s", **options))
        return stores[-1]

    yield open_one
    for each in stores:
        each.close()


@pytest.fixture
def empty(postgres: Server) -> Iterator[str]:
    """The address of a database with nothing in it."""
    name = postgres.new_database()
    yield postgres.url(name)
    postgres.drop(name)


def test_both_databases_have_the_same_tables_columns_and_indexes(opened: Open) -> None:
    """Names of tables, columns in their order, names of indexes; only event.xid is PostgreSQL's own."""
    lite = SqliteStore(":memory:", SystemClock(), new_store_id="s", machine_id="m")
    with lite.read() as tx:
        tables = sorted(row[0] for row in tx.rows("SELECT name FROM sqlite_master WHERE type = 'table'"))
        tables = [name for name in tables if not name.startswith("sqlite_")]
        columns = {name: [row[1] for row in tx.rows(f"PRAGMA table_info({name})")] for name in tables}
        indexes = {row[0] for row in tx.rows("SELECT name FROM sqlite_master WHERE type = 'index' AND sql > ''")}
    with opened().read() as tx:
        theirs: dict[str, list[str]] = {}
        for table, column in tx.rows(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " ORDER BY table_name, ordinal_position"
        ):
            theirs.setdefault(table, []).append(column)
        named = {row[0] for row in tx.rows("SELECT indexname FROM pg_indexes WHERE schemaname = 'public'")}
        conditions = {row[0]: row[1] for row in tx.rows("SELECT indexname, indexdef FROM pg_indexes")}

    assert theirs.pop("event") == [*columns.pop("event"), "xid"]
    assert theirs == columns
    assert {name for name in named if not re.search(r"_(pkey|key)$", name)} == indexes
    assert "WHERE" in conditions["task_claim"]


def test_both_databases_have_the_same_migrations() -> None:
    """Numbers and names are shared."""
    assert [step[:2] for step in migrations.available("postgres")] == [
        step[:2] for step in migrations.available("sqlite")
    ]


def test_a_new_database_is_migrated_once_however_many_open_it(empty: str) -> None:
    """The others wait for the first and find it done; all agree on the store's name."""
    stores: list[PostgresStore] = []

    together([lambda n=n: stores.append(PostgresStore(empty, new_store_id=f"s{n}")) for n in range(4)])  # type: ignore[misc]

    assert len({store.store_id for store in stores}) == 1
    with stores[0].read() as tx:
        assert meta.describe(tx)["schema"] == str(migrations.available("postgres")[-1][0])
    for store in stores:
        store.close()


def test_a_newer_store_is_refused_and_not_touched(postgres: Server, database: str) -> None:
    """What a later version wrote is not for us to read."""
    with postgres.connect(database) as raw:
        raw.execute("UPDATE meta SET value = '9999' WHERE key = 'schema'")

    with pytest.raises(StoreTooNew, match="schema 9999"):
        PostgresStore(postgres.url(database), new_store_id="s")


def test_a_failed_migration_leaves_the_store_as_it_was(
    postgres: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a migration happens, or nothing; then it can be tried again."""
    good = migrations.available("postgres")
    bad = [*good, (good[-1][0] + 1, "broken", "CREATE TABLE half (a INTEGER); CREATE TABLE half (a INTEGER)")]
    monkeypatch.setattr(migrations, "available", lambda dialect: bad)

    with postgres.connect(database) as raw:
        with pytest.raises(psycopg.errors.DuplicateTable):
            migrations.migrate(raw, POSTGRES)

        assert raw.execute("SELECT to_regclass('half')").fetchone() == (None,)
        assert migrations.version(raw, POSTGRES) == good[-1][0]


def test_question_marks_become_placeholders_except_between_quotes() -> None:
    """The texts of the statements are shared; percent signs stay what they are."""
    assert placeholders("a = ? AND b LIKE '%?' OR c % 2 = ?") == "a = $1 AND b LIKE '%?' OR c % 2 = $2"


def test_the_servers_clock_counts_unless_another_is_handed_in(opened: Open) -> None:
    """Machines agree about leases; the simulator brings its own time."""
    with opened().write() as tx:
        row = tx.one("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        assert row is not None
        assert 0 <= row[0] - tx.now < 5_000

    with opened(clock=ManualClock()).read() as tx:
        assert tx.now == ManualClock().now_ms()


def test_commits_are_synced_and_waits_are_limited(opened: Open) -> None:
    """Read back from the session."""
    with opened().read() as tx:
        limits = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
        assert [tx.one(f"SHOW {name}") for name in limits] == [("30s",), ("10s",), ("1min",)]
        assert tx.one("SHOW synchronous_commit") == ("on",)


def test_a_transaction_cut_off_in_the_middle_changes_nothing(opened: Open, postgres: Server) -> None:
    """The connection dies between two statements; the next transaction makes a new one."""
    store = opened()

    with pytest.raises(StoreUnavailable), store.write() as tx:
        tx.execute(PUT, ("half",))
        _cut(postgres, tx)
        tx.execute(PUT, ("other half",))

    with store.read() as tx:
        assert (meta.value(tx, "half"), meta.value(tx, "other half")) == (None, None)


def test_a_connection_that_died_while_nobody_used_it_is_made_again(opened: Open, postgres: Server) -> None:
    """The first call says so, the second works; asking for changes never raises anything else."""
    store = opened()
    with store.read() as tx:
        pid = _pid(tx)
    _end(postgres, pid)

    with pytest.raises(StoreUnavailable):
        for _ in range(1_000):
            store.changed()
            with store.write() as tx:
                assert _pid(tx) == pid

    assert eventually(lambda: _works(store))


def test_what_failed_and_was_not_undone_is_never_committed(opened: Open) -> None:
    """PostgreSQL answers COMMIT with ROLLBACK then; whoever swallowed the error is told."""
    store = opened()

    with pytest.raises(StoreError), store.write() as tx:
        tx.execute(PUT, ("x",))
        try:
            tx.execute(PUT, ("x",))
        except Exception:
            pass

    with store.read() as tx:
        assert meta.value(tx, "x") is None


def test_two_that_wait_for_each_other_are_told_apart_from_a_store_that_is_away(opened: Open) -> None:
    """One is undone and may try again; the other goes on."""
    stores = [opened(), opened()]
    with stores[0].write() as tx:
        tx.execute(PUT, ("a",))
        tx.execute(PUT, ("b",))
    both = threading.Barrier(2)
    undone: list[str] = []

    def lock(store: PostgresStore, keys: str) -> None:
        try:
            with store.write() as tx:
                tx.one("SELECT 1 FROM meta WHERE key = ? FOR UPDATE", (keys[0],))
                both.wait(10)
                tx.one("SELECT 1 FROM meta WHERE key = ? FOR UPDATE", (keys[1],))
        except StoreBusy:
            undone.append(keys)

    together([lambda: lock(stores[0], "ab"), lambda: lock(stores[1], "ba")])

    assert len(undone) == 1


def test_a_lock_is_not_waited_for_for_ever(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever holds it too long makes the store unavailable, not the engine hang."""
    monkeypatch.setattr(postgres_connection, "SESSION_SQL", "SET lock_timeout = '50ms'")
    holder, waiter = opened(), opened()

    with holder.write() as tx:
        tx.serialise("x")
        with pytest.raises(StoreUnavailable, match="lock timeout"), waiter.write() as other:
            other.serialise("x")


def test_a_frozen_server_is_given_up(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took the statement and says nothing, not even that it is gone."""
    store = opened()
    with store.read() as tx:
        pid = _pid(tx)
    monkeypatch.setattr(postgres_connection, "ANSWER_S", 0.3)
    os.kill(pid, signal.SIGSTOP)

    try:
        with pytest.raises(StoreUnavailable, match="no answer"), store.read():
            pass
    finally:
        os.kill(pid, signal.SIGCONT)

    assert eventually(lambda: _works(store))


def test_without_notify_a_store_looks_by_itself(opened: Open) -> None:
    """Nothing is said on commit, and nothing depends on it."""
    listener, silent = opened(), opened(notify=False)
    while listener.changed() or silent.changed():
        pass

    with silent.write() as tx:
        tx.execute(PUT, ("x",))

    assert not listener.changed()
    assert eventually(silent.changed, 2)


def test_a_wakeup_that_arrives_during_a_transaction_is_not_lost(opened: Open) -> None:
    """It comes in between two answers, and is told at the next question."""
    listener, other = opened(), opened()
    while listener.changed():
        pass

    with listener.read() as tx:
        with other.write() as writing:
            writing.execute(PUT, ("x",))
        tx.one("SELECT pg_sleep(0.05)")

    assert listener.changed()


def test_a_reader_misses_nothing_while_many_write(opened: Open) -> None:
    """Writers commit in any order; a reader that resumes from the last number sees each event once, in order."""
    writers, rounds = 4, 40
    reader = opened()
    busy = [opened() for _ in range(writers)]
    done = threading.Event()
    seen: list[Event] = []

    def write(store: PostgresStore, name: int) -> None:
        for n in range(rounds):
            with store.write() as tx:
                tx.execute(PUT, (f"{name}-{n}",))  # the transaction has its number before it has its events
                write_events(tx, (Event(name="worker:started", data={"by": name, "n": n}),) * 2)
                tx.one("SELECT pg_sleep(random() * 0.004)")

    def read() -> None:
        while True:
            last = done.is_set()
            with reader.read() as tx:
                found = history.events_since(tx, seen[-1].seq if seen else 0, limit=7)
            seen.extend(found)
            if last and not found:
                return

    def write_all() -> None:
        together([lambda n=n, each=each: write(each, n) for n, each in enumerate(busy)])  # type: ignore[misc]
        done.set()

    together([read, write_all])

    assert len(seen) == writers * rounds * 2
    assert [event.seq for event in seen] == sorted({event.seq for event in seen})
    for name in range(writers):
        assert [event.data["n"] for event in seen if event.data["by"] == name] == [n // 2 for n in range(rounds * 2)]


def test_numbers_follow_commits_even_when_transactions_cross(opened: Open) -> None:
    """The elder transaction writes its events later and commits first; the younger one's are not skipped."""
    elder, younger, reader = opened(), opened(), opened()
    seen: list[str] = []

    def look() -> None:
        with reader.read() as tx:
            seen.extend(event.name for event in history.events_since(tx, len(seen), limit=10))

    with younger.write() as late:
        with elder.write() as early:
            early.execute(PUT, ("elder",))
            late.execute(PUT, ("younger",))
            write_events(late, (Event(name="worker:lost"),))
            write_events(early, (Event(name="worker:started"),))
        look()
    look()

    assert seen == ["worker:started", "worker:lost"]


@pytest.mark.parametrize(
    "url", ["postgresql://u:sesame@[::1/x", "postgresql://u:sesame%zz@h/x", "postgresql://u@h/x?password=sesame&nope=1"]
)
def test_an_address_that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    """The driver would repeat it."""
    with pytest.raises(UsageError) as told:
        PostgresStore(url, new_store_id="s")

    assert "sesame" not in f"{told.value!r} {told.value.__cause__} {told.value.__context__ and told.value.__cause__}"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_a_server_that_is_not_there_is_named_without_its_password(
    scheme: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the next call fails at once instead of waiting for the network again."""
    monkeypatch.chdir(tmp_path)
    place = app.find_place(tmp_path, store_url=f"{scheme}://u:sesame@127.0.0.1:1/x", environ={})

    with pytest.raises(StoreUnavailable) as told:
        app.open_store(place, SystemClock(), create=True)

    assert "sesame" not in str(told.value)
    assert "127.0.0.1" in str(told.value)


def test_logs_stay_beside_the_project_whatever_the_store(opened: Open, tmp_path: Any, postgres: Server) -> None:
    """The folder is found upward, or made where we stand."""
    (tmp_path / ".medbay").mkdir()
    (tmp_path / "deep").mkdir()

    place = app.find_place(tmp_path / "deep", store_url=postgres.url(), environ={})

    assert place.folder == tmp_path / ".medbay"
    assert place.config.engine.lease_for(place.url) == 120_000


def test_who_uses_sqlite_never_loads_the_driver() -> None:
    """It takes a third of a second."""
    code = "import sys, medbay.bay; raise SystemExit('psycopg' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def _pid(tx: Any) -> int:
    return int(tx.one("SELECT pg_backend_pid()")[0])


def _cut(server: Server, tx: Any) -> None:
    _end(server, _pid(tx))


def _end(server: Server, pid: int) -> None:
    with server.connect() as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def _works(store: PostgresStore) -> bool:
    try:
        with store.read() as tx:
            return tx.one("SELECT 1") == (1,)
    except StoreUnavailable:
        return False


def test_rows_of_one_insert_go_in_few_statements_and_keep_their_order(opened: Open) -> None:
    """Powers of two, whose plans the server keeps; what may meet a row twice goes one by one, and all are counted."""
    store = opened()
    rows = [(f"name {number}", str(number)) for number in range(103)]
    insert = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"
    upsert = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    with store.write() as tx:
        assert tx.execute_many(insert, rows[:50]) == 50
        assert tx.execute_many(insert, rows) == 53
        assert tx.execute_many(upsert, [("twice", "1"), ("twice", "2")]) == 2
        assert tx.execute_many("UPDATE meta SET value = ? WHERE key = ?", [("x", "name 0"), ("y", "nobody")]) == 1
        assert tx.execute_many("DELETE FROM meta WHERE key = ?", []) == 0
        told: dict[str, str] = dict(tx.rows("SELECT key, value FROM meta WHERE key LIKE 'name %' OR key = 'twice'"))

    assert told == {**dict(rows), "name 0": "x", "twice": "2"}


def test_what_is_kept_for_the_end_is_sent_together_and_numbered_in_order(opened: Open) -> None:
    """Events of many decisions are few statements; a savepoint that is undone takes its own away."""
    store = opened()
    with store.write() as tx:
        for number in range(70):
            tx.begin_decision()
            write_events(
                tx, (Event(name="task:created", task_id=f"t{number}"), Event(name="task:started", task_id="x"))
            )
        with pytest.raises(ZeroDivisionError), tx.savepoint():
            write_events(tx, (Event(name="task:failed", task_id="undone"),))
            raise ZeroDivisionError
    with store.read() as tx:
        told = history.events_since(tx, 0, limit=1_000)

    assert [event.task_id for event in told if event.task_id != "x"] == [f"t{number}" for number in range(70)]
    assert len(told) == 140
