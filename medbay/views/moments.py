"""Moments and durations as people read them: relative first, then exact in local time; ISO 8601 UTC for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from medbay.core import durations

_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def short(ms: int) -> str:
    """Return a duration in the fewest words that still help: `41s`, `4m`, `3h 16m`, `2d 4h`; never negative."""
    ms = max(0, ms)
    if ms < _MINUTE:
        return f"{ms // _SECOND}s"
    if ms < _HOUR:
        return f"{ms // _MINUTE}m"
    big, small, big_ms, small_ms = ("h", "m", _HOUR, _MINUTE) if ms < _DAY else ("d", "h", _DAY, _HOUR)
    rest = ms % big_ms // small_ms
    return f"{ms // big_ms}{big}" + (f" {rest}{small}" if rest else "")


def ago(at_ms: int, now_ms: int) -> str:
    """Return how long ago it was: `3s ago`."""
    return f"{short(now_ms - at_ms)} ago"


def clock(at_ms: int, now_ms: int, *, seconds: bool = True) -> str:
    """Return the local time of day, with its date when it is more than a day away."""
    moment = local(at_ms)
    form = "%H:%M:%S" if seconds else "%H:%M"
    if abs(at_ms - now_ms) >= _DAY:
        form = f"%Y-%m-%d {form}"
    return moment.strftime(form)


def in_zone(at_ms: int, now_ms: int, zone: str, *, seconds: bool = False) -> str:
    """Return a time in the zone of its schedule: `03:00 Europe/Berlin`; without the name where that is the local one.

    A zone that this machine does not know is shown as the local time.
    """
    moment = there(at_ms, zone)
    if not zone or moment.utcoffset() == local(at_ms).utcoffset():
        return clock(at_ms, now_ms, seconds=seconds)
    form = "%H:%M:%S" if seconds else "%H:%M"
    return moment.strftime(f"%Y-%m-%d {form}" if abs(at_ms - now_ms) >= _DAY else form) + f" {zone}"


def there(at_ms: int, zone: str) -> datetime:
    """Return a moment in a named zone; in the local one where this machine does not know the name."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, tz=ZoneInfo(zone))
    except (KeyError, ValueError, OSError):
        return local(at_ms)


def local(at_ms: int) -> datetime:
    """Return a moment in the zone of this process; what lies beyond the calendar is its last day."""
    return datetime.fromtimestamp(max(0, min(at_ms, durations.LATEST_MS)) / 1000, tz=UTC).astimezone()


def zone(at_ms: int) -> str:
    """Return the short name of the local zone at a moment: `CET`."""
    return local(at_ms).strftime("%Z")


def iso(at_ms: int | None) -> str | None:
    """Return ISO 8601 in UTC for programs, None for no time."""
    return None if at_ms is None else durations.iso(at_ms)


def of_iso(text: str) -> int:
    """Return the moment of an ISO 8601 time."""
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def seconds(ms: int | None) -> float | None:
    """Return a duration in seconds for programs, None for none."""
    return None if ms is None else ms / 1000


def soon(delay_s: float) -> str:
    """Return how long until then in the fewest words, never less than a second for what is still to come."""
    ms = round(delay_s * 1000)
    return "1s" if 0 < ms < 1_000 else short(ms + 500)
