"""No cost of the loop may grow with what is stored: a round beside millions of rows costs what it costs beside none."""

from __future__ import annotations

import itertools
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from medbay.core.model import TASK_FIELDS, Task
from medbay.engine.round import Engine
from medbay.env import Ids
from medbay.store.database import Store, Tx
from medbay.store.postgres import PostgresStore
from medbay.store.sqlite import SqliteStore
from tests.conftest import TEMPLATE
from tests.postgres_server import Server
from tests.worlds import ManualClock, World, failed, quick_policy

LATER_MS = 4_000_000_000_000
LONG_AGO_MS = 1_600_000_000_000
PLAIN = failed("x.py:3: AssertionError: row 77")
SHARED = failed("curl: (6) Could not resolve host: api.example.com", exit_code=6)  # one cause may hit many tasks
STEP_MS = 300
SLOTS = 8
AT_ONCE = 100_000  # rows of one statement: a store gives up one that takes too long
RUNS = 5
ROUNDS = 8  # in one run
FACTOR_MAX = 1.5
OF_A_TASK = ("attempt", "attempt_output", "retry", "history", "event", "failure_task")
VALUE = re.compile(r"'(?:[^']|'')*'|\b(?:\d+|NULL)\b")
NUMBERED_BY_THE_STORE = ("id", "seq")


@dataclass(frozen=True)
class Stock:
    """How much of each kind a store holds."""

    future: int
    parked: int
    alike: int
    finished: int
    patterns: int


LARGE = Stock(future=1_000_000, parked=100_000, alike=100_000, finished=100_000, patterns=10_000)
SMALL = Stock(future=5_000, parked=500, alike=500, finished=500, patterns=100)


class RisingIds(Ids):
    """Names in the order in which they are given, so that what ends together is stored in the same order everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)

    def task(self, existing: int) -> str:
        """None that a copy has."""
        return f"z{next(self._numbers):06}"


class Place:
    """A world with one engine, whose rounds are measured."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store = store
        self.world = World(store, clock, policy=quick_policy(0))
        self.world.ids = RisingIds()
        self.engine: Engine = self.world.engine(slots=SLOTS)
        self.elsewhere: Engine = self.world.engine(queues=("quiet",))
        self._named = 0
        self.finished = self.add("finished", PLAIN)
        self.alike = self.add("alike", SHARED)
        self.rounds(4)
        assert all(self.world.task(each.id).status == "completed" for each in (self.finished, self.alike))
        self.future = self.add("future", at="2096-01-01T00:00:00Z")
        with store.write() as tx:  # what it protects is away in both stores, for as long as a person says so
            tx.execute(
                "INSERT INTO breaker (key, kind, state, why, opened_by, opened_at, failures, successes, data, version)"
                " VALUES ('provider:away', 'provider', 'open', 'by hand', 'person:test', 1, 0, 0, '{}', 1)"
            )

    def add(self, title: str, *script: Any, **options: Any) -> Task:
        """A task that succeeds once its script is over."""
        self._named += 1
        return self.world.add(f"{title} {self._named}", *script, **options)

    def rounds(self, many: int) -> None:
        """Time for one thing after the other, with the heartbeat in between."""
        for _ in range(many):
            self.world.run(self.engine, step_ms=STEP_MS)

    def rest(self) -> None:
        """Long enough for failures to have nothing to do with those to come."""
        for _ in range(200):
            self.world.clock.advance(10_000)
            self.engine.lease.beat(self.store)
            self.elsewhere.lease.beat(self.store)
        self.engine.tick()

    def work(self) -> None:
        """Tasks are added, succeed, or fail and succeed at their retry; and the loop is asked what it is asked."""
        for _ in range(4):
            self.add("succeeds")
        done = [self.add("fails", PLAIN), self.add("meets what others met", SHARED)]
        self.rounds(5)
        self.engine.next_wake_s()
        assert self.elsewhere.is_idle()
        assert all(self.world.task(each.id).status == "completed" for each in done)


def fill(place: Place, stock: Stock) -> None:
    """Copies of tasks that really came to where they are, with everything that was written about them."""
    away = {"ready": "1", "ready_at": "n", "hold": "'provider:away'", "due_at": "NULL"}
    waits = {"status": "'failed'", "due_at": f"{LATER_MS} + n", "ended_at": "NULL", "ready": "0"}
    with place.store.write() as tx:
        _copy(tx, place.future, "f", stock.future, {"due_at": f"{LATER_MS} + n"})
        _copy(tx, place.future, "p", stock.parked, away)
        _copy(tx, place.alike, "a", stock.alike, waits)
        _copy(tx, place.finished, "d", stock.finished, {"ended_at": f"{LONG_AGO_MS} + n"})
        tx.execute(
            f"{_numbers(1, stock.patterns)} INSERT INTO failure_pattern (fingerprint, category, subcategory, summary,"
            " excerpt, count, first_seen, last_seen, taught_by) SELECT 'x:' || n, 'unknown', '', 'odd', 'odd', n,"
            f" {LONG_AGO_MS} + n, {LONG_AGO_MS} + n, '' FROM numbers"
        )


def _copy(tx: Tx, template: Task, letter: str, many: int, differs: dict[str, str]) -> None:
    own = {"id": f"'{letter}' || n", "key": "NULL", "title": f"'{letter} ' || n", **differs}
    _insert(tx, many, "task", TASK_FIELDS, own, f"t.id = '{template.id}'")
    for table in OF_A_TASK:
        names = tuple(name for name in tx.columns(table) if name not in NUMBERED_BY_THE_STORE)
        their = {"task_id": f"'{letter}' || n", "last_seen": f"{LONG_AGO_MS} + n", "at": f"{LONG_AGO_MS} + n"}
        if table == "retry" and differs.get("status") == "'failed'":
            their |= {"status": "'pending'", "executed_at": "NULL", "outcome": "NULL", "due_at": f"{LATER_MS} + n"}
        _insert(tx, many, table, names, their, f"t.task_id = '{template.id}'")


def _insert(tx: Tx, many: int, table: str, names: tuple[str, ...], own: dict[str, str], which: str) -> None:
    columns = ", ".join(own.get(name, f"t.{name}") for name in names)
    for first in range(1, many + 1, AT_ONCE):
        head = _numbers(first, min(many, first + AT_ONCE - 1))
        tx.execute(
            f"{head} INSERT INTO {table} ({', '.join(names)}) SELECT {columns} FROM numbers, {table} t WHERE {which}"
        )


def _numbers(first: int, last: int) -> str:
    return f"WITH RECURSIVE numbers (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Place]]:
    """Opens one store after the other, all alike, each on a clock of its own."""
    opened: list[tuple[Store, str]] = []
    server: Server | None = request.getfixturevalue("postgres") if request.param == "postgres" else None

    def new() -> Place:
        clock, database = ManualClock(), server.new_database(TEMPLATE) if server is not None else ""
        store: Store
        if server is not None:
            store = PostgresStore(server.url(database), clock, new_store_id="teststore")
        else:
            path = tmp_path / f"{len(opened)}.db"
            store = SqliteStore(path, clock, new_store_id="teststore", machine_id="machine")
        opened.append((store, database))
        return Place(store, clock)

    yield new
    for store, database in opened:
        store.close()
        if server is not None:
            server.drop(database)


@contextmanager
def statements_of(store: Store) -> Iterator[list[str]]:
    """Every statement that a store runs as long as this lasts, once for each set of values."""
    seen: list[str] = []
    if isinstance(store, SqliteStore):
        store._connection.set_trace_callback(lambda sql: seen.append(VALUE.sub("?", sql)))
        yield seen
        store._connection.set_trace_callback(None)
        return
    with pytest.MonkeyPatch.context() as patch:
        plainly, often = psycopg.Cursor.execute, psycopg.Cursor.executemany

        def execute(cursor: Any, sql: Any, *rest: Any, **named: Any) -> Any:
            seen.append(sql)
            return plainly(cursor, sql, *rest, **named)

        def execute_many(cursor: Any, sql: Any, sets: Any, **named: Any) -> Any:
            seen.extend([sql] * len(sets))
            return often(cursor, sql, sets, **named)

        patch.setattr(psycopg.Cursor, "execute", execute)
        patch.setattr(psycopg.Cursor, "executemany", execute_many)
        yield seen


def cpu_s(store: Store) -> float:
    """CPU time of this process so far, with that of the server's process that answers it."""
    own = time.process_time()
    if not isinstance(store, PostgresStore):
        return own
    pid = store._connected().pgconn.backend_pid
    return own + int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def cpu_of_a_run(place: Place) -> float:
    """The CPU time of some rounds; what comes between them is not counted."""
    spent_s = 0.0
    for _ in range(ROUNDS):
        place.rest()
        began_s = cpu_s(place.store)
        place.work()
        spent_s += cpu_s(place.store) - began_s
    return spent_s


def statements_of_a_round(place: Place) -> Counter[str]:
    """How often one round asks the store for what."""
    place.rest()
    with statements_of(place.store) as seen:
        place.work()
    return Counter(seen)


def filled(new_place: Callable[[], Place], stock: Stock) -> tuple[Place, Place]:
    """A store with nothing in it and one with this much, both warm, the server's statistics taken."""
    empty, full = new_place(), new_place()
    fill(full, stock)
    if isinstance(full.store, PostgresStore):
        full.store._connected().execute("ANALYZE")
    for each in (empty, full):
        each.rest()
        each.work()
    return empty, full


def test_a_round_asks_the_same_of_a_store_with_much_in_it(new_place: Callable[[], Place]) -> None:
    """Statement by statement."""
    empty, full = filled(new_place, SMALL)

    assert statements_of_a_round(full) == statements_of_a_round(empty)


@pytest.mark.long
@pytest.mark.timeout(900)  # most of it is filling
def test_a_round_costs_the_same_in_a_store_with_a_million_tasks(new_place: Callable[[], Place]) -> None:
    """As many statements, and about the same CPU time: the best of alternating runs."""
    empty, full = filled(new_place, LARGE)

    assert statements_of_a_round(full) == statements_of_a_round(empty)
    of_empty, of_full = zip(*((cpu_of_a_run(empty), cpu_of_a_run(full)) for _ in range(RUNS)), strict=True)
    print(f"\nCPU of {ROUNDS} rounds: {min(of_empty) * 1e3:.0f} ms empty, {min(of_full) * 1e3:.0f} ms with a million")
    assert min(of_full) <= FACTOR_MAX * min(of_empty), (of_empty, of_full)
