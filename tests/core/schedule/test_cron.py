"""Cron expressions in time zones: both changes of the clock in three zones, counting, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.schedule import cron
from medbay.core.schedule.cron import Span, check, fires, next_fire
from medbay.errors import UsageError

DAY = 86_400_000
EXPRESSIONS = (
    *("*/5 * * * *", "30 2 * * *", "30 2,3 * * *", "15,45 1,2 * * *", "0 */2 * * *", "0 0 * * *", "0 3 * * 1"),
    *("7 * 1 * *", "*/30 1-3 * 3,4,10,11 *", "30 1 * * SUN#1", "0 0 L * *", "@hourly", "*/20 * * * * *"),
)
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "UTC")


def at(text: str, zone: str) -> int:
    """A local time as milliseconds."""
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def listed(expression: str, zone: str, after: int, until: int) -> list[int]:
    """Every fire, one after the other, each from the one before it."""
    found: list[int] = []
    while (coming := next_fire(expression, zone, after)) is not None and coming <= until:
        found.append(coming)
        after = coming
    return found


def local(fire: int, zone: str) -> str:
    """A fire as a clock on the wall shows it, with its offset."""
    return datetime.fromtimestamp(fire / 1000, tz=UTC).astimezone(ZoneInfo(zone)).isoformat(timespec="minutes")


@pytest.mark.parametrize(
    ("zone", "begin", "expected"),
    [
        ("Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
        ("America/New_York", "2026-03-07T12:00", ["2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"]),
        ("Australia/Lord_Howe", "2026-10-03T12:00", ["2026-10-04T02:30+11:00", "2026-10-05T02:30+11:00"]),
    ],
)
def test_a_time_in_the_missing_hour_comes_once(zone: str, begin: str, expected: list[str]) -> None:
    """Half past two in spring: right after the gap, and not a second time; at Lord Howe the gap is half an hour."""
    after = at(begin, zone)

    assert [local(fire, zone) for fire in listed("30 2 * * *", zone, after, after + 2 * DAY)] == expected


@pytest.mark.parametrize(
    ("zone", "begin", "clock", "expected"),
    [
        ("Europe/Berlin", "2026-10-24T12:00", "30 2 * * *", ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
        ("America/New_York", "2026-10-31T12:00", "30 1 * * *", ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
        ("Australia/Lord_Howe", "2026-04-04T12:00", "45 1 * * *", ["2026-04-05T01:45+11:00", "2026-04-06T01:45+10:30"]),
    ],
)
def test_a_time_in_the_doubled_hour_comes_once(zone: str, begin: str, clock: str, expected: list[str]) -> None:
    """In autumn: the first time the clock shows it."""
    after = at(begin, zone)

    assert [local(fire, zone) for fire in listed(clock, zone, after, after + 2 * DAY)] == expected


@pytest.mark.parametrize("zone", ZONES)
def test_every_quarter_of_an_hour_goes_by_real_time(zone: str) -> None:
    """Whatever the clocks do, there is one each fifteen minutes."""
    after = at("2026-01-01T00:00", "UTC")

    found = fires("*/15 * * * *", zone, after, after + 365 * DAY)

    assert found == Span(after + 900_000, after + 365 * DAY, 365 * 96)


@given(
    st.sampled_from(EXPRESSIONS),
    st.sampled_from(ZONES),
    st.integers(0, 400 * DAY),
    st.one_of(st.integers(0, DAY), st.integers(0, 12 * DAY)),
)
def test_counting_agrees_with_walking(expression: str, zone: str, offset: int, length: int) -> None:
    """First, last and number are those of the list, however long the stretch and whatever the clocks do in it."""
    after = 1_790_000_000_000 + offset
    if expression == "*/20 * * * * *":
        length %= DAY // 8

    found = listed(expression, zone, after, after + length)

    assert found == sorted(set(found))
    expected = Span(found[0], found[-1], len(found)) if found else None
    assert fires(expression, zone, after, after + length) == expected


def test_inside_the_doubled_hour_nothing_of_its_first_pass_comes_again() -> None:
    """Asked during the second pass, the next half past two is tomorrow's."""
    second_pass = at("2026-10-25T01:10", "UTC")  # 02:10 for the second time

    assert (
        local(next_fire("30 2 * * *", "Europe/Berlin", second_pass) or 0, "Europe/Berlin") == "2026-10-26T02:30+01:00"
    )


def test_days_without_a_fire_count_nothing() -> None:
    """A long stretch of a rare expression; and one that changes its clock on a day without any."""
    after = at("2026-03-20T00:00", "Europe/Berlin")

    assert fires("0 12 1 * *", "Europe/Berlin", after, after + 9 * DAY) is None
    found = fires("0 12 20,31 * *", "Europe/Berlin", after, after + 15 * DAY)
    assert found is not None
    assert found.number == 2
    assert local(found.last, "Europe/Berlin") == "2026-03-31T12:00+02:00"


def test_the_end_of_the_calendar_is_the_end() -> None:
    """A moment beyond everything has no next fire."""
    assert next_fire("0 0 1 1 *", "UTC", 253_402_214_400_000) is None


@pytest.mark.parametrize(
    ("expression", "zone", "says"),
    [
        ("* * * *", "UTC", "wrong number of fields"),
        ("61 * * * *", "UTC", "bad minute"),
        ("0 0 30 2 *", "UTC", "bad day-of-month"),
        ("0 0 * 2 MON#5,0#6", "UTC", "bad day-of-week"),
        ("never", "UTC", "wrong number of fields"),
        ("1" * 201, "UTC", "at most 200"),
        ("0 0 * * *", "Europe/Atlantis", "no time zone"),
        ("0 0 * * *", "../../etc/passwd", "no time zone"),
        ("0 0 */40 * 1#5", "UTC", "never comes"),
    ],
)
def test_what_nobody_could_mean_is_refused(expression: str, zone: str, says: str) -> None:
    """With what is wrong about it."""
    with pytest.raises(UsageError, match=says):
        check(expression, zone, 1_800_000_000_000)


def test_what_can_be_meant_is_taken() -> None:
    """Names of days, aliases, any case."""
    for expression in (*EXPRESSIONS, "@Daily", "0 9 * * mon-fri"):
        check(expression, "Asia/Kathmandu", 1_800_000_000_000)
    assert cron.next_fire("@daily", "UTC", 0) == DAY
