"""How long the command line takes to answer."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 11
COMMANDS = (["--help"], ["--version"], ["lifecycle", "show", "task"])


def measure() -> list[str]:
    """Whole processes, warm caches, bytecode compiled as for users."""
    medbay = Path(sys.executable).parent / "medbay"
    bare = statistics.median(durations([sys.executable, "-c", ""]))
    lines = [f"bare python: {bare * 1000:.0f} ms"]
    for words in COMMANDS:
        took = statistics.median(durations([str(medbay), *words]))
        lines.append(f"medbay {' '.join(words)}: {took * 1000:.0f} ms (bar 200 ms for --help)")
    return lines


def durations(command: list[str], *, cwd: Path | None = None) -> list[float]:
    """How many seconds a command took, each of several times."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL, cwd=cwd)
        times.append(time.perf_counter() - began)
    return times
