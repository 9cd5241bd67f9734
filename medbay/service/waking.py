"""What wakes by time: tasks that are due, breakers that have to be maintained, unanswered questions."""

from __future__ import annotations

from typing import Final

from medbay.core.budget import Budget
from medbay.core.holds.breaker import Limits
from medbay.core.people.question import on_unanswered
from medbay.service import breakers, tasks
from medbay.store import activity, questions
from medbay.store import tasks as task_rows
from medbay.store.apply import apply
from medbay.store.database import Tx

SENT_AT_ONCE: Final = 20


def next_at(tx: Tx) -> int | None:
    """When the next of them wakes."""
    times = (task_rows.next_due_at(tx), activity.next_look_at(tx))
    return min((at for at in times if at is not None), default=None)


def wake(tx: Tx, limits: Limits, budget: Budget, *, actor: str) -> int:
    """Maintain the breakers, then release what is due and send unanswered questions again; how many there were."""
    looked = breakers.look(tx, limits=limits, budget=budget) + tasks.release_due(tx, actor=actor, limits=limits)
    unanswered = questions.unanswered(tx, SENT_AT_ONCE)
    for each in unanswered:
        apply(tx, on_unanswered(each, tx.now))
    return looked + len(unanswered)
