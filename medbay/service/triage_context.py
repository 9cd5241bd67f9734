"""What a triage agent is shown, read from the store: the failing task, its failures, what is known and was tried."""

from __future__ import annotations

import json
from typing import Final

from medbay.core.agent import is_agents
from medbay.core.model import Event, Task, Triage
from medbay.core.redaction import Redaction
from medbay.core.resources import incident_key
from medbay.core.times import iso
from medbay.core.triage.case import Means
from medbay.core.triage.context import FAILURES_MAX, Failure, Looked, Outage, make
from medbay.core.triage.starting import of_incident
from medbay.store import attempts, breakers, history, patterns, tasks, triages
from medbay.store.database import Tx

LOOKED_THROUGH: Final = 20  # attempts, for those that failed
EVENTS_SHOWN: Final = 20
TASKS_SHOWN: Final = 12  # of an incident


def of_triage(tx: Tx, triage_task: Task, *, means: Means, redaction: Redaction) -> str:
    """The context of one triage as JSON, redacted; an empty object where its task is not there any more."""
    looked, task = triages.get(tx, triage_task.id), tasks.get(tx, triage_task.subject)
    if looked is None or task is None:
        return "{}"
    recent = attempts.of_task(tx, task.id, LOOKED_THROUGH)
    failed = [each for each in recent if each.diagnosis is not None][-FAILURES_MAX:]
    tails = [attempts.output(tx, task.id, each.number) for each in failed]
    shown = Looked(
        task=task,
        triage=looked,
        failures=tuple(
            Failure(attempt=each, tail=output.tail if output is not None else "")
            for each, output in zip(failed, tails, strict=True)
        ),
        known=patterns.get(tx, looked.fingerprint),
        earlier=tuple(each for each in reversed(triages.of_task(tx, task.id)) if each.id != looked.id),
        transcript=tails[-1].tail if is_agents(task) and tails and tails[-1] is not None else "",
        log=tuple(_line(each) for each in history.newest_events(tx, task.id, EVENTS_SHOWN)),
        means=means,
        descendants=triages.count_parts(tx, task),
        outage=_outage(tx, looked),
    )
    return json.dumps(make(shown, redaction.knowing(dict(task.env)).text))


def _outage(tx: Tx, looked: Triage) -> Outage | None:
    """The incident that is looked at, where it is one."""
    found = breakers.get(tx, incident_key(looked.fingerprint)) if of_incident(looked.id) else None
    if found is None:
        return None
    held = [task.id for task in tasks.held(tx, found.key, TASKS_SHOWN)]
    some = tuple(dict.fromkeys((*found.data.get("tasks", ()), *held)))
    return Outage(incident=found, tasks=some, held=tasks.count_held(tx, found.key), now=tx.now)


def _line(event: Event) -> str:
    """An event as a line of the engine's log."""
    return f"{iso(event.at)} {event.name} {json.dumps(event.data, default=str)}"
