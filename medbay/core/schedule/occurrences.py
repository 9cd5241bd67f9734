"""When a recurring task is planned: its occurrences between two moments, the next one, and the base of its backoff.

Pure arithmetic on one row. Every occurrence up to `accounted_until` ran or was told as skipped.
"""

from __future__ import annotations

import math
from typing import Final

from medbay.core.model import Task
from medbay.core.policy.backoff import backoff
from medbay.core.policy.presets import Recurring
from medbay.core.schedule import cron
from medbay.core.schedule.cron import Span

LEAST_CRON_BASE_MS: Final = 60_000
BASE_WITHOUT_FIRES_MS: Final = 3_600_000
BASE_WITHOUT_DELAY_MS: Final = 1_000
TRANSIENT: Final = "transient"


def occurrences(task: Task, after: int, until: int) -> Span | None:
    """What was planned after one moment and up to another; of a task that goes by cron or every so often."""
    if task.cron:
        return cron.fires(task.cron, task.zone, after, until)
    first = _next_every(task, after)
    if first > until:
        return None
    number = (until - first) // _every(task) + 1
    return Span(first, first + (number - 1) * _every(task), number)


def next_after(task: Task, after: int) -> int | None:
    """The first planned time after a moment; None when nothing is planned any more."""
    if task.cron:
        return cron.next_fire(task.cron, task.zone, after)
    return _next_every(task, after)


def accounted_until(task: Task) -> int | None:
    """The moment up to which every occurrence ran or was skipped; what is planned next comes after it."""
    return before_planned(task) if task.status == "pending" else task.planned_at


def before_planned(task: Task) -> int | None:
    """A moment that only what is planned next, and has not run, comes after."""
    if task.planned_at is None or task.loop:
        return task.planned_at
    return task.planned_at - (1 if task.cron else _every(task))


def planned_for(task: Task, now: int) -> int | None:
    """The planned time of an attempt that starts now; of a run by hand ahead of the plan, now.

    An occurrence keeps its own time, also when the clock was set back to before it after it was released.
    """
    planned = task.planned_at
    if planned is None or planned <= now or not task.forced:
        return planned
    occurs = bool(task.cron) and next_after(task, planned - 1) == planned
    return planned if occurs else now


def base_ms(task: Task, now: int) -> int:
    """The period a failure backs off from: the next gap of a cron task, the delay of the others."""
    if not task.cron:
        return task.every_ms or BASE_WITHOUT_DELAY_MS
    if task.cron == cron.REBOOT:
        return LEAST_CRON_BASE_MS
    first = next_after(task, now)
    second = next_after(task, first) if first is not None else None
    if first is None or second is None:
        return BASE_WITHOUT_FIRES_MS
    return max(LEAST_CRON_BASE_MS, second - first)


def delay_ms(task: Task, rules: Recurring, now: int, *, transient: bool = False) -> int:
    """How long after its newest failure it runs again; sooner where the failure passes by itself."""
    base = base_ms(task, now)
    cap = rules.transient_cap_ms(base) if transient else rules.cap_ms
    return backoff(base, task.streak, key=task.id, multiplier=rules.multiplier, cap_ms=cap)


def cap_ms(task: Task, rules: Recurring, now: int) -> int:
    """The longest wait after failures like its newest one."""
    transient = task.last_category.partition("/")[0] == TRANSIENT
    return rules.transient_cap_ms(base_ms(task, now)) if transient else rules.cap_ms


def steps_to_cap(task: Task, rules: Recurring, now: int) -> int:
    """After how many failures in a row the delay stops growing; 0 when it never grows."""
    base, cap = base_ms(task, now), cap_ms(task, rules, now)
    if rules.multiplier == 1.0 or base >= cap:
        return 0
    return math.ceil(math.log(cap / base) / math.log(rules.multiplier))


def _every(task: Task) -> int:
    assert task.every_ms is not None
    return task.every_ms


def _next_every(task: Task, after: int) -> int:
    assert task.planned_at is not None
    past = max(0, (after - task.planned_at) // _every(task) + 1)
    return task.planned_at + past * _every(task)
