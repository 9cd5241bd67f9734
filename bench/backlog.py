"""Scenario D: many future tasks, and how soon 1,000 that are due are done beside them; what an idle daemon takes."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from bench import processes
from bench.ground import Ground
from bench.site import Site
from bench.throughput import Troubled
from medbay.core.model import TASK_FIELDS
from medbay.store.rows import TASK_COLUMNS

COUNT = 100_000
ADDED_MAX = 100_000  # more than this is copied in the database
DUE = 1_000
LATER = "+6h"
SOON_S = 8
IDLE_S = 60.0


def measure(ground: Ground, store: str, *, count: int = 0) -> dict[str, Any]:
    """Fill, settle, stay idle for a minute, then add 1,000 one by one, then let 1,000 come due together."""
    wanted = count or COUNT
    with ground.site(store) as site:
        filled_s = _fill(site, wanted)
        site.start()
        began = time.time()
        site.add("noop", [0])
        if not site.wait(site.recorded, 1):
            raise Troubled(f"the first task did not run; {site.last_words()}")
        warm_s = time.time() - began
        figures: dict[str, Any] = {
            "backlog": wanted,
            "backlog_enqueue_per_s": round(wanted / filled_s),
            "worker_first_task_s": warm_s,
        }
        figures |= idle(site)
        figures |= _added(site) | _came_due(site)
        figures["worker_mem_after"] = asdict(processes.memory(site.pids()))
        if trouble := site.trouble():
            raise Troubled("; ".join(trouble[:5]))
        return {name: round(each, 3) if isinstance(each, float) else each for name, each in figures.items()}


def idle(site: Site, seconds: float = IDLE_S) -> dict[str, Any]:
    """CPU time of all processes while nothing is due, and what they hold with and without warm workers."""
    settle(site)
    pids = site.pids()
    cpu_s, began = processes.cpu_s(pids), time.time()
    time.sleep(seconds)
    share = 100 * (processes.cpu_s(pids) - cpu_s) / (time.time() - began)
    warm = processes.warm_workers(pids)
    return {
        "idle_cpu_pct": round(share, 2),
        "worker_mem_idle": asdict(processes.memory(pids)),
        "mem_without_warm": asdict(processes.memory(set(pids) - warm)),
    }


def settle(site: Site) -> None:
    """Until three seconds take less than a fifth of one processor."""
    for _ in range(20):
        before = processes.cpu_s(site.pids())
        time.sleep(3)
        if processes.cpu_s(site.pids()) - before < 0.6:
            return


def _fill(site: Site, count: int) -> float:
    began = time.time()
    site.bay.add_many(site.lines("noop", range(10_000_000, 10_000_000 + min(count, ADDED_MAX)), at=LATER))
    copies = count // ADDED_MAX - 1
    for copy in range(copies):
        changed = {"id": f"id || '-{copy}'"}
        columns = ", ".join(changed.get(name, name) for name in TASK_FIELDS)
        with site.bay.store.write() as tx:
            sql = f"INSERT INTO task ({TASK_COLUMNS}) SELECT {columns} FROM task WHERE id NOT LIKE '%-%'"
            tx.execute(sql)
    return time.time() - began


def _added(site: Site) -> dict[str, float]:
    """1,000 that are due at once, added one by one while the daemon works: from the first add on."""
    before, began = site.recorded(), time.time()
    site.add("noop", range(100, 100 + DUE))
    adding_s = time.time() - began
    _until(site, before + DUE)
    first, last = _span(site, 100)
    return {"due_enqueue_s": adding_s, "first_due_latency_s": first - began, "all_due_done_s": last - began}


def _came_due(site: Site) -> dict[str, float]:
    """1,000 whose time comes at one moment: from that moment on."""
    before = site.recorded()
    added = site.bay.add_many(site.lines("noop", range(5_000, 5_000 + DUE), at=f"+{SOON_S}s"))
    due = max(each.due_at or 0 for each in added) / 1000
    _until(site, before + DUE)
    first, last = _span(site, 5_000)
    return {"first_after_due_s": first - due, "all_after_due_s": last - due}


def _until(site: Site, lines: int) -> None:
    if not site.wait(site.recorded, lines):
        raise Troubled(f"only {site.recorded()} of {lines} were done; {site.last_words()}")


def _span(site: Site, start: int) -> tuple[float, float]:
    times = [line.at for line in site.read_record() if start <= line.number < start + DUE]
    return min(times), max(times)
