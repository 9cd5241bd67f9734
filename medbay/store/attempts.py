"""Reading and starting attempts. How one ends is written by `store.apply` alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

from medbay.core.model import Attempt
from medbay.core.outcome import Output
from medbay.store.database import Tx
from medbay.store.rows import ATTEMPT_COLUMNS, ATTEMPT_FIELDS, attempt, diagnosis, encode_diagnosis, loads

LIVE_OF_WORKER_SQL: Final = (
    f"SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE worker_id = ? AND ended_at IS NULL ORDER BY task_id"
)

_INSERT_SQL: Final = f"INSERT INTO attempt ({ATTEMPT_COLUMNS}) VALUES ({', '.join('?' * len(ATTEMPT_FIELDS))})"
_values: Final = attrgetter(*ATTEMPT_FIELDS)
_PIECE: Final = 2_000
_SUCCESSES: Final = "('succeeded', 'rescued')"


def insert(tx: Tx, new: Attempt) -> None:
    """Record that an attempt was claimed. The database refuses a second live one."""
    tx.put(_INSERT_SQL, _values(new))


def insert_ended(tx: Tx, ended: Attempt) -> None:
    """Record an attempt that was made and ended elsewhere."""
    own = {"diagnosis": encode_diagnosis(ended.diagnosis), "charged": int(ended.charged)}
    flags = {"canary": int(ended.canary), "forced": int(ended.forced)}
    row = dict(zip(ATTEMPT_FIELDS, _values(ended), strict=True)) | own | flags
    tx.put(_INSERT_SQL, tuple(row.values()))


def get(tx: Tx, task_id: str, number: int) -> Attempt | None:
    """One attempt."""
    row = tx.one(f"SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE task_id = ? AND number = ?", (task_id, number))
    return attempt(row) if row else None


def newest_diagnosed(tx: Tx, task_id: str) -> Attempt | None:
    """The newest attempt of a task that failed and was diagnosed."""
    sql = f"SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE task_id = ? AND diagnosis IS NOT NULL"
    row = tx.one(f"{sql} ORDER BY number DESC LIMIT 1", (task_id,))
    return attempt(row) if row else None


def named_times(tx: Tx, task_ids: Collection[str]) -> dict[str, int | None]:
    """The time that the newest diagnosed failure of each of these tasks named; of many in one look."""
    if not task_ids:
        return {}
    marks = ", ".join("?" * len(task_ids))
    sql = (
        "SELECT a.task_id, a.diagnosis FROM attempt a JOIN (SELECT task_id, max(number) AS number FROM attempt"
        f" WHERE task_id IN ({marks}) AND diagnosis IS NOT NULL GROUP BY task_id) newest"
        " ON newest.task_id = a.task_id AND newest.number = a.number"
    )
    return {row[0]: diagnosis(row[1]).retry_after_ms for row in tx.rows(sql, tuple(sorted(task_ids)))}


def totals(tx: Tx, task_id: str) -> tuple[int, int]:
    """What the attempts of a task used in all: tokens, and money in millionths."""
    row = tx.one("SELECT coalesce(sum(tokens), 0), coalesce(sum(cost), 0) FROM attempt WHERE task_id = ?", (task_id,))
    return (int(row[0]), int(row[1])) if row else (0, 0)


def success_durations(tx: Tx, task_id: str, limit: int) -> list[int]:
    """How many milliseconds the last successes of a task took."""
    sql = (
        f"SELECT ended_at - started_at FROM attempt WHERE task_id = ? AND outcome IN {_SUCCESSES}"
        " AND ended_at IS NOT NULL ORDER BY number DESC LIMIT ?"
    )
    return [int(row[0]) for row in tx.rows(sql, (task_id, limit))]


def last_success_at(tx: Tx, task_id: str) -> int | None:
    """When a task last ended well."""
    sql = f"SELECT ended_at FROM attempt WHERE task_id = ? AND outcome IN {_SUCCESSES} ORDER BY number DESC LIMIT 1"
    row = tx.one(sql, (task_id,))
    return int(row[0]) if row and row[0] is not None else None


def of_task(tx: Tx, task_id: str, limit: int) -> list[Attempt]:
    """The newest attempts of a task, in their order."""
    sql = f"SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE task_id = ? ORDER BY number DESC LIMIT ?"
    return [attempt(row) for row in reversed(tx.rows(sql, (task_id, limit)))]


def ended_since(tx: Tx, since: int) -> Iterator[Attempt]:
    """Every attempt that ended since this moment, by task and number; read piece by piece."""
    sql = (
        f"SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE (task_id, number) > (?, ?) AND ended_at >= ?"
        " ORDER BY task_id, number LIMIT ?"
    )
    after: tuple[str, int] = ("", 0)
    while found := [attempt(row) for row in tx.rows(sql, (*after, since, _PIECE))]:
        yield from found
        after = (found[-1].task_id, found[-1].number)


def live_of_worker(tx: Tx, worker_id: str) -> list[Attempt]:
    """What a worker is running, as the store knows it."""
    return [attempt(row) for row in tx.rows(LIVE_OF_WORKER_SQL, (worker_id,))]


def live_keys(tx: Tx) -> frozenset[tuple[str, int]]:
    """Every live attempt, as (task, number)."""
    return frozenset((row[0], row[1]) for row in tx.rows("SELECT task_id, number FROM attempt WHERE ended_at IS NULL"))


def ownerless(tx: Tx) -> frozenset[tuple[str, int]]:
    """Live attempts whose worker was given up without them: who gives one up ends or takes over all it ran.

    Not those elsewhere, which wait for an engine that knows their place.
    """
    sql = (
        "SELECT a.task_id, a.number FROM attempt a LEFT JOIN worker w ON w.id = a.worker_id"
        " WHERE a.ended_at IS NULL AND (w.id IS NULL OR w.how IN ('lost', 'crashed')) AND a.place = ''"
    )
    return frozenset((row[0], row[1]) for row in tx.rows(sql))


def verifying(tx: Tx, worker_id: str) -> list[Attempt]:
    """What of a worker's live attempts has its checks to come or under way."""
    columns = ", ".join(f"a.{name}" for name in ATTEMPT_FIELDS)
    sql = (
        f"SELECT {columns} FROM attempt a JOIN task t ON t.id = a.task_id"
        " WHERE a.worker_id = ? AND a.ended_at IS NULL AND t.status = 'pending_verification' ORDER BY a.task_id"
    )
    return [attempt(row) for row in tx.rows(sql, (worker_id,))]


def take_over(tx: Tx, taken: Attempt, *, worker_id: str, host: str) -> bool:
    """Give a live attempt another owner; False when it has one already."""
    changed = tx.execute(
        "UPDATE attempt SET worker_id = ?, host = ?, pid = NULL, pid_start = NULL"
        " WHERE task_id = ? AND number = ? AND worker_id = ? AND ended_at IS NULL",
        (worker_id, host, taken.task_id, taken.number, taken.worker_id),
    )
    return changed == 1


def record_process(tx: Tx, task_id: str, number: int, *, pid: int, pid_start: int) -> None:
    """Remember which process runs it, for the engine that has to end it."""
    tx.put(
        "UPDATE attempt SET pid = ?, pid_start = ? WHERE task_id = ? AND number = ? AND ended_at IS NULL",
        (pid, pid_start, task_id, number),
    )


def tokens_of_session(tx: Tx, task_id: str, session: str) -> tuple[int, int]:
    """What the attempts of a task used in one session of their agent, in and out."""
    row = tx.one(
        "SELECT COALESCE(SUM(tokens_in), 0), COALESCE(SUM(tokens_out), 0) FROM attempt"
        " WHERE task_id = ? AND (session = ? OR (session = '' AND resumes = ?))",
        (task_id, session, session),
    )
    return (int(row[0]), int(row[1])) if row else (0, 0)


def spent(tx: Tx, task_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """What the attempts of these tasks have used that ended, in and out; one that only says how many, all in."""
    if not task_ids:
        return {}
    sql = (
        "SELECT task_id, SUM(COALESCE(tokens_in, tokens, 0)), SUM(COALESCE(tokens_out, 0)) FROM attempt"
        f" WHERE task_id IN ({', '.join('?' * len(task_ids))}) AND ended_at IS NOT NULL GROUP BY task_id"
    )
    return {row[0]: (int(row[1]), int(row[2])) for row in tx.rows(f"{sql} ORDER BY task_id", tuple(task_ids))}


def output(tx: Tx, task_id: str, number: int) -> Output | None:
    """The ends of an attempt's log, as the store keeps them."""
    row = tx.one(
        "SELECT o.head, o.tail, o.total_bytes, o.result, a.log_path FROM attempt_output o"
        " JOIN attempt a ON a.task_id = o.task_id AND a.number = o.number WHERE o.task_id = ? AND o.number = ?",
        (task_id, number),
    )
    if row is None:
        return None
    result: dict[str, Any] | None = loads(row[3]) if row[3] else None
    return Output(head=row[0], tail=row[1], total_bytes=row[2], result=result, log_path=row[4])


def results(tx: Tx, task_id: str) -> dict[int, dict[str, Any]]:
    """What each attempt of a task left as its result, by its number."""
    sql = "SELECT number, result FROM attempt_output WHERE task_id = ? AND result IS NOT NULL ORDER BY number"
    return {int(row[0]): loads(row[1]) for row in tx.rows(sql, (task_id,))}


def last_result(tx: Tx, task_id: str) -> dict[str, Any] | None:
    """What the newest successful attempt left as its result."""
    row = tx.one(
        "SELECT o.result FROM attempt a JOIN attempt_output o ON o.task_id = a.task_id AND o.number = a.number"
        f" WHERE a.task_id = ? AND a.outcome IN {_SUCCESSES} ORDER BY a.number DESC LIMIT 1",
        (task_id,),
    )
    found: dict[str, Any] | None = loads(row[0]) if row and row[0] else None
    return found


def has_succeeded(tx: Tx, task_id: str) -> bool:
    """Whether any attempt of a task succeeded."""
    sql = f"SELECT 1 FROM attempt WHERE task_id = ? AND outcome IN {_SUCCESSES} LIMIT 1"
    return tx.one(sql, (task_id,)) is not None
