"""What holds a task back: the fifteen reasons, in their one order. A task starts only when none applies.

1 to 7 need an event, 8 a time, 9 to 12 heal by themselves or by a person, 13 to 15 need capacity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from medbay.core.model import PERSON, Task

Needs = Literal["event", "time", "healing", "capacity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What a task's own row does not say. The defaults hold nothing back."""

    waiting_on: tuple[str, ...] = ()  # ids of tasks it comes after that are not completed
    budget: str | None = None
    provider_hold: str | None = None
    incident: str | None = None
    crash_loop: str | None = None
    heals_at: int | None = None  # when what holds it is looked into next
    queue_served: bool = True
    recovery_share_used: bool = False
    slots_busy: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that holds a task back."""

    number: int
    what: str
    needs: Needs
    until: int | None = None


def reasons(task: Task, now: int, around: Circumstances) -> tuple[Reason, ...]:
    """Everything that holds this task back, in order; empty when it may start."""
    found = []
    for number, (needs, rule) in enumerate(_RULES, start=1):
        what = rule(task, now, around)
        if what is not None and not _passes(task, number):
            until = task.due_at if number in (4, 8) else around.heals_at if 9 <= number <= 12 else None
            found.append(Reason(number, what, needs, until))
    return tuple(found)


def is_ready(task: Task, now: int) -> bool:
    """Whether none of the first eight reasons applies: what the store keeps as the column `ready`."""
    if task.status != "pending" or task.runner == PERSON:
        return False
    return not any(
        rule(task, now, _NOTHING_ELSE) is not None and not _passes(task, number)
        for number, (_, rule) in enumerate(_RULES[:8], start=1)
    )


def _passes(task: Task, number: int) -> bool:
    """A canary passes 8 and 10 to 12, a person's retry 8 to 12."""
    if task.forced:
        return 8 <= number <= 12
    return task.canary and (number == 8 or 10 <= number <= 12)


def _finished(task: Task, now: int, around: Circumstances) -> str | None:
    return f"{task.status}: it goes nowhere from there" if task.finished else None


def _cancel_requested(task: Task, now: int, around: Circumstances) -> str | None:
    return "cancel requested" if task.cancel_requested else None


def _live_attempt(task: Task, now: int, around: Circumstances) -> str | None:
    return f"attempt {task.live} is live" if task.live is not None else None


def _blocked(task: Task, now: int, around: Circumstances) -> str | None:
    return f"blocked · {task.block_kind}: {task.reason}" if task.status == "blocked" else None


def _paused(task: Task, now: int, around: Circumstances) -> str | None:
    return "paused" if task.paused else None


def _waits_for_judgement(task: Task, now: int, around: Circumstances) -> str | None:
    return f"waits for its {task.waits_for}" if task.waits_for is not None else None


def _comes_after(task: Task, now: int, around: Circumstances) -> str | None:
    if task.unmet <= 0:
        return None
    return "after " + ", ".join(around.waiting_on) if around.waiting_on else f"after {task.unmet} other tasks"


def _not_due(task: Task, now: int, around: Circumstances) -> str | None:
    # A failed or recurring task is never ready before the engine released it, even when its time has come.
    if task.due_at is not None and task.due_at > now:
        return "not due yet"
    waits = task.status == "failed" or (task.recurs and task.due_at is not None)
    return "due, about to be released" if waits else None


def _budget(task: Task, now: int, around: Circumstances) -> str | None:
    return around.budget


def _provider_hold(task: Task, now: int, around: Circumstances) -> str | None:
    return around.provider_hold


def _incident(task: Task, now: int, around: Circumstances) -> str | None:
    return around.incident


def _crash_loop(task: Task, now: int, around: Circumstances) -> str | None:
    return around.crash_loop


def _queue_unserved(task: Task, now: int, around: Circumstances) -> str | None:
    return None if around.queue_served else f'no live worker serves the queue "{task.queue}"'


def _recovery_share(task: Task, now: int, around: Circumstances) -> str | None:
    used = around.recovery_share_used and task.recovery
    return "recovery has its share of the slots while fresh work is ready" if used else None


def _no_slot(task: Task, now: int, around: Circumstances) -> str | None:
    return "no free slot" if around.slots_busy else None


_NOTHING_ELSE: Final = Circumstances()
_Rule = Callable[[Task, int, Circumstances], str | None]
_RULES: Final[tuple[tuple[Needs, _Rule], ...]] = (
    ("event", _finished),
    ("event", _cancel_requested),
    ("event", _live_attempt),
    ("event", _blocked),
    ("event", _paused),
    ("event", _waits_for_judgement),
    ("event", _comes_after),
    ("time", _not_due),
    ("healing", _budget),
    ("healing", _provider_hold),
    ("healing", _incident),
    ("healing", _crash_loop),
    ("capacity", _queue_unserved),
    ("capacity", _recovery_share),
    ("capacity", _no_slot),
)
