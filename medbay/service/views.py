"""The documented JSON shapes, the same for command line, library and web. Additive only: a field never goes away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from medbay.core import durations
from medbay.core.attempt import rescue
from medbay.core.attempt.knowledge import Known
from medbay.core.budget import MILLION
from medbay.core.diagnosis.record import facts
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.holding import Reason
from medbay.core.model import Attempt, CheckResult, Event, Guidance, HistoryRow, Question, Retry, Task
from medbay.core.policy.presets import Recurring
from medbay.core.schedule import occurrences as schedules
from medbay.core.triage.cycle import cooling_until
from medbay.service import calls, triage_views, workforce
from medbay.service.workers import ObservedWorker
from medbay.store import attempts, checks, history, patterns, questions, retries, tasks
from medbay.store.database import Tx

ATTEMPTS_SHOWN: Final = 50


def iso(ms: int | None) -> str | None:
    """A moment as text, or None."""
    return None if ms is None else durations.iso(ms)


def summary(task: Task) -> dict[str, Any]:
    """One row of a list."""
    return {
        "id": task.id,
        "title": task.title,
        "status": task.status,
        "block_kind": task.block_kind,
        "reason": task.reason,
        "category": task.last_category or None,
        "summary": task.last_summary or None,
        "attempts": task.attempts,
        "consecutive_failures": task.streak,
        "charged_failures": task.charged,
        "next_attempt_at": iso(next_attempt_at(task)),
        "last_triaged_at": iso(task.triaged_at),
        "priority": task.priority,
        "queue": task.queue,
        "tags": list(task.tags),
        "paused": task.paused,
        "held_by": task.hold,
        "created_at": iso(task.created_at),
        "since": iso(task.since),
    }


def schedule(task: Task) -> dict[str, Any]:
    """How a task recurs; every value is None for a one-off task."""
    own = task.recurs
    return {
        "recurs": own,
        "cron": task.cron or None,
        "zone": task.zone or None,
        "every_s": _seconds(task.every_ms),
        "catch_up": task.catch_up if own else None,
        "max_iterations": task.max_iterations,
        "iteration": task.iteration if own else None,
        "iterations_done": task.iterations_done if own else None,
        "planned_at": iso(task.planned_at),
        "loop": task.loop or None,
        "failure_restarts": task.restarts if task.loop else None,
        "max_failure_restarts": task.max_failure_restarts if task.loop else None,
    }


def waits(task: Task, rules: Recurring, now: int) -> dict[str, Any]:
    """Where a failing task stands in its waits: its backoff, and the cooldown of its triage."""
    return {"backoff": _backoff(task, rules, now), "triage_cooldown_until": iso(cooling_until(task, rules))}


def _backoff(task: Task, rules: Recurring, now: int) -> dict[str, Any] | None:
    """How far the waits of a failing recurring task have grown; None while nothing failed."""
    if not task.recurs or not task.streak:
        return None
    steps = schedules.steps_to_cap(task, rules, now)
    return {
        "step": min(task.streak, steps),
        "steps_to_cap": steps,
        "base_s": _seconds(schedules.base_ms(task, now)),
        "cap_s": _seconds(rules.cap_ms),
    }


def next_attempt_at(task: Task) -> int | None:
    """When it is tried next, where a time is known."""
    if task.finished or task.paused or task.status == "blocked":
        return None
    return task.ready_at if task.ready else task.due_at


def detail(tx: Tx, task: Task) -> dict[str, Any]:
    """Everything `show --json` says of one task."""
    asked = questions.open_of_task(tx, task.id)
    recent = attempts.of_task(tx, task.id, ATTEMPTS_SHOWN)
    checked = checks.of_task(tx, task.id, since=recent[0].number) if recent else {}
    return {
        **summary(task),
        "description": task.description,
        "spec": task.spec,
        "runner": task.runner,
        "run": _run(task),
        **calls.described(task),
        "cwd": task.cwd,
        "env": dict(task.env),
        **_limits(task),
        "providers": [each.removeprefix("provider:") for each in task.resources],
        "checks": [{"command": _words(each.command), "required": each.required} for each in task.checks],
        "check_timeout_s": _seconds(task.check_timeout_ms),
        "fail_fast": task.fail_fast,
        "key": task.key,
        "policy": task.policy or ("recurring" if task.recurs else "ladder"),
        **schedule(task),
        "created_by": task.created_by,
        "ended_at": iso(task.ended_at),
        "cancel_requested": task.cancel_requested,
        "uncharged_run": task.uncharged,
        "granted_attempts": task.granted,
        "crashes": task.crashes,
        "attempts": [attempt(each, checked.get(each.number, ())) for each in recent],
        "attempts_total": task.attempts,
        "result": calls.result_of(tx, task),
        "guidance": [guidance(tx, each) for each in task.guidance],
        "retries": [retry(each) for each in retries.of_task(tx, task.id)],
        "history": [history_row(each) for each in history.of_task(tx, task.id)],
        "after": [other for other, _ in tasks.comes_after(tx, task.id)],
        **triage_views.judged(tx, task),
        "question": question(asked) if asked else None,
        "questions": [question(each) for each in questions.of_task(tx, task.id)],
    }


def _limits(task: Task) -> dict[str, Any]:
    """Who works on it, and what an attempt may take."""
    return {
        **workforce.limits(task),
        "timeout_s": _seconds(task.timeout_ms),
        "memory_bytes": task.memory_bytes,
        "cpu_time_s": _seconds(task.cpu_ms),
    }


def attempt(each: Attempt, checked: Sequence[CheckResult] = ()) -> dict[str, Any]:
    """One attempt, with the checks of its result."""
    return {
        "number": each.number,
        "started_at": iso(each.started_at),
        "ended_at": iso(each.ended_at),
        "duration_s": _seconds(each.ended_at - each.started_at) if each.ended_at is not None else None,
        "outcome": each.outcome,
        "exit_code": each.exit_code,
        "signal": each.signal,
        "charged": each.charged,
        "diagnosis": diagnosis(each),
        "guidance": each.guidance or None,
        "worker": each.worker_id,
        "host": each.host,
        "pid": each.pid,
        "log_path": each.log_path,
        "forced": each.forced,
        "canary": each.canary,
        "iteration": each.iteration,
        "planned_at": iso(each.planned_at),
        "policy": each.policy_hash or None,
        "tokens": each.tokens,
        "cost": None if each.cost is None else each.cost / MILLION,
        "checks": [check(each) for each in checked if each.position != rescue.POSITION],
        "evaluation": next((evaluation(one, each) for one in checked if one.position == rescue.POSITION), None),
    }


def evaluation(each: CheckResult, of: Attempt) -> dict[str, Any]:
    """What looked at the work of a failed attempt, and what it said."""
    said = rescue.score(rescue.Evaluation(results=(each,), threshold=1.0))
    left_out = ("position", "required")
    told = {name: value for name, value in check(each).items() if name not in left_out}
    return {**told, "score": said.value, "why": said.why, "rescued": of.outcome == "rescued"}


def check(each: CheckResult) -> dict[str, Any]:
    """One check of an attempt."""
    ran = each.started_at is not None and each.ended_at is not None
    return {
        "position": each.position,
        "command": _words(each.command),
        "required": each.required,
        "status": each.status,
        "exit_code": each.exit_code,
        "signal": each.signal,
        "round": each.round,
        "started_at": iso(each.started_at),
        "ended_at": iso(each.ended_at),
        "duration_s": _seconds((each.ended_at or 0) - (each.started_at or 0)) if ran else None,
        "log_path": each.log_path or None,
    }


def diagnosis(each: Attempt) -> dict[str, Any] | None:
    """The diagnosis of an attempt."""
    return facts(each.diagnosis) if each.diagnosis is not None else None


def guidance(tx: Tx, each: Guidance) -> dict[str, Any]:
    """What one attempt is told, and how that advice has fared against the same failure."""
    record = patterns.record(tx, each.fingerprint, each.advice)
    return {
        "attempt": each.attempt,
        "advice": each.advice,
        "text": each.text,
        "fingerprint": each.fingerprint or None,
        "cured": each.cured,
        "record": {"given": record.given, "cured": record.cured} if record.given else None,
    }


def pattern(each: Known) -> dict[str, Any]:
    """What is known of one fingerprint."""
    category, _, subcategory = each.kind.partition("/")
    taught = each.taught
    return {
        "fingerprint": each.fingerprint,
        "category": category,
        "subcategory": subcategory or None,
        "diagnosed": f"{each.category}/{each.subcategory}" if each.subcategory else each.category,
        "taught": {"by": taught.by, "at": iso(taught.at)} if taught else None,
        "count": each.count,
        "tasks": each.tasks,
        "first_seen": iso(each.first_seen),
        "last_seen": iso(each.last_seen),
        "summary": each.summary,
        "excerpt": each.excerpt,
        "advice": [
            {"advice": one.text, "given": one.given, "cured": one.cured, "rate": round(one.cured / one.given, 3)}
            for one in each.advice
        ],
    }


def reason(each: Reason) -> dict[str, Any]:
    """What holds a task back: which of the fifteen, and in words."""
    return {"number": each.number, "code": each.code, "what": each.what, "until": iso(each.until)}


def retry(each: Retry) -> dict[str, Any]:
    """One scheduled retry."""
    return {
        "attempt": each.attempt,
        "category": each.category,
        "action": each.action,
        "scheduled_at": iso(each.scheduled_at),
        "due_at": iso(each.due_at),
        "delay_s": each.delay_ms / 1000,
        "error": each.error,
        "guidance": each.guidance,
        "status": each.status,
        "executed_at": iso(each.executed_at),
        "outcome": each.outcome,
        "policy": each.policy_hash,
        "learned": each.learned or None,
    }


def history_row(each: HistoryRow) -> dict[str, Any]:
    """One transition."""
    return {
        "from": each.source,
        "to": each.target,
        "actor": each.actor,
        "reason": each.reason,
        "context": each.context,
        "at": iso(each.at),
    }


def worker(each: ObservedWorker, now: int) -> dict[str, Any]:
    """One engine, with what it runs."""
    of = each.worker
    left_ms = of.lease_until - now if of.stopped_at is None else None
    return {
        "id": of.id,
        "state": each.state(now),
        "host": of.host,
        "pid": of.pid,
        "slots": of.slots,
        "queues": list(of.queues),
        "running": [
            {"task": run.task_id, "attempt": run.number, "started_at": iso(run.started_at)} for run in each.running
        ],
        "started_at": iso(of.started_at),
        "beat_at": iso(of.beat_at),
        "lease_until": iso(of.lease_until),
        "lease_left_s": _seconds(left_ms),
        "policy": of.policy_hash,
        "stopped_at": iso(of.stopped_at),
    }


def event(each: Event) -> dict[str, Any]:
    """One event."""
    return {
        "seq": each.seq,
        "at": iso(each.at),
        "name": each.name,
        "task": each.task_id,
        "attempt": each.attempt,
        "data": each.data,
    }


def breaker(each: Breaker, held: int) -> dict[str, Any]:
    """One breaker, with how many tasks are parked under it."""
    return {
        "key": each.key,
        "kind": each.kind,
        "state": each.state,
        "why": each.why,
        "opened_by": each.opened_by,
        "opened_at": iso(each.opened_at),
        "until": iso(each.until),
        "next_probe_at": iso(each.next_at),
        "ends": each.ends if each.state != "closed" else None,
        "only_a_person_ends": each.only_a_person_ends,
        "held": held,
        "failed_probes": each.failures,
        "canary": {"task": each.canary_task, "attempt": each.canary_number} if each.canary_task else None,
        "question": each.question_id,
        "closed_at": iso(each.closed_at),
        "fingerprint": each.name if each.kind == "incident" else None,
        "category": each.data.get("category"),
        "excerpt": each.data.get("excerpt"),
        "first_tasks": list(each.data.get("tasks", ())),
        "triage": each.data.get("triage") or None,
        "fix": each.data.get("fix"),
    }


def question(each: Question) -> dict[str, Any]:
    """One question."""
    return {
        "id": each.id,
        "status": each.status,
        "need": each.need,
        "why": each.why,
        "evidence": each.evidence,
        "options": [
            {
                "number": number,
                "label": option.label,
                "effect": option.effect,
                "consequence": option.consequence,
            }
            for number, option in enumerate(each.options, start=1)
        ],
        "default": each.default,
        "free_text": each.free_text,
        "owner": {"kind": each.owner.kind, "id": each.owner.id} if each.owner is not None else None,
        "chosen_last_time": each.remembered or None,
        "tasks": list(each.task_ids),
        "asked_at": iso(each.asked_at),
        "sent": each.sent,
        "sent_again_at": iso(each.send_at) if each.status == "open" else None,
        "answered_at": iso(each.answered_at),
        "answered_by": each.answered_by or None,
        "answer": each.answer or None,
    }


def _run(task: Task) -> list[str] | str | None:
    return None if task.runner == calls.RUNNER or workforce.described(task) else _words(task.command)


def _words(command: tuple[str, ...] | str) -> list[str] | str:
    return list(command) if isinstance(command, tuple) else command


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
