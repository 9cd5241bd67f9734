"""What becomes of a recurring task: its first occurrence, the next one after a success, the re-run after a failure.

Every occurrence runs once, or one event says why it and its neighbours were skipped. Nothing here knows a clock.
"""

from __future__ import annotations

from typing import Literal

from medbay.core.attempt import guidance
from medbay.core.attempt.cause import Cause
from medbay.core.attempt.knowledge import Advice
from medbay.core.decision import Draft
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.durations import format_duration, iso
from medbay.core.model import BOOT, Task
from medbay.core.policy import policy
from medbay.core.policy.policy import NextStep, Policy, Record
from medbay.core.schedule import occurrences
from medbay.core.schedule.cron import REBOOT, Span

# Why an occurrence did not run: no engine was up, the engines came late, the one before still ran, it failed and waits,
# a person paused, blocked or changed the task, something it needs was held.
Reason = Literal["down", "late", "overlap", "backoff", "paused", "blocked", "edited", "hold"]


def begin(draft: Draft[Task], at: int | None) -> None:
    """The first occurrence: by cron the first planned time, otherwise at once; never before `at`."""
    now, start = draft.now, draft.now if at is None else at
    if draft.task.cron == REBOOT:
        draft.set(planned_at=max(now, start), due_at=None, waits_for=BOOT)
        return
    if draft.task.cron:
        draft.set(planned_at=occurrences.next_after(draft.task, max(now, start - 1)))
    else:
        draft.set(planned_at=max(now, start))
    draft.set(due_at=draft.task.planned_at)  # released by an engine, which sees what was missed until there was one


def iterated(draft: Draft[Task], number: int) -> bool:
    """An iteration succeeded: counted, and the next one is planned; False when it was the last."""
    task = draft.task
    draft.set(iteration=task.iteration + 1, iterations_done=task.iterations_done + 1)
    draft.emit("task:iteration_done", attempt=number, iteration=task.iteration, done=task.iterations_done + 1)
    if task.max_iterations is not None and task.iterations_done + 1 >= task.max_iterations:
        return False
    return bool(task.loop) or _plan_next(draft)


def _plan_next(draft: Draft[Task]) -> bool:
    """The next occurrence by what is planned after the one that ended; the catch-up rule says what of the past."""
    task, now = draft.task, draft.now
    assert task.planned_at is not None
    if task.cron == REBOOT:
        draft.set(due_at=None, waits_for=BOOT)
        return True
    missed = occurrences.occurrences(task, task.planned_at, now)
    if missed is None or task.catch_up == "none":
        coming = occurrences.next_after(task, max(now, task.planned_at))  # a run by hand may have come before its time
        _skip(draft, missed, "overlap")
        draft.set(planned_at=coming)
        _due(draft)
        return coming is not None
    _take(draft, missed, "overlap")
    _due(draft)
    return True


def release(draft: Draft[Task], *, up_since: int) -> None:
    """The planned time has come, perhaps long ago: what was missed is caught up with, the rest may start."""
    task, now = draft.task, draft.now
    before = occurrences.accounted_until(task)
    if task.loop or before is None or task.due_at != task.planned_at:  # a turn, or an exit 75 that waited
        draft.set(due_at=None)
        return
    down_until = min(up_since - 1, now)
    if task.catch_up == "none" and before < down_until:
        _skip(draft, occurrences.occurrences(task, before, down_until), "down")
        draft.set(planned_at=occurrences.next_after(task, down_until))
        before = down_until
    waiting = occurrences.occurrences(draft.task, before, now) if draft.task.planned_at is not None else None
    if waiting is not None:
        _take(draft, waiting, "down" if waiting.first < up_since else "late")
    _due(draft)


def booted(draft: Draft[Task], at: int) -> None:
    """The machine was started: what waited for that is due now; what stands still or still runs is skipped."""
    task = draft.task
    if task.status == "pending" and task.waits_for == BOOT and not task.paused:
        draft.set(planned_at=at, waits_for=None)
        return
    if task.status == "pending":
        draft.set(planned_at=at)
    reasons: dict[str, Reason] = {"blocked": "blocked", "failed": "backoff"}
    _skip(draft, Span(at, at, 1), "paused" if task.paused else reasons.get(task.status, "overlap"))


def rerun(draft: Draft[Task], at: int) -> None:
    """After its backoff a failed task runs again, outside the plan; what was planned until then is skipped."""
    planned = draft.task.planned_at
    if planned is not None and not draft.task.loop:
        _skip(draft, occurrences.occurrences(draft.task, planned, at), "backoff")
        at = _beside(draft.task, max(planned, at))
    draft.set(planned_at=at)


def resume(draft: Draft[Task], reason: Reason) -> None:
    """What was planned while it stood still is skipped; it goes on with the next planned time."""
    task, now = draft.task, draft.now
    before = occurrences.accounted_until(task)
    if task.loop or before is None or _named_a_time(task, now):
        return
    if task.cron == REBOOT and task.status != "failed":
        draft.set(waits_for=BOOT if task.status == "blocked" else task.waits_for)
        return
    _skip(draft, occurrences.occurrences(task, before, now), reason)
    if task.status == "failed":  # its re-run waited for this, or is still to come
        draft.set(planned_at=max(before, now))
        return
    draft.set(planned_at=occurrences.next_after(task, max(before, now)))
    _due(draft)


def unparked(draft: Draft[Task]) -> None:
    """What held it is over: of the occurrences planned until now the last one runs, those before it are skipped."""
    task = draft.task
    before = occurrences.accounted_until(task)
    if not task.recurs or task.loop or before is None or task.hold is None:
        return
    waited = occurrences.occurrences(task, before, draft.now)
    if waited is not None and waited.number > 1:
        _skip(draft, occurrences.occurrences(task, waited.first - 1, waited.last - 1), "hold")
        draft.set(planned_at=waited.last)


def goes_on(draft: Draft[Task]) -> None:
    """A person released it from a block: its schedule resumes."""
    resume(draft, "blocked")


def run_now(draft: Draft[Task]) -> None:
    """A person's retry is a run outside the plan, unless what is planned is due anyway."""
    task, now = draft.task, draft.now
    before = occurrences.accounted_until(task)
    draft.set(due_at=None, waits_for=None if task.waits_for == BOOT else task.waits_for)
    if task.loop or before is None:
        draft.set(planned_at=now)
    elif task.status in ("failed", "blocked"):
        _skip(draft, occurrences.occurrences(task, before, now), "backoff" if task.status == "failed" else "blocked")
        draft.set(planned_at=_beside(task, max(before, now)))
    elif task.planned_at is not None and task.planned_at > now:
        draft.set(planned_at=before)


def replan(draft: Draft[Task], before: Task) -> None:
    """Its schedule was edited: what the old one planned up to now is skipped, the new one begins now."""
    until = occurrences.accounted_until(before)
    if before.recurs and until is not None:
        _skip(draft, occurrences.occurrences(before, until, draft.now), "edited")
    draft.set(planned_at=draft.now, waits_for=None if before.waits_for == BOOT else before.waits_for)
    if draft.task.cron == REBOOT:
        draft.set(due_at=None if before.status == "pending" else before.due_at)
        draft.set(waits_for=BOOT if before.status == "pending" else draft.task.waits_for)
    elif before.status == "pending":
        draft.set(planned_at=occurrences.next_after(draft.task, draft.now))
        if not _named_a_time(before, draft.now):
            _due(draft)


def decide(
    task: Task,
    diagnosis: Diagnosis,
    rules: Policy,
    now: int,
    *,
    cause: Cause,
    record: Record,
    advice: Advice | None = None,
) -> NextStep:
    """What follows from a counted failure: the ladder, or for recurring tasks the backoff from their own period."""
    if not task.recurs or cause is Cause.NOT_RETRYABLE:
        return policy.decide(diagnosis, record, rules, now, cause=cause, advice=advice)
    advice = advice or Advice(diagnosis.suggested_fix)
    transient = policy.category_acted_on(diagnosis) == occurrences.TRANSIENT
    delay = occurrences.delay_ms(task, rules.recurring, now, transient=transient)
    due = policy.not_before(diagnosis.retry_after_ms, now + delay, now, record)
    base = format_duration(occurrences.base_ms(task, now))
    why = f"failure {task.streak} in a row of a task that recurs every {base}"
    told = guidance.guide(diagnosis, next_attempt=record.attempt + 1, advice=advice.text, record=advice.record)
    return NextStep(action="retry_with_guidance", why=why, delay_ms=due - now, due_at=due, guidance=told)


def _beside(task: Task, at: int) -> int:
    """When a run outside the plan counts as planned: not at the very moment of an occurrence that was skipped."""
    return at + 1 if task.cron and occurrences.next_after(task, at - 1) == at else at


def _named_a_time(task: Task, now: int) -> bool:
    """Whether an iteration that began asked to be tried again at a time to come: never before it."""
    return task.status == "pending" and task.due_at not in (None, task.planned_at) and (task.due_at or 0) > now


def _take(draft: Draft[Task], missed: Span, reason: Reason) -> None:
    """Which of several missed ones runs: each in turn, or only the last; not after what is planned anyway."""
    if draft.task.catch_up == "all":
        draft.set(planned_at=missed.first)
        return
    if missed.number > 1:
        before = occurrences.occurrences(draft.task, missed.first - 1, missed.last - 1)
        _skip(draft, before, reason)
    draft.set(planned_at=missed.last)


def _skip(draft: Draft[Task], skipped: Span | None, reason: Reason) -> None:
    if skipped is not None:
        first, last = iso(skipped.first), iso(skipped.last)
        draft.emit("task:occurrences_skipped", reason=reason, first=first, last=last, number=skipped.number)


def _due(draft: Draft[Task]) -> None:
    planned = draft.task.planned_at
    draft.set(due_at=planned if planned is not None and planned > draft.now else None)
