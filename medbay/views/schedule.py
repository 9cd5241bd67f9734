"""What is said of a task that recurs: how, how far it has come, and where it stands in its backoff. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from medbay.core.durations import write_duration
from medbay.core.model import TURN, Task
from medbay.views import moments


def how(task: Task) -> str:
    """`cron 0 3 * * * Europe/Berlin`, `every 60s`, `in the loop of k7f2`; empty for a one-off task."""
    if task.loop:
        return "owner of its loop" if task.loop == task.id else f"in the loop of {task.loop}"
    if task.cron:
        return f"cron {task.cron} {task.zone}"
    return f"every {write_duration(task.every_ms)}" if task.every_ms is not None else ""


def progress(task: Task) -> str:
    """`iteration 4, 3 done of 10`."""
    of = f" of {task.max_iterations}" if task.max_iterations is not None else ""
    failed = f", {task.restarts} of {task.max_failure_restarts} restarts" if task.restarts else ""
    return f"iteration {task.iteration}, {task.iterations_done} done{of}{failed}"


def standing(task: Task, backoff: Mapping[str, Any] | None, now_ms: int, when: Callable[[int], str]) -> str:
    """How often it failed in a row, when it runs next, and how far the wait has grown; empty while all is well."""
    if not task.recurs or not task.streak:
        return ""
    said = f"{task.streak} failed in a row" if task.streak > 1 else "1 failed"
    if task.due_at is not None and task.status == "failed":
        said += f"; next attempt in {moments.short(task.due_at - now_ms)} ({when(task.due_at)})"
    if backoff is not None:
        cap, base = (write_duration(round(backoff[name] * 1000)) for name in ("cap_s", "base_s"))
        if backoff["steps_to_cap"]:
            said += f"; step {backoff['step']} of {backoff['steps_to_cap']} towards the cap of {cap}"
        else:
            said += f"; its period of {base} is not stretched, the cap is {cap}"
    return said


def why_then(task: Task) -> str:
    """Where the time of an iteration comes from."""
    return f": by its schedule, {how(task)}" if task.recurs and task.due_at == task.planned_at else ""


def waits_for_turn(task: Task) -> bool:
    """Whether another task of its loop comes before it."""
    return task.waits_for == TURN and not task.finished
