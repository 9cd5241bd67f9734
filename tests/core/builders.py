"""Small, explicit values for the tests of the core: a moment, a diagnosis, tasks where they stand."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from medbay.core.attempt.ending import Ended, on_attempt_ended
from medbay.core.decision import Decision, WorkingSet
from medbay.core.diagnosis.record import Diagnosis, Pattern
from medbay.core.model import Attempt, Event, Option, Question, Task
from medbay.core.outcome import Outcome
from medbay.core.people.answer import Answer, AskedTask, on_answer
from medbay.core.people.question import GRANTED_BY_A_RELEASE
from medbay.core.policy.policy import Policy

NOW = 1_800_000_000_000
SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WORKER = "w-1"
PERSON = "ada"
W = TypeVar("W")


def diagnosis(**given: Any) -> Diagnosis:
    """A charged, retryable code error that is certain, changed by what is given."""
    values: dict[str, Any] = {
        "category": "code_error",
        "subcategory": "type",
        "confidence": 0.9,
        "pattern": Pattern("test.rule", "error TS2304"),
        "location": None,
        "fingerprint": "code_error:a1b2c3d4",
        "summary": "cannot find name foo",
        "suggested_fix": "define foo",
        "retryable": True,
        "retry_after_ms": None,
        "provider": None,
        "charge": True,
        "session": "fresh",
    }
    return Diagnosis(**(values | given))


def free(**given: Any) -> Diagnosis:
    """A network failure: no attempt is charged."""
    return diagnosis(
        **{
            "category": "transient",
            "subcategory": "network",
            "fingerprint": "transient:0a0a0a0a",
            "summary": "connection refused",
            "suggested_fix": "check that the host is up",
            "charge": False,
            "session": "resume",
        }
        | given
    )


def hopeless(**given: Any) -> Diagnosis:
    """A refused credential: trying again cannot help."""
    return diagnosis(
        **{
            "category": "unknown",
            "subcategory": "auth",
            "fingerprint": "unknown:deadbeef",
            "summary": "401 unauthorized",
            "suggested_fix": "renew the credentials",
            "retryable": False,
            "charge": False,
            "session": None,
        }
        | given
    )


def task(**given: Any) -> Task:
    """A ready task, changed by what is given."""
    values: dict[str, Any] = {
        "id": "t-1",
        "title": "build",
        "command": ("make",),
        "created_at": NOW - DAY,
        "created_by": PERSON,
        "since": NOW - DAY,
        "ready": True,
        "ready_at": NOW - DAY,
    }
    return Task(**(values | given))


def running(**given: Any) -> Task:
    """A task with a live attempt."""
    number = given.get("attempts", 1)
    standing = {"status": "in_progress", "attempts": number, "live": number, "ready": False, "ready_at": None}
    return task(**(standing | given))


def failed(**given: Any) -> Task:
    """A task that waits for its retry."""
    standing = {"status": "failed", "attempts": 1, "streak": 1, "charged": 1, "recovery": True}
    return task(**(standing | {"ready": False, "ready_at": None, "due_at": NOW + HOUR} | given))


def blocked(**given: Any) -> Task:
    """A task that waits for a person."""
    standing = {"status": "blocked", "block_kind": "human", "reason": "asked", "ready": False, "ready_at": None}
    return task(**(standing | {"attempts": 4, "streak": 4, "charged": 4, "recovery": True} | given))


def ended(of: Task, outcome: Outcome, **given: Any) -> Ended:
    """The end of the live attempt of a task; `canary` goes to the attempt."""
    assert of.live is not None
    canary = given.pop("canary", False)
    attempt = Attempt(task_id=of.id, number=of.live, worker_id=WORKER, host="h-1", canary=canary)
    return Ended(task=of, attempt=attempt, outcome=outcome, **({"policy": Policy()} | given))


def end(of: Task, outcome: Outcome, *, now: int = NOW, work: WorkingSet | None = None, **given: Any) -> Decision:
    """What follows from an ended attempt."""
    return on_attempt_ended(ended(of, outcome, **given), now, work or WorkingSet())


def answered(
    question: Question, option: Option, of: Task, now: int = NOW, *, actor: str = PERSON, note: str = "", **given: Any
) -> Decision:
    """What follows for a task from an answer; `attempts` goes to the answer, the rest to what is around the task."""
    attempts = given.pop("attempts", GRANTED_BY_A_RELEASE)
    said = Answer(question=question, option=option, words=note, actor=actor, now=now, attempts=attempts)
    return on_answer(said, "task", AskedTask(task=of, **given))


def after(decision: Decision, task_id: str = "t-1") -> Task:
    """A task as a decision leaves it."""
    (found,) = (change.after for change in decision.changes if change.after.id == task_id)
    return found


def only(decision: Decision, kind: type[W]) -> W:
    """The one write of a type."""
    (found,) = decision.all(kind)
    return found


def steps(decision: Decision, task_id: str = "t-1") -> list[tuple[str, str]]:
    """The transitions of one task, as pairs."""
    return [(t.source, t.target) for c in decision.changes if c.after.id == task_id for t in c.transitions]


def names(decision: Decision, task_id: str = "t-1") -> list[str]:
    """The events about one task, in order."""
    return [event.name for event in decision.events if event.task_id == task_id]


def told(decision: Decision, name: str, task_id: str = "t-1") -> Event:
    """The one event of this name about a task."""
    (found,) = (event for event in decision.events if event.name == name and event.task_id == task_id)
    return found


def claimed(of: Task) -> Task:
    """The same task with its next attempt live."""
    number = of.attempts + 1
    return replace(
        of, status="in_progress", attempts=number, live=number, ready=False, ready_at=None, due_at=None, hold=None
    )
