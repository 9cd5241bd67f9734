"""What people answered, by scope."""

from __future__ import annotations

from collections.abc import Iterable

from medbay.core.preference import Preference
from medbay.store.database import Tx

_COLUMNS = "scope, answer, told_by, told_at, used"


def every(tx: Tx, limit: int = 10_000) -> list[Preference]:
    """All of them, the newest first."""
    return _read(tx, f"SELECT {_COLUMNS} FROM preference ORDER BY told_at DESC, scope LIMIT ?", (limit,))


def within(tx: Tx, scopes: Iterable[str]) -> list[Preference]:
    """Those of some scopes."""
    wanted = sorted(set(scopes))
    if not wanted:
        return []
    return _read(tx, f"SELECT {_COLUMNS} FROM preference WHERE scope IN ({', '.join('?' * len(wanted))})", wanted)


def save(tx: Tx, kept: Preference) -> None:
    """Remember one; of a scope the newest counts."""
    tx.execute(
        f"INSERT INTO preference ({_COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (scope) DO UPDATE SET"
        " answer = excluded.answer, told_by = excluded.told_by, told_at = excluded.told_at, used = excluded.used",
        (kept.scope, kept.answer, kept.told_by, kept.told_at, kept.used),
    )


def forget(tx: Tx, scope: str) -> bool:
    """Forget one; False when there was none."""
    return tx.execute("DELETE FROM preference WHERE scope = ?", (scope,)) == 1


def _read(tx: Tx, sql: str, params: Iterable[object]) -> list[Preference]:
    return [
        Preference(scope=scope, answer=answer, told_by=by, told_at=at, used=used)
        for scope, answer, by, at, used in tx.rows(sql, tuple(params))
    ]
