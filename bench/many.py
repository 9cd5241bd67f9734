"""Many tasks: adding them from lines, and listing what needs a person first out of a hundred thousand."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import medbay
from medbay.store.tasks import TaskFilter

ADDED = 20_000
LISTED = 100_000
RUNS = 5


def measure() -> list[str]:
    """Wall and processor time: the machines are shared, and the second says what it costs."""
    with tempfile.TemporaryDirectory(prefix="medbay-bench-") as folder:
        url = f"sqlite:///{folder}/bench.db"
        with medbay.open(url) as bay:
            began, busy = time.perf_counter(), time.process_time()
            bay.add_many(_lines(ADDED))
            wall_s, busy_s = time.perf_counter() - began, time.process_time() - busy
            adding = f"adding {ADDED:,} tasks: {ADDED / wall_s:,.0f} a second, {ADDED / busy_s:,.0f} a busy second"
            bay.add_many(_lines(LISTED - ADDED))
            wanted = TaskFilter(only_open=True, order="need", limit=50)
            best_ms = min(_timed(lambda: bay.select(wanted)) for _ in range(RUNS)) * 1000
        command = [str(Path(sys.executable).parent / "medbay"), "list", "--limit", "50", "--store", url]
        whole_ms = min(_timed(lambda: _run(command)) for _ in range(RUNS)) * 1000
    return [
        adding,
        f"the first 50 of {LISTED:,} by need: {best_ms:.0f} ms; the whole command: {whole_ms:.0f} ms (bar 1,000 ms)",
    ]


def _lines(number: int) -> Iterator[dict[str, Any]]:
    for at in range(number):
        line = {"title": f"task {at}", "run": ["true", str(at)], "tag": ["bench"], "priority": at % 5}
        yield line | ({"at": f"+{1 + at % 50}h"} if at % 2 else {})


def _timed(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _run(command: list[str]) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
