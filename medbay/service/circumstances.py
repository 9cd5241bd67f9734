"""What around a task may hold it back: what it comes after, engines, breakers, slots and shares. Read for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from medbay.core import budget
from medbay.core.cluster import away
from medbay.core.holds import holding
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.holding import Circumstances, Reason
from medbay.core.holds.resources import KNOWN_FOR_MS, command_key, crash_loop_key, held_by
from medbay.core.model import Task, Worker
from medbay.core.triage import incident
from medbay.store import activity, breakers, budgets, tasks, triages, workers
from medbay.store.database import Tx

NO_LIMITS: Final[Mapping[str, int]] = {}  # of the slots of queues


def first_reason(
    tx: Tx, task: Task, *, recovery_share: float, queue_slots: Mapping[str, int] = NO_LIMITS
) -> Reason | None:
    """The first of the reasons that hold a task back."""
    around = circumstances(tx, task, breaker_of(tx, task), recovery_share=recovery_share, queue_slots=queue_slots)
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
        alike = (task.queue, task.runner, task.hold, task.recovery, task.mutex, task.place, costs, own)
        if task.finished:
            continue
        if task.unmet or alike not in around:
            held = breaker_of(tx, task) if known or task.hold else None
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
    serving = engines_serving(tx, task)
    busy = activity.live_by_worker(tx) if serving else {}
    full = bool(serving) and not task.place and all(busy.get(each.id, 0) >= each.slots for each in serving)
    stopped = crash_loop_of(tx, task, serving)
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
        place_away=away(task.place, serving, tx.now),
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


def engines_serving(tx: Tx, task: Task) -> list[Worker]:
    """The engines that take from its queue."""
    return [each for each in workers.alive(tx) if each.lease_until > tx.now and task.queue in each.queues]


def crash_loop_of(tx: Tx, task: Task, serving: Sequence[Worker]) -> Breaker | None:
    """The crash loop that keeps its runner from starting, on every host that would run it."""
    loops = [breakers.get(tx, crash_loop_key(task.runner, task.place or each.host)) for each in serving]
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


def breaker_of(tx: Tx, task: Task) -> Breaker | None:
    """What holds it or would hold it now: the breaker it is parked under, else the first its resources meet."""
    if task.finished:
        return None
    if task.hold is not None:
        held = breakers.get(tx, task.hold)
        return held and as_of_now(tx, held)
    command = command_key(task)
    needs = breakers.uses(tx, [command], since=tx.now - KNOWN_FOR_MS).get(command, ())
    return held_by(task, breakers.not_closed(tx), needs)


def as_of_now(tx: Tx, held: Breaker) -> Breaker:
    """A breaker as people are shown it: a used-up day with what is left of it now, any other as it is."""
    if held.kind != "budget":
        return held
    return budget.refreshed(held, budgets.of(tx, budget.day_of(held)))
