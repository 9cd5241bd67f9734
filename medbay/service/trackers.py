"""Holds on trackers: placed, looked for and released; the store alone."""

from __future__ import annotations

from medbay.core.holds import breaker
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.incident import changed_breaker
from medbay.core.tracker import hold
from medbay.store import breakers
from medbay.store.apply import apply
from medbay.store.database import Tx


def held(tx: Tx, source: str) -> Breaker | None:
    """The hold on a tracker that is not to be called now."""
    found = breakers.get(tx, hold.key_of(source))
    return found if hold.is_held(found, tx.now) else None


def place_hold(tx: Tx, source: str, *, named: int | None, why: str) -> Breaker:
    """Leave a tracker alone until a time that it named, else for a while; the hold as it is now."""
    before = breakers.get(tx, hold.key_of(source))
    after = hold.place(before, source, tx.now, named=named, why=why)
    apply(tx, changed_breaker(before, after))
    return after


def release(tx: Tx, source: str) -> None:
    """A tracker answered: its hold is over."""
    before = breakers.get(tx, hold.key_of(source))
    if before is not None and before.state != "closed" and not hold.is_held(before, tx.now):
        apply(tx, changed_breaker(before, breaker.close(before, tx.now, "it answers again")))
