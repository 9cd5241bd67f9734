"""One act on many tasks, in one transaction: what it is done to, and who is passed over and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medbay.core.model import Task
from medbay.errors import NotAllowed, UsageError
from medbay.service import tasks, triage
from medbay.service.tasks import Action
from medbay.store import questions
from medbay.store import tasks as task_rows
from medbay.store.apply import apply
from medbay.store.database import Tx
from medbay.store.tasks import TaskFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """What became of every task that was meant; no task is in both lists."""

    action: Action
    dry_run: bool
    done: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]  # id, why


def act(tx: Tx, action: Action, meant: TaskFilter | Iterable[str], *, actor: str, attempts: int, dry_run: bool) -> Bulk:
    """Do it to all that are meant, or only say to whom it would be done. An empty filter is refused."""
    ids = lock_meant(tx, meant)
    done, skipped = [], []
    for task_id in sorted(ids):
        task = task_rows.get(tx, task_id)  # read again: the one before may have changed it
        why = "gone" if task is None else _do(tx, action, task, actor=actor, attempts=attempts, dry_run=dry_run)
        if why:
            skipped.append((task_id, why))
        else:
            done.append(task_id)
    return Bulk(action=action, dry_run=dry_run, done=tuple(done), skipped=tuple(skipped))


def lock_meant(tx: Tx, meant: TaskFilter | Iterable[str]) -> list[str]:
    """Return the ids of all that are meant, locked. An empty filter is refused."""
    if isinstance(meant, TaskFilter):
        if not meant.narrows:
            raise UsageError("nothing says which tasks are meant", hint="name a status, tag, queue, category or text")
        ids = task_rows.select_ids(tx, meant)
        _lock(tx, ids)
        still = set(task_rows.select_ids(tx, meant)) if tx.locks.take else ids  # some changed while this waited
        ids = [each for each in ids if each in still]
    else:
        ids = list(meant)
        _lock(tx, ids)
    return ids


def _lock(tx: Tx, ids: Sequence[str]) -> None:
    """All of them with their questions and what comes after them, in the one order."""
    questions.lock_of_tasks(tx, ids)
    task_rows.lock(tx, ids, dependents_of=ids)


def _do(tx: Tx, action: Action, task: Task, *, actor: str, attempts: int, dry_run: bool) -> str:
    """Why it is not done, or nothing."""
    try:
        decision = tasks.decide(tx, action, task, actor=actor, attempts=attempts)
    except NotAllowed:
        return _refused(action, task)
    if not decision.changes:
        return _as_it_is(action)
    if not dry_run:
        apply(tx, decision)
        if action == "cancel":
            triage.abandon(tx, task)
    return ""


def _refused(action: Action, task: Task) -> str:
    if task.live is not None and action == "retry":
        return "running"
    if task.finished or action == "unblock":
        return task.status
    return "paused" if task.paused else "waiting for other tasks"


def _as_it_is(action: Action) -> str:
    match action:
        case "pause":
            return "paused already"
        case "resume":
            return "not paused"
        case _:
            return "asked to stop already"
