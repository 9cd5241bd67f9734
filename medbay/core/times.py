"""Moments as people and programs read them: ISO 8601 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS: Final = 253_402_300_799_999  # the end of the year 9999: a failure may name any time


@lru_cache(maxsize=64)  # what happens in one transaction happens at one time
def iso(ms: int) -> str:
    """`2026-11-15T03:00:00.000Z` of UTC milliseconds."""
    moment = _EPOCH + timedelta(milliseconds=min(ms, _LAST_MS))
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
