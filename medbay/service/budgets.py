"""Reserving at the claim and settling at the end, inside the transactions of both. Most tasks are not concerned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from medbay.core import budget as rule
from medbay.core import rules
from medbay.core.budget import Amount, Budget, Day, Reservation
from medbay.core.decision import Decision
from medbay.core.holds.breaker import Breaker, all_released, close
from medbay.core.holds.incident import changed_breaker
from medbay.core.model import Attempt, Event, Task
from medbay.core.outcome import Outcome
from medbay.store import breakers, budgets, tasks
from medbay.store.apply import apply, write_events
from medbay.store.database import Tx

LOOKED_THROUGH: Final = 20  # of those that wait for the next day, when something was given back
LOOK_AGAIN_MS: Final = 1_000  # when all of those fit, and more wait


def reserve(tx: Tx, chosen: Sequence[Task], budget: Budget) -> list[Task]:
    """Those of the chosen tasks that may start: what they may cost is reserved, the others wait for the next day."""
    if not any(rule.concerns(task, budget) for task in chosen):
        return list(chosen)
    today = budgets.day(tx, budget.day_of(tx.now))
    start: list[Task] = []
    left = {"": today}  # of the day, and of the share of each role that is met
    for task in chosen:
        if not rule.concerns(task, budget):
            start.append(task)
            continue
        role, amount = rule.role_of(task, budget), rule.wanted(task, budget)
        if role in budget.roles and role not in left:
            left[role] = budgets.share(tx, today.day, role)
        if (short := _taken(left, role, amount, Budget() if task.forced else budget)) is not None:
            _wait(tx, task, short, budget)
            continue
        start.append(task)
        budgets.reserve(
            tx, Reservation(task_id=task.id, number=task.attempts + 1, day=today.day, role=role, amount=amount)
        )
        budgets.add(tx, today.day, role, reserved=amount, used=Amount())
    return start


def _taken(left: dict[str, Day], role: str, amount: Amount, budget: Budget) -> Day | None:
    """Take an amount of the day and of the share of a role; else what it does not fit into. A person's retry passes."""
    after: dict[str, Day] = {}
    for name in ("", role) if role in left else ("",):
        made = rule.reserve(left[name], amount, rule.budget_of(left[name], budget))
        if made is None:
            return left[name]
        after[name] = made
    left.update(after)
    return None


def settle(tx: Tx, task: Task, attempt: Attempt, outcome: Outcome, budget: Budget) -> None:
    """An attempt has ended: what it cost is used, what was reserved for it is free, and the events are written."""
    usage, number = rule.usage_of(outcome), attempt.number
    if usage is None and not rule.concerns(task, budget):
        return
    made = budgets.reservation(tx, task.id, number)
    if attempt.failure is not None or (made is not None and made.settled):
        return  # its work has ended before, now its checks or its evaluation have
    used = rule.settle(made, outcome, usage)
    day = made.day if made is not None else budget.day_of(tx.now)
    role = made.role if made is not None and made.role else rule.role_of(task, budget)
    before = budgets.day(tx, day), budgets.share(tx, day, role)
    back = made.amount if made is not None else Amount()
    budgets.add(tx, day, role, reserved=Amount(-back.tokens, -back.cost), used=used)
    if made is not None:
        budgets.settled(tx, made)
    if used != Amount() or usage is not None:
        budgets.record_usage(tx, task.id, number, used)
    if budget.limited and rule.given_back(made, used):
        for each in before:
            _look_soon(tx, breakers.get(tx, rule.key_of(each)))
    _tell(tx, task, number, before, used, budget)


def hear_limits(tx: Tx, budget: Budget) -> None:
    """An engine starts: what waits for the next day is considered again where the limits were changed since."""
    today = budget.day_of(tx.now)
    for held in breakers.not_closed(tx).values():
        if held.kind == "budget" and rule.day_of(held).day == today and not rule.is_told(held, budget):
            _look_soon(tx, held)


def look_after(tx: Tx, held: Breaker, budget: Budget) -> None:
    """Its day is over, or some of it was given back: all are released then, or those that fit now."""
    if held.until is None or held.until <= tx.now:
        apply(tx, changed_breaker(held, close(held, tx.now, "there is room in the budget again")))
        return
    waiting = tasks.held(tx, held.key, LOOKED_THROUGH)
    fitting = rule.fitting(budgets.of(tx, rule.day_of(held)), waiting, budget)
    for task in fitting:
        apply(tx, rules.on_released(task, tx.now, hold=held))
    if len(fitting) < len(waiting):
        after = replace(held, probe_at=held.until)
    elif tasks.has_held(tx, held.key):
        after = replace(held, probe_at=tx.now + LOOK_AGAIN_MS)
    else:
        after = all_released(close(held, tx.now, "there is room in the budget again"))
    apply(tx, changed_breaker(held, after))


def _look_soon(tx: Tx, held: Breaker | None) -> None:
    if held is not None and held.state == "open":
        apply(tx, changed_breaker(held, replace(held, probe_at=tx.now)))


def _tell(tx: Tx, task: Task, number: int, before: Sequence[Day], used: Amount, budget: Budget) -> None:
    events = []
    if over := rule.exceeds(task, used, budget):
        events.append(Event(name="budget:exceeded", task_id=task.id, attempt=number, data={"why": over}))
    for each in before:
        limits = rule.budget_of(each, budget)
        after = replace(each, used=Amount(each.used.tokens + used.tokens, each.used.cost + used.cost))
        if rule.warns(each, after, limits):
            events.append(Event(name="budget:warning", data=rule.told(after, limits)))
    write_events(tx, tuple(events))


def _wait(tx: Tx, task: Task, short: Day, budget: Budget) -> None:
    """Parked until the day is over; a canary that cannot start is none any more."""
    held = rule.used_up(short, budget, tx.now)
    known = breakers.get(tx, held.key)
    if known is None or known.state == "closed":
        apply(tx, changed_breaker(None, held))
    made: Decision = (
        rules.on_canary_dropped(task, tx.now) if task.canary else rules.on_parked(task, tx.now, hold=held.key)
    )
    apply(tx, made)
