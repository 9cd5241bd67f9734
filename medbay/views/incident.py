"""An incident: what is said of it, and its JSON."""

from __future__ import annotations

from typing import Any

from medbay.core.snapshot import IncidentDetail
from medbay.core.triage.incident import in_words
from medbay.views import breaker, moments, question, triage


def as_json(found: IncidentDetail) -> dict[str, Any]:
    """Return one incident as data: a breaker with the id that `show` takes, and with what is asked."""
    asked = found.question
    return {
        "id": found.breaker.name.rpartition(":")[2],
        **breaker.as_json(found.breaker, found.held),
        "asked": question.as_json(asked) if asked else None,
    }


def detail_as_json(found: IncidentDetail) -> dict[str, Any]:
    """Return what `incidents show --json` prints."""
    return {
        **as_json(found),
        "held_tasks": [task.id for task in found.tasks],
        "judged": triage.as_json(found.triage) if found.triage is not None else None,
    }


def first_tasks(found: IncidentDetail) -> list[str]:
    """Return the tasks that met it first."""
    return list(found.breaker.data.get("tasks", ()))


def standing(found: IncidentDetail) -> str:
    """Return its state, when it was opened, and when and how it ends."""
    of = found.breaker
    next_at = f"{moments.clock(of.next_at, found.now)}: " if of.next_at is not None else ""
    return f"{breaker.state(of)}, opened {moments.ago(of.opened_at, found.now)}; {next_at}{of.ends}"


def judged(found: IncidentDetail) -> str:
    """Return what its triage came to; empty while there is none."""
    return in_words(found.breaker, found.triage)
