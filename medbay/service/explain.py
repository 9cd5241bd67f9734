"""Why a task is where it is, what happens next and when, what would change that, and what if it keeps failing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from medbay.core import budget
from medbay.core.attempt import rescue
from medbay.core.attempt.knowledge import apply_teaching
from medbay.core.holds import holding
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.holding import Circumstances, Reason
from medbay.core.holds.resources import KNOWN_FOR_MS, command_key, crash_loop_key, held_by
from medbay.core.model import Attempt, CheckResult, Task, Worker
from medbay.core.people.question import is_persons
from medbay.core.policy.forecast import Forecast, forecast
from medbay.core.policy.policy import Policy
from medbay.core.policy.presets import RESCUE_THRESHOLD
from medbay.core.snapshot import Explanation
from medbay.core.triage import agency, incident
from medbay.service import budgets, learning
from medbay.service import triage as triage_service
from medbay.store import activity, attempts, breakers, checks, patterns, questions, retries, tasks, triages, workers
from medbay.store.database import Tx

NO_LIMITS: Final[Mapping[str, int]] = {}  # of the slots of queues


def explain(
    tx: Tx,
    task: Task,
    policy: Policy,
    *,
    recovery_share: float = 0.5,
    queue_slots: Mapping[str, int] = NO_LIMITS,
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
    held = _held(tx, task)
    around = circumstances(tx, task, held, recovery_share=recovery_share, queue_slots=queue_slots)
    reasons = _told(holding.reasons(task, tx.now, around), tx.now)
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
        breaker=held or (None if task.finished else _stopped(tx, task, _serving(tx, task))),
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


def first_reason(
    tx: Tx, task: Task, *, recovery_share: float, queue_slots: Mapping[str, int] = NO_LIMITS
) -> Reason | None:
    """The first of the reasons that hold a task back."""
    around = circumstances(tx, task, _held(tx, task), recovery_share=recovery_share, queue_slots=queue_slots)
    return next(iter(holding.reasons(task, tx.now, around)), None)


def first_reasons(
    tx: Tx, some: Sequence[Task], *, recovery_share: float, queue_slots: Mapping[str, int] = NO_LIMITS
) -> dict[str, Reason]:
    """The first reason of each of many tasks; what surrounds tasks that are alike is read once."""
    known = breakers.not_closed(tx)
    found: dict[str, Reason] = {}
    around: dict[tuple[object, ...], Circumstances] = {}
    for task in some:
        own = (task.resources, command_key(task), task.last_fingerprint) if known else ()
        costs = (task.max_tokens, task.max_cost)  # what a used-up day is said to lack
        alike = (task.queue, task.runner, task.hold, task.recovery, task.mutex, costs, own)
        if task.finished:
            continue
        if task.unmet or alike not in around:
            held = _held(tx, task) if known or task.hold else None
            made = circumstances(tx, task, held, recovery_share=recovery_share, queue_slots=queue_slots)
            around[alike] = made if not task.unmet else replace(made, waiting_on=())
        else:
            made = around[alike]
        if first := next(iter(holding.reasons(task, tx.now, made)), None):
            found[task.id] = first
    return found


def circumstances(
    tx: Tx, task: Task, held: Breaker | None, *, recovery_share: float, queue_slots: Mapping[str, int] = NO_LIMITS
) -> Circumstances:
    """What around a task may hold it back; `held` is the breaker that does."""
    waiting = [other for other, status in tasks.comes_after(tx, task.id) if status != "completed"] if task.unmet else []
    serving = _serving(tx, task)
    busy = activity.live_by_worker(tx) if serving else {}
    full = bool(serving) and all(busy.get(each.id, 0) >= each.slots for each in serving)
    stopped = _stopped(tx, task, serving)
    what = {each.kind: f"{each.key} holds it: {each.why} ({each.ends})" for each in (held, stopped) if each is not None}
    if held is not None and held.kind == "budget":
        what["budget"] = budget.shortage(task, held)
    if held is not None and held.kind == "incident":
        said = incident.in_words(held, triages.get(tx, held.data.get(incident.LOOKED_AT) or ""))
        what["incident"] += f"; {said}" if said else ""
    return Circumstances(
        waiting_on=tuple(waiting),
        budget=what.get("budget"),
        provider_hold=what.get("provider"),
        incident=what.get("incident"),
        crash_loop=what.get("crash_loop"),
        heals_at=next((each.next_at for each in (held, stopped) if each is not None), None),
        mutex=_mutex(tx, task),
        queue_full=_queue_full(tx, task, queue_slots),
        load=_load(serving),
        queue_served=bool(serving),
        recovery_share_used=task.queue in queues_out_of_share(tx, (task.queue,), recovery_share),
        slots_busy=full,
    )


def _mutex(tx: Tx, task: Task) -> str | None:
    holder = tasks.mutex_holder(tx, task.mutex) if task.mutex else None
    return f'{holder} has the mutex "{task.mutex}", and one runs at a time' if holder not in (None, task.id) else None


def _queue_full(tx: Tx, task: Task, queue_slots: Mapping[str, int]) -> str | None:
    slots = queue_slots.get(task.queue)
    if slots is None or task.live is not None or tasks.count_live(tx, task.queue) < slots:
        return None
    return f'{"the one slot" if slots == 1 else f"all {slots} slots"} of the queue "{task.queue}" taken'


def _load(serving: Sequence[Worker]) -> str | None:
    short = serving[0].short_of if serving and all(each.short_of for each in serving) else ""
    return f"the machine is short of {short}, and retries wait until it is not" if short else None


def _serving(tx: Tx, task: Task) -> list[Worker]:
    return [each for each in workers.alive(tx) if each.lease_until > tx.now and task.queue in each.queues]


def _stopped(tx: Tx, task: Task, serving: Sequence[Worker]) -> Breaker | None:
    """The crash loop that keeps its runner from starting, on every host that would run it."""
    loops = [breakers.get(tx, crash_loop_key(task.runner, each.host)) for each in serving]
    looping = [each for each in loops if each is not None and each.state != "closed"]
    return looping[0] if looping and len(looping) == len(serving) else None


def queues_out_of_share(tx: Tx, queues: Iterable[str], recovery_share: float) -> set[str]:
    """The queues in which recovery has its share of the slots of all engines that serve them, and fresh work waits."""
    live = activity.live_recovery_by_worker(tx)
    if not live:
        return set()
    serving = [each for each in workers.alive(tx) if each.lease_until > tx.now]
    out = set()
    for queue in queues:
        mine = [each for each in serving if queue in each.queues]
        used = bool(mine) and all(live.get(each.id, 0) >= math.ceil(each.slots * recovery_share) for each in mine)
        if used and tasks.claim_head(tx, queue, recovery=False, limit=1):
            out.add(queue)
    return out


def _held(tx: Tx, task: Task) -> Breaker | None:
    """What holds it or would hold it now: the breaker it is parked under, else the first its resources meet."""
    if task.finished:
        return None
    if task.hold is not None:
        held = breakers.get(tx, task.hold)
        return held and budgets.as_of_now(tx, held)
    command = command_key(task)
    needs = breakers.uses(tx, [command], since=tx.now - KNOWN_FOR_MS).get(command, ())
    return held_by(task, breakers.not_closed(tx), needs)


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
