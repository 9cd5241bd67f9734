"""What holds a task back: the nineteen reasons, in their one order. A task starts only when none applies.

1 to 7 need an event, 8 a time, 9 to 12 heal by themselves or by a person, 13 to 19 need capacity. A published number
stays: 16 to 19 came later and stand between 12 and 13.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from medbay.core.attempt.ahead import needs_own_process
from medbay.core.model import BOOT, PERSON, PYTHON, Task

Needs = Literal["event", "time", "healing", "capacity"]


class Circumstances(Struct, frozen=True, kw_only=True):
    """What a task's own row does not say. The defaults hold nothing back."""

    waiting_on: tuple[str, ...] = ()  # ids of tasks it comes after that are not completed
    budget: str | None = None
    provider_hold: str | None = None
    incident: str | None = None
    crash_loop: str | None = None
    heals_at: int | None = None  # when what holds it is looked into next
    mutex: str | None = None  # who has the mutex that it needs
    queue_full: str | None = None
    load: str | None = None  # what the machines lack that would run it
    place_away: str | None = None  # why nothing can be started at its place
    queue_served: bool = True
    recovery_share_used: bool = False
    slots_busy: bool = False


class Reason(Struct, frozen=True):
    """One thing that holds a task back."""

    number: int
    what: str
    needs: Needs
    until: int | None = None

    @property
    def code(self) -> str:
        """Its stable name, whatever its place in the order."""
        return CODES[self.number]


class HoldingRule(Struct, frozen=True):
    """One of the reasons: its published number and name, what ends it, and the rule that finds it."""

    number: int
    code: str
    needs: Needs
    check: Callable[[Task, int, Circumstances], str | None]


def reasons(task: Task, now: int, around: Circumstances) -> tuple[Reason, ...]:
    """Everything that holds this task back, in order; empty when it may start."""
    found = []
    for rule in _RULES:
        what = rule.check(task, now, around)
        if what is not None and not _passes(task, rule.number):
            until = task.due_at if rule.number in (4, 8) else around.heals_at if rule.needs == "healing" else None
            found.append(Reason(rule.number, what, rule.needs, until))
    return tuple(found)


def is_ready(task: Task, now: int) -> bool:
    """Whether none of the first eight reasons applies: what the store keeps as the column `ready`."""
    if task.status != "pending" or task.runner == PERSON:
        return False
    for rule in _RULES[:8]:
        if rule.check(task, now, _NOTHING_ELSE) is not None and not _passes(task, rule.number):
            return False
    return True


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
    if task.waits_for == BOOT:
        return "waits for the next boot of its machine"
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


def _mutex(task: Task, now: int, around: Circumstances) -> str | None:
    return around.mutex if task.mutex else None


def _queue_full(task: Task, now: int, around: Circumstances) -> str | None:
    return around.queue_full


def _load(task: Task, now: int, around: Circumstances) -> str | None:
    return around.load if waits_for_load(task) else None


def waits_for_load(task: Task) -> bool:
    """Whether it is a retry that starts a process: such wait while the machine is short of something."""
    warm = task.runner == PYTHON and not needs_own_process(task.command, dict(task.env))
    return task.streak > 0 and not (task.forced or task.canary or warm)


def _place_away(task: Task, now: int, around: Circumstances) -> str | None:
    return around.place_away if task.place else None


def _queue_unserved(task: Task, now: int, around: Circumstances) -> str | None:
    return None if around.queue_served else f'no live worker serves the queue "{task.queue}"'


def _recovery_share(task: Task, now: int, around: Circumstances) -> str | None:
    used = around.recovery_share_used and task.recovery
    return "recovery has its share of the slots while fresh work is ready" if used else None


def _no_slot(task: Task, now: int, around: Circumstances) -> str | None:
    return "no free slot" if around.slots_busy else None


_NOTHING_ELSE: Final = Circumstances()
# In the order in which they are shown. A number that was published stays; new ones are 16 and up, before 13.
_RULES: Final[tuple[HoldingRule, ...]] = (
    HoldingRule(1, "finished", "event", _finished),
    HoldingRule(2, "cancel_requested", "event", _cancel_requested),
    HoldingRule(3, "running", "event", _live_attempt),
    HoldingRule(4, "blocked", "event", _blocked),
    HoldingRule(5, "paused", "event", _paused),
    HoldingRule(6, "waits", "event", _waits_for_judgement),
    HoldingRule(7, "after", "event", _comes_after),
    HoldingRule(8, "not_due", "time", _not_due),
    HoldingRule(9, "budget", "healing", _budget),
    HoldingRule(10, "provider_hold", "healing", _provider_hold),
    HoldingRule(11, "incident", "healing", _incident),
    HoldingRule(12, "crash_loop", "healing", _crash_loop),
    HoldingRule(16, "mutex", "capacity", _mutex),
    HoldingRule(17, "queue_slots", "capacity", _queue_full),
    HoldingRule(18, "load", "capacity", _load),
    HoldingRule(19, "place_away", "capacity", _place_away),
    HoldingRule(13, "queue_unserved", "capacity", _queue_unserved),
    HoldingRule(14, "recovery_share", "capacity", _recovery_share),
    HoldingRule(15, "no_slot", "capacity", _no_slot),
)
CODES: Final = {rule.number: rule.code for rule in _RULES}
