"""A person says what a failure was: its fingerprint is taught, and a decision that is still open is taken again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from medbay.core.attempt import knowledge
from medbay.core.attempt.cause import cause_of, is_charged
from medbay.core.attempt.checks import GATE_ERROR
from medbay.core.attempt.counting import recount_failure
from medbay.core.attempt.failure import Failure, follow
from medbay.core.attempt.knowledge import Known, Taught
from medbay.core.decision import Decision, Draft, QuestionClosed, Rediagnosed, RetryClosed, WorkingSet, together
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.holds import incident
from medbay.core.holds.incident import FailureSurroundings
from medbay.core.model import Attempt, HistoryRow, Question, Task
from medbay.core.outcome import Failed
from medbay.core.policy.policy import Policy
from medbay.core.triage.cycle import waits_no_more
from medbay.errors import NotAllowed

_OURS = "engine_error"  # not a failure of the work, so nothing to be taught


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """One failed attempt, what a person says it was, and what the record has about it."""

    task: Task
    attempt: Attempt
    category: str
    subcategory: str | None
    policy: Policy
    known: Known | None = None
    open: bool = False  # of `is_open`
    before: Mapping[str, Any] = field(default_factory=dict)  # the counters before the failure
    question: Question | None = None  # the one that the task waits for
    whole: bool = True  # whether every task that waits for it is decided about again


def is_open(task: Task, attempt: int, last: HistoryRow | None) -> bool:
    """Whether what the task waits for now was decided because this attempt failed.

    Every move such a decision makes names the attempt; a person's block, a dependency or a lost engine names none.
    """
    waits = task.status in ("failed", "blocked") or (task.status == "pending" and task.due_at is not None)
    return waits and last is not None and last.context.get("attempt") == attempt


def on_reclassify_command(correction: Correction, now: int, work: WorkingSet, *, actor: str) -> Decision:
    """Teach the fingerprint, correct the attempt, and decide again where the task still waits because of it."""
    task, attempt = correction.task, correction.attempt
    said = _diagnosed(task, attempt)
    found = knowledge.teach(said, correction.category, correction.subcategory)
    draft = Draft(task, now, actor=actor)
    draft.emit(
        "task:reclassified",
        attempt=attempt.number,
        by=actor,
        before=said.kind,
        after=found.kind,
        fingerprint=found.fingerprint,
        decided_again=correction.open,
    )
    if task.last_fingerprint == said.fingerprint:
        draft.set(last_category=found.kind, last_summary=found.summary)
    charged, made = attempt.charged, Decision(work=work)
    if correction.open:
        charged, made = _decide_again(draft, correction, found, work)
    corrected = Rediagnosed(task_id=task.id, number=attempt.number, diagnosis=found, charged=charged)
    taught = Taught(said, task.id, correction.category, correction.subcategory, actor)
    return together(draft.decision(corrected, taught, work=made.work), made)


def _diagnosed(task: Task, attempt: Attempt) -> Diagnosis:
    name = f"attempt {attempt.number} of {task.id}"
    if attempt.ended_at is None:
        raise NotAllowed(f"{name} is still running", hint="wait for its end, or name an earlier one")
    if attempt.diagnosis is None:
        raise NotAllowed(f"{name} was not diagnosed: it ended {attempt.outcome}", hint="name one that failed")
    if attempt.diagnosis.subcategory == GATE_ERROR:
        raise NotAllowed(f"{name} says nothing about the work: its checks broke", hint=attempt.diagnosis.suggested_fix)
    if attempt.diagnosis.subcategory == _OURS:
        raise NotAllowed(f"{name} met an error of Medbay's own", hint="please report it")
    return attempt.diagnosis


def _decide_again(
    draft: Draft[Task], correction: Correction, found: Diagnosis, work: WorkingSet
) -> tuple[bool, Decision]:
    """As if the failure had been seen like this at once: counted again, and nothing of the old decision is left.

    Whether it is charged now, and what follows beside the change of the task.
    """
    task, attempt = correction.task, correction.attempt
    case = incident.case_of(task, Failed(), found, FailureSurroundings(), work)
    cause = cause_of(case)
    failure = Failure(
        attempt=attempt.number, diagnosis=found, cause=cause, policy=correction.policy, known=correction.known
    )
    charged = is_charged(case, cause) and not attempt.canary
    if not attempt.canary:
        assert attempt.ended_at is not None
        draft.task = recount_failure(draft.task, correction.before, charge=charged, at=attempt.ended_at)
    unused = [each for each in task.guidance if each.cured is None and each.attempt > attempt.number]
    draft.set(guidance=tuple(each for each in task.guidance if each not in unused))
    waits_no_more(draft)
    closed, work = _close(draft, correction, found, work)
    if task.status == "failed":
        draft.set(reason=found.summary)
    elif task.status == "blocked":
        draft.set(block_kind=None, due_at=None)
        draft.move("pending", f"reclassified as {found.kind}", attempt=attempt.number)
        draft.emit("task:unblocked", by=draft.actor, kind=task.block_kind)
    return charged, follow(draft, failure, work).plus(RetryClosed(task.id, "cancelled"), closed)


def _close(
    draft: Draft[Task], correction: Correction, found: Diagnosis, work: WorkingSet
) -> tuple[QuestionClosed | None, WorkingSet]:
    """The question about the old class is answered by this command; no task joins it any more."""
    asked = correction.question
    if asked is None:
        return None, work
    answer = f"reclassified as {found.kind}"
    if correction.whole:
        draft.emit("question:answered", question=asked.id, by=draft.actor, answer=answer)
        work = replace(work, questions={scope: id_ for scope, id_ in work.questions.items() if id_ != asked.id})
    closed = QuestionClosed(
        question_id=asked.id, task_id=draft.task.id, whole=correction.whole, by=draft.actor, answer=answer
    )
    return closed, work
