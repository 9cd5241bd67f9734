"""Durations and sizes as people write them, and back. Whole milliseconds and whole bytes; never a float."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from medbay.errors import UsageError

MAX_DURATION_MS: Final = 10 * 365 * 86_400_000
MAX_SIZE_BYTES: Final = 2**60

DURATION_FORMS: Final = "50ms, 30s, 2m, 8h, 1d or 1h30m"
SIZE_FORMS: Final = "512M, 2G, 1.5GiB or 100MB"

_UNITS_MS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
_DURATION = re.compile(" ?".join(rf"(?:([0-9]{{1,18}}){unit})?" for unit, _ in _UNITS_MS))
_SIZE = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))? ?(?:([kmgt])(i?b)?|b)?", re.IGNORECASE)
_SHOWN_MAX = 40


def parse_duration(text: str) -> int:
    """Milliseconds of `50ms`, `30s`, `2m`, `8h`, `1d` or `1h30m`; at most ten years."""
    found = _DURATION.fullmatch(text) if text == text.strip() else None
    if found is None or not any(found.groups()):
        raise UsageError(f"{_quoted(text)} is not a duration", hint=f"write it like {DURATION_FORMS}")
    amounts = zip(found.groups(default="0"), _UNITS_MS, strict=True)
    total_ms = sum(int(amount) * unit_ms for amount, (_, unit_ms) in amounts)
    if total_ms > MAX_DURATION_MS:
        raise UsageError(f"{_quoted(text)} is too long", hint="a duration is at most 10 years (3650d)")
    return total_ms


def format_duration(ms: int) -> str:
    """The two most significant units (`4m 12s`, `3h 16m`, `2s`, `850ms`), the rest cut off."""
    if ms < 0:
        return "-" + format_duration(-ms)
    if ms < 1_000:
        return f"{ms}ms" if ms else "0s"
    if ms < 10_000 and ms % 1_000 >= 100:
        return f"{ms // 1_000}.{ms % 1_000 // 100}s"
    units = _UNITS_MS[:-1]
    first = next(at for at, (_, unit_ms) in enumerate(units) if ms >= unit_ms)
    parts = []
    for unit, unit_ms in units[first : first + 2]:
        amount, ms = divmod(ms, unit_ms)
        if amount:
            parts.append(f"{amount}{unit}")
    return " ".join(parts)


def write_duration(ms: int) -> str:
    """The shortest text that `parse_duration` reads as exactly this many milliseconds."""
    parts = []
    rest_ms = ms
    for unit, unit_ms in _UNITS_MS:
        amount, rest_ms = divmod(rest_ms, unit_ms)
        if amount:
            parts.append(f"{amount}{unit}")
    return "".join(parts) or "0s"


def parse_size(text: str) -> int:
    """Bytes of `512M`, `2G`, `1.5GiB` (powers of 1024) or `100MB` (of 1000); a bare number is bytes."""
    found = _SIZE.fullmatch(text) if text == text.strip() else None
    if found is None:
        raise UsageError(f"{_quoted(text)} is not a size", hint=f"write it like {SIZE_FORMS}")
    whole, decimals, letter, suffix = found.groups(default="")
    step = 1000 if suffix.lower() == "b" else 1024
    unit = step ** (" kmgt".index(letter.lower()) if letter else 0)
    total: int = int(whole + decimals) * unit // 10 ** len(decimals)
    if total > MAX_SIZE_BYTES:
        raise UsageError(f"{_quoted(text)} is too large", hint="a size is at most 1 EiB (1048576T)")
    return total


def _quoted(text: str) -> str:
    shown = text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"
    return f'"{shown}"'


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS: Final = -62_135_596_800_000  # the year 1
_LAST_MS: Final = 253_402_300_799_999  # the end of the year 9999: a failure may name any time
LATEST_MS: Final = _LAST_MS - 24 * 60 * 60 * 1_000  # of what a person names: the same day in every zone has a date


@lru_cache(maxsize=64)  # what happens in one transaction happens at one time
def iso(ms: int) -> str:
    """`2026-11-15T03:00:00.000Z` of UTC milliseconds."""
    moment = _EPOCH + timedelta(milliseconds=max(_FIRST_MS, min(ms, _LAST_MS)))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
