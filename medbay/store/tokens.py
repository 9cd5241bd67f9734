"""The tokens that open the page, one per person: their digests, never the tokens themselves."""

from __future__ import annotations

from medbay.store.database import Tx


def digests(tx: Tx) -> dict[str, str]:
    """The digest of every person's token, by name."""
    return dict(tx.rows("SELECT name, digest FROM web_token ORDER BY name"))


def every(tx: Tx) -> list[tuple[str, int, str]]:
    """Whose tokens there are, since when, and by whom they were added."""
    return [(row[0], row[1], row[2]) for row in tx.rows("SELECT name, added_at, added_by FROM web_token ORDER BY name")]


def add(tx: Tx, name: str, digest: str, *, by: str) -> None:
    """Keep a person's token; the one they had before opens nothing any more."""
    tx.execute(
        "INSERT INTO web_token (name, digest, added_at, added_by) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE"
        " SET digest = excluded.digest, added_at = excluded.added_at, added_by = excluded.added_by",
        (name, digest, tx.now, by),
    )


def remove(tx: Tx, name: str) -> bool:
    """Forget a person's token; whether there was one."""
    return tx.execute("DELETE FROM web_token WHERE name = ?", (name,)) == 1
