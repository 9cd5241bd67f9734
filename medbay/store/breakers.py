"""Breakers in the store, by the key of what each protects, and which commands need what they protect."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from medbay.core.holds.breaker import Breaker, BreakerChange, CommandUse
from medbay.errors import StaleClaim
from medbay.store.database import Row, Tx
from medbay.store.rows import dumps, loads

FIELDS: Final = Breaker.__struct_fields__
COLUMNS: Final = ", ".join(FIELDS)

# The statements of the loop; a test reads their query plans.
OPEN_SQL: Final = f"SELECT {COLUMNS} FROM breaker WHERE state <> 'closed' ORDER BY key"
RELEASING_SQL: Final = (
    f"SELECT {COLUMNS} FROM breaker WHERE state = 'closed' AND probe_at IS NOT NULL ORDER BY probe_at, key"
)
NEXT_LOOK_SQL: Final = "SELECT probe_at AS at FROM breaker WHERE probe_at IS NOT NULL ORDER BY probe_at, key LIMIT 1"
DUE_SQL: Final = (
    f"SELECT {COLUMNS} FROM breaker WHERE probe_at <= ? AND probe_at IS NOT NULL ORDER BY probe_at, key LIMIT ?"
)
_AT_ONCE: Final = 500


def not_closed(tx: Tx, *, changing: bool = False) -> dict[str, Breaker]:
    """Every breaker that is not closed, by key; in a transaction that writes they stay as they are, or are its own."""
    lock = tx.locks.take if changing else tx.locks.keep
    return {row[0]: _breaker(row) for row in tx.rows(OPEN_SQL + lock)}


def holding(tx: Tx) -> list[Breaker]:
    """Breakers under which tasks may be parked: not closed, or closed and still releasing."""
    return [_breaker(row) for sql in (OPEN_SQL, RELEASING_SQL) for row in tx.rows(sql)]


def open_incidents(tx: Tx) -> list[Breaker]:
    """The incidents that are not over."""
    return [each for each in not_closed(tx).values() if each.kind == "incident"]


def get(tx: Tx, key: str) -> Breaker | None:
    """One breaker, closed or not."""
    row = tx.one(f"SELECT {COLUMNS} FROM breaker WHERE key = ?", (key,))
    return _breaker(row) if row else None


def select(tx: Tx, *, closed: bool = False, limit: int = 1_000) -> list[Breaker]:
    """Breakers for people, the newest first; those that are closed too, where wanted."""
    which = "" if closed else " WHERE state <> 'closed'"
    rows = tx.rows(f"SELECT {COLUMNS} FROM breaker{which} ORDER BY opened_at DESC, key LIMIT ?", (limit,))
    return [_breaker(row) for row in rows]


def due(tx: Tx, limit: int) -> list[Breaker]:
    """Breakers that are due, and that no other engine is maintaining."""
    return [_breaker(row) for row in tx.rows(DUE_SQL + tx.locks.take_free, (tx.now, limit))]


def save(tx: Tx, change: BreakerChange) -> None:
    """Save a breaker unless it was changed meanwhile; one that was not there may replace one that is closed."""
    before, after = change.before, change.after
    values = {name: getattr(after, name) for name in FIELDS} | {"data": dumps(after.data)}
    sets = ", ".join(f"{name} = excluded.{name}" for name in FIELDS if name != "key")
    values["version"] = before.version + 1 if before else 1
    guard, params = (" AND breaker.version = ?", (before.version,)) if before else ("", ())
    state = "" if before else " AND breaker.state = 'closed'"
    saved = tx.execute(
        f"INSERT INTO breaker ({COLUMNS}) VALUES ({', '.join('?' * len(FIELDS))})"
        f" ON CONFLICT (key) DO UPDATE SET {sets} WHERE 1 = 1{state}{guard}",
        (*values.values(), *params),
    )
    if saved != 1:
        raise StaleClaim(f"{after.key} changed while this was decided", hint="try again")


def note_use(tx: Tx, use: CommandUse) -> None:
    """Remember that a command needs something."""
    tx.put(
        "INSERT INTO command_resource (command, resource, seen_at) VALUES (?, ?, ?)"
        " ON CONFLICT (command, resource) DO UPDATE SET seen_at = excluded.seen_at",
        (use.command, use.resource, tx.now),
    )


def forget_uses(tx: Tx, resource: str) -> None:
    """Nothing needs it any more: it is over."""
    tx.execute("DELETE FROM command_resource WHERE resource = ?", (resource,))


def uses(tx: Tx, commands: Collection[str], *, since: int) -> dict[str, set[str]]:
    """What each of these commands was seen to need since then."""
    found: dict[str, set[str]] = {}
    wanted = sorted(set(commands))
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        sql = (
            f"SELECT command, resource FROM command_resource WHERE command IN ({', '.join('?' * len(some))})"
            " AND seen_at >= ?"
        )
        for command, resource in tx.rows(sql, (*some, since)):
            found.setdefault(command, set()).add(resource)
    return found


def _breaker(row: Row) -> Breaker:
    values: dict[str, Any] = dict(zip(FIELDS, row, strict=True))
    values["data"] = loads(values["data"])
    return Breaker(**values)
