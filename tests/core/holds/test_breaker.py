"""The mechanism of all breakers: opening, canaries, closing, and the release that is spread out."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core.holds import breaker
from medbay.core.holds.breaker import KINDS, Breaker, Kind
from tests.core.builders import HOUR, MINUTE, NOW, SECOND
from tests.properties import examples

KEY = "provider:anthropic"


def hold(named: int | None = None, *, now: int = NOW, before: Breaker | None = None) -> Breaker:
    """A hold after a limit."""
    return breaker.place_hold(before, KEY, now, named=named, why="limit", met="transient:1")


def incident() -> Breaker:
    """An open incident."""
    return breaker.open_incident(
        "incident:x", NOW, why="down", fingerprint="x", question_id="q", facts={"tasks": ["a"]}
    )


def test_every_kind_has_its_row() -> None:
    """What each stops, after how many, and how it heals."""
    assert set(KINDS) == {"phase", "agency", "retry_storm", "provider", "crash_loop", "incident", "budget"}
    assert [KINDS[kind].failures for kind in ("phase", "agency", "crash_loop", "incident")] == [3, 5, 5, 5]
    assert [kind for kind, rule in KINDS.items() if rule.parks] == ["provider", "incident", "budget"]
    assert [kind for kind, rule in KINDS.items() if not rule.probes_ms] == ["phase", "retry_storm", "budget"]
    assert KINDS["agency"].successes == 3


def test_a_named_time_holds_until_then_and_only_later() -> None:
    """Jittered later, never earlier; probed at that time."""
    found = hold(NOW + 4 * HOUR)

    assert found.until is not None
    assert NOW + 4 * HOUR <= found.until <= NOW + 4 * HOUR + MINUTE
    assert (found.state, found.probe_at, found.opened_by) == ("open", found.until, "engine")


def test_a_time_that_has_passed_is_none() -> None:
    """Then a probe comes after a minute."""
    found = hold(NOW - 1)

    assert found.until is None
    assert found.probe_at == pytest.approx(NOW + MINUTE, abs=6 * SECOND)


def test_no_hold_lasts_longer_than_six_hours_without_a_probe() -> None:
    """Whatever time was named."""
    assert hold(NOW + 48 * HOUR).probe_at == NOW + 6 * HOUR


def test_a_held_account_is_held_longer_only_for_a_later_time() -> None:
    """Several attempts meet the same limit: the latest time counts, and nothing is doubled."""
    first = hold(NOW + HOUR)

    assert hold(None, before=first) == first
    assert hold(NOW + HOUR // 2, before=first) == first
    longer = hold(NOW + 2 * HOUR, before=first)
    assert longer.until is not None
    assert longer.until >= NOW + 2 * HOUR
    assert longer.probe_at == longer.until
    assert hold(NOW + 30 * HOUR, before=first).probe_at == NOW + 6 * HOUR


def test_a_hold_by_hand_is_not_changed_by_a_limit() -> None:
    """Only that person ends it."""
    mine = breaker.open_by_hand(None, KEY, "provider", NOW, by="person:ada", why="no", until=None)

    again = hold(NOW + HOUR, before=mine)
    assert (again.until, again.probe_at, again.by_hand) == (None, None, True)
    assert again.fingerprints == ("transient:1",)


def test_a_person_does_not_shorten_what_was_named() -> None:
    """The provider's time stands; a later one of theirs does too."""
    named = hold(NOW + 4 * HOUR)

    def mine(before: Breaker | None, until: int | None) -> int | None:
        return breaker.open_by_hand(before, KEY, "provider", NOW, by="person:a", why="", until=until).until

    assert mine(named, NOW + HOUR) == named.until
    assert mine(named, NOW + 9 * HOUR) == NOW + 9 * HOUR
    assert mine(named, None) is None
    assert mine(breaker.close(named, NOW), NOW + HOUR) == NOW + HOUR


def test_a_closed_hold_is_placed_anew() -> None:
    """With nothing of the old one."""
    over = breaker.close(hold(NOW + HOUR), NOW)

    found = hold(None, now=NOW + HOUR, before=over)
    assert (found.opened_at, found.until, found.closed_at) == (NOW + HOUR, None, None)


def test_a_canary_that_meets_it_again_waits_longer() -> None:
    """1m doubling to 1h, and never before the time it named."""
    found = hold()
    waits = []
    now = NOW
    for _ in range(9):
        assert found.probe_at is not None
        waits.append((found.probe_at - now) / MINUTE)
        now = found.probe_at
        sent = breaker.canary_started(breaker.send_canary(found, "t", now), "t", 1, now)
        found = breaker.canary_met_it(sent, now, named=None, why="again")
    assert waits == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 60], rel=0.11)
    named = breaker.canary_met_it(found, now, named=now + 3 * HOUR, why="again")
    assert named.until is not None
    assert named.probe_at == named.until >= now + 3 * HOUR
    assert (named.canary_task, named.state) == (None, "open")


def test_a_short_named_time_does_not_make_probes_frequent() -> None:
    """A limit that says 30 seconds again and again is asked less and less often."""
    found = hold(NOW + 30 * SECOND)
    for _ in range(6):
        found = breaker.canary_met_it(found, NOW, named=NOW + 30 * SECOND, why="again")

    assert found.probe_at is not None
    assert found.probe_at >= NOW + 50 * MINUTE


def test_an_early_probe_does_not_shorten_what_was_named() -> None:
    """It met the limit without a time: the first one stays."""
    named = hold(NOW + 20 * HOUR)

    found = breaker.canary_met_it(named, NOW + 6 * HOUR, named=None, why="again")
    assert found.until == named.until
    assert found.probe_at == NOW + 12 * HOUR


def test_incidents_are_probed_at_their_own_pace() -> None:
    """1m 2m 5m 10m, then every 15m."""
    found = incident()
    waits = []
    for _ in range(6):
        assert found.probe_at is not None
        waits.append((found.probe_at - NOW) / MINUTE)
        found = breaker.canary_met_it(found, NOW, named=None, why="down")
    assert waits == pytest.approx([1, 2, 5, 10, 15, 15], rel=0.11)


def test_the_next_canary_follows_one_that_is_gone() -> None:
    """At once: it said nothing."""
    sent = breaker.canary_started(breaker.send_canary(hold(), "t", NOW), "t", 3, NOW)
    assert (sent.state, sent.canary_number, sent.probe_at) == ("half_open", 3, NOW + MINUTE)

    gone = breaker.canary_gone(sent, NOW)
    assert (gone.state, gone.canary_task, gone.probe_at) == ("open", None, NOW)

    loop = Breaker(key="crash_loop:shell@h", kind="crash_loop")
    assert breaker.canary_gone(loop, NOW) == replace(loop, state="half_open")


def test_the_agency_closes_after_three_in_a_row() -> None:
    """Until then the next one is let through."""
    found = Breaker(key="agency", kind="agency")
    for expected in ("half_open", "half_open", "closed"):
        found = breaker.canary_lived(found, NOW)
        assert found.state == expected
    assert found.probe_at is None


def test_several_failures_within_a_window_open() -> None:
    """Older ones and those before the last closing do not count."""

    def strike(before: Breaker | None, now: int) -> Breaker:
        return breaker.strike(before, "k", "crash_loop", now, why="spawn", failures=3, window_ms=MINUTE)

    found = strike(strike(None, NOW), NOW + 1)
    assert (found.state, found.probe_at) == ("closed", None)
    assert strike(found, NOW + 2 * MINUTE).state == "closed"
    opened = strike(found, NOW + 2)
    assert opened.state == "open"
    assert opened.probe_at is not None
    assert strike(opened, NOW + 3) == opened
    over = breaker.close(opened, NOW + 10)
    again = strike(strike(over, NOW + 11), NOW + 12)
    assert again.state == "closed"
    assert strike(again, NOW + 13).state == "open"


def test_nobody_to_send_ends_it_unless_a_time_was_named() -> None:
    """Nothing waits, so nothing is held."""
    assert breaker.nobody_to_send(incident(), NOW).state == "closed"
    named = hold(NOW + 20 * HOUR)
    later = breaker.nobody_to_send(named, NOW + 6 * HOUR)
    assert (later.state, later.probe_at) == ("open", NOW + 12 * HOUR)
    assert breaker.nobody_to_send(named, NOW + 21 * HOUR).state == "closed"


@pytest.mark.parametrize(
    ("found", "person", "ends"),
    [
        (hold(), False, "then one task goes ahead"),
        (breaker.send_canary(hold(), "t", NOW), False, "has gone ahead"),
        (breaker.close(hold(), NOW), False, "released one after another"),
        (breaker.hold_for_answer(None, KEY, NOW, why="spent", question_id="q-1"), True, "until q-1 is answered"),
        (
            breaker.open_by_hand(None, KEY, "provider", NOW, by="person:a", why="", until=None),
            True,
            "until it is closed",
        ),
        (breaker.open_by_hand(None, KEY, "provider", NOW, by="person:a", why="", until=NOW + 1), False, "then one"),
        (Breaker(key="phase:s", kind="phase"), True, "until it is closed"),
    ],
)
def test_it_says_what_ends_it(found: Breaker, person: bool, ends: str) -> None:
    """A time and a canary, or a person."""
    assert found.only_a_person_ends == person
    assert ends in found.ends
    assert (found.next_at is None) == (person or found.state != "open")


def test_spent_credits_keep_what_was_known() -> None:
    """The hold before, its failures and its beginning."""
    before = hold(now=NOW - HOUR)

    found = breaker.hold_for_answer(before, KEY, NOW, why="spent", question_id="q-1")
    assert (found.opened_at, found.fingerprints, found.until) == (NOW - HOUR, ("transient:1",), None)
    assert breaker.close(found, NOW).spent is False
    closed = breaker.close(before, NOW)
    assert breaker.hold_for_answer(closed, KEY, NOW, why="spent", question_id="q").opened_at == NOW


def test_only_so_many_failures_are_remembered() -> None:
    """A row does not grow without end."""
    found = hold()
    for n in range(100):
        found = breaker.place_hold(found, KEY, NOW, named=None, why="", met=f"fp{n}")
    assert len(found.fingerprints) == breaker.FINGERPRINTS_KEPT
    assert found.name == "anthropic"


def test_the_storm_is_looked_at_again() -> None:
    """It ends by itself."""
    storm = breaker.open_storm(NOW, 60)
    assert (storm.key, storm.state, storm.probe_at) == ("retry_storm", "open", NOW + 10 * SECOND)
    assert breaker.close(storm, NOW).probe_at is None
    assert storm.name == "retry_storm"


def test_a_closed_breaker_lets_one_go_at_a_time_and_then_forgets_the_pace() -> None:
    """The pace is set by how many there were at first."""
    closed = breaker.close(hold(), NOW)

    number, closed = breaker.release_some(closed, 10, NOW)
    assert (number, closed.data["gap_ms"], closed.data["released"]) == (1, breaker.RELEASE_GAP_MS, 1)
    assert closed.probe_at is not None
    number, closed = breaker.release_some(closed, 100_000, closed.probe_at + 2 * breaker.RELEASE_GAP_MS)
    assert (number, closed.data["gap_ms"], closed.data["released"]) == (3, breaker.RELEASE_GAP_MS, 4)

    over = breaker.all_released(closed)
    assert (over.probe_at, over.data.keys() & {"gap_ms", "released"}) == (None, set())


@examples(25)
@example(held=20_000, tick=1_000)
@given(held=st.integers(0, 1_500), tick=st.integers(20, 5_000))
def test_the_release_is_spread_out_and_over_in_a_quarter_of_an_hour(held: int, tick: int) -> None:
    """One every 250 ms, faster for many; whatever the pace of the engine."""
    closed, now, left = breaker.close(hold(), NOW), NOW, held
    while left > 0:
        assert closed.probe_at is not None
        now = max(now + tick, closed.probe_at)
        number, closed = breaker.release_some(closed, held, now)
        assert 1 <= number <= breaker.RELEASED_AT_ONCE
        left -= number
        assert closed.probe_at is not None
        assert closed.probe_at > now - breaker.RELEASED_AT_ONCE * 250
    # An engine that is slower than 500 a tick takes as many ticks as that needs.
    assert now - NOW <= max(15 * MINUTE, (held // 500 + 2) * tick)
    if 1 < held <= 3_000:
        assert now - NOW >= (held - 1) * 200 - tick
    assert breaker.all_released(closed).probe_at is None


OUTCOMES = st.sampled_from(["met", "named", "lived", "gone"])


@given(kind=st.sampled_from(["provider", "incident", "crash_loop", "agency"]), ends=st.lists(OUTCOMES, max_size=30))
def test_any_sequence_of_canaries_keeps_one_at_most_and_ends(kind: Kind, ends: list[str]) -> None:
    """At most one canary; always a time at which it is looked after; after enough that live it is closed."""
    found = Breaker(key="k", kind=kind, opened_at=NOW, probe_at=NOW + MINUTE, data={"probed_at": NOW})
    now = NOW
    for number, end in enumerate([*ends, "lived", "lived", "lived"], start=1):
        if found.state == "closed":
            break
        assert found.canary_number is None
        looked = found.probe_at is not None and found.probe_at - now <= 6 * HOUR + MINUTE
        assert looked or (found.state == "half_open" and not found.rule.parks)
        now = found.probe_at or now
        sent = breaker.canary_started(breaker.send_canary(found, "t", now), "t", number, now)
        match end:
            case "met":
                found = breaker.canary_met_it(sent, now, named=None, why="")
            case "named":
                found = breaker.canary_met_it(sent, now, named=now + 50 * HOUR, why="")
            case "lived":
                found = breaker.canary_lived(sent, now)
            case _:
                found = breaker.canary_gone(sent, now)
    assert found.state == "closed"
