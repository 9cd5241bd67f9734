"""Whether anything stands still in silence, over the whole store. Used by doctor, simulator and fault harness."""

from __future__ import annotations

from medbay.core.liveness import Surroundings, replay, standstill
from medbay.core.model import Task
from medbay.store import attempts, breakers, history, questions, retries, tasks, triages
from medbay.store.database import Tx


def standstills(tx: Tx) -> list[tuple[str, str]]:
    """Every unfinished task that nothing will ever move again: id and why."""
    live, ownerless = attempts.live_keys(tx), attempts.ownerless(tx)
    waiting = questions.tasks_waiting(tx)
    pending = retries.tasks_with_pending(tx)
    looked_at, reviewed = triages.being_looked_at(tx), triages.being_reviewed(tx)
    holding = {each.key for each in breakers.holding(tx)}
    found = []
    for task in tasks.unfinished(tx):
        before = tasks.comes_after(tx, task.id) if task.unmet else []
        around = Surroundings(
            live_attempt=(task.id, task.attempts) in live,
            owner_gone=(task.id, task.attempts) in ownerless,
            open_question=task.id in waiting,
            unfinished_before=sum(1 for _, status in before if status not in ("completed", "cancelled")),
            pending_retry=task.id in pending,
            looked_at=task.id in looked_at,
            reviewed=task.id in reviewed,
            hold_ends=task.hold in holding or task.hold == task.behind_mutex,
        )
        why = standstill(task, around)
        if why is not None:
            found.append((task.id, why))
    return found


def contradictions(tx: Tx) -> list[tuple[str, str]]:
    """Where the record disagrees with itself: history replayed must give the status, flags must fit."""
    found = [(task_id, f"history says {told}, the row says {status}") for task_id, status, told in history_gaps(tx)]
    for task in tasks.unfinished(tx):
        if task.ready and (task.status != "pending" or task.paused or task.unmet > 0 or task.live is not None):
            found.append((task.id, "ready although something holds it back"))
    return found


def replayed(tx: Tx, task: Task) -> str | None:
    """What is wrong with the history of one task, from its beginning or from the checkpoint of what was archived."""
    return replay(task, history.of_task(tx, task.id))


def history_gaps(tx: Tx) -> list[tuple[str, str, str]]:
    """Tasks whose history, replayed from the first row, does not end at their status."""
    return tasks.status_against_history(tx)
