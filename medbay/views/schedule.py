"""How a task recurs: what is said of its schedule, its progress and its backoff, and their JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from medbay.core.durations import write_duration
from medbay.core.model import BOOT, TURN, Task
from medbay.core.policy.presets import Recurring
from medbay.core.schedule import occurrences
from medbay.core.schedule.cron import REBOOT
from medbay.views import moments


def how(task: Task) -> str:
    """Return how it recurs: `cron 0 3 * * * Europe/Berlin`, `every 60s`, `in the loop of k7f2`; empty for a one-off."""
    if task.loop:
        return "owner of its loop" if task.loop == task.id else f"in the loop of {task.loop}"
    if task.cron == REBOOT:
        return "at every boot"
    if task.cron:
        return f"cron {task.cron} {task.zone}"
    return f"every {write_duration(task.every_ms)}" if task.every_ms is not None else ""


def progress(task: Task) -> str:
    """Return how far it has come: `iteration 4, 3 done of 10`."""
    of = f" of {task.max_iterations}" if task.max_iterations is not None else ""
    failed = f", {task.restarts} of {task.max_failure_restarts} failed rounds" if task.restarts > 0 else ""
    return f"iteration {task.iteration}, {task.iterations_done} done{of}{failed}"


def standing(task: Task, rules: Recurring, now_ms: int, when: Callable[[int], str]) -> str:
    """Return how often it failed in a row, when it runs next, and how far the wait has grown."""
    if not task.recurs or not task.streak:
        return ""
    said = f"{task.streak} failed in a row" if task.streak > 1 else "1 failed"
    if task.due_at is not None and task.status == "failed":
        said += f"; next attempt in {moments.short(task.due_at - now_ms)} ({when(task.due_at)})"
    steps = occurrences.steps_to_cap(task, rules, now_ms)
    cap = write_duration(occurrences.cap_ms(task, rules, now_ms))
    if steps:
        return f"{said}; step {min(task.streak, steps)} of {steps} towards the cap of {cap}"
    return (
        f"{said}; its period of {write_duration(occurrences.base_ms(task, now_ms))} is not stretched, the cap is {cap}"
    )


def why_then(task: Task) -> str:
    """Return where the time of an iteration comes from."""
    return f": by its schedule, {how(task)}" if task.recurs and task.due_at == task.planned_at else ""


def waits_for_turn(task: Task) -> bool:
    """Whether another task of its loop comes before it."""
    return task.waits_for == TURN and not task.finished


def waits_for_boot(task: Task) -> bool:
    """Whether it runs once per boot and the next one is still to come."""
    return task.waits_for == BOOT and not task.finished


def as_json(task: Task) -> dict[str, Any]:
    """Return how a task recurs as data; every value is None for a one-off task."""
    own = task.recurs
    return {
        "recurs": own,
        "cron": task.cron or None,
        "zone": task.zone or None,
        "every_s": moments.seconds(task.every_ms),
        "catch_up": task.catch_up if own else None,
        "max_iterations": task.max_iterations,
        "iteration": task.iteration if own else None,
        "iterations_done": task.iterations_done if own else None,
        "planned_at": moments.iso(task.planned_at),
        "loop": task.loop or None,
        "failure_restarts": task.restarts if task.loop else None,
        "max_failure_restarts": task.max_failure_restarts if task.loop else None,
    }


def backoff_as_json(task: Task, rules: Recurring, now: int) -> dict[str, Any] | None:
    """Return how far the waits of a failing recurring task have grown; None while nothing failed."""
    if not task.recurs or not task.streak:
        return None
    steps = occurrences.steps_to_cap(task, rules, now)
    return {
        "step": min(task.streak, steps),
        "steps_to_cap": steps,
        "base_s": moments.seconds(occurrences.base_ms(task, now)),
        "cap_s": moments.seconds(occurrences.cap_ms(task, rules, now)),
    }
