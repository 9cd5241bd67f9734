"""What the issue of a task is to say, and what follows for the task from what its issue says."""

from __future__ import annotations

import hashlib
from typing import Final

from msgspec import Struct

from medbay.core.decision import Decision, Draft, RetryClosed
from medbay.core.diagnosis.record import CATEGORIES, Diagnosis, Pattern
from medbay.core.model import TRACKER, TRIAGE, Attempt, Question, Task, Worker
from medbay.core.people import question
from medbay.core.tracker import record
from medbay.core.tracker.record import UNKNOWN, FailureRecord, UnreadableRecord
from medbay.core.untrusted import line
from medbay.errors import NotAllowed

SPLIT: Final = "Split into sub-issues: "
ACTOR: Final = "tracker"
IMPORTED: Final = "import"  # the worker of an attempt that another tool made
ELSEWHERE: Final = Worker(  # what ran the attempts that other tools recorded; it never lived here
    id=IMPORTED,
    host="",
    machine_id="",
    boot_id="",
    pid=0,
    pid_start=0,
    slots=0,
    queues=(),
    started_at=0,
    beat_at=0,
    lease_until=0,
    stopped_at=0,
    how="stopped",
)
BLOCKS_FOR_A_PERSON: Final = ("human", "exhausted", "circuit", "dependency")


class IssueLink(Struct, frozen=True, kw_only=True):
    """An issue we know: the task that works on it, and what we last wrote into its notes."""

    source: str
    issue_id: str
    task_id: str = ""
    charged: int = 0  # failures that its notes named, which no clearing forgets
    line: str = ""  # ours in its notes, as it was written last
    version: int = -1  # of the task when that was written
    faults: int = 0  # calls of the tracker in a row that failed
    closed_at: int | None = None


class Wanted(Struct, frozen=True):
    """What an issue is to say: our line in its notes (empty: none), and whether it is closed or paused."""

    line: str = ""
    close: str = ""  # the reason; empty: it stays open
    pause: bool = False


def wanted(task: Task, failed: Attempt | None, *, charged: int = 0, parts: tuple[str, ...] = ()) -> Wanted:
    """What the issue of a task is to say. `failed` is its newest diagnosed attempt, `parts` the issues of its split."""
    if task.status == "completed":
        return Wanted(close=f"Completed by medbay: task {task.id}, attempt {task.attempts}")
    if task.status == "cancelled":
        return Wanted(close=SPLIT + ", ".join(parts)) if parts else Wanted()
    if task.status == "blocked" and task.block_kind in BLOCKS_FOR_A_PERSON:
        return Wanted(line=record.needs_human(task.reason or task.last_summary))
    if task.status == "failed" and task.waits_for in (TRACKER, TRIAGE):
        return Wanted(line=record.write(record_of(task, failed, charged=charged)), pause=task.paused)
    return Wanted(pause=task.paused)


def record_of(task: Task, failed: Attempt | None, *, charged: int = 0) -> FailureRecord:
    """The record of a task's newest failure."""
    return FailureRecord(
        attempt=max(1, task.charged, charged),
        last_failure=(failed.ended_at if failed is not None else None) or task.since,
        error_class=task.last_category or UNKNOWN,
        summary=line(task.last_summary, record.SUMMARY_MAX),
    )


def on_imported(task: Task, found: FailureRecord, now: int) -> tuple[Decision, Attempt]:
    """A new task takes over an issue that failed elsewhere, with its count and an attempt that stands for it."""
    diagnosis = _diagnosis(found)
    draft = Draft(task, now, actor=ACTOR)
    draft.move("in_progress", "its issue was worked on before", attempt=found.attempt)
    draft.move("failed", diagnosis.summary, attempt=found.attempt)
    draft.set(
        attempts=found.attempt,
        streak=found.attempt,
        charged=found.attempt,
        failing_since=found.last_failure,
        last_category=diagnosis.kind,
        last_fingerprint=diagnosis.fingerprint,
        last_summary=diagnosis.summary,
        waits_for=TRACKER,
    )
    draft.emit("task:failed", attempt=found.attempt, imported=True, category=diagnosis.kind, summary=diagnosis.summary)
    attempt = Attempt(
        task_id=task.id,
        number=found.attempt,
        worker_id=IMPORTED,
        host="",
        started_at=found.last_failure,
        ended_at=found.last_failure,
        outcome="failed",
        charged=True,
        diagnosis=diagnosis,
    )
    return draft.decision(), attempt


def on_cleared(task: Task, now: int, *, why: str) -> Decision:
    """The record of an issue is cleared for a retry: its task may start."""
    if task.status != "failed" or task.live is not None:
        raise NotAllowed(f"{task.id} is {task.status} and waits for no tracker")
    draft = Draft(task, now, actor=ACTOR)
    draft.set(waits_for=None, wants_triage=False, due_at=None)
    draft.move("pending", why, attempt=task.attempts)
    return draft.decision(RetryClosed(task.id, "executed"))


def on_due_for_triage(task: Task, now: int) -> Decision:
    """Waiting did not help an issue: its task waits for a triage."""
    draft = Draft(task, now, actor=ACTOR)
    draft.set(waits_for=TRIAGE, wants_triage=True, due_at=None)
    return draft.decision(RetryClosed(task.id, "cancelled"))


def on_complete_split(part: Task, now: int) -> Decision:
    """Every part of a split has its issue: the parts may start."""
    draft = Draft(part, now, actor=ACTOR)
    draft.set(waits_for=None)
    return draft.decision()


def on_escalated(task: Task, now: int, *, why: str, open_question: Question | None) -> Decision:
    """An issue is handed to a person: its task asks, and waits."""
    draft = Draft(task, now, actor=ACTOR)
    draft.set(waits_for=None, wants_triage=False)
    new = question.ask(draft.task, kind="human", why=why, now=now) if open_question is None else None
    known = open_question.id if open_question is not None else None
    asked = draft.escalate(why, attempt=task.attempts, asked=new, known=known)
    return draft.decision(RetryClosed(task.id, "cancelled"), *asked)


def reason_for(found: FailureRecord | UnreadableRecord) -> str:
    """Why an issue is handed to a person."""
    if isinstance(found, UnreadableRecord):
        return f"its failure record cannot be read ({found.why}): {line(found.text, 200)}"
    if found.is_unknown:
        return f"no rule knows why it failed: {found.summary}"
    return f"failed {found.attempt} times: {found.error_class}: {found.summary}"


def _diagnosis(found: FailureRecord) -> Diagnosis:
    """A record as a diagnosis: the class of another tool is the name of its rule."""
    category, _, subcategory = found.error_class.partition("/")
    ours = category in CATEGORIES
    name = found.error_class if not ours else ""
    mark = hashlib.blake2b(f"{found.error_class}|{found.summary}".encode(), digest_size=4).hexdigest()
    return Diagnosis(
        category=category if ours else UNKNOWN,
        subcategory=(subcategory or None) if ours else line(name, 40) or None,
        confidence=0.5,
        pattern=Pattern("tracker/record", found.summary),
        location=None,
        fingerprint=f"tracker:{mark}",
        summary=line(found.summary or found.error_class or "it failed", record.SUMMARY_MAX),
        suggested_fix="Read what the issue says of its earlier failures.",
        retryable=True,
        retry_after_ms=None,
        provider=None,
        charge=True,
        session=None,
    )
