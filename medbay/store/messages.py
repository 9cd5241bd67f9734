"""Messages about open questions and where they can be changed; and who listens for the answers given there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medbay.store.database import Tx


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message about a question that a channel took; `place` says where it can be changed, one or several."""

    key: str
    channel: str
    question_id: str
    place: str
    sent_at: int


def add(tx: Tx, sent: SentMessage) -> None:
    """Remember a message; one that was sent again is remembered as it was sent last."""
    tx.execute(
        "INSERT INTO message (key, channel, question_id, place, sent_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET place = excluded.place, sent_at = excluded.sent_at",
        (sent.key, sent.channel, sent.question_id, sent.place, sent.sent_at),
    )


def of_questions(tx: Tx, question_ids: Sequence[str]) -> list[SentMessage]:
    """The messages about these questions, the oldest first."""
    if not question_ids:
        return []
    sql = (
        "SELECT key, channel, question_id, place, sent_at FROM message"
        f" WHERE question_id IN ({', '.join('?' * len(question_ids))}) ORDER BY sent_at, key"
    )
    return [SentMessage(*row) for row in tx.rows(sql, question_ids)]


def question_at(tx: Tx, place: str) -> str | None:
    """The question that a message is about, by where the message is; only those of open questions are kept."""
    rows = tx.rows("SELECT place, question_id FROM message WHERE place <> ''")
    return next((str(question_id) for places, question_id in rows if place in places.split()), None)


def forget(tx: Tx, channel: str, question_id: str) -> None:
    """Forget the messages of a question that is over."""
    tx.execute("DELETE FROM message WHERE channel = ? AND question_id = ?", (channel, question_id))


def listen(tx: Tx, name: str, *, owner: str, lease_ms: int) -> int | None:
    """Take or keep the one place of a listener; where it reads on, or None while another has it."""
    tx.serialise(f"listener {name}")
    row = tx.one("SELECT owner, lease_until, position FROM listener WHERE name = ?", (name,))
    if row is not None and row[0] != owner and row[1] > tx.now:
        return None
    tx.execute(
        "INSERT INTO listener (name, owner, lease_until, position) VALUES (?, ?, ?, 0)"
        " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until",
        (name, owner, tx.now + lease_ms),
    )
    return int(row[2]) if row else 0


def move(tx: Tx, name: str, position: int) -> None:
    """Remember up to where was read; it never goes back."""
    tx.execute("UPDATE listener SET position = ? WHERE name = ? AND position < ?", (position, name, position))


def let_go(tx: Tx, name: str, owner: str) -> None:
    """Let another listen at once."""
    tx.execute("UPDATE listener SET lease_until = 0 WHERE name = ? AND owner = ?", (name, owner))
