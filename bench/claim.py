"""What a claim and a settled attempt cost beside their commit, with a million future and 100,000 parked tasks."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from medbay.core.decision import WorkingSet
from medbay.core.model import TASK_FIELDS, Task, Worker
from medbay.core.outcome import Succeeded
from medbay.core.policy.policy import Policy
from medbay.engine.settings import Host
from medbay.env import SystemClock
from medbay.service import attempts, idle, workers
from medbay.service.attempts import Capacity, Finished, Judgement
from medbay.store import tasks as task_rows
from medbay.store.database import Store
from medbay.store.rows import TASK_COLUMNS, task_value
from medbay.store.sqlite import SqliteStore

FUTURE = 1_000_000
PARKED = 100_000
READY = 2_000
ROUNDS = 300
BATCH = 20_000


def measure() -> list[str]:
    """Fill a store, then time the statements of the loop inside their transactions."""
    with tempfile.TemporaryDirectory(prefix="medbay-bench-") as folder:
        store = SqliteStore(Path(folder) / "bench.db", SystemClock(), new_store_id="bench", machine_id="bench")
        began = time.monotonic()
        _fill(store)
        took_s = time.monotonic() - began
        lines = [f"filled with {FUTURE:,} future, {PARKED:,} parked, {READY:,} ready tasks in {took_s:.1f} s"]
        worker = registered_worker(store)
        lines += _claims(store, worker)
        lines += _nothing_to_do(store)
        store.close()
    return lines


def _claims(store: Store, worker: Worker) -> list[str]:
    claim_ms, claim_commit_ms, settle_ms, settle_commit_ms = [], [], [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        with store.write() as tx:
            inside = time.perf_counter()
            (taken,) = attempts.claim(
                tx, worker, Capacity(slots=1, free=1), WorkingSet(), log_path=lambda task, number: ""
            )
            done = time.perf_counter()
        claim_ms.append((done - inside) * 1000)
        claim_commit_ms.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        with store.write() as tx:
            inside = time.perf_counter()
            ended = Finished(task_id=taken.task.id, number=taken.attempt.number, outcome=Succeeded())
            attempts.end(tx, ended, WorkingSet(), worker_id=worker.id, by=Judgement(policy=Policy()))
            done = time.perf_counter()
        settle_ms.append((done - inside) * 1000)
        settle_commit_ms.append((time.perf_counter() - began) * 1000)
    return [
        _line("one claim beside its commit (bar 2 ms)", claim_ms),
        _line("one claim with its commit and sync", claim_commit_ms),
        _line("one attempt settled beside its commit", settle_ms),
        _line("one attempt settled with its commit and sync", settle_commit_ms),
    ]


def _nothing_to_do(store: Store) -> list[str]:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        with store.read() as tx:
            task_rows.next_due_at(tx)
            task_rows.cancel_requests(tx)
            idle.has_claimable(tx, ("other",))
        times.append((time.perf_counter() - began) * 1000)
    return [_line("the reads of a tick with nothing to do", times)]


def _line(what: str, times_ms: list[float]) -> str:
    ordered = sorted(times_ms)
    p99 = ordered[int(len(ordered) * 0.99)]
    return f"{what}: median {statistics.median(ordered):.3f} ms, p99 {p99:.3f} ms (n={len(ordered)})"


def _fill(store: Store) -> None:
    now = SystemClock().now_ms()
    template = Task(id="", title="bench", command=("true",), created_at=now, since=now)
    future = (replace(template, id=f"f{n:07}", due_at=now + 86_400_000 + n) for n in range(FUTURE))
    parked = (
        replace(template, id=f"p{n:07}", ready=True, ready_at=now, hold="provider:x", resources=("provider:x",))
        for n in range(PARKED)
    )
    ready = (replace(template, id=f"r{n:07}", ready=True, ready_at=now + n) for n in range(READY))
    sql = f"INSERT INTO task ({TASK_COLUMNS}) VALUES ({', '.join('?' * len(TASK_FIELDS))})"
    everything = itertools.chain(future, parked, ready)
    while batch := list(itertools.islice(everything, BATCH)):
        with store.write() as tx:
            for task in batch:
                tx.execute(sql, [task_value(name, getattr(task, name)) for name in TASK_FIELDS])


def registered_worker(store: Store) -> Worker:
    """An engine that claims, with a lease for an hour."""
    host = Host(name="bench", machine_id="bench", boot_id="bench", pid=1, pid_start=1)
    with store.write() as tx:
        worker = Worker(
            id="w-bench",
            host=host.name,
            machine_id=host.machine_id,
            boot_id=host.boot_id,
            pid=host.pid,
            pid_start=host.pid_start,
            slots=1,
            queues=("default",),
            started_at=tx.now,
            beat_at=tx.now,
            lease_until=tx.now + 3_600_000,
        )
        workers.register(tx, worker)
    return worker
