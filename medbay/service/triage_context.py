"""What a triage agent is shown, read from the store."""

from __future__ import annotations

import json

from medbay.core.model import Task
from medbay.core.policy import Policy
from medbay.core.triage.case import Means
from medbay.store import attempts
from medbay.store.database import Tx


def of_triage(tx: Tx, triage_task: Task, *, policy: Policy, means: Means) -> str:
    """The context of one triage as JSON."""
    recent = attempts.of_task(tx, triage_task.subject, 3)
    tails = [attempts.output(tx, each.task_id, each.number) for each in recent]
    return json.dumps({"task": {"id": triage_task.subject}, "tails": [each.tail if each else "" for each in tails]})
