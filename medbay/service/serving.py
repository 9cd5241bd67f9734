"""The task that another one serves, with what the rules about it need to know."""

from __future__ import annotations

from medbay.core.model import Task
from medbay.core.serving import Served
from medbay.store import attempts, tasks
from medbay.store.database import Tx


def served_by(tx: Tx, task: Task) -> Served | None:
    """Whom a task serves; None when it stands for itself."""
    subject = tasks.get(tx, task.subject) if task.subject else None
    if subject is None:
        return None
    last = attempts.newest_diagnosed(tx, subject.id) if subject.streak else None
    return Served(subject, last.diagnosis.retry_after_ms if last and last.diagnosis else None)
