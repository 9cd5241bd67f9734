"""The one backoff primitive: exponential or by list, with jitter that depends on nothing but its key.

The same key and count give the same delay on every machine and after every restart.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Final

from medbay.errors import UsageError

DAY_MS: Final = 24 * 3600 * 1000
JITTER_SHARE: Final = 0.10
SPREAD_LATER_MAX_MS: Final = 60_000  # a reset in six hours is not missed by half an hour
_HASH_RANGE: Final = float(1 << 64)


def backoff(base_ms: int, failures: int, *, key: str, multiplier: float = 2.0, cap_ms: int = DAY_MS) -> int:
    """Base after no failure; then base * multiplier^failures, at most cap, spread by ±10 % inside the cap."""
    if not 1.0 <= multiplier <= 10.0:
        raise UsageError(f"a backoff multiplier of {multiplier} is outside 1 to 10")
    if cap_ms < 1000:
        raise UsageError(f"a backoff cap of {cap_ms} ms is below 1s")
    if failures <= 0 or not 0 < base_ms <= cap_ms:
        return base_ms
    if failures * math.log(multiplier) >= math.log(cap_ms / base_ms):
        return cap_ms - round(cap_ms * JITTER_SHARE * _fraction(key, failures))
    return min(cap_ms, spread(max(base_ms, round(base_ms * multiplier**failures)), failures, key=key))


def from_list(delays_ms: Sequence[int], failures: int, *, key: str) -> int:
    """The delay after this many failures: the list's entry, the last one repeated, spread by ±10 %."""
    return spread(entry(delays_ms, failures), failures, key=key)


def entry(delays_ms: Sequence[int], failures: int) -> int:
    """The list's entry after this many failures, the last one repeated, not spread."""
    return delays_ms[max(0, min(failures, len(delays_ms)) - 1)]


def spread(delay_ms: int, failures: int, *, key: str) -> int:
    """The delay moved by at most ±10 %, the same way every time for this key and count."""
    return round(delay_ms * (1.0 + JITTER_SHARE * (2.0 * _fraction(key, failures) - 1.0)))


def spread_later(delay_ms: int, failures: int, *, key: str) -> int:
    """The delay moved later, by at most 10 % or a minute: for times before which a retry is pointless."""
    return delay_ms + round(min(delay_ms * JITTER_SHARE, SPREAD_LATER_MAX_MS) * _fraction(key, failures))


def _fraction(key: str, failures: int) -> float:
    digest = hashlib.blake2b(f"{key}:{failures}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / _HASH_RANGE
