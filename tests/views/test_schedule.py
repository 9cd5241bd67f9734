"""How a task recurs, from records alone."""

from __future__ import annotations

from msgspec.structs import replace

from medbay.core.durations import iso
from medbay.core.policy.presets import Recurring
from medbay.views import schedule as view
from tests.views.records import MINUTE, NOW, TASK

EVERY = replace(TASK, every_ms=60_000, streak=3, status="failed", due_at=NOW + 8 * MINUTE, iteration=4)


def test_the_schedule_and_the_progress_are_said() -> None:
    """By cron, by interval, or in a loop."""
    assert view.how(replace(TASK, cron="0 3 * * *", zone="Europe/Berlin")) == "cron 0 3 * * * Europe/Berlin"
    assert view.how(EVERY) == "every 1m"
    assert view.how(replace(TASK, owner_kind="loop", owner_id="m2xa")) == "in the loop of m2xa"
    assert view.how(TASK) == ""
    assert view.progress(replace(EVERY, iterations_done=3, max_iterations=10)) == "iteration 4, 3 done of 10"


def test_the_backoff_is_said_in_steps() -> None:
    """How often it failed, when it runs next, how far the wait has grown."""
    assert view.standing(EVERY, Recurring(), NOW, iso) == (
        "3 failed in a row; next attempt in 8m (2027-01-15T08:08:00.000Z); step 3 of 11 towards the cap of 1d"
    )
    assert view.standing(TASK, Recurring(), NOW, iso) == ""
    assert view.backoff_as_json(EVERY, Recurring(), NOW) == {
        "step": 3,
        "steps_to_cap": 11,
        "base_s": 60.0,
        "cap_s": 86_400.0,
    }
