"""Breakers and incidents, from records alone."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from msgspec.structs import replace

from medbay.core.budget import Amount, Budget, Day, used_up
from medbay.core.holds.breaker import Breaker
from medbay.core.snapshot import IncidentDetail
from medbay.views import breaker as view
from medbay.views import incident
from tests.views.records import MINUTE, NOW, TASK, question

HELD = Breaker(
    key="provider:x",
    kind="provider",
    state="open",
    why="out of quota",
    opened_by="engine",
    opened_at=NOW - MINUTE,
    probe_at=NOW + MINUTE,
)
INCIDENT = replace(HELD, key="incident:network:3f2a", kind="incident", data={"tasks": ["k7f2"], "excerpt": "no route"})


def test_a_breaker_says_why_and_how_it_ends() -> None:
    """When the next task is let through, or how long ago it ended."""
    assert view.why(HELD, NOW) == "out of quota (by engine 1m ago)"
    assert view.ends(HELD, NOW).startswith("08:01:00: ")
    assert view.ends(replace(HELD, state="closed", closed_at=NOW - MINUTE), NOW) == "ended 1m ago"
    assert view.state(replace(HELD, state="half_open")) == "half-open"


def test_only_what_holds_something_is_counted() -> None:
    """A crash loop keeps every task of its runner, so it has no number."""
    assert view.held(HELD, 0, NOW) == ""
    assert view.held(HELD, 3, NOW) == "‖ 3 held by provider:x until 08:01:00"
    assert view.held(replace(HELD, kind="crash_loop", key="crash_loop:shell@here"), 0, NOW).startswith(
        "‖ held by crash_loop:shell@here"
    )


def test_an_incident_is_a_breaker_with_a_short_id_and_its_question() -> None:
    """The id is what `incidents show` takes."""
    found = IncidentDetail(now=NOW, breaker=INCIDENT, held=2, question=question(task_ids=()), tasks=(TASK,))

    made = incident.detail_as_json(found)

    assert (made["id"], made["held"], made["held_tasks"]) == ("3f2a", 2, ["k7f2"])
    assert made["asked"]["id"] == "q-k7f2-1"
    assert incident.standing(found).startswith("open, opened 1m ago; 08:01:00: ")
    assert incident.first_tasks(found) == ["k7f2"]
    assert incident.judged(found) == ""


def test_a_day_that_is_used_up_says_what_is_left_and_until_when() -> None:
    """In the zone of the budget, whatever the zone of the reader."""
    day = Day(day="2026-01-05", used=Amount(cost=150_000))
    held = used_up(day, Budget(daily_cost=200_000, zone=ZoneInfo("Asia/Tokyo")), NOW)
    asks = replace(TASK, max_cost=150_000)

    said = view.holding(held, asks, NOW)

    assert said.startswith("0.05 of 0.20 left today, this needs 0.15; waits until 00:00 Asia/Tokyo (in ")
    assert view.holding(HELD, asks, NOW).startswith("out of quota; ")
