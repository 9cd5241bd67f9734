"""Cron expressions in a time zone: when the next fire is, and how many there were between two moments.

Summer time follows Debian's cron: a fixed time inside the missing hour comes once, right after it; one inside the
doubled hour comes once, the first time. Expressions with `*` in minute or hour go by real time.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo

from medbay.errors import UsageError

if TYPE_CHECKING:
    from cronsim import CronSim

EXPRESSION_MAX: Final = 200
REBOOT: Final = "@reboot"  # once after each start of the machine: no time is ever planned for it
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS: Final = 250_000_000_000_000  # the year 9892; nothing is planned beyond
_DAY_MS: Final = 86_400_000
_WALKED_DAYS: Final = 3  # below, fires are counted one by one
_NAMED: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


class Span(NamedTuple):
    """Planned times in a row: the first, the last and how many."""

    first: int
    last: int
    number: int


def check(expression: str, zone: str, now: int) -> None:
    """Refuse an expression that cannot be meant, a zone that does not exist, and what never comes."""
    from cronsim import CronSimError

    if len(expression) > EXPRESSION_MAX:
        raise UsageError(f"a cron expression has at most {EXPRESSION_MAX} characters")
    check_zone(zone)
    if expression == REBOOT:
        return
    try:
        coming = next_fire(expression, zone, now)
    except CronSimError as error:
        hint = 'minute hour day month weekday, for example "*/5 * * * *"'
        raise UsageError(f'"{expression}" is not a cron expression: {str(error).lower()}', hint=hint) from None
    if coming is None:
        raise UsageError(f'"{expression}" never comes', hint="check day and month")


def check_zone(zone: str) -> None:
    """Refuse a zone that does not exist."""
    try:
        ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        raise UsageError(f'there is no time zone "{zone[:60]}"', hint="for example Europe/Berlin or UTC") from None


@lru_cache(maxsize=4096)
def next_fire(expression: str, zone: str, after_ms: int) -> int | None:
    """The first planned time after a moment; None when there is none within fifty years."""
    if expression == REBOOT:
        return None
    try:
        for fire in _from(expression, zone, after_ms):
            found = _ms(fire)
            if found > after_ms:  # from inside the doubled hour the library may name a time of its first pass
                return found
    except OverflowError:  # the end of the calendar
        pass
    return None


@lru_cache(maxsize=4096)
def fires(expression: str, zone: str, after_ms: int, until_ms: int) -> Span | None:
    """All planned times after one moment and up to another."""
    first = next_fire(expression, zone, after_ms)
    if first is None or first > until_ms:
        return None
    if until_ms - first <= _WALKED_DAYS * _DAY_MS:
        return _walked(expression, zone, first, until_ms)
    begin, end = _local(first, zone).date() + timedelta(days=1), _local(until_ms, zone).date()
    head = _walked(expression, zone, first, _midnight(begin, zone) - 1)
    tail = fires(expression, zone, _midnight(end, zone) - 1, until_ms)
    number, last = head.number, head.last
    day = begin
    while day < end:
        here = _on_day(expression, zone, day)
        number, last = number + (here.number if here else 0), here.last if here else last
        day += timedelta(days=1)
    return Span(first, tail.last if tail else last, number + (tail.number if tail else 0))


@lru_cache(maxsize=4096)
def _on_day(expression: str, zone: str, day: date) -> Span | None:
    """The planned times of one local day; multiplied out where no clock is set on it."""
    begin, end = _midnight(day, zone), _midnight(day + timedelta(days=1), zone)
    rules = _from(expression, zone, begin)
    if end - begin != _DAY_MS:
        first = next_fire(expression, zone, begin - 1)
        return _walked(expression, zone, first, end - 1) if first is not None and first < end else None
    if day.month not in rules.months or not rules.match_day(day):
        return None
    times = [(hour * 3600 + minute * 60 + second) for hour, minute, second in _extremes(rules)]
    number = len(rules.hours) * len(rules.minutes) * len(rules.seconds)
    return Span(begin + times[0] * 1000, begin + times[1] * 1000, number)


def _extremes(rules: CronSim) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    parts = (rules.hours, rules.minutes, rules.seconds)
    first, last = (min(part) for part in parts), (max(part) for part in parts)
    return tuple(first), tuple(last)  # type: ignore[return-value]


def _walked(expression: str, zone: str, first: int, until_ms: int) -> Span:
    walked = takewhile(lambda at: at <= until_ms, map(_ms, _from(expression, zone, first)))
    found = [first, *walked]
    return Span(first, found[-1], len(found))


def _from(expression: str, zone: str, after_ms: int) -> CronSim:
    from cronsim import CronSim  # loaded when there is a cron task

    return CronSim(_NAMED.get(expression.strip().lower(), expression), _local(after_ms, zone))


def _local(ms: int, zone: str) -> datetime:
    return (_EPOCH + timedelta(milliseconds=min(ms, _LAST_MS))).astimezone(ZoneInfo(zone))


def _midnight(day: date, zone: str) -> int:
    return _ms(datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)))


def _ms(moment: datetime) -> int:
    return (moment.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)
