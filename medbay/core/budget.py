"""What work may cost: reserved before an attempt starts, settled when it has ended. Tokens, and money in millionths.

The day's budget is one for all, and each role may have a share of its own; what does not fit into either waits for the
next day, and uses up no attempt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from medbay.core.holds.breaker import Breaker
from medbay.core.model import Task
from medbay.core.outcome import Failed, Lost, Outcome, OverBudget, Stalled, Succeeded, TimedOut
from medbay.core.untrusted import decoder, number

KEY: Final = "budget:"
MILLION: Final = 1_000_000
WARN_FROM_PERCENT: Final = 80
TOKEN_PARTS: Final = ("input_tokens", "output_tokens", "tokens_in", "tokens_out")
INPUT_OF_A_CALL: Final = 4_000  # tokens that an attempt of which nothing is known has cost at least
_USAGE: Final = re.compile(r'"usage"\s{0,9}:\s{0,9}(?=\{)', re.IGNORECASE)
_USAGE_MAX: Final = 2_000  # characters of what is read as usage
_USAGES_TRIED: Final = 20  # places of an answer
_NUMBERS_MAX: Final = 20  # of a table of tokens
_AMOUNT_MAX: Final = 1e12
FREE: Final = frozenset({"shell", "python", "person"})  # runners that cost nothing unless a task says so
WORKER: Final = "worker"
REVIEWER: Final = "reviewer"
ROLES: Final = (WORKER, REVIEWER, "spec", "critical", "triage")  # beside those of stories
_ROLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("", "fix", "part", "follow_up", "revision"), WORKER),
    "review": "spec",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleBudget:
    """What one attempt of a role may cost where its task does not say, and all of a day together; None is no limit."""

    name: str
    max_tokens: int | None = None
    max_cost: int | None = None
    daily_tokens: int | None = None
    daily_cost: int | None = None


class Budget(Struct, frozen=True, kw_only=True):
    """What all attempts of a day may cost together; None is no limit. The zone says when a day ends."""

    daily_tokens: int | None = None
    daily_cost: int | None = None
    zone: tzinfo = UTC
    free: frozenset[str] = FREE
    roles: Mapping[str, RoleBudget] = {}

    @property
    def limited(self) -> bool:
        """Whether there is a limit of a day at all."""
        of_all = self.daily_tokens is not None or self.daily_cost is not None
        return of_all or any(
            each.daily_tokens is not None or each.daily_cost is not None for each in self.roles.values()
        )

    def of_role(self, role: str) -> Budget:
        """The share of a role: its limits of a day, without those of all."""
        own = self.roles.get(role)
        limits = (own.daily_tokens, own.daily_cost) if own is not None else (None, None)
        return Budget(daily_tokens=limits[0], daily_cost=limits[1], zone=self.zone)

    def day_of(self, now: int) -> str:
        """The day a moment belongs to."""
        return datetime.fromtimestamp(now / 1000, tz=self.zone).date().isoformat()

    def ends_at(self, now: int) -> int:
        """When the day of this moment is over."""
        tomorrow = datetime.fromtimestamp(now / 1000, tz=self.zone).date() + timedelta(days=1)
        return int(datetime.combine(tomorrow, time(), tzinfo=self.zone).timestamp() * 1000)


class Amount(Struct, frozen=True):
    """Tokens and money."""

    tokens: int = 0
    cost: int = 0


class Day(Struct, frozen=True, kw_only=True):
    """What is reserved and used of one day, by all or by one role."""

    day: str
    role: str = ""  # empty: all
    reserved: Amount = Amount()
    used: Amount = Amount()


class Reservation(Struct, frozen=True, kw_only=True):
    """What one attempt may cost, until it has ended."""

    task_id: str
    number: int
    day: str
    amount: Amount
    role: str = ""
    settled: bool = False


def role_of(task: Task, budget: Budget) -> str:
    """The role whose budget a task counts for: a reviewer of a story without one of its own is a `reviewer`."""
    role = _ROLES.get(task.role, task.role)
    return REVIEWER if role.startswith("review-") and role not in budget.roles else role


def allowance(task: Task, budget: Budget) -> tuple[int | None, int | None]:
    """Tokens and money that one attempt may use: what its task says, else its role; a command that is free has none."""
    own = budget.roles.get(role_of(task, budget)) if budget.roles and task.runner not in budget.free else None
    if own is None:
        return task.max_tokens, task.max_cost
    tokens, cost = task.max_tokens, task.max_cost
    return own.max_tokens if tokens is None else tokens, own.max_cost if cost is None else cost


def concerns(task: Task, budget: Budget) -> bool:
    """Whether starting it costs something that has to be reserved."""
    return task.runner not in budget.free or task.max_tokens is not None or task.max_cost is not None


def wanted(task: Task, budget: Budget) -> Amount:
    """What an attempt reserves: its limit, and never more than a day has for it, so that it fits into some day."""
    share = budget.of_role(role_of(task, budget)) if budget.roles else budget
    tokens, cost = (each or 0 for each in allowance(task, budget))
    return Amount(
        _least(tokens, budget.daily_tokens, share.daily_tokens), _least(cost, budget.daily_cost, share.daily_cost)
    )


def reserve(day: Day, amount: Amount, budget: Budget) -> Day | None:
    """The day with this reserved; None when it does not fit. What has no limit of its own fits until all is used."""
    taken = Amount(day.reserved.tokens + day.used.tokens, day.reserved.cost + day.used.cost)
    if not (
        _fits(taken.tokens, amount.tokens, budget.daily_tokens) and _fits(taken.cost, amount.cost, budget.daily_cost)
    ):
        return None
    return replace(day, reserved=Amount(day.reserved.tokens + amount.tokens, day.reserved.cost + amount.cost))


def usage_of(outcome: Outcome) -> Amount | None:
    """What an attempt says it used: in its result, or in the answer of one that was asked something."""
    result = outcome.output.result or {}
    said = result.get("usage")
    if said is None and isinstance(result.get("answer"), str):
        said = _said_in(result["answer"])
    return read_usage(said)


def read_usage(said: object) -> Amount | None:
    """`{"tokens": N, "cost": X}`, the cost in whole units of money; None where neither can be read.

    The tokens may be a table of them (input, output), `input_tokens` and `output_tokens`, or `tokens_in` and
    `tokens_out`: the sum counts.
    """
    if not isinstance(said, Mapping):
        return None
    if "tokens" not in said and (parts := {name: said[name] for name in TOKEN_PARTS if name in said}):
        said = {**said, "tokens": parts}
    tokens, cost = _sum(said.get("tokens", 0)), _amount(said.get("cost", 0))
    told = [each for name, each in (("tokens", tokens), ("cost", cost)) if name in said]
    if told and all(each is None for each in told):
        return None
    return Amount(int(tokens or 0), round((cost or 0) * MILLION))


def exceeds(task: Task, usage: Amount | None, budget: Budget) -> str:
    """In which way an attempt used more than its task or its role allows; empty when it did not."""
    tokens, cost = allowance(task, budget)
    if usage is None:
        return ""
    if tokens is not None and usage.tokens > tokens:
        return f"used {usage.tokens} tokens of {tokens}"
    if cost is not None and usage.cost > cost:
        return f"cost {usage.cost / MILLION:.2f} of {cost / MILLION:.2f}"
    return ""


def judged(task: Task, outcome: Outcome, budget: Budget) -> Outcome:
    """How it ended with its limit in mind. Work that is done stays done; a triage over its limit has no say."""
    over = exceeds(task, usage_of(outcome), budget) if allowance(task, budget) != (None, None) else ""
    ended_badly = isinstance(outcome, Failed | TimedOut | Stalled)
    if over and (ended_badly or (isinstance(outcome, Succeeded) and task.role == "triage")):
        return OverBudget(why=over, output=outcome.output)
    return outcome


def settle(reservation: Reservation | None, outcome: Outcome, usage: Amount | None) -> Amount:
    """What an attempt has cost: what it said; of a lost one that said nothing at least the input of one call."""
    if usage is not None:
        return usage
    if reservation is None or not isinstance(outcome, Lost):
        return Amount()
    most = reservation.amount
    tokens = min(most.tokens or INPUT_OF_A_CALL, INPUT_OF_A_CALL)
    return Amount(tokens, most.cost * tokens // most.tokens if most.tokens else most.cost // 10)


def warns(before: Day, after: Day, budget: Budget) -> bool:
    """Whether this is the moment at which most of the day's budget is used."""
    pairs = (
        (before.used.tokens, after.used.tokens, budget.daily_tokens),
        (before.used.cost, after.used.cost, budget.daily_cost),
    )
    return any(limit is not None and was * 100 < limit * WARN_FROM_PERCENT <= now * 100 for was, now, limit in pairs)


def told(day: Day, budget: Budget) -> dict[str, Any]:
    """The day's budget for an event; `role` where it is the share of one."""
    return {
        **({"role": day.role} if day.role else {}),
        "day": day.day,
        "used_tokens": day.used.tokens,
        "reserved_tokens": day.reserved.tokens,
        "daily_tokens": budget.daily_tokens,
        "used_cost": day.used.cost / MILLION,
        "reserved_cost": day.reserved.cost / MILLION,
        "daily_cost": None if budget.daily_cost is None else budget.daily_cost / MILLION,
    }


def fitting(day: Day, waiting: Sequence[Task], budget: Budget) -> list[Task]:
    """Those of the waiting tasks for which something is left of the day, or of a role's share, in their order."""
    found, limits = [], budget_of(day, budget)
    for task in waiting:
        after = reserve(day, wanted(task, budget), limits)
        if after is not None:
            day = after
            found.append(task)
    return found


def given_back(made: Reservation | None, used: Amount) -> bool:
    """Whether an attempt cost less than was reserved for it, so that others may fit into the day."""
    return made is not None and (made.amount.tokens > used.tokens or made.amount.cost > used.cost)


def budget_of(day: Day, budget: Budget) -> Budget:
    """The limits of a day: of all, or of the role that it is the share of."""
    return budget.of_role(day.role) if day.role else budget


def day_of(held: Breaker) -> Day:
    """The day, or the share of it, that tasks are parked under; nothing is said of what is used."""
    return Day(day=str(held.data["day"]), role=str(held.data.get("role", "")))


def key_of(day: Day) -> str:
    """The breaker of a used-up day."""
    return f"{KEY}{day.day}:{day.role}" if day.role else KEY + day.day


def is_told(held: Breaker, budget: Budget) -> bool:
    """Whether what is parked under a used-up day was parked by these limits."""
    limits = told(Day(day=""), budget_of(day_of(held), budget))
    return all(held.data.get(name) == limits[name] for name in ("daily_tokens", "daily_cost"))


def used_up(day: Day, budget: Budget, now: int) -> Breaker:
    """What tasks are parked under that do not fit into the day; it is over when the day is."""
    ends, own = budget.ends_at(now), budget.roles.get(day.role)
    asks = {} if own is None else {"max_tokens": own.max_tokens, "max_cost": own.max_cost}
    why = f"the budget of {day.day}{f' for the role {day.role}' if day.role else ''} is used up"
    return Breaker(
        key=key_of(day),
        kind="budget",
        why=why,
        opened_at=now,
        until=ends,
        probe_at=ends,
        data={"named": True, "zone": str(budget.zone), **asks, **told(day, budget_of(day, budget))},
    )


def refreshed(held: Breaker, day: Day) -> Breaker:
    """What tasks of a used-up day are parked under, with what is reserved and used of that day now."""
    now = told(day, Budget())
    return replace(held, data={**held.data, **{name: now[name] for name in now if name.startswith(("used", "res"))}})


def shortage(task: Task, held: Breaker) -> str:
    """What is left of the day and what an attempt of this task needs: `0.05 of 0.20 left today, this needs 0.15`."""
    whose = f" for the role {held.data['role']}" if held.data.get("role") else ""
    for name, asks, scale, form in (
        ("cost", task.max_cost or held.data.get("max_cost") or 0, MILLION, "{:.2f}"),
        ("tokens", task.max_tokens or held.data.get("max_tokens") or 0, 1, "{:,.0f} tokens"),
    ):
        if held.data.get(f"daily_{name}") is None:
            continue
        limit, used, reserved = (round(held.data[f"{each}_{name}"] * scale) for each in ("daily", "used", "reserved"))
        needs, left = min(asks, limit), max(0, limit - used - reserved)
        if not _fits(used + reserved, needs, limit):
            of = f"{form.format(left / scale)} of {form.format(limit / scale)} left today{whose}"
            return f"{of}, this needs {form.format(needs / scale)}" if needs else of
    return held.why


def _least(asked: int, *limits: int | None) -> int:
    return min([asked, *(each for each in limits if each is not None)])


def _fits(taken: int, more: int, limit: int | None) -> bool:
    return limit is None or (taken + more <= limit if more else taken < limit)


def _said_in(answer: str) -> object:
    """An answer may stand in a fence or behind other words; the last one counts."""
    for place in list(_USAGE.finditer(answer))[: -_USAGES_TRIED - 1 : -1]:
        try:
            return decoder().raw_decode(answer[place.end() : place.end() + _USAGE_MAX])[0]
        except (ValueError, RecursionError):
            continue
    return None


def _sum(value: object) -> float | None:
    if not isinstance(value, Mapping):
        return _amount(value)
    found = [each for each in map(_amount, list(value.values())[:_NUMBERS_MAX]) if each is not None]
    return sum(found) if found else None


def _amount(value: object) -> float | None:
    found = number(value)
    return found if found is not None and 0 <= found < _AMOUNT_MAX else None
