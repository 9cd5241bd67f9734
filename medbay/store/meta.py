"""Facts about the store itself."""

from __future__ import annotations

from medbay.store.database import Tx


def value(tx: Tx, key: str) -> str | None:
    """One fact, such as `machine_id`."""
    row = tx.one("SELECT value FROM meta WHERE key = ?", (key,))
    return str(row[0]) if row else None


def put(tx: Tx, key: str, text: str) -> None:
    """Remember a fact."""
    tx.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, text),
    )


def describe(tx: Tx) -> dict[str, str]:
    """The database itself, for `doctor`: what it is, how it commits, which schema it has."""
    found = {name: tx.one(sql) for name, sql in tx.dialect.describe}
    return {name: str(row[0]) for name, row in found.items() if row}
