"""The outbox: what is on its way out, how far each channel has read the event log, and how it is doing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from medbay.core.delivery import ChannelState, Delivery
from medbay.core.model import Event
from medbay.store.database import Row, Tx
from medbay.store.rows import dumps, loads

_COLUMNS: Final = (
    "key, kind, channel, lane, seq, payload, status, tries, due_at, created_at, error, owner, lease_until, ended_at"
)
_COUNTED_MAX: Final = 500_000  # events that a digest looks through
_MARKS: Final = ", ".join("?" * (_COLUMNS.count(",") + 1))
# Nothing overtakes what came before it in its lane, nor what another engine has in hand.
_IS_NEXT: Final = (
    "status = 'pending' AND due_at <= ? AND lease_until <= ? AND channel IN ({channels})"
    " AND NOT EXISTS (SELECT 1 FROM effect earlier WHERE earlier.status = 'pending'"
    " AND earlier.lane = effect.lane AND earlier.seq < effect.seq)"
)


def add(tx: Tx, made: Iterable[Delivery]) -> None:
    """Save new deliveries; one that is there already is the same."""
    tx.execute_many(
        f"INSERT INTO effect ({_COLUMNS}) VALUES ({_MARKS}) ON CONFLICT (key) DO NOTHING", [_row(each) for each in made]
    )


def next_ones(tx: Tx, channels: Sequence[str], limit: int) -> list[Delivery]:
    """What can be delivered now: of each lane the first, if it is due and not in delivery."""
    where = _IS_NEXT.format(channels=", ".join("?" * len(channels)))
    sql = f"SELECT {_COLUMNS} FROM effect WHERE {where} ORDER BY due_at, seq, key LIMIT ?"
    return [_delivery(row) for row in tx.rows(sql, (tx.now, tx.now, *channels, limit))]


def ended_between(tx: Tx, since: int, until: int, limit: int) -> list[Delivery]:
    """What was over within a time, the end not included; the first of them first."""
    sql = f"SELECT {_COLUMNS} FROM effect WHERE ended_at >= ? AND ended_at < ? ORDER BY ended_at, key LIMIT ?"
    return [_delivery(row) for row in tx.rows(sql, (since, until, limit))]


def exists(tx: Tx, key: str) -> bool:
    """Whether this delivery was made, whatever became of it."""
    return tx.one("SELECT 1 FROM effect WHERE key = ?", (key,)) is not None


def begin(tx: Tx, delivery: Delivery, *, owner: str, lease_until: int) -> bool:
    """Take a delivery in hand and count the try; False when another engine was faster."""
    sql = "UPDATE effect SET tries = tries + 1, owner = ?, lease_until = ? WHERE key = ? AND tries = ? AND status = ?"
    return tx.execute(sql, (owner, lease_until, delivery.key, delivery.tries, "pending")) == 1


def save(tx: Tx, ended: Delivery) -> bool:
    """Record how a try ended; False when another engine has taken the delivery in hand since."""
    sql = (
        "UPDATE effect SET status = ?, due_at = ?, error = ?, lease_until = ?, ended_at = ?"
        " WHERE key = ? AND owner = ? AND tries = ? AND status = 'pending'"
    )
    values = (ended.status, ended.due_at, ended.error, ended.lease_until, ended.ended_at)
    return tx.execute(sql, (*values, ended.key, ended.owner, ended.tries)) == 1


def hold_channel(tx: Tx, channel: str, until: int) -> None:
    """Send nothing through a channel before this moment: its service asked for that."""
    sql = "UPDATE effect SET due_at = ? WHERE status = 'pending' AND channel = ? AND due_at < ?"
    tx.execute(sql, (until, channel, until))


def hand_back(tx: Tx, delivery: Delivery) -> None:
    """Let another engine, or a later one, take a delivery in hand at once."""
    sql = "UPDATE effect SET lease_until = 0 WHERE key = ? AND owner = ? AND tries = ? AND status = 'pending'"
    tx.execute(sql, (delivery.key, delivery.owner, delivery.tries))


def forget(tx: Tx, before: int) -> int:
    """Forget what was over before this moment; how many there were."""
    return tx.execute("DELETE FROM effect WHERE ended_at IS NOT NULL AND ended_at < ?", (before,))


def any_failing(tx: Tx, channel: str) -> bool:
    """Whether something of a channel waits to be tried again."""
    sql = "SELECT 1 FROM effect WHERE status = 'pending' AND channel = ? AND error <> '' LIMIT 1"
    return tx.one(sql, (channel,)) is not None


def count_pending(tx: Tx, channel: str) -> int:
    """How many deliveries of a channel have not arrived yet."""
    row = tx.one("SELECT count(*) FROM effect WHERE status = 'pending' AND channel = ?", (channel,))
    return int(row[0]) if row else 0


def state(tx: Tx, channel: str) -> ChannelState:
    """How a channel is doing; one that never delivered anything has no row."""
    row = tx.one("SELECT name, delivered_at, failing_since, error FROM channel WHERE name = ?", (channel,))
    if row is None:
        return ChannelState(name=channel)
    return ChannelState(name=row[0], delivered_at=row[1], failing_since=row[2], error=row[3])


def put_state(tx: Tx, found: ChannelState) -> None:
    """Remember how a channel is doing."""
    tx.execute(
        "INSERT INTO channel (name, delivered_at, failing_since, error) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (name) DO UPDATE SET delivered_at = excluded.delivered_at,"
        " failing_since = excluded.failing_since, error = excluded.error",
        (found.name, found.delivered_at, found.failing_since, found.error),
    )


def completed_since(tx: Tx, since: int) -> tuple[int, int]:
    """How many tasks were completed since a moment, among the newest events; and how many of them after failures."""
    last = tx.one("SELECT max(seq) FROM event", ())
    sql = "SELECT data FROM event WHERE seq > ? AND name = 'task:completed' AND at >= ?"
    found = [loads(row[0]) for row in tx.rows(sql, ((last[0] or 0 if last else 0) - _COUNTED_MAX, since))]
    return len(found), sum(1 for each in found if each.get("failures"))


# How far the log was read


def cursor(tx: Tx, channel: str, wanted: str) -> int | None:
    """The last event that a channel has read for this filter; None when it has read nothing."""
    row = tx.one("SELECT seq FROM channel_cursor WHERE channel = ? AND filter = ?", (channel, wanted))
    return int(row[0]) if row else None


def furthest(tx: Tx, channel: str) -> int | None:
    """The last event that a channel has read for any filter."""
    row = tx.one("SELECT max(seq) FROM channel_cursor WHERE channel = ?", (channel,))
    return int(row[0]) if row and row[0] is not None else None


def move_cursor(tx: Tx, channel: str, wanted: str, seq: int) -> None:
    """Remember how far the log was read; it never goes back."""
    tx.execute(
        "INSERT INTO channel_cursor (channel, filter, seq, moved_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (channel, filter) DO UPDATE SET seq = excluded.seq, moved_at = excluded.moved_at"
        " WHERE channel_cursor.seq < excluded.seq",
        (channel, wanted, seq, tx.now),
    )


def readable_until(tx: Tx, seq: int, limit: int) -> int:
    """The last of the next so many events that can be read: nothing before it can still be committed."""
    row = tx.one(
        "SELECT max(seq) FROM (SELECT seq FROM event WHERE seq > ? ORDER BY seq LIMIT ?) further", (seq, limit)
    )
    last = int(row[0]) if row and row[0] is not None else seq
    if not tx.dialect.unsettled_event_sql:
        return last
    open_still = tx.one(tx.dialect.unsettled_event_sql, (seq,))
    return last if open_still is None or open_still[0] is None else min(last, int(open_still[0]) - 1)


def events_between(tx: Tx, after: int, until: int, names: Sequence[str]) -> list[Event]:
    """The events of these names, from one number to another."""
    marks = ", ".join("?" * len(names))
    sql = (
        "SELECT seq, at, name, task_id, attempt, data FROM event"
        f" WHERE seq > ? AND seq <= ? AND name IN ({marks}) ORDER BY seq"
    )
    return [
        Event(seq=row[0], at=row[1], name=row[2], task_id=row[3], attempt=row[4], data=loads(row[5]))
        for row in tx.rows(sql, (after, until, *names))
    ]


def _row(each: Delivery) -> tuple[Any, ...]:
    event = each.event
    who = {"task": event.task_id, "attempt": event.attempt}
    told = dumps({"at": event.at, "name": event.name, **who, "data": event.data})
    named = (each.key, each.kind, each.channel, each.lane, each.seq, told)
    tried = (each.status, each.tries, each.due_at, each.created_at, each.error)
    return (*named, *tried, each.owner, each.lease_until, each.ended_at)


def _delivery(row: Row) -> Delivery:
    key, kind, channel, lane, seq, told, status, tries, due_at, created_at, error, owner, lease_until, ended_at = row
    found = loads(told)
    event = Event(
        seq=seq,
        at=found["at"],
        name=found["name"],
        task_id=found["task"],
        attempt=found["attempt"],
        data=found["data"],
    )
    return Delivery(
        key=key,
        kind=kind,
        channel=channel,
        lane=lane,
        seq=seq,
        event=event,
        status=status,
        tries=tries,
        due_at=due_at,
        created_at=created_at,
        error=error,
        owner=owner,
        lease_until=lease_until,
        ended_at=ended_at,
    )
