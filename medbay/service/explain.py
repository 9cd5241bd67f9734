"""Why a task is where it is, what happens next and when, what would change that, and what if it keeps failing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from medbay.core.attempt import rescue
from medbay.core.attempt.knowledge import apply_teaching
from medbay.core.holds import holding
from medbay.core.holds.holding import Reason
from medbay.core.model import Attempt, CheckResult, Task, Worker
from medbay.core.people.question import is_persons
from medbay.core.policy.forecast import Forecast, forecast
from medbay.core.policy.policy import Policy
from medbay.core.policy.presets import RESCUE_THRESHOLD
from medbay.core.snapshot import Explanation
from medbay.core.triage import agency
from medbay.service import circumstances as surroundings
from medbay.service import learning
from medbay.service import triage as triage_service
from medbay.store import attempts, breakers, checks, patterns, questions, retries, tasks, triages, workers
from medbay.store.database import Tx


def explain(
    tx: Tx,
    task: Task,
    policy: Policy,
    *,
    recovery_share: float = 0.5,
    queue_slots: Mapping[str, int] = surroundings.NO_LIMITS,
    rescue_threshold: float = RESCUE_THRESHOLD,
    takes_advice: bool = True,
) -> Explanation:
    """Collect the answer from the store; nothing is guessed."""
    recent = attempts.of_task(tx, task.id, 20)
    last = next((each for each in reversed(recent) if each.diagnosis is not None), None)
    pending = next((each for each in retries.of_task(tx, task.id) if each.status == "pending"), None)
    coming: tuple[Forecast, ...] = ()
    known = None
    if last is not None and last.diagnosis is not None:
        known = patterns.get(tx, last.diagnosis.fingerprint)
        if not task.finished:
            found = apply_teaching(last.diagnosis, known)
            rules = learning.in_force(tx, policy, found.kind)
            coming = forecast(task, found, rules, tx.now, takes_advice=takes_advice)
    held = surroundings.breaker_of(tx, task)
    around = surroundings.circumstances(tx, task, held, recovery_share=recovery_share, queue_slots=queue_slots)
    reasons = _told(holding.reasons(task, tx.now, around), tx.now)
    looping = surroundings.crash_loop_of(tx, task, surroundings.engines_serving(tx, task))
    newest = recent[-1] if recent else None
    looked = next(iter(triages.of_task(tx, task.id, 1)), None)
    chain = _chain(tx, task.id)
    return Explanation(
        task=task,
        now=tx.now,
        reasons=_that_matter(task, reasons),
        last_failure=last,
        known=known,
        retry=pending,
        question=questions.open_of_task(tx, task.id),
        chain=chain,
        coming=coming,
        breaker=held or (None if task.finished else looping),
        triage=looked,
        triage_task=tasks.get(tx, looked.id) if looked is not None and looked.ended_at is None else None,
        wanted=triage_service.standing(tx, task, policy),
        agency=breakers.not_closed(tx).get(agency.KEY),
        newest=newest,
        evaluation=_evaluation(tx, newest),
        rescue_threshold=rescue_threshold,
        engine=_engine(tx, task, newest),
        parts=_parts(tx, task) if task.status == "cancelled" else (),
        helper=None if task.finished else _helper(tx, task, chain),
    )


def without_engine(found: Explanation) -> Explanation:
    """Return the explanation of a live attempt whose engine died: nothing runs until another one takes over."""
    why = f"attempt {found.task.live} was running when its engine died, and no other engine has taken over"
    reasons = (Reason(3, why, "event") if each.number == 3 else each for each in found.reasons)
    return replace(found, reasons=tuple(reasons), orphaned=True)


def _engine(tx: Tx, task: Task, newest: Attempt | None) -> Worker | None:
    """What runs its live attempt, as long as nothing else has taken over."""
    if task.live is None or newest is None or newest.number != task.live:
        return None
    return next((each for each in workers.alive(tx) if each.id == newest.worker_id), None)


def _parts(tx: Tx, task: Task) -> tuple[Task, ...]:
    """What it was split into, in the order in which the split named them."""
    return tuple(sorted(triages.parts(tx, task.id), key=lambda each: task.reason.find(each.id)))


def _helper(tx: Tx, task: Task, chain: Iterable[str]) -> Task | None:
    """What waits for a person's answer and keeps the task from going on."""
    serving = (triages.open_review(tx, task.id), triages.open_fix(tx, task.id))
    behind = [each for each in (tasks.get(tx, each) for each in chain) if each is not None and each.status == "blocked"]
    asked = next((each for each in behind if is_persons(each) or questions.open_of_task(tx, each.id)), None)
    theirs = (each for each in serving if each is not None and is_persons(each) and each.status == "blocked")
    return asked or next(theirs, None)


def _that_matter(task: Task, reasons: tuple[Reason, ...]) -> tuple[Reason, ...]:
    """The reasons worth naming: while it has ended or waits for a person, no worker or slot would change anything."""
    if task.finished:
        return reasons[:1]
    return tuple(each for each in reasons if each.needs == "event") if task.status == "blocked" else reasons


def _told(reasons: tuple[Reason, ...], now: int) -> tuple[Reason, ...]:
    """What is worth telling: a time that has come holds nothing back while something else does."""
    others = any(each.needs == "event" for each in reasons)
    came = [each for each in reasons if each.needs == "time" and (each.until or 0) <= now]
    kept = (each for each in reasons if not (others and each in came))
    return tuple(replace(each, until=None) if each in came else each for each in kept)


def _evaluation(tx: Tx, newest: Attempt | None) -> CheckResult | None:
    if newest is None:
        return None
    found = checks.of_task(tx, newest.task_id, since=newest.number).get(newest.number, ())
    return next((each for each in found if each.position == rescue.POSITION), None)


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
