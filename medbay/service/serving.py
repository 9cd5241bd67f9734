"""The task that another one serves, with what the rules about it need to know."""

from __future__ import annotations

from medbay.core.breaker import Breaker
from medbay.core.model import Task
from medbay.core.resources import incident_key
from medbay.core.serving import Served
from medbay.core.triage.incident import FIX
from medbay.core.triage.starting import of_incident
from medbay.store import attempts, breakers, tasks, triages
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


def _incident(tx: Tx, fix: Task) -> Breaker | None:
    """The incident that waits for this fix, while it is open."""
    looked = triages.get(tx, fix.created_by)
    found = breakers.get(tx, incident_key(looked.fingerprint)) if looked is not None else None
    waits = found is not None and found.state != "closed" and found.data.get(FIX) == fix.id
    return found if waits else None
