"""A tracker that is away is left alone, longer and longer; a time that it names stands."""

from __future__ import annotations

from msgspec.structs import replace

from medbay.core.holds import breaker
from medbay.core.holds.breaker import DOUBLING_TO_AN_HOUR, HOUR, MINUTE
from medbay.core.tracker import hold
from medbay.core.tracker.source import TrackerSource

NOW = 1_000_000_000_000


def test_the_waits_double_while_it_goes_on() -> None:
    """From a minute to an hour, each never shorter than its step."""
    before, now = None, NOW
    for wait in (*DOUBLING_TO_AN_HOUR, DOUBLING_TO_AN_HOUR[-1]):
        held = hold.place(before, "work", now, named=None, why="502")
        assert held.until is not None
        assert wait <= held.until - now <= wait * 2
        assert hold.is_held(held, held.until - 1)
        assert not hold.is_held(held, held.until)
        now = held.until + MINUTE
        before = breaker.close(held, now)
        assert not hold.is_held(before, now)


def test_a_named_time_stands_and_a_past_one_does_not() -> None:
    """As the limits of other providers."""
    named = hold.place(None, "work", NOW, named=NOW + HOUR, why="403")
    past = hold.place(None, "work", NOW, named=NOW - 1, why="403")

    assert named.until is not None
    assert named.until >= NOW + HOUR
    assert past.until is not None
    assert NOW < past.until < NOW + HOUR
    assert (named.key, named.kind) == ("provider:tracker/work", "provider")
    assert named.ends == "then it is asked again"


def test_a_tracker_that_answered_for_an_hour_begins_anew() -> None:
    """What was an hour ago says nothing about now."""
    first = hold.place(None, "work", NOW, named=None, why="502")
    second = hold.place(breaker.close(first, NOW), "work", NOW, named=None, why="502")
    later = hold.place(breaker.close(second, NOW), "work", NOW + HOUR + 1, named=None, why="502")

    assert second.data["step"] == 2
    assert later.data["step"] == 1


def test_a_hold_of_a_person_stays() -> None:
    """Until they close it."""
    by_hand = breaker.open_by_hand(None, hold.key_of("work"), "provider", NOW, by="person:a", why="x", until=None)

    assert hold.is_held(by_hand, NOW + 100 * HOUR)
    assert not hold.is_held(None, NOW)
    assert not hold.is_held(replace(by_hand, state="closed"), NOW)


def test_the_token_has_its_usual_name_or_its_own() -> None:
    """By what the tracker is."""
    assert TrackerSource(name="work", kind="github").token_names == ("GITHUB_TOKEN", "GH_TOKEN")
    assert TrackerSource(name="work", kind="jira", token_env="OWN").token_names == ("OWN",)
