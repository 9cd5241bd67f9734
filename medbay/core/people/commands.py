"""What a person may do to a task, and what each command does. Refusals say what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from medbay.core import owners
from medbay.core.attempt.counting import forget_failures, grant
from medbay.core.decision import NOTHING, Decision, Draft, QuestionClosed, RetryClosed, Write, together
from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT, BlockKind
from medbay.core.model import TURN, Question, Task
from medbay.core.owners import Owned
from medbay.core.people import question as person
from medbay.core.people.question import GRANTED_BY_A_RELEASE, ask
from medbay.core.schedule import expectation, loops, recurring
from medbay.core.triage.cycle import waits_no_more
from medbay.errors import NotAllowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What `medbay edit` changes; it applies from the next attempt."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    reset_failures: bool = False
    clear_triage_cooldown: bool = False


def on_pause_command(task: Task, now: int, *, actor: str) -> Decision:
    """Never dispatched, retried or triaged until resumed; a running attempt ends by itself."""
    _refuse_finished(task)
    draft = Draft(task, now, actor=actor)
    if not task.paused:
        draft.set(paused=True)
        draft.emit("task:paused", by=actor)
    return decided(draft)


def on_resume_command(task: Task, now: int, *, actor: str, question: Question | None = None) -> Decision:
    """Goes on where it was, with every counter it had; what was asked because of the pause is answered by it."""
    _refuse_finished(task)
    draft = Draft(task, now, actor=actor)
    if task.paused:
        draft.set(paused=False)
        draft.emit("task:resumed", by=actor)
        if task.recurs and task.status in ("pending", "failed") and not task.forced:
            recurring.resume(draft, "paused")
    paused = question if question is not None and question.scope == person.paused_scope(task.id) else None
    closed = close(draft, paused, answer="resumed", whole=True)
    asked = person.hand_over(draft) if person.is_due(draft.task) else None
    return decided(draft, closed, asked)


def on_cancel_command(
    task: Task,
    now: int,
    *,
    actor: str,
    dependents: tuple[Task, ...],
    question: Question | None,
    owner: Owned = None,
) -> Decision:
    """Ends it for good. A live attempt is asked to stop first, by the worker that owns it."""
    _refuse_finished(task)
    draft = Draft(task, now, actor=actor)
    if task.live is not None:
        if not task.cancel_requested:
            draft.set(cancel_requested=True)
            draft.emit("task:cancel_requested", attempt=task.live, by=actor)
        closed = close(draft, question, answer="cancel", whole=is_sole(question))
        return decided(draft, closed)
    draft.set(due_at=None, block_kind=None, forced=False, waits_for=None, wants_triage=False)
    draft.move("cancelled", f"cancelled by {actor}")
    draft.emit("task:cancelled", by=actor)
    others = owners.cancelled(draft, owner, dependents)
    closed = close(draft, question, answer="cancel", whole=is_sole(question))
    return together(draft.decision(RetryClosed(task.id, "cancelled"), closed), others)


def on_retry_command(
    task: Task,
    now: int,
    *,
    actor: str,
    attempts: int = GRANTED_BY_A_RELEASE,
    question: Question | None = None,
    unmet: int = 0,
) -> Decision:
    """Once more, now: passes due time and holds for one attempt, recorded as this person's act."""
    _refuse_finished(task)
    _refuse_persons(task)
    if task.live is not None:
        raise NotAllowed(f"{task.id} is running attempt {task.live}", hint="wait for it, or cancel it")
    if task.paused:
        raise NotAllowed(f"{task.id} is paused", hint=f"medbay resume {task.id} first")
    if unmet > 0:
        raise NotAllowed(f"{task.id} waits for {unmet} other tasks", hint=f"medbay explain {task.id} names them")
    if task.waits_for == TURN:
        raise NotAllowed(f"{task.id} waits for its turn in a loop", hint=f"medbay retry {task.loop} is the owner's")
    if task.forced and task.status == "pending":  # asked for before and not begun yet: nothing is granted twice
        return NOTHING
    draft = Draft(task, now, actor=actor)
    draft.set(forced=True)
    return release(draft, "retried by hand", attempts=attempts, question=question, unmet=unmet)


def on_unblock_command(
    task: Task,
    now: int,
    *,
    actor: str,
    attempts: int = GRANTED_BY_A_RELEASE,
    question: Question | None = None,
    unmet: int = 0,
) -> Decision:
    """Releases a blocked task; the streak stays, and more attempts are granted."""
    if task.status != "blocked":
        raise NotAllowed(f"{task.id} is {task.status}, not blocked", hint=f"medbay explain {task.id} says why")
    _refuse_persons(task)
    draft = Draft(task, now, actor=actor)
    return release(draft, "unblocked", attempts=attempts, question=question, unmet=unmet)


def on_block_command(task: Task, now: int, *, actor: str, kind: BlockKind, reason: str, timeout_ms: int) -> Decision:
    """A person blocks it: for a person (`human`) or until something outside happens."""
    _refuse_finished(task)
    if task.live is not None:
        raise NotAllowed(f"{task.id} is running attempt {task.live}", hint=f"medbay pause {task.id}, or cancel it")
    draft = Draft(task, now, actor=actor)
    waits_no_more(draft)
    if kind in BLOCKS_THAT_TIME_OUT:
        # Never before the time its last failure named: the block only comes on top.
        draft.block(kind, reason, until=max(now + timeout_ms, task.due_at or 0))
        return decided(draft, RetryClosed(task.id, "cancelled"))
    asked = draft.ask(ask(task, kind=kind, why=reason, now=now))
    draft.block(kind, reason)
    return draft.decision(RetryClosed(task.id, "cancelled"), asked)


def on_edit_command(task: Task, now: int, *, actor: str, edit: Edit) -> Decision:
    """New values from the next attempt on; `--reset-failures` starts the streak over."""
    _refuse_finished(task)
    draft = Draft(task, now, actor=actor)
    changed = {name: value for name, value in edit.fields.items() if getattr(task, name) != value}
    if "runner" in changed and person.RUNNER in (task.runner, changed["runner"]):
        raise NotAllowed(f"who does {task.id} cannot be changed", hint="cancel it and add another")
    draft.set(**changed)
    if not changed.keys().isdisjoint(("resources", "command", "runner")):
        draft.set(hold=None)  # it may need something else now, and is looked at again
    if changed.keys() & {"cron", "zone", "every_ms"}:
        recurring.replan(draft, task)
    if changed.keys() & {"expect_by", "zone"}:
        draft.set(expect_at=expectation.next_at(draft.task, now))
    if edit.reset_failures:
        draft.task = forget_failures(draft.task)
        draft.set(wants_triage=task.wants_triage and not task.recurs)
    if edit.clear_triage_cooldown:
        draft.set(triaged_at=None)
    if changed or edit.reset_failures or edit.clear_triage_cooldown:
        also = {"reset_failures": edit.reset_failures, "clear_triage_cooldown": edit.clear_triage_cooldown}
        draft.emit("task:edited", by=actor, changed=sorted(changed), **also)
    return decided(draft)


def release(
    draft: Draft[Task], reason: str, *, attempts: int, question: Question | None, unmet: int, answer: str = ""
) -> Decision:
    """Back to pending: the streak stays, the grant is added, a free run of retries starts again."""
    task = draft.task
    draft.task = loops.granted(grant(task, attempts), attempts)
    draft.set(block_kind=None, due_at=None, hold=None, unmet=unmet)
    waits_no_more(draft)
    if task.recurs:
        go_on = recurring.run_now if task.forced else recurring.goes_on
        go_on(draft)
    if task.status != "pending":
        draft.move("pending", reason, granted=attempts)
    if task.status == "blocked":
        draft.emit("task:unblocked", by=draft.actor, kind=task.block_kind)
    else:
        draft.emit("task:edited", by=draft.actor, changed=["forced"], granted=attempts)
    closed = close(draft, question, answer=answer or reason, whole=is_sole(question))
    asked = person.hand_over(draft) if person.is_due(draft.task) else None
    return draft.decision(RetryClosed(task.id, "cancelled"), closed, asked)


def is_sole(question: Question | None) -> bool:
    """Whether no other task waits for this question: then releasing the task answers it."""
    return question is not None and len(question.task_ids) <= 1


def close(draft: Draft[Task], question: Question | None, *, answer: str, whole: bool) -> QuestionClosed | None:
    """Close the question that a task waits for, wholly or for this task alone."""
    if question is None:
        return None
    if whole:
        draft.emit("question:answered", question=question.id, by=draft.actor, answer=answer)
    task_id = draft.task.id
    return QuestionClosed(question_id=question.id, task_id=task_id, whole=whole, by=draft.actor, answer=answer)


def decided(draft: Draft[Task], *writes: Write | None) -> Decision:
    """The decision about it; without a change where nothing changed."""
    change = draft.change()
    own = change if change.after != change.before else None
    return NOTHING.plus(own, *writes, events=draft.events)


def _refuse_persons(task: Task) -> None:
    if person.is_persons(task) and task.block_kind == "human":
        raise NotAllowed(f"{task.id} is a person's task", hint=f"medbay answer {task.id} done, once it is")


def _refuse_finished(task: Task) -> None:
    if task.finished:
        raise NotAllowed(f"{task.id} is {task.status} and goes nowhere from there", hint="medbay add makes a new task")
