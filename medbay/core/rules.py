"""The doors: everything that can happen to a task enters here. The table of contents of the product.

Each door is a pure function from frozen data to a `Decision`; `core.attempt` and `core.people` hold the details.
"""

from __future__ import annotations

from medbay.core import agent
from medbay.core.attempt.checks import on_checks_taken_over
from medbay.core.attempt.counting import excuse
from medbay.core.attempt.ending import Ended, on_attempt_ended, on_engine_error
from medbay.core.decision import Decision, Draft, RetryClosed, together
from medbay.core.holds.breaker import Breaker, canary_started, send_canary
from medbay.core.holds.incident import changed_breaker
from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT
from medbay.core.model import Event, Task, changed
from medbay.core.people import question
from medbay.core.people.answer import Answer, AskedTask, on_answer, on_noted
from medbay.core.people.commands import (
    Edit,
    on_block_command,
    on_cancel_command,
    on_edit_command,
    on_pause_command,
    on_resume_command,
    on_retry_command,
    on_unblock_command,
)
from medbay.core.people.teaching import Correction, on_reclassify_command
from medbay.core.schedule import expectation, recurring
from medbay.core.schedule.loops import Loop, on_loop_command
from medbay.errors import NotAllowed

__all__ = [
    "Answer",
    "AskedTask",
    "Correction",
    "Edit",
    "Ended",
    "Loop",
    "on_added",
    "on_added_alike",
    "on_agent_held",
    "on_answer",
    "on_attempt_ended",
    "on_block_command",
    "on_booted",
    "on_canary_chosen",
    "on_canary_dropped",
    "on_cancel_command",
    "on_checks_taken_over",
    "on_claimed",
    "on_dependency_added",
    "on_due",
    "on_edit_command",
    "on_engine_error",
    "on_handed_to_person",
    "on_loop_command",
    "on_noted",
    "on_parked",
    "on_pause_command",
    "on_reclassify_command",
    "on_released",
    "on_resume_command",
    "on_retry_command",
    "on_unblock_command",
    "on_woken",
]


def on_added(task: Task, now: int) -> Decision:
    """A new task: pending, and ready at once unless it waits for a time or for others."""
    draft = Draft(task, now, actor=task.created_by)
    draft.set(since=now, created_at=now)
    if task.recurs:
        recurring.begin(draft, task.due_at)
    draft.set(expect_at=expectation.next_at(task, now))
    draft.emit("task:created", title=task.title, queue=task.queue, priority=task.priority)
    return draft.decision()


def on_handed_to_person(task: Task, now: int) -> Decision:
    """A new task that a person does: asked at once, unless it comes after something."""
    draft = Draft(task, now, actor=task.created_by)
    return draft.decision(question.hand_over(draft))


def on_added_alike(added: Task, event: Event, task: Task) -> tuple[Task, Event]:
    """What became of a new task, and its event, for one that differs from it in id, title and command only.

    Where neither waits for a time it may have been created at another one.
    """
    now = task.created_at
    after = changed(
        added,
        id=task.id,
        title=task.title,
        command=task.command,
        created_at=now,
        since=now,
        ready_at=now if added.ready_at == added.created_at else added.ready_at,
    )
    return after, Event(name=event.name, task_id=task.id, data=event.data | {"title": task.title})


def on_dependency_added(task: Task, now: int, *, unmet: int, after: str, actor: str) -> Decision:
    """One more task it comes after."""
    if task.live is not None or task.finished:
        raise NotAllowed(f"{task.id} is {task.status}", hint="what it comes after can be changed before it starts")
    draft = Draft(task, now, actor=actor)
    draft.set(unmet=unmet, takes_input=True)
    draft.emit("task:edited", by=actor, changed=["after"], after=after)
    return draft.decision()


def on_due(task: Task, now: int, *, actor: str, up_since: int = 0) -> Decision:
    """Its time has come: a retry is released, a block that times out ends, a future task becomes ready.

    `up_since` says from when on an engine was there: what a recurring task missed before, it may have to catch up.
    """
    draft = Draft(task, now, actor=actor)
    closed: RetryClosed | None = None
    if task.status == "failed":
        if task.recurs:
            recurring.rerun(draft, task.due_at or now)
            draft.set(due_at=None)
        draft.move("pending", "the retry is due")
        draft.emit("task:retry_executed", attempt=task.attempts)
        closed = RetryClosed(task.id, "executed")
    elif task.status == "blocked" and task.block_kind in BLOCKS_THAT_TIME_OUT:
        kind = task.block_kind
        draft.set(block_kind=None)
        if task.recurs:
            draft.set(due_at=None)
            recurring.resume(draft, "blocked")
        draft.move("pending", f"blocked_timeout passed while it was blocked ({kind}): {task.reason}")
        draft.emit("task:unblocked", kind=kind, by="blocked_timeout")
    elif task.recurs:
        recurring.release(draft, up_since=up_since)
    return draft.decision(closed)


def on_booted(task: Task, now: int, *, at: int) -> Decision:
    """The machine of a task that runs once per boot was started: it may start, or one event says why not."""
    draft = Draft(task, now, actor="engine")
    recurring.booted(draft, at)
    return draft.decision()


def on_claimed(
    task: Task, now: int, *, worker_id: str, sent_for: Breaker | None = None, slow_at: int | None = None
) -> Decision:
    """A worker takes it: the attempt is counted now, whatever becomes of it. A canary is sent for a breaker."""
    number = task.attempts + 1
    draft = Draft(task, now, actor=f"worker:{worker_id}")
    if task.hold is not None and task.catch_up != "all":  # behind a mutex; what it missed meanwhile is skipped
        recurring.unparked(draft)
    draft.set(attempts=number, live=number, forced=False, canary=False, slow_at=slow_at)
    draft.move("in_progress", f"claimed for attempt {number}", attempt=number)
    if sent_for is None:
        draft.emit("task:started", attempt=number, worker=worker_id)
        return draft.decision()
    draft.emit("task:started", attempt=number, worker=worker_id, canary=sent_for.key)
    return together(draft.decision(), changed_breaker(sent_for, canary_started(sent_for, task.id, number, now)))


def on_parked(task: Task, now: int, *, hold: str) -> Decision:
    """Something it needs is held: parked under that key, and not considered again until it is released."""
    draft = Draft(task, now, actor="engine")
    draft.set(hold=hold)
    return draft.decision()


def on_agent_held(task: Task, now: int, *, hold: Breaker) -> Decision:
    """The account of its agent is held for too long: the next agent of its list takes it."""
    other = agent.next_agent(task)
    assert other is not None
    name, needs = other
    draft = Draft(task, now, actor="engine")
    why = f"{agent.profile_of(task.runner)} is held ({hold.why}); {name} takes it"
    draft.emit("task:recovery_action", action="next_agent", why=why)
    draft.set(runner=agent.runner_of(name), resources=needs)
    if task.hold is not None:
        _unpark(draft, hold)
    return draft.decision()


def on_released(task: Task, now: int, *, hold: Breaker) -> Decision:
    """What held it is over. The time it was held with a named end does not count towards its free tries."""
    draft = Draft(task, now, actor="engine")
    recurring.unparked(draft)
    _unpark(draft, hold)
    return draft.decision()


def _unpark(draft: Draft[Task], hold: Breaker) -> None:
    now, since = draft.now, draft.task.uncharged_since
    draft.set(hold=None)
    if hold.data.get("named") and (since or now) <= hold.opened_at:
        draft.task = excuse(draft.task, now - hold.opened_at)


def on_woken(task: Task, now: int, *, over: Breaker) -> Decision:
    """What a recurring task failed by is over: it need not wait for its backoff any longer."""
    draft = Draft(task, now, actor="engine")
    recurring.rerun(draft, now)
    draft.set(due_at=None)
    draft.move("pending", f"{over.key} is over")
    draft.emit("task:retry_executed", attempt=task.attempts, over=over.key)
    return draft.decision(RetryClosed(task.id, "executed"))


def on_canary_chosen(task: Task, now: int, *, breaker: Breaker) -> Decision:
    """It goes ahead for all that this breaker holds, past its due time and every hold, and is never charged."""
    draft = Draft(task, now, actor="engine")
    closed: RetryClosed | None = None
    if task.status == "failed":
        if task.recurs:
            recurring.rerun(draft, now)
            draft.set(due_at=None)
        draft.move("pending", f"goes ahead to see whether {breaker.key} is over")
        draft.emit("task:retry_executed", attempt=task.attempts, canary=breaker.key)
        closed = RetryClosed(task.id, "executed")
    recurring.unparked(draft)
    draft.set(canary=True)
    return together(draft.decision(closed), changed_breaker(breaker, send_canary(breaker, task.id, now)))


def on_canary_dropped(task: Task, now: int) -> Decision:
    """It was chosen and cannot start: another one goes ahead."""
    draft = Draft(task, now, actor="engine")
    draft.set(canary=False)
    return draft.decision()
