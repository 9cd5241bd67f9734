"""What a tick costs when a few of very many recurring tasks are due: released, claimed, run and planned anew."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from bench.claim import registered_worker
from medbay.core.decision import WorkingSet
from medbay.core.model import TASK_FIELDS, Task, Worker
from medbay.core.outcome import Succeeded
from medbay.core.policy.policy import Policy
from medbay.core.schedule import occurrences
from medbay.env import SystemClock
from medbay.service import attempts, tasks
from medbay.service.attempts import Capacity, Finished, Judgement
from medbay.store import tasks as task_rows
from medbay.store.database import Store
from medbay.store.rows import TASK_COLUMNS, task_value
from medbay.store.sqlite import SqliteStore

RECURRING = 100_000
DUE = 10
ROUNDS = 50
BATCH = 20_000
EXPRESSIONS = ("*/5 * * * *", "0 3 * * *", "17 * * * 1-5", "30 2 1 * *")
ZONES = ("UTC", "Europe/Berlin", "America/New_York")


def measure() -> list[str]:
    """CPU time, because the machines are shared: the whole tick, and the part that releases what is due."""
    with tempfile.TemporaryDirectory(prefix="medbay-bench-") as folder:
        store = SqliteStore(Path(folder) / "bench.db", SystemClock(), new_store_id="bench", machine_id="bench")
        _fill(store)
        worker = registered_worker(store)
        spent = [_tick(store, worker, number) for number in range(ROUNDS)]
        store.close()
    ticks, releases = [tick for tick, _ in spent], [release for _, release in spent]
    return [
        f"{DUE} of {RECURRING:,} recurring tasks due: a tick takes {statistics.median(ticks):.1f} ms of CPU, at most"
        f" {max(ticks):.1f} ms (bar 20 ms); releasing them {statistics.median(releases):.1f} ms (n={ROUNDS})"
    ]


def _tick(store: Store, worker: Worker, number: int) -> tuple[float, float]:
    """One round over what was made due just now: milliseconds of CPU for all of it, and for the release alone."""
    _make_due(store, number)
    began = time.process_time()
    with store.read() as tx:
        task_rows.next_due_at(tx)
    with store.write() as tx:
        assert tasks.release_due(tx, actor="bench") == DUE
    released = time.process_time()
    capacity = Capacity(slots=DUE, free=DUE)
    with store.write() as tx:
        claims = attempts.claim(tx, worker, capacity, WorkingSet(), log_path=lambda task, number: "")
    assert len(claims) == DUE
    with store.write() as tx:
        for each in claims:
            ended = Finished(task_id=each.task.id, number=each.attempt.number, outcome=Succeeded())
            attempts.end(tx, ended, WorkingSet(), worker_id=worker.id, by=Judgement(policy=Policy()))
    return (time.process_time() - began) * 1000, (released - began) * 1000


def _make_due(store: Store, number: int) -> None:
    """The next few come due as if their time had passed."""
    with store.write() as tx:
        for at in range(number * DUE, (number + 1) * DUE):
            sql = "UPDATE task SET due_at = ?, planned_at = ?, version = version + 1 WHERE id = ?"
            tx.execute(sql, (tx.now - 1, tx.now - 1, f"c{at:07}"))


def _fill(store: Store) -> None:
    now = SystemClock().now_ms()
    template = Task(id="", title="bench", command=("true",), created_at=now, since=now, endless=True)
    everything = (_planned(template, number, now) for number in range(RECURRING))
    sql = f"INSERT INTO task ({TASK_COLUMNS}) VALUES ({', '.join('?' * len(TASK_FIELDS))})"
    while batch := list(itertools.islice(everything, BATCH)):
        with store.write() as tx:
            for task in batch:
                tx.execute(sql, [task_value(name, getattr(task, name)) for name in TASK_FIELDS])


def _planned(template: Task, number: int, now: int) -> Task:
    task = replace(
        template,
        id=f"c{number:07}",
        cron=EXPRESSIONS[number % len(EXPRESSIONS)],
        zone=ZONES[number % len(ZONES)],
    )
    planned = occurrences.next_after(task, now + 3_600_000)
    return replace(task, planned_at=planned, due_at=planned)
