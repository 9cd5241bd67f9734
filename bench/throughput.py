"""Scenarios A, B and C: how fast tasks are added and done, with the CPU time each took."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import processes
from bench.site import Site

Figures = dict[str, Any]
NewSite = Callable[..., Site]  # a project of its own for one run
COUNTS = {"A": 3_000, "B": 1_500, "C": 1_500}
BULK = 20_000
SPAWNS = 300
TRUE = ["/bin/true"]
SUMMED = (
    "enqueue_per_s",
    "drain_per_s",
    "e2e_per_s",
    "bulk_per_s",
    "worker_cpu_ms_per_task",
    "engine_cpu_ms_per_task",
    "enqueue_cpu_ms_per_task",
    "bulk_cpu_ms_per_task",
    "first_task_s",
    "spawn_per_s",
    "of_spawn",
)


class Troubled(Exception):
    """Something held work back during a run, or a run did not end: its figures are worth nothing."""


def noop(new_site: NewSite, count: int) -> Figures:
    """A: a durable function that does nothing."""
    with new_site() as site:
        figures = _drain(site, "noop", count)
    with new_site() as site:
        return figures | _bulk(site)


def flaky(new_site: NewSite, count: int) -> Figures:
    """B: fails twice, then succeeds, without delays."""
    with new_site(no_delays=True) as site:
        return _drain(site, "flaky", count)


def command(new_site: NewSite, count: int) -> Figures:
    """C: /bin/true with output and exit code recorded, beside the bare spawn of the same before and after."""
    before = spawn_rate()
    with new_site() as site:
        figures = _drain(site, "", count)
    after = spawn_rate()
    bare = statistics.mean([before, after])
    return figures | {"spawn_per_s": round(bare, 1), "of_spawn": round(figures["drain_per_s"] / bare, 3)}


SCENARIOS = {"A": noop, "B": flaky, "C": command}


def measure(scenario: str, new_site: NewSite, *, runs: int, count: int = 0) -> Figures:
    """The figures of a scenario: median, least and most of several runs."""
    wanted = count or COUNTS[scenario]
    return summary([SCENARIOS[scenario](new_site, wanted) for _ in range(runs)])


def spawn_rate(count: int = SPAWNS) -> float:
    """`Popen(stdout=file, start_new_session=True).wait()` in sequence, a second."""
    with tempfile.TemporaryDirectory(prefix="medbay-bench-") as folder:
        began = time.perf_counter()
        for number in range(count):
            with open(Path(folder) / str(number), "wb") as output:
                subprocess.Popen(TRUE, stdout=output, start_new_session=True).wait()
        return count / (time.perf_counter() - began)


def summary(runs: Sequence[Figures]) -> Figures:
    """Several runs as one."""
    values = {name: [run[name] for run in runs if run.get(name) is not None] for name in SUMMED}
    rates = {name: spread(found) for name, found in values.items() if found}
    same = {"n": runs[0]["n"], "done": [run["done"] for run in runs], "attempts": [run["attempts"] for run in runs]}
    return {**rates, **same, "busy": [run["machine_busy_pct"] for run in runs]}


def spread(values: Sequence[float]) -> Figures:
    """Median, least and most."""
    rounded = [round(each, 3) for each in values]
    return {"median": statistics.median(rounded), "min": min(rounded), "max": max(rounded), "n": len(rounded)}


def _drain(site: Site, kind: str, count: int) -> Figures:
    """Add, then start the daemon and wait until the store has every task as completed."""
    adding_s, adding_cpu_s = _add(site, kind, count)
    busy, total = processes.machine_ticks()
    began = site.start()
    site.wait(_begun(site, kind), 1, seconds=60.0, look_s=0.01)
    cpu_before, engine_before = processes.cpu_s(site.pids()), processes.own_cpu_s(site.engines())
    if kind:
        site.wait(site.recorded, count)
    whole = site.wait(site.completed, count, look_s=0.02 if kind else 0.1)
    cpu_s = processes.cpu_s(site.pids()) - cpu_before
    engine_s = processes.own_cpu_s(site.engines()) - engine_before
    busy_after, total_after = processes.machine_ticks()
    if not whole:
        raise Troubled(f"only {site.completed()} of {count} were done; {site.last_words()}")
    if trouble := site.trouble():
        raise Troubled("; ".join(trouble[:5]))
    first, last, attempts = site.span()
    drain_s = last - first
    return {
        "n": count,
        "done": site.completed(),
        "attempts": attempts,
        "enqueue_per_s": count / adding_s,
        "drain_per_s": count / drain_s,
        "e2e_per_s": count / (adding_s + drain_s),
        "first_task_s": first - began,
        "worker_cpu_ms_per_task": 1000 * cpu_s / count,
        "engine_cpu_ms_per_task": 1000 * engine_s / count,
        "enqueue_cpu_ms_per_task": 1000 * adding_cpu_s / count,
        "machine_busy_pct": round(100 * (busy_after - busy) / max(1, total_after - total)),
    }


def _add(site: Site, kind: str, count: int) -> tuple[float, float]:
    began, cpu = time.time(), sum(os.times()[:2])
    if kind:
        site.add(kind, range(count))
    else:
        site.add_commands(TRUE, count)
    return time.time() - began, sum(os.times()[:2]) - cpu


def _begun(site: Site, kind: str) -> Callable[[], int]:
    if kind:
        return lambda: int(site.record.exists())
    return site.completed


def _bulk(site: Site) -> Figures:
    """Many at once, in one durable transaction."""
    lines = site.lines("noop", range(BULK))
    began, cpu = time.time(), sum(os.times()[:2])
    site.bay.add_many(lines)
    took_s, cpu_s = time.time() - began, sum(os.times()[:2]) - cpu
    return {"bulk_per_s": BULK / took_s, "bulk_cpu_ms_per_task": 1000 * cpu_s / BULK}
