"""The judges of the drill can fail: each promise is broken in every way it can be, and each time it is a FAIL."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.drill.promises import NOTHING_LEFT, PROMISES, judge
from medbay.drill.trials import TRIALS

HEALED = {"status": "completed", "questions": 0, "left": 0, "charged": 0, "subcategory": "x"}
GOOD: dict[str, dict[str, Any]] = {
    "refused port": {**HEALED, "category": "transient", "attempts": 2},
    "rate limit": {**HEALED, "category": "transient", "attempts": 2, "waited_s": 3.1, "named_s": 3},
    "full disk": {
        "how": "a small disk",
        "refused_code": 1,
        "traceback": False,
        "lost": 0,
        "status": "completed",
        "runs": 1,
        "after": "completed",
        "left": 0,
    },
    "hang": {**HEALED, "attempts": 2, "outcome": "timed_out", "took_s": 2.2, "limit_s": 2, "grace_s": 2},
    "memory limit": {**HEALED, "category": "resource_exhaustion", "attempts": 2},
    "outage": {
        "tasks": 12,
        "completed": 12,
        "attempts_while_down": 9,
        "canaries_allowed": 8,
        "incidents": 1,
        "charged": 0,
        "questions": 0,
        "left": 0,
    },
    "kill -9": {
        "outlived_s": 1.0,
        "lease_s": 30,
        "first": "lost",
        "status": "completed",
        "attempts": 2,
        "together": 1,
        "left": 0,
    },
    "clock jump": {"jumps": 3, "hours": 10, "tasks": 20, "broken_promise": ""},
    "killer": {
        "deaths": 2,
        "budget": 2,
        "status": "blocked",
        "block_kind": "human",
        "questions": 1,
        "bystander": "completed",
        "left": 0,
    },
    "agent": {
        "tasks": 5,
        "completed": 5,
        "believed": [],
        "first": {"hang": "stalled"},
        "firsts": "hang stalled",
        "limit_charged": False,
        "tokens": 900,
        "questions": 0,
        "left": 0,
    },
    "two daemons": {"tasks": 16, "runs": 16, "completed": 16, "daemons": 2, "exit_codes": [0, 0], "left": 0},
    "afterwards": {"processes": 0, "files": 0},
}
BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("agent", {"completed": 4}),
    ("agent", {"believed": ["lie"]}),
    ("agent", {"first": {"hang": "lost"}}),
    ("agent", {"limit_charged": True}),
    ("agent", {"tokens": 0}),
    ("agent", {"questions": 1}),
    ("agent", {"left": 1}),
    ("refused port", {"status": "blocked"}),
    ("refused port", {"questions": 1}),
    ("refused port", {"left": 2}),
    ("refused port", {"category": "code_error"}),
    ("refused port", {"attempts": 1}),
    ("refused port", {"charged": 1}),
    ("rate limit", {"waited_s": 2.9}),
    ("rate limit", {"attempts": 5}),
    ("rate limit", {"charged": 1}),
    ("full disk", {"refused_code": 0}),
    ("full disk", {"traceback": True}),
    ("full disk", {"lost": 1}),
    ("full disk", {"status": "failed"}),
    ("full disk", {"runs": 2}),
    ("full disk", {"after": "pending"}),
    ("full disk", {"left": 1}),
    ("hang", {"outcome": "succeeded"}),
    ("hang", {"took_s": 9.0}),
    ("hang", {"left": 1}),
    ("memory limit", {"category": "unknown"}),
    ("memory limit", {"attempts": 1}),
    ("outage", {"completed": 11}),
    ("outage", {"incidents": 0}),
    ("outage", {"attempts_while_down": 60}),
    ("outage", {"questions": 12}),
    ("outage", {"charged": 3}),
    ("outage", {"left": 1}),
    ("kill -9", {"outlived_s": 99.0}),
    ("kill -9", {"first": "succeeded"}),
    ("kill -9", {"status": "in_progress"}),
    ("kill -9", {"attempts": 3}),
    ("kill -9", {"together": 2}),
    ("kill -9", {"left": 1}),
    ("clock jump", {"jumps": 0}),
    ("clock jump", {"broken_promise": "2 one live attempt"}),
    ("clock jump", {"tasks": 0}),
    ("killer", {"block_kind": None, "status": "pending"}),
    ("killer", {"questions": 0}),
    ("killer", {"deaths": 4}),
    ("killer", {"bystander": "pending"}),
    ("killer", {"left": 1}),
    ("two daemons", {"completed": 15}),
    ("two daemons", {"runs": 17}),
    ("two daemons", {"daemons": 1}),
    ("two daemons", {"exit_codes": [0, 1]}),
    ("two daemons", {"left": 1}),
    ("afterwards", {"processes": 1}),
    ("afterwards", {"files": 3}),
]
BY_NAME = {promise.name: promise for promise in (*PROMISES, NOTHING_LEFT)}


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_promised_passes(name: str) -> None:
    """And reads as a sentence."""
    verdict = judge(BY_NAME[name], GOOD[name])

    assert (verdict.result, verdict.why) == ("PASS", "")
    assert verdict.seen and "{" not in verdict.seen


@pytest.mark.parametrize(("name", "broken"), BROKEN, ids=[f"{name} {[*how]}" for name, how in BROKEN])
def test_a_broken_promise_fails(name: str, broken: dict[str, Any]) -> None:
    """With what is wrong."""
    verdict = judge(BY_NAME[name], GOOD[name] | broken)

    assert verdict.result == "FAIL"
    assert verdict.why


@pytest.mark.parametrize("name", BY_NAME)
def test_facts_that_are_not_there_never_pass(name: str) -> None:
    """A trial that broke off, or brought nothing home, is a FAIL; one that cannot be made is said to be skipped."""
    assert judge(BY_NAME[name], {}).result == "FAIL"
    assert judge(BY_NAME[name], {"broken": "no daemon"}).why == "the trial broke off: no daemon"
    assert judge(BY_NAME[name], {"skipped": "not here"}).result == "SKIP"


def test_every_promise_has_its_trial_and_is_broken_above() -> None:
    """None is left out."""
    assert [*TRIALS] == [promise.name for promise in PROMISES]
    assert {name for name, _ in BROKEN} == {*BY_NAME}
