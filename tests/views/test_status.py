"""The words of a status, which every command shares."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec.structs import replace

from medbay.core.model import Task
from medbay.core.outcome import OUTCOME_WORDS
from medbay.views import glyphs
from medbay.views.glyphs import Token
from medbay.views.status import status_phrase

NOW = 1_800_000_000_000  # 08:00:00 UTC
TASK = Task(id="k7f2", title="deploy docs", since=NOW)
MINUTE = 60_000


@pytest.mark.parametrize(
    ("fields", "shown", "token"),
    [
        ({"ready": True}, "○ pending · ready", "idle"),
        ({"paused": True}, "‖ pending · paused", "held"),
        ({"status": "failed", "due_at": NOW + 41_000}, "◷ failed · retry in 41s", "wait"),
        ({"status": "failed", "due_at": NOW + 4 * MINUTE + 12_000}, "◷ failed · retry in 4m", "wait"),
        ({"status": "failed", "due_at": NOW - 1}, "◷ failed · retry due", "wait"),
        ({"status": "failed", "due_at": NOW + 1, "paused": True}, "‖ failed · paused", "held"),
        ({"status": "failed", "waits_for": "triage"}, "◷ failed · waits for triage", "wait"),
        ({"due_at": NOW + 19 * 60 * MINUTE}, "◷ pending · due 03:00", "wait"),
        (
            {"due_at": NOW + 19 * 60 * MINUTE, "cron": "0 4 * * *", "zone": "Europe/Berlin"},
            "◷ pending · due 04:00 Europe/Berlin",
            "wait",
        ),
        ({"due_at": NOW + 30 * 60 * MINUTE}, "◷ pending · due 2027-01-16 14:00", "wait"),
        ({"due_at": NOW - 5}, "◷ pending · due now", "wait"),
        ({"unmet": 2}, "↳ pending · after 2 tasks", "wait"),
        ({"unmet": 1}, "↳ pending · after 1 task", "wait"),
        ({"ready": True, "hold": "breaker anthropic"}, "‖ pending · held by breaker anthropic", "held"),
        ({"status": "blocked", "block_kind": "human"}, "! blocked · human", "you"),
        ({"status": "blocked", "block_kind": "exhausted"}, "! blocked · exhausted", "you"),
        ({"status": "blocked", "block_kind": "dependency"}, "! blocked · dependency", "you"),
        (
            {"status": "blocked", "block_kind": "external", "due_at": NOW + 60 * MINUTE},
            "◷ blocked · external until 09:00",
            "wait",
        ),
        (
            {"status": "in_progress", "live": 2, "attempts": 2, "since": NOW - 12 * MINUTE},
            "▶ in_progress #2 12m",
            "run",
        ),
        (
            {"status": "in_progress", "live": 1, "cancel_requested": True},
            "▶ in_progress #1 0s · asked to stop",
            "run",
        ),
        ({"status": "in_progress", "live": 1, "paused": True}, "▶ in_progress #1 0s · pauses after this", "run"),
        ({"status": "pending_verification", "live": 1}, "◐ pending_verification", "run"),
        ({"status": "completed"}, "✓ completed", "done"),
        ({"status": "completed", "last_category": "transient/network"}, "✓ completed · healed", "done"),
        ({"status": "cancelled"}, "– cancelled", "idle"),
    ],
)
def test_a_status_is_said_with_the_first_thing_that_holds_the_task_back(
    fields: dict[str, Any], shown: str, token: str
) -> None:
    """Each row of the table of status words."""
    phrase = status_phrase(replace(TASK, **fields), NOW)

    assert f"{phrase.glyph} {phrase.words}" == shown
    assert phrase.token == token


def test_the_tasks_it_waits_for_are_named_where_they_are_known() -> None:
    """The caller looks them up."""
    assert status_phrase(replace(TASK, unmet=1), NOW, after=["m2xa"]).words == "pending · after m2xa"


def test_a_countdown_is_never_negative() -> None:
    """A clock that runs behind does not show a task as running for less than nothing."""
    running = replace(TASK, status="in_progress", live=1, since=NOW + 5_000)

    assert status_phrase(running, NOW).words == "in_progress #1 0s"


@pytest.mark.parametrize("outcome", [None, *OUTCOME_WORDS])
def test_every_outcome_has_a_glyph(outcome: str | None) -> None:
    """No outcome is shown as nothing."""
    glyph, token = glyphs.of_outcome(outcome)

    assert glyph
    assert token in get_args(Token)
