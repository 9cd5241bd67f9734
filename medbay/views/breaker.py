"""A breaker: what is said of it, and its JSON."""

from __future__ import annotations

from typing import Any, Final

from medbay.core import budget
from medbay.core.holds.breaker import Breaker
from medbay.core.model import Task
from medbay.views import glyphs, moments
from medbay.views.glyphs import Token
from medbay.views.text import clean

LOOKS: Final[dict[str, tuple[str, Token]]] = {
    "open": (glyphs.HELD, "held"),
    "half_open": (glyphs.VERIFYING, "wait"),
    "closed": (glyphs.DONE, "idle"),
}


def as_json(each: Breaker, held: int) -> dict[str, Any]:
    """Return one breaker as data, with how many tasks are parked under it."""
    return {
        "key": each.key,
        "kind": each.kind,
        "state": each.state,
        "why": each.why,
        "opened_by": each.opened_by,
        "opened_at": moments.iso(each.opened_at),
        "until": moments.iso(each.until),
        "next_probe_at": moments.iso(each.next_at),
        "ends": each.ends if each.state != "closed" else None,
        "only_a_person_ends": each.only_a_person_ends,
        "held": held,
        "failed_probes": each.failures,
        "canary": {"task": each.canary_task, "attempt": each.canary_number} if each.canary_task else None,
        "question": each.question_id,
        "closed_at": moments.iso(each.closed_at),
        "fingerprint": each.name if each.kind == "incident" else None,
        "category": each.data.get("category"),
        "excerpt": each.data.get("excerpt"),
        "first_tasks": list(each.data.get("tasks", ())),
        "triage": each.data.get("triage") or None,
        "fix": each.data.get("fix"),
    }


def state(each: Breaker) -> str:
    """Return its state as a word: `half-open`."""
    return each.state.replace("_", "-")


def ends(each: Breaker, now_ms: int) -> str:
    """Return when and how it ends, or how long ago it ended."""
    if each.state == "closed":
        return f"ended {moments.ago(each.closed_at, now_ms)}" if each.closed_at is not None else ""
    return f"{_next(each, now_ms)}{each.ends}"


def why(each: Breaker, now_ms: int) -> str:
    """Return why it was opened, by whom and when."""
    return f"{each.why} (by {each.opened_by} {moments.ago(each.opened_at, now_ms)})"


def holding(each: Breaker, task: Task, now_ms: int) -> str:
    """Return why a task is held and when that ends, for the row of the task."""
    if each.kind == "budget":
        return f"{budget.shortage(task, each)}; {until_next_day(each, now_ms)}"
    return f"{each.why}; {_next(each, now_ms)}{each.ends}"


def until_next_day(each: Breaker, now_ms: int) -> str:
    """Return until when a used-up day holds, in the zone of the budget: `waits until 00:00 UTC (in 11h)`."""
    zone = str(each.data.get("zone", "UTC"))
    ends = each.until or now_ms
    return f"waits until {moments.there(ends, zone):%H:%M} {zone} (in {moments.short(ends - now_ms)})"


def held(each: Breaker, number: int, now_ms: int) -> str:
    """Return how many tasks it holds and until when; a crash loop keeps every task of its runner, so has no number."""
    if not number and each.kind != "crash_loop":
        return ""
    next_at = each.next_at
    until = f" until {moments.clock(next_at, now_ms)}" if next_at is not None else f", {each.ends.partition(': ')[0]}"
    return f"{glyphs.HELD} {f'{number} ' if number else ''}held by {clean(each.key)}{until}"


def _next(each: Breaker, now_ms: int) -> str:
    return f"{moments.clock(each.next_at, now_ms)}: " if each.next_at is not None else ""
