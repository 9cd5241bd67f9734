"""Workers and their leases: one row and one heartbeat per engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from medbay.core.model import Worker
from medbay.store.database import Tx
from medbay.store.rows import WORKER_COLUMNS, WORKER_FIELDS, dumps, worker

_LISTS: Final = ("queues", "places")
GET_SQL: Final = f"SELECT {WORKER_COLUMNS} FROM worker WHERE id = ?"
ALIVE_SQL: Final = f"SELECT {WORKER_COLUMNS} FROM worker WHERE stopped_at IS NULL ORDER BY id"


def insert(tx: Tx, new: Worker) -> None:
    """Register a worker; the identity is new every time."""
    values = [dumps(getattr(new, name)) if name in _LISTS else getattr(new, name) for name in WORKER_FIELDS]
    tx.execute(f"INSERT INTO worker ({WORKER_COLUMNS}) VALUES ({', '.join('?' * len(values))})", values)


def get(tx: Tx, worker_id: str) -> Worker | None:
    """One worker; in a transaction that writes it is not given up meanwhile."""
    row = tx.one(GET_SQL + tx.locks.keep, (worker_id,))
    return worker(row) if row else None


def alive(tx: Tx) -> list[Worker]:
    """Workers that are not given up yet; their leases may have run out all the same."""
    return [worker(row) for row in tx.rows(ALIVE_SQL)]


def left_behind(tx: Tx, places: Sequence[str]) -> list[Worker]:
    """Workers that are over and have attempts at these places that were not taken over."""
    there = ", ".join("?" * len(places))
    sql = (
        f"SELECT {WORKER_COLUMNS} FROM worker WHERE stopped_at IS NOT NULL"
        f" AND id IN (SELECT worker_id FROM attempt WHERE ended_at IS NULL AND place IN ({there})) ORDER BY id"
    )
    return [worker(row) for row in tx.rows(sql, tuple(places))]


def ended(tx: Tx, limit: int) -> list[Worker]:
    """Workers that stopped or were given up, the last one first."""
    sql = f"SELECT {WORKER_COLUMNS} FROM worker WHERE stopped_at IS NOT NULL ORDER BY stopped_at DESC, id LIMIT ?"
    return [worker(row) for row in tx.rows(sql, (limit,))]


def renew(tx: Tx, worker_id: str, lease_ms: int) -> bool:
    """Move a lease on; False when this worker was given up and may never write again."""
    changed = tx.execute(
        "UPDATE worker SET beat_at = ?, lease_until = ? WHERE id = ? AND stopped_at IS NULL",
        (tx.now, tx.now + lease_ms, worker_id),
    )
    return changed == 1


def note_shortage(tx: Tx, noted: Worker, short_of: str) -> Worker:
    """Record what the machine of a worker lacks, while retries wait for that."""
    tx.execute("UPDATE worker SET short_of = ? WHERE id = ?", (short_of, noted.id))
    return replace(noted, short_of=short_of)


def note_places(tx: Tx, noted: Worker, places: tuple[tuple[str, str], ...]) -> Worker:
    """Record which places a worker starts attempts at, and why some of them cannot be reached now."""
    tx.execute("UPDATE worker SET places = ? WHERE id = ?", (dumps(places), noted.id))
    return replace(noted, places=places)


def end(tx: Tx, ended: Worker, *, how: str) -> Worker | None:
    """Close a worker's row; None when it was closed already."""
    changed = tx.execute(
        "UPDATE worker SET stopped_at = ?, how = ? WHERE id = ? AND stopped_at IS NULL",
        (tx.now, how, ended.id),
    )
    return replace(ended, stopped_at=tx.now, how=how) if changed == 1 else None
