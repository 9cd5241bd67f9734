"""What wakes by time: tasks that are due, and breakers that have to be looked after."""

from __future__ import annotations

from medbay.core.breaker import Limits
from medbay.service import breakers, tasks
from medbay.store import breakers as breaker_rows
from medbay.store import tasks as task_rows
from medbay.store.database import Tx


def next_at(tx: Tx) -> int | None:
    """When the next of them wakes."""
    times = (task_rows.next_due_at(tx), breaker_rows.next_look_at(tx))
    return min((at for at in times if at is not None), default=None)


def wake(tx: Tx, *, actor: str, limits: Limits) -> int:
    """Look after the breakers first, then release what is due; how many there were."""
    return breakers.look(tx, limits=limits) + tasks.release_due(tx, actor=actor, limits=limits)
