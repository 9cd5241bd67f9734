"""Captures, their events, workorders with snapshots and run records, and candidates in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from msgspec import Struct

from medbay.core.intake.records import (
    Candidate,
    Capture,
    CaptureEvent,
    CaptureEventProcessed,
    CaptureReady,
    CapturesFreed,
    CapturesTaken,
    ContextSnapshot,
    RunRecord,
    Workorder,
)
from medbay.core.intake.workorder import IntakeCase
from medbay.errors import StaleClaim
from medbay.store.database import Row, Tx
from medbay.store.rows import RecordTable, dumps, dumps_any, loads

R = TypeVar("R", bound=Struct)


def _optional(value: Any) -> str | None:
    return None if value is None else dumps_any(value)


CAPTURES: Final = RecordTable("capture", Capture.__struct_fields__, {})
WORKORDERS: Final = RecordTable("workorder", Workorder.__struct_fields__, {"bundle": _optional})
CANDIDATES: Final = RecordTable(
    "candidate", Candidate.__struct_fields__, {"acceptance_criteria": dumps, "captures": dumps}
)
_DECODERS: Final[dict[str, Callable[[str], Any]]] = {
    "bundle": lambda text: loads(text) if text else None,
    "acceptance_criteria": lambda text: tuple(loads(text)),
    "captures": lambda text: tuple(loads(text)),
    "related_refs": lambda text: tuple(loads(text)),
}


def _columns(kind: type[Struct], prefix: str = "") -> str:
    return ", ".join(prefix + name for name in kind.__struct_fields__)


def _record(kind: type[R], row: Row) -> R:
    values = dict(zip(kind.__struct_fields__, row, strict=True))
    return kind(**{name: _DECODERS[name](value) if name in _DECODERS else value for name, value in values.items()})


# Events


_EVENT: Final = _columns(CaptureEvent)
_CLAIMABLE: Final = "processed_at IS NULL AND (claimed_until IS NULL OR claimed_until <= ?)"
DUE_SQL: Final = f"SELECT {_EVENT} FROM capture_event WHERE due_at <= ? AND {_CLAIMABLE} ORDER BY due_at, id LIMIT 1"


def has_due(tx: Tx) -> bool:
    """Whether there is an event to process."""
    return tx.one(DUE_SQL, (tx.now, tx.now)) is not None


def claim_event(tx: Tx, *, by: str, until: int, early: bool = False) -> CaptureEvent | None:
    """Take the oldest event that nobody has; with `early` also one that is for later."""
    upto = (1 << 62) if early else tx.now
    row = tx.one(DUE_SQL + tx.locks.take_free, (upto, tx.now))
    if row is None:
        return None
    event = _record(CaptureEvent, row)
    sql = f"UPDATE capture_event SET claimed_by = ?, claimed_until = ? WHERE id = ? AND {_CLAIMABLE}"
    return event if tx.execute(sql, (by, until, event.id, tx.now)) == 1 else None


def get_event(tx: Tx, event_id: int) -> CaptureEvent | None:
    """One event by its number."""
    row = tx.one(f"SELECT {_EVENT} FROM capture_event WHERE id = ?{tx.locks.take}", (event_id,))
    return _record(CaptureEvent, row) if row else None


def ready(tx: Tx, event: CaptureReady) -> None:
    """Write an event."""
    tx.execute("INSERT INTO capture_event (at, due_at) VALUES (?, ?)", (tx.now, event.due_at))


def processed(tx: Tx, done: CaptureEventProcessed) -> None:
    """Mark an event processed and release its claim; StaleClaim when another has it."""
    sql = (
        "UPDATE capture_event SET processed_at = ?, reason = ?, workorder_id = ?, claimed_by = '', claimed_until = NULL"
        " WHERE id = ? AND processed_at IS NULL AND claimed_by = ?"
    )
    if tx.execute(sql, (tx.now, done.reason, done.workorder_id, done.event_id, done.by)) != 1:
        raise StaleClaim(f"the event {done.event_id} was processed by another", hint="nothing is left to do with it")


# Captures


def free_captures(tx: Tx, limit: int) -> list[Capture]:
    """The oldest pending captures that belong to no open workorder; this transaction's from now on."""
    sql = (
        f"SELECT {_columns(Capture)} FROM capture WHERE status = 'PENDING' AND workorder = ''"
        f" ORDER BY created_at, id LIMIT ?{tx.locks.take}"
    )
    return [_record(Capture, row) for row in tx.rows(sql, (limit,))]


def captures_of(tx: Tx, workorder_id: str) -> tuple[Capture, ...]:
    """The captures of a workorder's snapshot, in their order."""
    sql = (
        f"SELECT {_columns(Capture, 'c.')} FROM workorder_capture w JOIN capture c ON c.id = w.capture_id"
        " WHERE w.workorder_id = ? ORDER BY w.position"
    )
    return tuple(_record(Capture, row) for row in tx.rows(sql, (workorder_id,)))


def workorders_of(tx: Tx, capture_id: str) -> list[str]:
    """The ids of the workorders a capture was in, the oldest first."""
    sql = (
        "SELECT w.id FROM workorder_capture l JOIN workorder w ON w.id = l.workorder_id WHERE l.capture_id = ?"
        " ORDER BY w.created_at, w.id"
    )
    return [row[0] for row in tx.rows(sql, (capture_id,))]


def take_captures(tx: Tx, taken: CapturesTaken) -> None:
    """Bind captures to an open workorder."""
    sql = "INSERT INTO workorder_capture (workorder_id, capture_id, position, open) VALUES (?, ?, ?, 1)"
    tx.execute_many(sql, [(taken.workorder_id, each, at) for at, each in enumerate(taken.capture_ids)])


def free_of(tx: Tx, freed: CapturesFreed) -> None:
    """Release the captures of a workorder that ended."""
    tx.execute("UPDATE workorder_capture SET open = 0 WHERE workorder_id = ?", (freed.workorder_id,))


# Snapshots and run records


def save_snapshot(tx: Tx, snapshot: ContextSnapshot) -> None:
    """Write a snapshot; it never changes afterwards."""
    fields = ContextSnapshot.__struct_fields__
    values = [dumps(value) if name == "related_refs" else value for name, value in _items(snapshot)]
    tx.execute(f"INSERT INTO context_snapshot ({', '.join(fields)}) VALUES ({', '.join('?' * len(fields))})", values)


def _items(record: Struct) -> list[tuple[str, Any]]:
    return [(name, getattr(record, name)) for name in record.__struct_fields__]


def snapshot(tx: Tx, snapshot_id: str) -> ContextSnapshot | None:
    """One snapshot."""
    row = tx.one(f"SELECT {_columns(ContextSnapshot)} FROM context_snapshot WHERE id = ?", (snapshot_id,))
    return _record(ContextSnapshot, row) if row else None


def save_run_record(tx: Tx, record: RunRecord) -> None:
    """Write the run record of a workorder; a second gate writes over the first."""
    tx.execute(
        "INSERT INTO run_record (workorder_id, gate_result, gate_reason, at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (workorder_id) DO UPDATE SET gate_result = excluded.gate_result,"
        " gate_reason = excluded.gate_reason, at = excluded.at",
        (record.workorder_id, record.gate_result, record.gate_reason, record.at),
    )


def run_record(tx: Tx, workorder_id: str) -> RunRecord | None:
    """What the gate said of a workorder."""
    row = tx.one(f"SELECT {_columns(RunRecord)} FROM run_record WHERE workorder_id = ?", (workorder_id,))
    return _record(RunRecord, row) if row else None


# Workorders and candidates

_TABLES: Final[dict[type[Struct], str]] = {Capture: "capture", Workorder: "workorder", Candidate: "candidate"}


def get(tx: Tx, kind: type[R], record_id: str) -> R | None:
    """One capture, workorder or candidate by its id; in a transaction that writes it is this one's from now on."""
    row = tx.one(f"SELECT {_columns(kind)} FROM {_TABLES[kind]} WHERE id = ?{tx.locks.take}", (record_id,))
    return _record(kind, row) if row else None


def ids_like(tx: Tx, kind: type[Struct], prefix: str) -> list[str]:
    """The first two ids that begin like this."""
    sql = f"SELECT id FROM {_TABLES[kind]} WHERE substr(id, 1, ?) = ? ORDER BY id LIMIT 2"
    return [row[0] for row in tx.rows(sql, (len(prefix), prefix))]


def select(
    tx: Tx, kind: type[R], *, status: Sequence[str] = (), workorder: str = "", limit: int = 1_000, after: str = ""
) -> list[R]:
    """Captures, workorders or candidates, the oldest first; with `after` those behind the one with that id."""
    wanted = _wanted(status, workorder)
    if after:
        place = f"(SELECT created_at FROM {_TABLES[kind]} WHERE id = ?)"
        wanted.append((f"(created_at > {place} OR (created_at = {place} AND id > ?))", [after] * 3))
    where, params = _where(wanted)
    sql = f"SELECT {_columns(kind)} FROM {_TABLES[kind]}{where} ORDER BY created_at, id LIMIT ?"
    return [_record(kind, row) for row in tx.rows(sql, (*params, limit))]


def count(tx: Tx, kind: type[Struct], *, status: Sequence[str] = (), workorder: str = "") -> dict[str, int]:
    """How many captures, workorders or candidates there are, by status."""
    where, params = _where(_wanted(status, workorder))
    sql = f"SELECT status, COUNT(*) FROM {_TABLES[kind]}{where} GROUP BY status ORDER BY status"
    return {row[0]: row[1] for row in tx.rows(sql, params)}


def _wanted(status: Sequence[str], workorder: str) -> list[tuple[str, list[Any]]]:
    wanted: list[tuple[str, list[Any]]] = []
    if status:
        wanted.append((f"status IN ({', '.join('?' * len(status))})", list(status)))
    if workorder:
        wanted.append(("workorder = ?", [workorder]))
    return wanted


def _where(wanted: list[tuple[str, list[Any]]]) -> tuple[str, tuple[Any, ...]]:
    where = f" WHERE {' AND '.join(sql for sql, _ in wanted)}" if wanted else ""
    return where, tuple(value for _, values in wanted for value in values)


def case_of(tx: Tx, workorder_id: str) -> IntakeCase | None:
    """A workorder with its captures and candidates."""
    found = get(tx, Workorder, workorder_id)
    if found is None:
        return None
    candidates = tuple(select(tx, Candidate, workorder=workorder_id))
    return IntakeCase(workorder=found, captures=captures_of(tx, workorder_id), candidates=candidates)


def candidate_of_task(tx: Tx, task_id: str) -> Candidate | None:
    """The candidate that was promoted to a task."""
    row = tx.one(f"SELECT {_columns(Candidate)} FROM candidate WHERE task_id = ? AND task_id <> ''", (task_id,))
    return _record(Candidate, row) if row else None


def to_promote(tx: Tx, limit: int) -> list[str]:
    """The ids of candidates whose workorder has them promoted by their confidence."""
    sql = (
        "SELECT c.id FROM candidate c JOIN workorder w ON w.id = c.workorder"
        " WHERE c.status = 'PROPOSED' AND w.promote_above > 0 AND c.confidence >= w.promote_above"
        " ORDER BY c.created_at, c.id LIMIT ?"
    )
    return [row[0] for row in tx.rows(sql, (limit,))]


def open_questions_about(tx: Tx, capture_ids: Sequence[str]) -> list[str]:
    """Open questions about workorders that had any of these captures."""
    marks = ", ".join("?" * len(capture_ids))
    sql = (
        "SELECT DISTINCT q.id FROM workorder_capture w JOIN question q ON q.owner_id = w.workorder_id"
        f" WHERE w.capture_id IN ({marks}) AND q.owner_kind = 'workorder' AND q.status = 'open' ORDER BY q.id"
    )
    return [row[0] for row in tx.rows(sql, tuple(capture_ids))]


def newest_question(tx: Tx, workorder_id: str) -> str | None:
    """The id of the newest question about a workorder."""
    sql = (
        "SELECT id FROM question WHERE owner_kind = 'workorder' AND owner_id = ?"
        " ORDER BY asked_at DESC, id DESC LIMIT 1"
    )
    row = tx.one(sql, (workorder_id,))
    return row[0] if row else None


def unbegun_tasks(tx: Tx) -> list[str]:
    """The tasks of open workorders that are ready and that no engine runs at this moment."""
    sql = (
        "SELECT t.id FROM task t JOIN workorder w ON w.task_id = t.id WHERE w.status = 'CREATED' AND t.ready = 1"
        " ORDER BY t.id"
    )
    return [row[0] for row in tx.rows(sql)]
