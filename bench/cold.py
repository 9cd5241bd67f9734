"""Scenario F: how long the command line takes to answer, and what a daemon with nothing to do holds."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from bench import backlog, processes
from bench.ground import Ground
from bench.site import MEDBAY
from bench.start import durations
from bench.throughput import spread

LISTED = 100_000


def measure(ground: Ground, store: str) -> dict[str, Any]:
    """Whole processes; a list of many tasks; then a daemon that never ran anything, and after its first Python task."""
    figures: dict[str, Any] = {
        "python_start_s": spread(durations([sys.executable, "-c", "pass"])),
        "import_s": spread(durations([sys.executable, "-c", "import medbay"])),
        "help_s": spread(durations([MEDBAY, "--help"])),
    }
    with ground.site(store) as site:
        site.bay.add_many(site.lines("noop", range(LISTED)))
        figures["list_s"] = spread(durations([MEDBAY, "list", "--limit", "50"], cwd=site.folder))
    with ground.site(store) as site:
        site.start()
        site.wait(lambda: len(site.bay.workers()), 1)
        fresh = backlog.idle(site)
        figures |= {"idle_daemon": fresh["mem_without_warm"], "idle_cpu_pct": fresh["idle_cpu_pct"]}
        site.add("noop", [1])
        site.wait(site.recorded, 1)
        backlog.settle(site)
        figures["idle_worker"] = asdict(processes.memory(site.pids()))
    return figures
