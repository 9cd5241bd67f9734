"""The shipped policies as data: how long to wait and how often to try again, by category of failure.

Every other place (configuration, documentation, rules) reads these tables; none repeats them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND

RESCUE_THRESHOLD: Final = 0.8  # from this score on a failed attempt counts as a success
TRIAGE_TIMEOUT_MS: Final = 5 * MINUTE
TRANSIENT_AT_LEAST_MS: Final = 15 * MINUTE
TRANSIENT_PERIODS: Final = 3
MAX_RETRIES_TOTAL: Final = 5
"""Charged retries a task gets over all categories; only a person grants more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rungs:
    """The waits before each retry (the last one repeats) and how many retries there are."""

    delays_ms: tuple[int, ...]
    max_retries: int


_SHORT = (30 * SECOND, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE)
_LONG = (2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE)

LADDER: Final[Mapping[str, Rungs]] = MappingProxyType(
    {
        "transient": Rungs(delays_ms=_SHORT, max_retries=5),
        "code_error": Rungs(delays_ms=_LONG, max_retries=5),
        "test_failure": Rungs(delays_ms=_LONG, max_retries=5),
        "timeout": Rungs(delays_ms=(5 * MINUTE, 15 * MINUTE, 30 * MINUTE), max_retries=3),
        "resource_exhaustion": Rungs(delays_ms=(15 * MINUTE, 30 * MINUTE, 60 * MINUTE), max_retries=3),
        "dependency_missing": Rungs(delays_ms=(2 * MINUTE, 5 * MINUTE, 15 * MINUTE), max_retries=3),
        "unknown": Rungs(delays_ms=_LONG, max_retries=5),
    }
)
"""The preset of one-off tasks, by category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurring:
    """The preset of recurring tasks: they back off from their own period."""

    triage_threshold: int = 3
    triage_cooldown_ms: int = 24 * 60 * MINUTE
    multiplier: float = 2.0
    cap_ms: int = 24 * 60 * MINUTE
    transient_max_delay_ms: int | None = None  # None: by the period, see `transient_cap_ms`
    ask_after_ms: int = 60 * MINUTE  # 0: never

    def transient_cap_ms(self, period_ms: int) -> int:
        """The longest wait after a failure that passes by itself: a few periods, unless it is set."""
        own = self.transient_max_delay_ms
        few = max(TRANSIENT_AT_LEAST_MS, TRANSIENT_PERIODS * period_ms)
        return min(self.cap_ms, few if own is None else own)
