"""Records that the tests of the views are made from."""

from __future__ import annotations

from datetime import UTC, datetime

from medbay.core.diagnosis import Diagnosis, diagnose
from medbay.core.model import Attempt, Option, Question, Task, Worker

NOW = 1_800_000_000_000  # 08:00:00 UTC
MINUTE = 60_000
TASK = Task(id="k7f2", title="deploy docs", since=NOW, command="make docs", created_at=NOW)


def diagnosis(text: str = "connect ECONNREFUSED 10.0.0.7:5432") -> Diagnosis:
    """What the rules say of an output."""
    return diagnose(text, now=datetime.fromtimestamp(NOW / 1000, tz=UTC), exit_code=1)


def failed(number: int = 1, *, charged: bool = True, text: str = "connect ECONNREFUSED 10.0.0.7:5432") -> Attempt:
    """An attempt that failed a minute ago after two seconds."""
    began = NOW - MINUTE
    return Attempt(
        task_id=TASK.id,
        number=number,
        worker_id="w1",
        host="here",
        started_at=began,
        ended_at=began + 2_000,
        outcome="failed",
        exit_code=1,
        charged=charged,
        diagnosis=diagnosis(text),
    )


def question(**fields: object) -> Question:
    """A question with two options, asked an hour ago."""
    made = {
        "id": "q-k7f2-1",
        "need": "deploy docs: renew the token",
        "why": "the token is expired",
        "options": (Option("retry", "retry", "it is tried again"), Option("cancel", "cancel", "it ends")),
        "default": 1,
        "task_ids": ("k7f2",),
        "asked_at": NOW - 60 * MINUTE,
    }
    return Question(**{**made, **fields})  # type: ignore[arg-type]


def worker(**fields: object) -> Worker:
    """An engine on host `here` that serves the default queue."""
    made = {"id": "w1", "host": "here", "pid": 7, "pid_start": 1, "machine_id": "m", "boot_id": "b"}
    made |= {"slots": 4, "queues": ("default",)}
    times = {"started_at": NOW - MINUTE, "beat_at": NOW, "lease_until": NOW + MINUTE}
    return Worker(**{**made, **times, **fields})  # type: ignore[arg-type]
