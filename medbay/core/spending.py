"""What agents used, added up by day, agent, role, model and provider. Money in millionths; unknown without a price."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

By = Literal["day", "agent", "role", "model", "provider", "task"]
GROUPS: Final[tuple[By, ...]] = ("day", "agent", "role", "model", "provider", "task")


class AgentUse(Struct, frozen=True, kw_only=True):
    """What one agent did."""

    agent: str
    last_used_at: int | None = None
    attempts_today: int = 0
    tokens_today: int = 0
    cost_today: int | None = None


class UsedBy(Struct, frozen=True, kw_only=True):
    """What attempts of one day, agent, role and model of a task used."""

    day: str
    agent: str
    role: str
    model: str
    provider: str
    task: str
    attempts: int
    tokens_in: int
    tokens_out: int
    cost: int  # of those whose cost is known
    unpriced: int = 0  # attempts that used tokens and whose cost nobody knows


class Sum(Struct, frozen=True, kw_only=True):
    """What was used under one name of a group."""

    name: str
    attempts: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: int = 0
    unpriced: int = 0


def summed(rows: Iterable[UsedBy], by: By) -> list[Sum]:
    """The rows added up by one of their names, in the order of the names."""
    sums: dict[str, Sum] = {}
    for row in rows:
        name = getattr(row, by) or "-"
        sums[name] = _plus(sums.get(name, Sum(name=name)), row)
    return [sums[name] for name in sorted(sums)]


def total(rows: Iterable[UsedBy]) -> Sum:
    """All of it."""
    found = Sum(name="total")
    for row in rows:
        found = _plus(found, row)
    return found


def _plus(one: Sum, row: UsedBy) -> Sum:
    return Sum(
        name=one.name,
        attempts=one.attempts + row.attempts,
        tokens_in=one.tokens_in + row.tokens_in,
        tokens_out=one.tokens_out + row.tokens_out,
        cost=one.cost + row.cost,
        unpriced=one.unpriced + row.unpriced,
    )
