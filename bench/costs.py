"""What one attempt costs the engine and its database: statements, commits, bytes, processor time.

Nothing is started: attempts only take virtual time, so that what is counted is the engine's own work.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import processes
from bench.virtual import Day
from medbay.core.outcome import Failed, Outcome, Output, Succeeded
from medbay.env import Ids
from medbay.places.protocol import Launch
from medbay.service import additions, requests
from medbay.store.database import Store
from medbay.store.postgres import PostgresStore
from medbay.store.sqlite import SqliteStore
from tests.postgres_server import Server
from tests.worlds import ManualClock

TASKS = 2_000
SLOTS = 50
LASTS_S = 2.0
COUNTED = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "all"}
TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA", "--")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What so many attempts took."""

    attempts: int = 0
    statements: int = 0
    commits: int = 0
    written: int = 0  # bytes that were synced
    kept: int = 0  # bytes by which the store grew
    cpu_s: float = 0.0  # of the engine
    server_s: float = 0.0  # of a database server

    def per_attempt(self) -> str:
        """As a person reads it."""
        server = f" + {self.server_s / self.attempts * 1000:.2f} ms at the server" if self.server_s else ""
        return (
            f"{self.statements / self.attempts:.1f} statements, {self.commits / self.attempts:.2f} commits,"
            f" {self.written / self.attempts / 1000:.1f} KB written, {self.kept / self.attempts / 1000:.1f} KB kept,"
            f" {self.cpu_s / self.attempts * 1000:.2f} ms of CPU{server}"
        )


class SqliteMeter:
    """Counts what a SQLite store does."""

    def __init__(self, store: SqliteStore, path: Path) -> None:
        self._path, self._connection = path, store._connection
        self._statements = self._commits = 0
        self._connection.execute("PRAGMA wal_autocheckpoint = 0")  # so that the log tells what was written
        self._connection.set_trace_callback(self._note)

    def read(self) -> tuple[int, int, int, int, float]:
        """Statements, commits, bytes written and kept so far, and what a server spent."""
        log = self._path.with_name(f"{self._path.name}-wal")
        with_log = log.stat().st_size if log.exists() else 0
        pages = self._connection.execute("PRAGMA page_count").fetchone()[0]
        size = self._connection.execute("PRAGMA page_size").fetchone()[0]
        return self._statements, self._commits, with_log, pages * size, 0.0

    def _note(self, sql: str) -> None:
        if sql == "COMMIT":
            self._commits += 1
        elif not sql.startswith(TRANSACTION):
            self._statements += 1


class PostgresMeter:
    """Asks a PostgreSQL server what it did."""

    def __init__(self, server: Server, database: str) -> None:
        self._server = server
        self._database = database
        self._connection = server.connect(database)
        self._connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    def read(self) -> tuple[int, int, int, int, float]:
        """Statements, commits, bytes of its log and of its tables so far, and processor time."""
        words = "^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET|SHOW|LISTEN|DISCARD)"
        calls = "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid"
        statements = self._one(f"{calls} WHERE datname = current_database() AND query !~* '{words}'")
        commits = self._one("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")  # of those that wrote
        written = self._one("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
        kept = self._one("SELECT pg_database_size(current_database())")
        return int(statements), int(commits), int(written), int(kept), self._cpu_s()

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _one(self, sql: str) -> Any:
        return self._connection.execute(sql).fetchone()[0]  # type: ignore[index]

    def _cpu_s(self) -> float:
        main = int((self._server.home / "data" / "postmaster.pid").read_text().split()[0])
        return processes.cpu_s(processes.tree(main))


def measure(tasks: int = TASKS) -> list[str]:
    """Each kind of attempt on both databases."""
    lines = []
    for store in ("sqlite", "postgres"):
        for words, fails in (("succeeds", 0), ("fails once, is diagnosed and tried again", 1)):
            lines.append(f"{store}, an attempt of a task that {words}: {spent(store, tasks, fails).per_attempt()}")
    return lines


def spent(kind: str, tasks: int = TASKS, fails: int = 0) -> Spent:
    """What the attempts of so many tasks take, each of which fails so often first."""
    clock = ManualClock()
    with _store(kind, clock) as (store, meter, root):
        day = Day(store, clock, lambda launch: _end(launch, fails), slots=SLOTS, there=0, root=root)
        _add(store, tasks)
        day.start()
        day.tick()  # whatever is prepared once is
        before, began, started = meter.read(), time.process_time(), day.site.started
        while day.site.started < tasks * (1 + fails) or day.engine.live:
            day.pass_until(clock.wall_ms + 10_000)
        cpu_s, after = time.process_time() - began, meter.read()
        counts = [late - early for late, early in zip(after, before, strict=True)]
    names = ("statements", "commits", "written", "kept")
    return Spent(
        attempts=day.site.started - started,
        cpu_s=cpu_s,
        server_s=counts[4],
        **dict(zip(names, map(int, counts[:4]), strict=True)),
    )


def _end(launch: Launch, fails: int) -> tuple[Outcome, float]:
    if launch.number > fails:
        return Succeeded(output=Output(tail="done\n", total_bytes=5)), LASTS_S
    said = f"FAILED tests/test_{launch.task_id}.py::test_sum - AssertionError: assert 3 == 4\n1 failed, 41 passed\n"
    return Failed(output=Output(tail=said, total_bytes=len(said)), exit_code=1), LASTS_S


def _add(store: Store, tasks: int) -> None:
    ids = Ids()
    with store.write() as tx:
        for number in range(tasks):
            new = requests.new_task({"title": f"task {number}", "run": f"make {number}"}, now=tx.now)
            additions.add(tx, new, ids=ids, actor="bench")


@contextmanager
def _store(kind: str, clock: ManualClock) -> Iterator[tuple[Store, Any, Path]]:
    with tempfile.TemporaryDirectory(prefix="medbay-bench-") as name:
        root = Path(name)
        if kind == "sqlite":
            path = root / "bench.db"
            store = SqliteStore(path, clock, new_store_id="bench", machine_id="bench")
            yield store, SqliteMeter(store, path), root
            store.close()
            return
        server = Server({"listen_addresses": "", **COUNTED})
        try:
            database = server.new_database()
            kept = PostgresStore(server.url(database), clock, new_store_id="bench")
            meter = PostgresMeter(server, database)
            yield kept, meter, root
            meter.close()
            kept.close()
        finally:
            server.stop()
