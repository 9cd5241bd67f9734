"""Adaptive delays: of the waits that were tried after a class of failure, the shortest that helps as often as any.

A retry tells one thing about its wait: whether the cause was over by then. So the chance that it is over can only rise
with the wait, and the estimate is made to rise too (neighbouring bands that fall are pooled, which for such data is the
most likely rising curve). Nothing is said of waits that were not tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from medbay.core.durations import format_duration

RETRIES_ENOUGH: Final = 20
"""Retries of a class that say something, before anything is learned from them."""

HISTORY_MAX: Final = 500
"""The newest retries of a class that are read."""

BAND_TRIES: Final = 5  # a band with fewer tries decides nothing
BAND_WIDTH: Final = 1.25  # longest by shortest wait of a band: what jitter spreads stays together
AS_GOOD: Final = 0.05  # a share that is less than this below the best is as good
LEAST, MOST = 0.5, 4.0  # of the schedule's value

WENT_WELL: Final = frozenset({"succeeded", "rescued"})
WENT_BADLY: Final = frozenset({"failed", "timed_out", "stalled", "over_budget"})
SAYS_SOMETHING: Final = tuple(sorted(WENT_WELL | WENT_BADLY))
"""Outcomes of a retry that show whether its wait was long enough; lost, requeued and cancelled ones do not."""


@dataclass(frozen=True, slots=True)
class TriedDelay:
    """One retry: how long it really waited after the failure, and whether its attempt succeeded."""

    waited_ms: int
    well: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Retries that waited about equally long."""

    low_ms: int
    high_ms: int
    typical_ms: int  # the median wait
    tries: int
    well: int
    share: float  # that succeeded, made to rise with the wait

    @property
    def decides(self) -> bool:
        """Whether there are enough tries in it."""
        return self.tries >= BAND_TRIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What the history of one class of failure says about waiting."""

    kind: str  # category/subcategory
    tries: int
    well: int
    bands: tuple[Band, ...]

    @property
    def enough(self) -> bool:
        """Whether anything may be decided from it."""
        return self.tries >= RETRIES_ENOUGH


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The wait in place of one entry of a schedule; its own where nothing better is known."""

    scheduled_ms: int
    delay_ms: int
    why: str
    band: Band | None = None

    @property
    def differs(self) -> bool:
        """Whether the schedule's own value is not used."""
        return self.delay_ms != self.scheduled_ms


def learn(kind: str, tried: Iterable[TriedDelay]) -> Learned:
    """Sum up what was tried after failures of a class."""
    in_order = sorted(tried, key=lambda each: each.waited_ms)
    well = sum(each.well for each in in_order)
    return Learned(kind=kind, tries=len(in_order), well=well, bands=_rising(_bands(in_order)))


def choose(learned: Learned, scheduled_ms: int) -> Choice:
    """The shortest tried wait that succeeds as often as the best, within half and four times the schedule's."""
    if not learned.enough:
        return _as_scheduled(scheduled_ms, f"{learned.tries} retries are too few, {RETRIES_ENOUGH} are needed")
    low, high = limits_of(scheduled_ms)
    known = [band for band in learned.bands if band.decides and low <= band.typical_ms <= high]
    best = max((band.share for band in known), default=0.0)
    if best == 0.0:
        what = "no retry that waited about so long succeeded" if known else "no wait near it was tried often enough"
        return _as_scheduled(scheduled_ms, what)
    band = next(band for band in known if band.share > best - AS_GOOD)
    record = f"{band.well} of {band.tries} retries that waited about {format_duration(band.typical_ms)} succeeded"
    if band.low_ms <= scheduled_ms <= band.high_ms:
        return replace(_as_scheduled(scheduled_ms, record), band=band)
    why = f"{record}; the schedule says {format_duration(scheduled_ms)}"
    return Choice(scheduled_ms=scheduled_ms, delay_ms=band.typical_ms, why=why, band=band)


def limits_of(scheduled_ms: int) -> tuple[int, int]:
    """The shortest and the longest wait that may stand in for one of a schedule."""
    return round(scheduled_ms * LEAST), round(scheduled_ms * MOST)


def _as_scheduled(scheduled_ms: int, why: str) -> Choice:
    return Choice(scheduled_ms=scheduled_ms, delay_ms=scheduled_ms, why=why)


def _bands(in_order: Sequence[TriedDelay]) -> list[Band]:
    """Retries that waited about equally long, together; by the wait."""
    groups: list[list[TriedDelay]] = []
    for each in in_order:
        if groups and each.waited_ms <= groups[-1][0].waited_ms * BAND_WIDTH:
            groups[-1].append(each)
        else:
            groups.append([each])
    return [_band(group) for group in groups]


def _band(group: Sequence[TriedDelay]) -> Band:
    well = sum(each.well for each in group)
    return Band(
        low_ms=group[0].waited_ms,
        high_ms=group[-1].waited_ms,
        typical_ms=group[len(group) // 2].waited_ms,
        tries=len(group),
        well=well,
        share=well / len(group),
    )


def _rising(bands: Sequence[Band]) -> tuple[Band, ...]:
    """The same bands with shares that never fall as the wait grows: neighbours that do are pooled."""
    pools: list[tuple[int, int, int]] = []  # how many bands, tries, well
    for band in bands:
        pool = (1, band.tries, band.well)
        while pools and pools[-1][2] * pool[1] >= pool[2] * pools[-1][1]:
            before = pools.pop()
            pool = (before[0] + pool[0], before[1] + pool[1], before[2] + pool[2])
        pools.append(pool)
    shares = [well / tries for count, tries, well in pools for _ in range(count)]
    return tuple(replace(band, share=share) for band, share in zip(bands, shares, strict=True))
