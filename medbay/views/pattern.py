"""What is known of one kind of failure: what is said of it, and its JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from medbay.core.attempt.knowledge import Advice, Known
from medbay.views import moments

When = Callable[[int], str]


def as_json(each: Known) -> dict[str, Any]:
    """Return what is known of one fingerprint as data."""
    category, _, subcategory = each.kind.partition("/")
    taught = each.taught
    return {
        "fingerprint": each.fingerprint,
        "category": category,
        "subcategory": subcategory or None,
        "diagnosed": f"{each.category}/{each.subcategory}" if each.subcategory else each.category,
        "taught": {"by": taught.by, "at": moments.iso(taught.at)} if taught else None,
        "count": each.count,
        "tasks": each.tasks,
        "first_seen": moments.iso(each.first_seen),
        "last_seen": moments.iso(each.last_seen),
        "summary": each.summary,
        "excerpt": each.excerpt,
        "advice": [
            {"advice": one.text, "given": one.given, "cured": one.cured, "rate": round(one.cured / one.given, 3)}
            for one in each.advice
        ],
    }


def sentences(known: Known, task_ids: Sequence[str], when: When) -> list[tuple[str, str]]:
    """Return what there is to say, each sentence under its label."""
    rules_say = f"{known.category}/{known.subcategory}" if known.subcategory else known.category
    taught = known.taught
    who = f" ({taught.by} said so on {when(taught.at)}; the rules say {rules_say})" if taught else ""
    more = f" and {known.tasks - len(task_ids)} more" if known.tasks > len(task_ids) else ""
    said = [
        ("pattern", known.fingerprint),
        ("category", known.kind + who),
        ("summary", known.summary),
        ("seen", f"{often(known)}, first {when(known.first_seen)}, last {when(known.last_seen)}"),
        ("tasks", ", ".join(task_ids) + more),
        ("advice", "" if known.advice else "none has been tried yet"),
    ]
    return [(label, sentence) for label, sentence in said if sentence or label == "advice"]


def seen(known: Known, when: When) -> str:
    """Return how often this was seen, who said what it is, and what worked against it."""
    where = "1 task" if known.tasks == 1 else f"{known.tasks} tasks"
    said = f"{known.fingerprint} was seen {often(known)} on {where} since {when(known.first_seen)}"
    if known.taught is not None:
        said += f"; {known.taught.by} says it is {known.kind}"
    advice = best(known)
    return said + (f"; what worked: {advice}" if advice else "")


def best(known: Known) -> str:
    """Return the advice with the best record among those that ever worked, with that record."""
    found = next((each for each in known.advice if each.cured), None)
    return f"{found.text} ({found.record})" if found else ""


def rate(each: Advice) -> str:
    """Return how often an advice worked, in per cent and in numbers."""
    return f"{100 * each.cured // each.given:3d} %  ({each.record})"


def often(known: Known) -> str:
    """Return how often it was seen."""
    return "once" if known.count == 1 else f"{known.count} times"


def last_seen(known: Known, now_ms: int) -> str:
    """Return how long ago it was seen last."""
    return moments.ago(min(known.last_seen, now_ms), now_ms)
