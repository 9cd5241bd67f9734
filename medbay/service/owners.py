"""The task that another one serves, with what the rules about it need to know."""

from __future__ import annotations

from medbay.core.holds.breaker import Breaker
from medbay.core.holds.resources import incident_key
from medbay.core.model import Task
from medbay.core.owners import Served, ended_meanwhile
from medbay.core.triage.cycle import of_incident
from medbay.core.triage.incident import FIX
from medbay.store import attempts, breakers, tasks, triages
from medbay.store.apply import apply
from medbay.store.database import Tx


def served_by(tx: Tx, task: Task) -> Served | None:
    """Whom a task serves; None when it stands for itself."""
    subject = tasks.get(tx, task.subject) if task.subject else None
    if subject is None:
        return None
    if of_incident(task.created_by):
        return Served(subject, of_incident=True, incident=_incident(tx, task))
    last = attempts.newest_diagnosed(tx, subject.id) if subject.streak else None
    return Served(subject, last.diagnosis.retry_after_ms if last and last.diagnosis else None)


def may_have_a_fix(task: Task) -> bool:
    """Whether somebody may have worked on what makes this task fail while it ran; its dependents have an edge."""
    return task.recurs and task.triages > 0 and task.streak > 0


def catch_up_with_fixes(tx: Tx, task: Task, since: int) -> None:
    """An attempt that began then has ended: what came of fixes of its task meanwhile is acted on now."""
    for fix in triages.fixes_ended(tx, task.id, since):
        if not of_incident(fix.created_by):  # what that was for heard of it when it ended
            apply(tx, ended_meanwhile(fix, served_by(tx, fix), tx.now))


def _incident(tx: Tx, fix: Task) -> Breaker | None:
    """The incident that waits for this fix, while it is open."""
    looked = triages.get(tx, fix.created_by)
    found = breakers.get(tx, incident_key(looked.fingerprint)) if looked is not None else None
    waits = found is not None and found.state != "closed" and found.data.get(FIX) == fix.id
    return found if waits else None
