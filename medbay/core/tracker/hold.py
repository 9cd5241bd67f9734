"""A tracker that is away or limits us is left alone for a while: it is held, the work on its issues is not."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from medbay.core.holds import breaker
from medbay.core.holds.breaker import DOUBLING_TO_AN_HOUR, HOUR, TRACKER, Breaker
from medbay.core.holds.resources import PROVIDER

FORGOTTEN_AFTER_MS: Final = HOUR  # a tracker that answered for this long begins with the shortest wait again
_STEP: Final = "step"


def key_of(source: str) -> str:
    """The key of the hold on a tracker; no task needs it."""
    return f"{PROVIDER}{TRACKER}{source}"


def place(before: Breaker | None, source: str, now: int, *, named: int | None, why: str) -> Breaker:
    """Hold a tracker until the time it named, else for a wait that doubles while it goes on."""
    step = _step_after(before, now)
    until = named if named is not None and named > now else now + DOUBLING_TO_AN_HOUR[step]
    placed = breaker.place_hold(before, key_of(source), now, named=until, why=why, met=f"hold:{source}")
    return replace(placed, data={**placed.data, _STEP: min(step + 1, len(DOUBLING_TO_AN_HOUR) - 1)})


def is_held(found: Breaker | None, now: int) -> bool:
    """Whether a tracker is not to be called now."""
    if found is None or found.state == "closed":
        return False
    return found.only_a_person_ends or (found.until or 0) > now


def _step_after(before: Breaker | None, now: int) -> int:
    if before is None or (before.closed_at is not None and now - before.closed_at > FORGOTTEN_AFTER_MS):
        return 0
    return int(before.data.get(_STEP, 0))
