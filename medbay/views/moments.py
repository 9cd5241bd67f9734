"""Moments and durations as people read them: relative first, then exact in local time; ISO 8601 UTC for programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from medbay.core import durations as moments

_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def short(ms: int) -> str:
    """A duration in the fewest words that still help: `41s`, `4m`, `3h 16m`, `2d 4h`; never negative."""
    ms = max(0, ms)
    if ms < _MINUTE:
        return f"{ms // _SECOND}s"
    if ms < _HOUR:
        return f"{ms // _MINUTE}m"
    big, small, big_ms, small_ms = ("h", "m", _HOUR, _MINUTE) if ms < _DAY else ("d", "h", _DAY, _HOUR)
    rest = ms % big_ms // small_ms
    return f"{ms // big_ms}{big}" + (f" {rest}{small}" if rest else "")


def ago(at_ms: int, now_ms: int) -> str:
    """`3s ago`."""
    return f"{short(now_ms - at_ms)} ago"


def clock(at_ms: int, now_ms: int, *, seconds: bool = True) -> str:
    """The local time of day; with its date when it is more than a day away."""
    moment = local(at_ms)
    form = "%H:%M:%S" if seconds else "%H:%M"
    if abs(at_ms - now_ms) >= _DAY:
        form = f"%Y-%m-%d {form}"
    return moment.strftime(form)


def local(at_ms: int) -> datetime:
    """A moment in the zone of this process."""
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).astimezone()


def zone(at_ms: int) -> str:
    """The short name of the local zone at a moment: `CET`."""
    return local(at_ms).strftime("%Z")


def iso(at_ms: int | None) -> str:
    """ISO 8601 in UTC; empty for no time."""
    if at_ms is None:
        return ""
    return moments.iso(at_ms)
