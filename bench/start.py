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
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    bare = _median([sys.executable, "-c", ""], environ)
    lines = [f"bare python: {bare * 1000:.0f} ms"]
    for words in COMMANDS:
        took = _median([str(medbay), *words], environ)
        lines.append(f"medbay {' '.join(words)}: {took * 1000:.0f} ms (bar 200 ms for --help)")
    return lines


def _median(command: list[str], environ: dict[str, str]) -> float:
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
