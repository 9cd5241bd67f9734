"""Two engines on one PostgreSQL store against one, with tasks that sleep 20 ms."""

from __future__ import annotations

import statistics
from typing import Any

from bench.ground import Ground
from bench.throughput import Troubled

COUNT = 400


def measure(ground: Ground, *, runs: int, count: int = 0) -> dict[str, Any]:
    """The rate of one engine with two slots, of two such engines, and how many times the first the second is."""
    wanted = count or COUNT
    one = statistics.median(_rate(ground, 1, wanted) for _ in range(runs))
    two = statistics.median(_rate(ground, 2, wanted) for _ in range(runs))
    return {"n": wanted, "one_per_s": round(one, 1), "two_per_s": round(two, 1), "two_of_one": round(two / one, 2)}


def _rate(ground: Ground, daemons: int, count: int) -> float:
    with ground.site("postgres") as site:
        site.bay.add_many(site.lines("nap", range(count)))
        site.start(daemons)
        if not site.wait(site.recorded, count) or not site.wait(site.completed, count):
            raise Troubled(f"only {site.completed()} of {count} were done; {site.last_words()}")
        first, last, _ = site.span()
        return count / (last - first)
