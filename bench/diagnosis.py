"""How long a diagnosis takes: 8 KB texts of many shapes, and 100 MB."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime

from medbay.core.diagnosis import diagnose

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
LAST_LINES = (
    "connect ECONNREFUSED 127.0.0.1:5432",
    "src/app.ts(45,12): error TS2304: Cannot find name 'foo'.",
    "E   AssertionError: assert 1 == 2\n1 failed, 3 passed in 0.12s",
    "HTTP 429 Too Many Requests\nRetry-After: 120",
    "ModuleNotFoundError: No module named 'requests'",
    "No space left on device",
    "something that nobody has seen before",
)


def measure() -> list[str]:
    """Wall time per text of 8 KB (CPU for the large one)."""
    noise = "\n".join(f"[{n:05}] step {n} of 400 done, 0 errors, cache hit ratio 0.{n % 97}" for n in range(200))
    texts = [(noise + "\n" + last)[-8192:] for last in LAST_LINES]
    for text in texts:
        diagnose(text, now=NOW, exit_code=1)
    times = []
    for _ in range(100):
        for text in texts:
            began = time.perf_counter()
            diagnose(text, now=NOW, exit_code=1)
            times.append((time.perf_counter() - began) * 1000)
    times.sort()
    large = (noise + "\n") * (100_000_000 // len(noise)) + LAST_LINES[0]
    began_cpu = time.process_time()
    diagnose(large, now=NOW, exit_code=1)
    large_ms = (time.process_time() - began_cpu) * 1000
    return [
        f"8 KB: median {statistics.median(times):.3f} ms (bar 1), p99 {times[int(len(times) * 0.99)]:.3f} ms (bar 10)",
        f"100 MB: {large_ms:.1f} ms of CPU (bar 100)",
    ]
