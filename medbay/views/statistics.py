"""Figures of a window: what healed, how often retries helped, what it cost, what people were called for; as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from medbay.core.budget import MILLION, Budget
from medbay.core.snapshot import Figures, FingerprintFigures
from medbay.views import moments, pattern

_DAY_MS = 86_400_000
_QUIET_MS = 7 * _DAY_MS  # a failure that is seen again after so long is back


def as_json(found: Figures, budget: Budget) -> dict[str, Any]:
    """Return every figure of Insights and of `stats`."""
    return {
        "since": moments.iso(found.since),
        "until": moments.iso(found.until),
        "done": dict(found.done),
        "done_before": dict(found.done_before),
        "attempts": dict(found.attempts),
        "created": found.created,
        "heal": heal_as_json(found.heal),
        "retries_to_success": [{"retries": retries, "n": number} for retries, number in found.retries],
        "retry_success": [
            {"category": category, "agent": agent or None, "attempt": int(attempt), "n": number, "cured": cured}
            for category, agent, attempt, number, cured in found.retry_success
        ],
        "failures": series_as_json(found.failures),
        "cost": [
            {
                "hour": moments.iso(hour),
                "phase": phase,
                "agent": agent or None,
                "tokens": tokens,
                "cost": cost / MILLION,
            }
            for hour, phase, agent, tokens, cost in found.cost
        ],
        "failed_cost": round(found.failed_cost / MILLION, 6),
        "waited": [
            {"cause": cause, "of": of or None, "n": number, "hours": round(total / 3_600_000, 3)}
            for cause, of, number, total in found.waited
        ],
        "called": series_as_json(found.called),
        "healed_by_category": dict(sorted(found.healed.items(), key=lambda each: (-each[1], each[0]))),
        "by_tag": _grouped(found.tags),
        "by_agent": _grouped(found.agents),
        "fingerprints": [_fingerprint(each, found.since) for each in found.fingerprints],
        "budget": {
            "daily_tokens": budget.daily_tokens,
            "daily_cost": None if budget.daily_cost is None else budget.daily_cost / MILLION,
        },
    }


def _grouped(found: Iterable[tuple[str, str, int]]) -> dict[str, dict[str, int]]:
    """Return how often what happened, by name."""
    made: dict[str, dict[str, int]] = {}
    for name, how, number in found:
        made.setdefault(name, {})[how] = number
    return made


def summary_as_json(
    figures: dict[str, Any], retries: Sequence[tuple[str, str, int, int]], *, waiting: int, need_person: int
) -> dict[str, Any]:
    """Return what `stats` prints: the figures with what became of tasks and retries."""
    done = figures["done"]
    return {
        **figures,
        "completed": sum(number for name, number in done.items() if name != "cancelled"),
        "healed": done.get("healed", 0),
        "by_person": done.get("person", 0),
        "waiting": waiting,
        "need_person": need_person,
        "cancelled": done.get("cancelled", 0),
        "retries": _retries(retries),
        "success": {
            f"by_{kind}": _success(figures["retry_success"], kind) for kind in ("category", "agent", "attempt")
        },
        "cost_by_day": _cost_by_day(figures["cost"]),
        "people_called": sum(each["n"] for each in figures["called"]),
    }


def _retries(found: Sequence[tuple[str, str, int, int]]) -> dict[str, Any]:
    by_status, by_category = Counter[str](), Counter[str]()
    for status, category, number, _ in found:
        by_status[status] += number
        by_category[category] += number
    planned, waited_ms = sum(by_status.values()), sum(total for *_, total in found)
    return {
        "pending": by_status["pending"],
        "executed": by_status["executed"],
        "cancelled": by_status["cancelled"],
        "avg_delay_s": round(waited_ms / planned / 1000, 3) if planned else None,
        "by_category": dict(sorted(by_category.items())),
    }


def _success(found: Iterable[dict[str, Any]], kind: str) -> dict[str, dict[str, int]]:
    """How many retries there were and how many succeeded, by category, agent or attempt."""
    made: dict[str, dict[str, int]] = {}
    for each in found:
        sums = made.setdefault(str(each[kind] or ""), {"n": 0, "cured": 0})
        sums["n"] += each["n"]
        sums["cured"] += each["cured"]
    return dict(sorted(made.items()))


def _cost_by_day(cost: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    days: dict[str, list[float]] = {}
    for each in cost:
        day = days.setdefault(each["hour"][:10], [0, 0.0])
        day[0] += each["tokens"]
        day[1] += each["cost"]
    return [{"day": day, "tokens": int(tokens), "cost": round(used, 6)} for day, (tokens, used) in sorted(days.items())]


def series_as_json(found: Iterable[tuple[int, str, int]]) -> list[dict[str, Any]]:
    """Return counts by hour and name."""
    return [{"hour": moments.iso(hour), "name": name, "n": number} for hour, name, number in found]


def heal_as_json(found: Sequence[tuple[float, int]]) -> dict[str, Any]:
    """Return how long healing took: at most so many seconds for how many, and the times of half and of nine in ten."""
    return {
        "n": sum(number for _, number in found),
        "p50_s": quantile(found, 0.5),
        "p90_s": quantile(found, 0.9),
        "within": [{"s": round(upto, 1), "n": number} for upto, number in found],
    }


def quantile(found: Sequence[tuple[float, int]], share: float) -> float | None:
    """Return the time within which this share healed; None where nothing did."""
    wanted, so_far = share * sum(number for _, number in found), 0
    for upto, number in found:
        so_far += number
        if so_far >= wanted:
            return round(upto, 1)
    return None


def _fingerprint(each: FingerprintFigures, since: int) -> dict[str, Any]:
    known = each.known
    is_new = known is not None and known.first_seen >= since
    back = each.quiet_ms // _DAY_MS if each.quiet_ms is not None and each.quiet_ms >= _QUIET_MS else None
    return {
        "fingerprint": each.fingerprint,
        "n": sum(number for _, number in each.hours),
        "hours": [{"hour": moments.iso(hour), "n": number} for hour, number in each.hours],
        "summary": known.summary if known else None,
        "category": known.kind if known else None,
        "tasks": known.tasks if known else None,
        "best": pattern.best(known) or None if known else None,
        "new": is_new,
        "back_after_days": back,
    }
