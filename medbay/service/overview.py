"""What a person wants to know first, loaded in one transaction: what needs them, runs, waits, is held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medbay.core.model import Attempt, Task
from medbay.core.snapshot import FleetRow, Overview
from medbay.service import breakers as breaker_service
from medbay.service import listing, teaching
from medbay.service import workers as worker_service
from medbay.store import activity, attempts, breakers, history, questions, tasks
from medbay.store.database import Tx
from medbay.store.tasks import TaskFilter

SHOWN: Final = 8  # rows of a section
DAY_MS: Final = 24 * 3_600_000
WAITING: Final = 2  # the place in a list
ATTEMPTS_SHOWN: Final = 60  # of one task on the timeline of a fleet


def load(tx: Tx, *, recovery_share: float, queue_slots: Mapping[str, int]) -> Overview:
    """Return what stands on the first page."""
    asked = teaching.offered(tx, questions.open_questions(tx))
    capacity: dict[str, Any] = {"recovery_share": recovery_share, "queue_slots": queue_slots}
    running = TaskFilter(statuses=("in_progress", "pending_verification"), only_open=True, order="need", limit=SHOWN)
    waiting = TaskFilter(due=True, order="due", limit=SHOWN)  # by the index of what is due, however much waits
    if len(tasks.page(tx, waiting)) < SHOWN:
        waiting = TaskFilter(places=(WAITING,), only_open=True, order="need", limit=SHOWN)
    soonest = tasks.next_due_at(tx)
    named = sorted({each for question in asked[:SHOWN] for each in question.task_ids[:SHOWN]})
    return Overview(
        now=tx.now,
        seq=history.last_event_seq(tx),
        places=tasks.count_places(tx, TaskFilter(only_open=True, triages=False)),
        done=tasks.count_done(tx, tx.now - DAY_MS),
        questions=tuple(asked),
        tasks={each.id: each for each in tasks.many(tx, named)},
        breakers=tuple((each, breaker_service.count_held(tx, each)) for each in breakers.select(tx)),
        workers=tuple(worker_service.fleet(tx, stopped=0)),
        running=listing.page(tx, running, (), **capacity)[0],
        waiting=listing.page(tx, waiting, (), **capacity)[0],
        next_wake=soonest,
        empty=not activity.how_many_at_most(tx, 1),
    )


def fleet(tx: Tx, wanted: TaskFilter, *, since: int) -> list[FleetRow]:
    """Return the tasks of a timeline with their attempts since a moment."""
    return [FleetRow(task, _since(tx, task, since)) for task, _ in tasks.page(tx, wanted)]


def _since(tx: Tx, task: Task, since: int) -> tuple[Attempt, ...]:
    recent = attempts.of_task(tx, task.id, ATTEMPTS_SHOWN)
    return tuple(each for each in recent if each.ended_at is None or each.ended_at >= since)
