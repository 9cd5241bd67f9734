"""What the intake of a batch costs, at the start and with thousands of captures behind it."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from medbay.core.intake.workorder import IntakeWork
from medbay.env import Ids, SystemClock
from medbay.service import intake
from medbay.store.database import Store
from medbay.store.sqlite import SqliteStore

CAPTURES = 5_000
BATCH = 20
COMPARED = 25  # batches at either end


def measure(captures: int = CAPTURES) -> list[str]:
    """Capture and schedule batch after batch; the processor time of the first and of the last, and their ratio."""
    with tempfile.TemporaryDirectory(prefix="medbay-bench-") as folder:
        store = SqliteStore(Path(folder) / "bench.db", SystemClock(), new_store_id="bench", machine_id="bench")
        capturing, scheduling = _worked_off(store, captures)
        store.close()
    first, last = _middle(scheduling[:COMPARED]), _middle(scheduling[-COMPARED:])
    return [
        f"capturing {BATCH}: {_middle(capturing):.2f} ms of processor time",
        f"a batch of {BATCH}: {first:.2f} ms at the start, {last:.2f} ms after {captures:,} captures"
        f" ({last / first:.2f} times)",
    ]


def _worked_off(store: Store, captures: int) -> tuple[list[float], list[float]]:
    ids, work = Ids(), IntakeWork(command=("true",), batch=BATCH)
    capturing, scheduling = [], []
    for start in range(0, captures, BATCH):
        began = time.process_time()
        with store.write() as tx:
            for number in range(start, start + BATCH):
                intake.capture(tx, f"the page {number} is slow on a phone", ids=ids, actor="bench")
        captured = time.process_time()
        while _next(store, work):
            pass
        capturing.append((captured - began) * 1000)
        scheduling.append((time.process_time() - captured) * 1000)
    return capturing, scheduling


def _next(store: Store, work: IntakeWork) -> bool:
    """Process one event, as the worker does: claimed in one transaction, processed in a second."""
    with store.write() as tx:
        event = intake.claim(tx, by="bench")
    if event is None:
        return False
    with store.write() as tx:
        intake.schedule(tx, event.id, work, by="bench")
    return True


def _middle(times: list[float]) -> float:
    return statistics.median(times)
