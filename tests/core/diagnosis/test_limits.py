"""Times at which limits end, in every shape, with a fixed clock in several zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from medbay.core.diagnosis.limits import UNKNOWN_ZONE_BUFFER, reset_at_ms, said_ms, to_ms

NOW = datetime(2026, 8, 15, 18, 0, tzinfo=UTC)


def at(*parts: int) -> int:
    """UTC milliseconds of a moment."""
    return to_ms(datetime(*parts, tzinfo=UTC))  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("resets 6:30pm (Europe/Berlin)", at(2026, 8, 16, 16, 30)),
        ("resets 9:30pm (Europe/Berlin)", at(2026, 8, 15, 19, 30)),
        ("resets at 2am (America/Los_Angeles)", at(2026, 8, 16, 9)),
        ("resets 12am (UTC)", at(2026, 8, 16)),
        ("resets 12pm PST", at(2026, 8, 15, 19)),
        ("limit reached|1786910000", 1_786_910_000_000),
        ("limit reached|1786910000000", 1_786_910_000_000),
        ('"resets_at": 1786910000', 1_786_910_000_000),
        ("try again at Aug 20th, 2026 3:39 AM UTC", at(2026, 8, 20, 3, 39)),
        ("resets Aug 18, 7pm (Europe/Berlin)", at(2026, 8, 18, 17)),
        ("resets Sep 2 at 7am (UTC)", at(2026, 9, 2, 7)),
        ("will reset at 2026-08-23 18:45:35 UTC", at(2026, 8, 23, 18, 45, 35)),
        ("reset at 2026-08-16T00:00:00Z", at(2026, 8, 16)),
        ("reset at 2026-08-16T00:00:00+02:00", at(2026, 8, 15, 22)),
        ("reset at 2026-08-15 20:00:00 -0130", at(2026, 8, 15, 21, 30)),
        ("Please try again in 10.632s.", at(2026, 8, 15, 18, 0, 10, 632_000)),
        ("try again in 6m0s", at(2026, 8, 15, 18, 6)),
        ("try again in 1h2m3s", at(2026, 8, 15, 19, 2, 3)),
        ("try again in 2 days 3 hours", at(2026, 8, 17, 21)),
        ("Please wait 30 seconds", at(2026, 8, 15, 18, 0, 30)),
        ("retry after 1500 milliseconds", at(2026, 8, 15, 18, 0, 1, 500_000)),
        ("Retry-After: 120", at(2026, 8, 15, 18, 2)),
        ("ratelimit-reset: 55", at(2026, 8, 15, 18, 0, 55)),
        ("x-ratelimit-reset: 1786910000", 1_786_910_000_000),
        ("retry-after-ms: 1500", at(2026, 8, 15, 18, 0, 1, 500_000)),
        ("Retry-After: Sat, 15 Aug 2026 19:00:00 GMT", at(2026, 8, 15, 19)),
        ('"retryDelay": "34s"', at(2026, 8, 15, 18, 0, 34)),
        ('"retry_delay_ms":1000', at(2026, 8, 15, 18, 0, 1)),
        ('{"resets_in_seconds": 77}', at(2026, 8, 15, 18, 1, 17)),
    ],
)
def test_a_named_time_is_read(text: str, moment: int) -> None:
    """Times of day, dates, epochs, durations and headers."""
    assert reset_at_ms(f"limit: {text}", NOW) == moment


@pytest.mark.parametrize(
    "text",
    [
        "no time here",
        "resets 25pm",
        "resets 77:80",
        "try again at Feb 30th, 2026 3:39 AM",
        "will reset at 2020-01-01 00:00:00 UTC",
        "try again in 900 days",
        "Retry-After: Xxx, 99 Abc 2026 99:00:00 GMT",
        "reset at 2026-13-45 10:00:00",
    ],
)
def test_what_is_no_time_is_none(text: str) -> None:
    """Impossible, past and far times are no reason to wait."""
    assert reset_at_ms(text, NOW) is None


@pytest.mark.parametrize("zone", [UTC, ZoneInfo("Asia/Kolkata"), timezone(timedelta(hours=-7))])
def test_an_unknown_zone_is_local_with_a_buffer(zone: timezone) -> None:
    """Nobody said which zone; waiting a little too long is the cheaper mistake."""
    now = datetime(2026, 8, 15, 12, 0, tzinfo=zone)
    wanted = to_ms(now + timedelta(hours=7, minutes=20) + UNKNOWN_ZONE_BUFFER)

    assert reset_at_ms("resets 7:20pm", now) == wanted
    assert reset_at_ms("resets 7:20pm (Nowhere/Atall)", now) == wanted


def test_a_time_of_day_that_has_passed_means_tomorrow() -> None:
    """And a date without a year that has passed means next year, which is too far to be a reset."""
    assert reset_at_ms("resets 5pm (UTC)", NOW) == at(2026, 8, 16, 17)
    assert reset_at_ms("resets Jan 2, 5pm (UTC)", datetime(2026, 12, 31, tzinfo=UTC)) == at(2027, 1, 2, 17)


@pytest.mark.parametrize(
    "text",
    [
        "resets 6pm (UTC)",
        "resets 5:59pm (UTC)",
        "limit reached|1786816740",
        "will reset at 2026-08-15 17:58:00 UTC",
        "resets Aug 15, 5:55pm (UTC)",
        "Retry-After: Sat, 15 Aug 2026 17:59:59 GMT",
    ],
)
def test_a_time_that_passed_while_the_command_ended_is_now(text: str) -> None:
    """The minute it names has begun, or it passed before anybody read it: nobody waits until tomorrow."""
    now = NOW + timedelta(seconds=20)

    assert reset_at_ms(f"limit: {text}", now) == to_ms(now + timedelta(seconds=1))
    assert said_ms(to_ms(NOW) / 1000, now) == to_ms(now + timedelta(seconds=1))
    assert said_ms(1_600_000_000, now) == 1_600_000_000_000


def test_the_last_time_named_counts() -> None:
    """Logs end with what is true."""
    assert reset_at_ms("try again in 5s ... try again in 9s", NOW) == at(2026, 8, 15, 18, 0, 9)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (60, at(2026, 8, 15, 18, 1)),
        (1.5, at(2026, 8, 15, 18, 0, 1, 500_000)),
        ("60", at(2026, 8, 15, 18, 1)),
        (1_786_910_000, 1_786_910_000_000),
        (1_786_910_000_000, 1_786_910_000_000),
        ("5 minutes", at(2026, 8, 15, 18, 5)),
        ("2026-08-16T00:00:00Z", at(2026, 8, 16)),
        ("Sat, 15 Aug 2026 19:00:00 GMT", at(2026, 8, 15, 19)),
        (None, None),
        (True, None),
        (-3, None),
        (float("nan"), None),
        (9_000_000, None),
        ("soon", None),
    ],
)
def test_a_field_is_read_as_generously(value: object, moment: int | None) -> None:
    """`retry_after` of a result: seconds, an epoch, or a text."""
    assert said_ms(value, NOW) == moment
