"""Two transactions on PostgreSQL, moved on step by step in any order: a step is what lies between two stops.

A transaction stops before it reads what several tasks share, before its first lock, before its first change and before
its commit. One that waits for a lock of the other is passed over until it is free.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from medbay.store.postgres import PostgresStore, PostgresTx

STEP_S = 20.0
SHARED = ("FROM question WHERE status = 'open' AND scope", "FROM breaker")


class SteppedTx:
    """A transaction that stops where the other one could come in between."""

    def __init__(self, tx: PostgresTx, stop: Callable[[str], None]) -> None:
        self._tx = tx
        self._stop = stop
        self.now, self.store_id, self.dialect, self.locks = tx.now, tx.store_id, tx.dialect, tx.locks
        self.savepoint, self.execute_last = tx.savepoint, tx.execute_last
        self.together, self.begin_decision = tx.together, tx.begin_decision

    def execute(self, sql: str, params: Any = ()) -> int:
        """A change."""
        self._stop("change")
        return self._tx.execute(sql, params)

    def execute_many(self, sql: str, params: Any) -> int:
        """Changes that are sent together."""
        self._stop("change")
        return self._tx.execute_many(sql, params)

    def put(self, sql: str, params: Any, *, stale: str = "") -> None:
        """A change, now or with others."""
        self._stop("change")
        self._tx.put(sql, params, stale=stale)

    def rows(self, sql: str, params: Any = ()) -> list[Any]:
        """A query, with locks or without."""
        self._before(sql)
        return self._tx.rows(sql, params)

    def one(self, sql: str, params: Any = ()) -> Any:
        """A query, with locks or without."""
        self._before(sql)
        return self._tx.one(sql, params)

    def foresee(self, *queries: tuple[str, Any]) -> None:
        """Nothing: each is asked when it is, so that others can come between."""

    def serialise(self, name: str) -> None:
        """A lock."""
        self._stop("lock")
        self._tx.serialise(name)

    def try_serialise(self, name: str) -> bool:
        """A lock, without waiting."""
        self._stop("lock")
        return self._tx.try_serialise(name)

    def _before(self, sql: str) -> None:
        if " FOR " in sql:
            self._stop("lock")
        elif any(part in sql for part in SHARED):
            self._stop("share")


class Actor:
    """One side: a store on a connection of its own, and a thread that does one thing in steps."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self.store_id, self.kind = store.store_id, store.kind
        with store.read() as tx:
            self.pid = int((tx.one("SELECT pg_backend_pid()") or (0,))[0])
        self._go = threading.Semaphore(0)
        self._stopped = threading.Event()
        self._passed: set[str] = set()
        self.done = False
        self.raised: BaseException | None = None

    @contextmanager
    def write(self) -> Iterator[Any]:
        """A transaction in steps."""
        self._passed.clear()
        with self._store.write() as tx:
            yield SteppedTx(tx, self._stop)
            self._stop("commit")

    def read(self) -> Any:
        """Reading is no step."""
        return self._store.read()

    def begin(self, job: Callable[[Any], object]) -> None:
        """Start, and run to the first stop."""
        self.done, self.raised = False, None
        self._stopped.clear()
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        assert self._stopped.wait(STEP_S)

    def step(self, monitor: psycopg.Connection[Any]) -> None:
        """Go on to the next stop, to the end, or until a lock is in the way."""
        if self.done or not self._stopped.is_set():
            return  # finished, or still waiting for a lock
        self._stopped.clear()
        self._go.release()
        self.settle(monitor)

    def settle(self, monitor: psycopg.Connection[Any]) -> bool:
        """Whether it came to its next stop; False when it waits for a lock."""
        deadline = time.monotonic() + STEP_S
        while not self._stopped.wait(0.002):
            sql = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
            if (monitor.execute(sql, (self.pid,)).fetchone() or (False,))[0]:
                return False
            assert time.monotonic() < deadline, "it neither stops nor waits"
        return True

    def _run(self, job: Callable[[Any], object]) -> None:
        try:
            job(self)
        except BaseException as error:
            self.raised = error
        self.done = True
        self._stopped.set()

    def _stop(self, what: str) -> None:
        if what not in self._passed:
            self._passed.add(what)
            self._stopped.set()
            assert self._go.acquire(timeout=STEP_S)


def orders(a: int, b: int) -> list[str]:
    """Every order in which one side of `a` steps and one of `b` steps can take turns."""
    places = itertools.combinations(range(a + b), a)
    return ["".join("a" if n in chosen else "b" for n in range(a + b)) for chosen in map(set, places)]


def interleave(
    a: Actor, b: Actor, jobs: tuple[Callable[[Any], object], Callable[[Any], object]], *, order: str, monitor: Any
) -> None:
    """Run both in this order, then whatever is left; what a side raised is in `raised`."""
    a.begin(jobs[0])
    b.begin(jobs[1])
    for letter in order:
        (a if letter == "a" else b).step(monitor)
    deadline = time.monotonic() + STEP_S
    while not (a.done and b.done):
        a.step(monitor)
        b.step(monitor)
        a.settle(monitor)
        b.settle(monitor)
        assert time.monotonic() < deadline, "they wait for each other"
