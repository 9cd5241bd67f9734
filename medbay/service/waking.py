"""What wakes by time: tasks that are due, breakers that have to be maintained, unanswered questions."""

from __future__ import annotations

from typing import Final

from medbay.core.budget import Budget
from medbay.core.holds.breaker import Limits
from medbay.core.people.question import on_unanswered
from medbay.core.schedule import expectation
from medbay.service import breakers, tasks
from medbay.store import activity, attempts, foresight, questions
from medbay.store import tasks as task_rows
from medbay.store.apply import apply
from medbay.store.database import Tx

SENT_AT_ONCE: Final = 20


def next_at(tx: Tx) -> int | None:
    """When the next of them wakes."""
    return min([at for at in activity.wakes(tx) if at is not None], default=None)


def wake(tx: Tx, limits: Limits, budget: Budget, *, actor: str) -> int:
    """Maintain the breakers, then release what is due and send unanswered questions again; how many there were.

    Asked for is only what is due, and after something woke also the rest, which that may have woken.
    """
    at = activity.wakes(tx)
    woken = 0
    if _is_due(at.breaker, tx.now):
        woken += breakers.look(tx, limits=limits, budget=budget)
    if woken or _is_due(at.task, tx.now):
        woken += tasks.release_due(tx, actor=actor, limits=limits)
    if woken:
        foresight.woken(tx, SENT_AT_ONCE)
    if woken or _is_due(at.question, tx.now):
        unanswered = questions.unanswered(tx, SENT_AT_ONCE)
        for each in unanswered:
            apply(tx, on_unanswered(each, tx.now))
        woken += len(unanswered)
    if woken or _is_due(at.expected, tx.now) or _is_due(at.slow, tx.now):
        woken += _look_at_late(tx)
    return woken


def _is_due(at: int | None, now: int) -> bool:
    return at is not None and at <= now


def _look_at_late(tx: Tx) -> int:
    """Ask about what should have ended by now, and about what takes strangely long; how many were looked at."""
    late, slow = task_rows.expected(tx, SENT_AT_ONCE), task_rows.slow(tx, SENT_AT_ONCE)
    for task in late:
        asked = questions.open_of_task(tx, task.id) is not None
        succeeded_at = attempts.last_success_at(tx, task.id)
        apply(tx, expectation.on_expected(task, tx.now, succeeded_at=succeeded_at, asked=asked))
    for each in slow:
        task = task_rows.get(tx, each.id) or each  # what was late is changed already
        apply(tx, expectation.on_slow(task, tx.now, asked=questions.open_of_task(tx, task.id) is not None))
    return len(late) + len(slow)
