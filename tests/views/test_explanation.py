"""Why a task is where it is, from records alone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.durations import iso
from medbay.core.holds.holding import Reason
from medbay.core.model import Task
from medbay.core.snapshot import Explanation
from medbay.views import explanation as view
from tests.views.records import MINUTE, NOW, TASK, failed, question


def explained(task: Task = TASK, **fields: Any) -> Explanation:
    """The explanation of a task with nothing around it."""
    empty: dict[str, Any] = {
        "reasons": (),
        "last_failure": None,
        "known": None,
        "retry": None,
        "question": None,
        "chain": (),
        "coming": (),
    }
    return Explanation(task=task, now=NOW, **{**empty, **fields})


def said(found: Explanation) -> dict[str, str]:
    """The sentences by their label."""
    return dict(view.sentences(found, iso))


@pytest.mark.parametrize(
    ("fields", "next_step"),
    [
        ({"ready": True}, "attempt 1, as soon as a worker is free"),
        ({"status": "completed"}, "nothing: it has ended"),
        ({"paused": True}, "nothing until it is resumed"),
        ({"status": "blocked", "reason": "vendor"}, "nothing until a person answers: vendor"),
        (
            {"status": "blocked", "due_at": NOW + MINUTE},
            "2027-01-15T08:01:00.000Z: it is tried again, unless it is released earlier",
        ),
        ({"status": "in_progress", "live": 1}, "attempt 1 ends by itself"),
        (
            {"status": "failed", "due_at": NOW + MINUTE, "attempts": 1},
            "2027-01-15T08:01:00.000Z (in 1m), attempt 2",
        ),
    ],
)
def test_the_next_step_is_said_for_each_state(fields: dict[str, Any], next_step: str) -> None:
    """What happens, when, and what is waited for."""
    assert said(explained(replace(TASK, **fields)))["Next"] == next_step


def test_a_failure_is_named_with_its_rule() -> None:
    """So that a wrong diagnosis can be corrected."""
    last = failed(charged=False)
    found = explained(replace(TASK, status="failed", attempts=1, due_at=NOW + MINUTE), last_failure=last)

    assert last.diagnosis is not None
    assert said(found)["Why"].startswith(f"attempt 1 failed: {last.diagnosis.summary} (transient/network")


def test_an_attempt_whose_engine_died_runs_no_more() -> None:
    """Another engine has to take over first."""
    found = explained(replace(TASK, status="in_progress", live=1), orphaned=True)

    assert said(found)["Next"].startswith("nothing until medbay up takes over")
    assert view.changes(found) == ["medbay up", "medbay cancel k7f2"]


def test_what_would_change_it_are_commands_that_can_be_typed() -> None:
    """With the id filled in."""
    blocked = replace(TASK, status="blocked")

    assert view.changes(explained(blocked, question=question())) == ["medbay answer k7f2", "medbay cancel k7f2"]
    assert view.changes(explained(replace(TASK, paused=True))) == ["medbay resume k7f2", "medbay cancel k7f2"]


def test_the_json_says_the_same_as_the_sentences() -> None:
    """Reasons with their numbers, commands as they are typed."""
    reason = Reason(8, "it is not due", "time", NOW + MINUTE)
    found = explained(replace(TASK, due_at=NOW + MINUTE), reasons=(reason,), chain=("m2xa",))

    made = view.as_json(found)

    assert made["reasons"] == [
        {"number": 8, "code": "not_due", "what": "it is not due", "needs": "time", "until": "2027-01-15T08:01:00.000Z"}
    ]
    assert made["waits_for"] == ["m2xa"]
    assert made["changes"] == view.changes(found)
