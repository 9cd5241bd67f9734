"""Agents that take over what waits for another: a hold may become longer than a task that it parked may wait."""

from __future__ import annotations

from typing import Final

from medbay.core import rules
from medbay.core.agent import lasts, outwaits
from medbay.core.holds.breaker import Breaker
from medbay.store import breakers, fallbacks
from medbay.store.apply import apply
from medbay.store.database import Tx

AT_ONCE: Final = 1_000


def may_move(tx: Tx, patience_ms: int) -> bool:
    """Whether anything that has other agents is parked under a hold that lasts too long."""
    return any(fallbacks.parked(tx, held.key, 1) for held in _lasting(tx, patience_ms))


def move(tx: Tx, patience_ms: int) -> int:
    """Give what waits for too long to the next agent of its list, and release it; how many."""
    moved = 0
    for held in _lasting(tx, patience_ms):
        for task in fallbacks.parked(tx, held.key, AT_ONCE):
            if outwaits(task, held, tx.now, patience_ms):
                apply(tx, rules.on_agent_held(task, tx.now, hold=held))
                moved += 1
    return moved


def _lasting(tx: Tx, patience_ms: int) -> list[Breaker]:
    """The holds that last too long: they are few, what is parked under them is not."""
    return [held for held in breakers.not_closed(tx).values() if lasts(held, tx.now, patience_ms)]
