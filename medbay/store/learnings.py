"""What reviews and gates refused, by the role that is told."""

from __future__ import annotations

from typing import Final

from medbay.core.workflow.learning import Learning
from medbay.store.database import Tx

KEPT_PER_ROLE: Final = 200

_COLUMNS: Final = "role, text, digest, story_id, phase, count, last_seen"


def save(tx: Tx, learning: Learning) -> None:
    """Count it; a role keeps those it was told last."""
    tx.execute(
        "INSERT INTO learning (role, digest, text, story_id, phase, count, first_seen, last_seen)"
        " VALUES (?, ?, ?, ?, ?, 1, ?, ?) ON CONFLICT (role, digest) DO UPDATE SET count = learning.count + 1,"
        " text = excluded.text, story_id = excluded.story_id, phase = excluded.phase, last_seen = excluded.last_seen",
        (
            learning.role,
            learning.digest,
            learning.text,
            learning.story_id,
            learning.phase,
            tx.now,
            tx.now,
        ),
    )
    tx.execute(
        "DELETE FROM learning WHERE role = ? AND digest IN (SELECT digest FROM learning WHERE role = ?"
        " ORDER BY last_seen DESC, digest LIMIT ? OFFSET ?)",
        (learning.role, learning.role, KEPT_PER_ROLE, KEPT_PER_ROLE),
    )


def of_role(tx: Tx, role: str, limit: int) -> list[Learning]:
    """What a role is told: the most frequent first, then the newest."""
    sql = f"SELECT {_COLUMNS} FROM learning WHERE role = ? ORDER BY count DESC, last_seen DESC, digest LIMIT ?"
    return [_learning(row) for row in tx.rows(sql, (role, limit))]


def newest(tx: Tx, limit: int) -> list[Learning]:
    """What was learned last, by any role."""
    sql = f"SELECT {_COLUMNS} FROM learning ORDER BY last_seen DESC, role, digest LIMIT ?"
    return [_learning(row) for row in tx.rows(sql, (limit,))]


def _learning(row: tuple[object, ...]) -> Learning:
    return Learning(**dict(zip(_COLUMNS.split(", "), row, strict=True)))  # type: ignore[arg-type]
