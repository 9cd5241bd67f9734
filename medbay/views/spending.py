"""What agents cost, and what there is of each: words and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from medbay.core.budget import MILLION, Budget, Day, told
from medbay.core.spending import GROUPS, AgentUse, Sum, UsedBy, summed, total
from medbay.views import moments


def money(cost: int | None, *, unpriced: int = 0) -> str:
    """Return an amount: `0.0420`, `?` where nobody knows it, `0.0420 + ?` where a part is unknown."""
    if cost is None or (not cost and unpriced):
        return "?"
    text = f"{cost / MILLION:.4f}" if cost < MILLION else f"{cost / MILLION:.2f}"
    return f"{text} + ?" if unpriced else text


def tokens(number: int | None) -> str:
    """Return a number of tokens as people read it: `950`, `12.4k`, `3.1M`."""
    if number is None:
        return "-"
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M"


def used(tokens_used: int | None, cost: int | None) -> str:
    """Return what an attempt used in a few words: `12.4k tokens, 0.0420`; empty when it used nothing."""
    if not tokens_used and not cost:
        return ""
    return f"{tokens(tokens_used or 0)} tokens, {money(cost)}"


def cost_as_json(rows: Sequence[UsedBy], budgets: Sequence[tuple[Day, Budget]], *, prices_as_of: str) -> dict[str, Any]:
    """Return `stats --cost --json`: the sums by each group, and what is used of each limit of today."""
    return {
        "budgets": [{"role": day.role or None, **told(day, limits)} for day, limits in budgets],
        "total": sum_as_json(total(rows)),
        **{f"by_{group}": [sum_as_json(each) for each in summed(rows, group)] for group in GROUPS},
        "prices_as_of": prices_as_of,
    }


def sum_as_json(each: Sum) -> dict[str, Any]:
    """Return one sum as data."""
    return {
        "name": each.name,
        "attempts": each.attempts,
        "tokens_in": each.tokens_in,
        "tokens_out": each.tokens_out,
        "cost": each.cost / MILLION,
        "unpriced": each.unpriced,
    }


def budget_words(day: Day, limits: Budget) -> str:
    """Return what is used of a limit of today: `role reviewer: 0.4000 of 5.00, 0.1000 reserved`."""
    said = []
    if limits.daily_cost is not None:
        held = f", {money(day.reserved.cost)} reserved" if day.reserved.cost else ""
        said.append(f"{money(day.used.cost)} of {money(limits.daily_cost)}{held}")
    if limits.daily_tokens is not None:
        held = f", {tokens(day.reserved.tokens)} reserved" if day.reserved.tokens else ""
        said.append(f"{tokens(day.used.tokens)} of {tokens(limits.daily_tokens)} tokens{held}")
    return f"{f'role {day.role}' if day.role else 'all'}: {'; '.join(said)}"


def cells(each: Sum) -> tuple[str, str, str, str, str]:
    """Return one sum for a table: name, attempts, tokens in and out, cost."""
    cost = money(each.cost, unpriced=each.unpriced)
    return each.name, str(each.attempts), tokens(each.tokens_in), tokens(each.tokens_out), cost


def unpriced_words(rows: Iterable[UsedBy], *, prices_as_of: str) -> str:
    """Return which models have no price; empty when all have."""
    names = sorted({row.model or row.agent or "an agent" for row in rows if row.unpriced})
    return f"no price is known for {', '.join(names)} (prices of {prices_as_of})" if names else ""


def use_as_json(each: AgentUse) -> dict[str, Any]:
    """Return what an agent did as data."""
    return {
        "last_used_at": moments.iso(each.last_used_at),
        "attempts_today": each.attempts_today,
        "tokens_today": each.tokens_today,
        "cost_today": (each.cost_today or 0) / MILLION,
    }
