"""No silent standstill: every unfinished task has a live owner, a time at which it wakes, or a person's question.

One function for `medbay doctor`, the simulator and the fault harness.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from medbay.core.lifecycles import TASK
from medbay.core.model import TRIAGE, HistoryRow, Task

CHECKPOINT_BY: Final = "archive"
"""The actor of a row that stands for all transitions before it, which were moved out of the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What else has to be known to judge one task."""

    live_attempt: bool = False
    owner_gone: bool = False  # the worker of the live attempt was given up, or was never there
    open_question: bool = False
    unfinished_before: int = 0  # how many tasks it comes after can still complete
    pending_retry: bool = False
    looked_at: bool = False  # a triage of it runs
    reviewed: bool = False  # its specification is under review
    hold_ends: bool = True  # whether anything will release what is parked under its hold


def standstill(task: Task, around: Surroundings) -> str | None:
    """Why this task would never move again, or None when it will."""
    if task.finished:
        return None
    if (task.live is not None) != around.live_attempt:
        return "its live attempt and its row disagree"
    if around.owner_gone:
        return "its live attempt belongs to a worker that is gone"
    match task.status:
        case "in_progress" | "pending_verification":
            return None if around.live_attempt else f"{task.status} without a live attempt"
        case "blocked":
            return _blocked(task, around)
        case "failed":
            return _failed(task, around)
        case _:
            return _pending(task, around)


def replay(task: Task, rows: Iterable[HistoryRow]) -> str | None:
    """What is wrong with a task's whole history: each row begins where the last ended, and the last is the status.

    Where the beginning was archived, it counts from the checkpoint that stands for it.
    """
    status: str = TASK.initial
    for row in rows:
        if row.actor == CHECKPOINT_BY:
            status = row.target
            continue
        if row.source != status:
            return f"{row.source} follows {status}"
        if row.target not in TASK.allowed(row.source):
            return f"{row.source} may not become {row.target}"
        status = row.target
    return None if status == task.status else f"history says {status}, the row says {task.status}"


def _blocked(task: Task, around: Surroundings) -> str | None:
    if around.open_question or (task.block_kind == "spec" and around.reviewed):
        return None
    if task.due_at is None:
        return f"blocked · {task.block_kind} without a question or a time"
    return _cut_off(task, around)


def _failed(task: Task, around: Surroundings) -> str | None:
    if task.waits_for == TRIAGE and not (task.wants_triage or around.looked_at):
        return "waits for a triage that is not running"
    if task.waits_for is not None or task.paused:
        return None
    if task.due_at is None:
        return "failed without a time at which it is tried again"
    return _cut_off(task, around) if around.pending_retry else "failed with a time but without its retry"


def _pending(task: Task, around: Surroundings) -> str | None:
    if task.hold is not None and not around.hold_ends:
        return f"held by {task.hold}, which is over"
    if task.ready or task.paused or task.waits_for is not None:
        return None
    if task.unmet == 0 and task.due_at is None:
        return "pending, not ready, and nothing will wake it"
    return _cut_off(task, around)


def _cut_off(task: Task, around: Surroundings) -> str | None:
    never = task.unmet > 0 and around.unfinished_before == 0
    return "waits for tasks that can never complete" if never else None
