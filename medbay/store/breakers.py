"""Reading what holds tasks now. A breaker is a row by the key of what it protects."""

from __future__ import annotations

from medbay.store.database import Tx


def open_keys(tx: Tx) -> frozenset[str]:
    """The keys of every breaker that is not closed."""
    return frozenset(row[0] for row in tx.rows("SELECT key FROM breaker WHERE state <> 'closed'"))
