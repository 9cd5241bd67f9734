"""The documented JSON shapes of what was thought of a task's failures."""

from __future__ import annotations

from typing import Any

from medbay.core.durations import iso
from medbay.core.model import Task, Triage
from medbay.service import owners
from medbay.store import triages
from medbay.store.database import Tx


def judged(tx: Tx, task: Task) -> dict[str, Any]:
    """Whom it serves, and what was thought of its failures."""
    own = triages.get(tx, task.id) if task.role == "triage" else None
    return {
        "waits_for": task.waits_for,
        "triage": triage(own) if own is not None else None,
        "triages": [triage(each) for each in triages.of_task(tx, task.id)],
        "subject": owners.subject_of(tx, task) or None,
        "role": task.role or None,
    }


def triage(each: Triage) -> dict[str, Any]:
    """One triage of a task: who looked, at which attempt, what came of it."""
    return {
        "id": each.id,
        "attempt": each.number,
        "fingerprint": each.fingerprint,
        "agent": each.agent,
        "started_at": iso(each.started_at),
        "ended_at": iso(each.ended_at) if each.ended_at is not None else None,
        "action": each.action or None,
        "detail": each.detail or None,
        "verdict": each.verdict,
        "diff": each.diff,
    }
