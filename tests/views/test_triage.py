"""Triages, from records alone."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from medbay.core.model import Triage
from medbay.core.policy.presets import Recurring
from medbay.core.snapshot import TaskDetail
from medbay.core.triage.cycle import Item
from medbay.views import triage as view
from tests.views.records import MINUTE, NOW, TASK

ENDED = Triage(
    id=".triage-k7f2-1",
    task_id="k7f2",
    number=3,
    fingerprint="f",
    agent="rules",
    started_at=NOW - 120 * MINUTE,
    ended_at=NOW - 119 * MINUTE,
    action="adjusted",
    detail="timeout 10m to 20m",
)


def detail(*triages: Triage, **fields: Any) -> TaskDetail:
    """A task with these triages."""
    task = replace(TASK, triaged_at=triages[0].started_at if triages else None, **fields)
    return TaskDetail(now=NOW, task=task, rules=Recurring(), triages=triages)


def test_the_last_triage_is_said_with_what_is_left_of_its_cooldown() -> None:
    """And how many there were before."""
    assert view.last(detail(ENDED, replace(ENDED, id=".triage-k7f2-0"))) == (
        "last triage 2h ago (.triage-k7f2-1, 1 earlier): adjusted, timeout 10m to 20m; 22h of its cooldown left"
    )
    assert view.last(detail(replace(ENDED, ended_at=None))) == "triage under way: .triage-k7f2-1 (rules)"
    assert view.last(detail(wants_triage=True)) == "waits for a triage to start"
    assert view.last(detail()) == ""


def test_a_task_made_for_another_says_so() -> None:
    """A fix, a part, a triage with what it came to."""
    assert view.made_for(replace(detail(role="fix"), subject="m2xa")) == "fix for m2xa"
    assert view.made_for(detail()) == ""
    own = replace(detail(role="triage"), subject="m2xa", triage=ENDED)
    assert view.made_for(own) == "triage of m2xa: adjusted, timeout 10m to 20m"


def test_a_dry_run_says_what_would_happen() -> None:
    """Nothing was triaged yet."""
    started = Item("k7f2", 2, "triage_started", "")

    assert view.item_words(started, dry_run=True) == "would be triaged"
    assert view.item_words(started, dry_run=False) == "triage started"
    assert view.item_words(Item("k7f2", 1, "cooldown_pending", ""), dry_run=False) == "waits"


def test_the_json_of_a_triage_has_nulls_while_it_runs() -> None:
    """Neither an end nor an action."""
    made = view.as_json(replace(ENDED, ended_at=None, action="", detail=""))

    assert (made["ended_at"], made["action"], made["detail"]) == (None, None, None)
