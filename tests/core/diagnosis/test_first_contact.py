"""Failure outputs that were labelled before any rule was read: strict, accepted, and what should follow."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from medbay.core.diagnosis import Diagnosis
from medbay.core.diagnosis.consequences import consequence_of
from tests.core.diagnosis.samples import HERE, read_jsonl, why

HELD = ("rate_limit", "usage_limit")
PERSON_FROM = 0.8
ANY = "any"  # where a careful reader could do several things


def action_of(category: str, subcategory: str | None, confidence: float = 1.0) -> str | None:
    """What follows from a kind: `wait`, `hold`, `person`, `retry_with_advice`, or nothing for a run that passed."""
    follows = consequence_of(category, subcategory)
    if subcategory == "no_failure":
        return None
    if not follows.retryable:
        return "person" if confidence >= PERSON_FROM else "retry_with_advice"
    if follows.charge:
        return "retry_with_advice"
    return "hold" if subcategory in HELD else "wait"


def accepted(item: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The kinds that a careful reader could give, the label first."""
    kinds = [(item["category"], item["subcategory"])]
    for text in item["accept"]:
        category, _, subcategory = text.partition("/")
        kinds.append((category, subcategory or None))
    return kinds


def judge(item: dict[str, Any], found: Diagnosis) -> dict[str, bool]:
    """How one diagnosis fares against the label."""
    acted = action_of(found.category, found.subcategory, found.confidence)
    kinds = accepted(item)
    return {
        "strict": found.category == item["category"],
        "accepted": any(found.category == category for category, _ in kinds),
        "action": acted == item["action"] or item["action"] == ANY,
        "action accepted": item["action"] in (acted, ANY) or any(acted == action_of(*kind) for kind in kinds),
    }


@cache
def shares(name: str = "first_contact_outputs") -> dict[str, float]:
    """The share of right answers by each measure."""
    counted: Counter[str] = Counter()
    items = read_jsonl(HERE / f"{name}.jsonl")
    for item in items:
        found = why(item["text"], exit_code=item["exit_code"], timed_out=bool(item.get("timed_out")))
        counted.update(name for name, right in judge(item, found).items() if right)
    return {name: count / len(items) for name, count in counted.items()}


def test_what_was_met_first_is_understood() -> None:
    """A guard against regressions: the figures of the first run stand in the README beside the outputs."""
    found = shares()

    assert found["strict"] >= 0.88
    assert found["accepted"] >= 0.96
    assert found["action"] >= 0.91


def test_everyday_tools_are_understood() -> None:
    """The sentences that tools print every day, written after their documentation."""
    found = shares("everyday_outputs")

    assert found["accepted"] >= 0.92
    assert found["action"] >= 0.91
