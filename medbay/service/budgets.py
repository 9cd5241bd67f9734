"""Reserving at the claim and settling at the end, inside the transactions of both. Most tasks are not concerned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medbay.core import budget as rule
from medbay.core import rules
from medbay.core.budget import Amount, Budget, Day, Reservation
from medbay.core.decision import Decision
from medbay.core.model import Attempt, Event, Task
from medbay.core.news import changed_breaker
from medbay.core.outcome import Outcome
from medbay.store import breakers, budgets
from medbay.store.apply import apply, write_events
from medbay.store.database import Tx


def reserve(tx: Tx, chosen: Sequence[Task], budget: Budget) -> list[Task]:
    """Those of the chosen tasks that may start: what they may cost is reserved, the others wait for the next day."""
    if not any(map(rule.concerns, chosen)):
        return list(chosen)
    today = budgets.day(tx, budget.day_of(tx.now))
    start, left = [], today
    for task in chosen:
        if not rule.concerns(task):
            start.append(task)
            continue
        amount = rule.wanted(task, budget)
        after = rule.reserve(left, amount, Budget() if task.forced else budget)  # a person's retry passes
        if after is None:
            _wait(tx, task, left, budget)
            continue
        left = after
        start.append(task)
        made = Reservation(task_id=task.id, number=task.attempts + 1, day=today.day, amount=amount)
        budgets.reserve(tx, made)
        budgets.add(tx, today.day, reserved=amount, used=Amount())
    return start


def settle(tx: Tx, task: Task, attempt: Attempt, outcome: Outcome, budget: Budget) -> None:
    """An attempt has ended: what it cost is used, what was reserved for it is free, and who has to know is told."""
    usage, number = rule.usage_of(outcome), attempt.number
    if usage is None and not rule.concerns(task):
        return
    made = budgets.reservation(tx, task.id, number)
    if attempt.failure is not None or (made is not None and made.settled):
        return  # its work has ended before, now its checks or its evaluation have
    used = rule.settle(made, outcome, usage)
    name = made.day if made is not None else budget.day_of(tx.now)
    before = budgets.day(tx, name)
    back = made.amount if made is not None else Amount()
    budgets.add(tx, name, reserved=Amount(-back.tokens, -back.cost), used=used)
    if made is not None:
        budgets.settled(tx, made)
    if used != Amount() or usage is not None:
        budgets.record_usage(tx, task.id, number, used)
    _tell(tx, task, number, before, used, budget)


def _tell(tx: Tx, task: Task, number: int, before: Day, used: Amount, budget: Budget) -> None:
    events = []
    if over := rule.exceeds(task, used):
        events.append(Event(name="budget:exceeded", task_id=task.id, attempt=number, data={"why": over}))
    sums = Amount(before.used.tokens + used.tokens, before.used.cost + used.cost)
    after = replace(before, used=sums)
    if rule.warns(before, after, budget):
        events.append(Event(name="budget:warning", data=rule.told(after, budget)))
    write_events(tx, tuple(events))


def _wait(tx: Tx, task: Task, today: Day, budget: Budget) -> None:
    """Parked until the day is over; a canary that cannot start is none any more."""
    held = rule.used_up(today, budget, tx.now)
    known = breakers.get(tx, held.key)
    if known is None or known.state == "closed":
        apply(tx, changed_breaker(None, held))
    made: Decision = (
        rules.on_canary_dropped(task, tx.now) if task.canary else rules.on_parked(task, tx.now, hold=held.key)
    )
    apply(tx, made)
