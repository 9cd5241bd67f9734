"""Why a task is where it is, what happens next and when, what would change that, and what if it keeps failing."""

from __future__ import annotations

from dataclasses import dataclass

from medbay.core import holding
from medbay.core.forecast import Forecast, forecast
from medbay.core.holding import Circumstances, Reason
from medbay.core.knowledge import Known, apply_teaching
from medbay.core.model import Attempt, Question, Retry, Task
from medbay.core.policy import Policy
from medbay.store import activity, attempts, patterns, questions, retries, tasks, workers
from medbay.store.database import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything there is to say about where one task stands."""

    task: Task
    now: int
    reasons: tuple[Reason, ...]  # everything that holds it back, the first one first
    last_failure: Attempt | None
    known: Known | None  # of that failure
    retry: Retry | None
    question: Question | None
    chain: tuple[str, ...]  # what it waits for, and what that waits for
    coming: tuple[Forecast, ...]


def explain(tx: Tx, task: Task, policy: Policy) -> Explanation:
    """Collect the answer from the store; nothing is guessed."""
    recent = attempts.of_task(tx, task.id, 20)
    last = next((each for each in reversed(recent) if each.diagnosis is not None), None)
    pending = next((each for each in retries.of_task(tx, task.id) if each.status == "pending"), None)
    coming: tuple[Forecast, ...] = ()
    known = None
    if last is not None and last.diagnosis is not None:
        known = patterns.get(tx, last.diagnosis.fingerprint)
        if not task.finished:
            coming = forecast(task, apply_teaching(last.diagnosis, known), policy, tx.now)
    reasons = holding.reasons(task, tx.now, circumstances(tx, task))
    return Explanation(
        task=task,
        now=tx.now,
        reasons=reasons[:1] if task.finished else reasons,
        last_failure=last,
        known=known,
        retry=pending,
        question=questions.open_of_task(tx, task.id),
        chain=_chain(tx, task.id),
        coming=coming,
    )


def circumstances(tx: Tx, task: Task) -> Circumstances:
    """What around a task may hold it back."""
    waiting = [other for other, status in tasks.comes_after(tx, task.id) if status != "completed"] if task.unmet else []
    serving = [each for each in workers.alive(tx) if each.lease_until > tx.now and task.queue in each.queues]
    busy = activity.live_by_worker(tx) if serving else {}
    full = bool(serving) and all(busy.get(each.id, 0) >= each.slots for each in serving)
    return Circumstances(
        waiting_on=tuple(waiting),
        provider_hold=f"held by {task.hold}" if task.hold else None,
        queue_served=bool(serving),
        slots_busy=full,
    )


def _chain(tx: Tx, task_id: str, depth: int = 10) -> tuple[str, ...]:
    """Follow one unfinished task after another to what everything waits for."""
    found: list[str] = []
    while len(found) < depth:
        waiting = [other for other, status in tasks.comes_after(tx, task_id) if status != "completed"]
        if not waiting:
            break
        task_id = waiting[0]
        found.append(task_id)
    return tuple(found)
