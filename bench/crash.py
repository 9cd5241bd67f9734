"""Scenario E: kill -9 in the middle of 2,000 tasks, then the same store again."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from bench.ground import Ground
from bench.site import Site
from bench.throughput import Troubled
from medbay.store.tasks import TaskFilter

COUNT = 2_000


def measure(ground: Ground, store: str, *, runs: int, count: int = 0) -> dict[str, Any]:
    """Each run by itself, and the worst of all for what may not happen."""
    found = [_crash(ground, store, count or COUNT) for _ in range(runs)]
    worst = ("not_done_after_restart", "recorded_done_again", "completed_twice")
    slowest = max(run["restart_to_first_task_s"] for run in found)
    return {"runs": found, **{name: max(run[name] for run in found) for name in worst}, "resumes_s": slowest}


def _crash(ground: Ground, store: str, count: int) -> dict[str, Any]:
    with ground.site(store) as site:
        site.bay.add_many([{**line, "title": str(at)} for at, line in enumerate(site.lines("short", range(count)))])
        site.start()
        site.wait(site.recorded, count // 2)
        killed = site.kill()
        done_at_kill, stored = site.recorded(), _stored(site)
        site.start()
        whole = site.wait(lambda: len(_stored(site)), count, look_s=0.25, seconds=400)
        return _proven(site, count, killed, stored) | {
            "done_at_kill": done_at_kill,
            "all_done": whole,
            "restart_to_last_done_s": round(time.time() - killed, 2),
        }


def _stored(site: Site) -> set[int]:
    done = site.bay.select(TaskFilter(statuses=("completed",), limit=1_000_000))
    return {int(task.title) for task in done}


def _proven(site: Site, count: int, killed: float, stored: set[int]) -> dict[str, Any]:
    """What the outside record and the store say of every task."""
    lines = site.read_record()
    ended = Counter(line.number for line in lines if line.kind == "E")
    begun = Counter(line.number for line in lines if line.kind == "S")
    after = [line for line in lines if line.kind == "S" and line.at > killed]
    if not after:
        raise Troubled(f"nothing began after the kill; {site.last_words()}")
    return {
        "n": count,
        "not_done_after_restart": count - len(_stored(site)),
        "recorded_done_again": len({line.number for line in after} & stored),
        "completed_twice": sum(times - 1 for times in ended.values()),
        "started_twice": sum(times - 1 for times in begun.values()),
        "restart_to_first_task_s": round(after[0].at - killed, 2),
    }
