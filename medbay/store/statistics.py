"""Figures by hour, made from the event log: what was counted, what is still under way, how far the log was read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from medbay.core.snapshot import OpenCase
from medbay.store.database import Tx

HOUR_MS: Final = 3_600_000
_CURSOR: Final = "cursor"
_AT_ONCE: Final = 500
_PUT: Final = (
    "INSERT INTO statistic_open (kind, id, failures, since, category, person) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (kind, id) DO UPDATE SET failures = excluded.failures, since = excluded.since,"
    " category = excluded.category, person = excluded.person"
)

Named = tuple[str, int, str, str, str]  # kind, hour, and three names


def cursor(tx: Tx) -> int:
    """How far the event log was read."""
    row = tx.one("SELECT since FROM statistic_open WHERE kind = ? AND id = ''", (_CURSOR,))
    return int(row[0]) if row else 0


def move_cursor(tx: Tx, seq: int) -> None:
    """Remember how far the event log was read."""
    _put(tx, _CURSOR, "", OpenCase(since=seq))


def add(tx: Tx, counted: Mapping[Named, tuple[int, int]]) -> None:
    """Add to the figures: how often, and a sum."""
    tx.execute_many(
        "INSERT INTO statistic (kind, hour, a, b, c, number, total) VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (kind, hour, a, b, c) DO UPDATE SET number = statistic.number + excluded.number,"
        " total = statistic.total + excluded.total",
        [(*named, number, total) for named, (number, total) in sorted(counted.items())],
    )


def opened(tx: Tx, kind: str, ids: Collection[str]) -> dict[str, OpenCase]:
    """What is still under way among these."""
    wanted, found = sorted(ids), {}
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        sql = (
            "SELECT id, failures, since, category, person FROM statistic_open"
            f" WHERE kind = ? AND id IN ({', '.join('?' * len(some))})"
        )
        for row in tx.rows(sql, (kind, *some)):
            found[row[0]] = OpenCase(failures=row[1], since=row[2], category=row[3], person=bool(row[4]))
    return found


def keep(tx: Tx, kind: str, changed: Mapping[str, OpenCase | None]) -> None:
    """Remember what is under way, and forget what is over."""
    over = sorted(each for each, case in changed.items() if case is None)
    tx.execute_many("DELETE FROM statistic_open WHERE kind = ? AND id = ?", [(kind, each) for each in over])
    still = [(each, case) for each, case in sorted(changed.items(), key=lambda each: each[0]) if case is not None]
    tx.execute_many(
        _PUT, [(kind, each, case.failures, case.since, case.category, int(case.person)) for each, case in still]
    )


def workers_of(tx: Tx, task_ids: Collection[str]) -> dict[str, tuple[str, str]]:
    """The runner and the role of these tasks."""
    wanted, found = sorted(task_ids), {}
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        sql = f"SELECT id, runner, role FROM task WHERE id IN ({', '.join('?' * len(some))})"
        found.update({row[0]: (row[1], row[2]) for row in tx.rows(sql, some)})
    return found


def attempts(tx: Tx, ended: Iterable[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, int, str]]:
    """Tokens, money in millionths and agent of those of these attempts that an agent made or that used something."""
    wanted, found = sorted(set(ended)), {}
    for at in range(0, len(wanted), _AT_ONCE // 2):
        some = wanted[at : at + _AT_ONCE // 2]
        sql = (
            "SELECT task_id, number, coalesce(tokens, 0), coalesce(cost, 0), coalesce(agent, '') FROM attempt"
            f" WHERE (task_id, number) IN (VALUES {', '.join(['(?, ?)'] * len(some))})"
        )
        for task_id, number, *used in tx.rows(sql, [value for each in some for value in each]):
            if any(used):
                found[task_id, int(number)] = int(used[0]), int(used[1]), str(used[2])
    return found


def sums(tx: Tx, kind: str, *, since: int, until: int) -> list[tuple[str, str, str, int, int]]:
    """The figures of a kind over some hours: three names, how often, a sum."""
    sql = (
        "SELECT a, b, c, sum(number), sum(total) FROM statistic WHERE kind = ? AND hour >= ? AND hour < ?"
        " GROUP BY a, b, c ORDER BY a, b, c"
    )
    return [(row[0], row[1], row[2], int(row[3]), int(row[4])) for row in tx.rows(sql, (kind, since, until))]


def by_hour(tx: Tx, kind: str, *, since: int, until: int) -> list[tuple[int, str, str, int, int]]:
    """The figures of a kind, hour by hour: when, two names, how often, a sum."""
    sql = (
        "SELECT hour, a, b, sum(number), sum(total) FROM statistic WHERE kind = ? AND hour >= ? AND hour < ?"
        " GROUP BY hour, a, b ORDER BY hour, a, b"
    )
    return [(int(row[0]), row[1], row[2], int(row[3]), int(row[4])) for row in tx.rows(sql, (kind, since, until))]


def hours_of(tx: Tx, kind: str, names: Sequence[str], *, since: int, until: int) -> list[tuple[str, int, int]]:
    """In which hours something was counted under these names, and how often: name, hour, number."""
    sql = (
        f"SELECT a, hour, sum(number) FROM statistic WHERE kind = ? AND hour >= ? AND hour < ?"
        f" AND a IN ({', '.join('?' * len(names))}) GROUP BY a, hour ORDER BY a, hour"
    )
    return [(row[0], int(row[1]), int(row[2])) for row in tx.rows(sql, (kind, since, until, *names))]


def last_before(tx: Tx, kind: str, names: Sequence[str], before: int) -> dict[str, int]:
    """The last hour before a moment in which something was counted under each of these names."""
    sql = (
        "SELECT a, max(hour) FROM statistic WHERE kind = ? AND hour < ?"
        f" AND a IN ({', '.join('?' * len(names))}) GROUP BY a"
    )
    return {row[0]: int(row[1]) for row in tx.rows(sql, (kind, before, *names))}


def every(tx: Tx) -> list[tuple[str, int, str, str, str, int, int]]:
    """Everything that was counted, in order: what a recount has to equal."""
    return list(tx.rows("SELECT kind, hour, a, b, c, number, total FROM statistic ORDER BY kind, hour, a, b, c"))


def forget(tx: Tx) -> None:
    """Begin again from the first event."""
    tx.execute("DELETE FROM statistic")
    tx.execute("DELETE FROM statistic_open")


def _put(tx: Tx, kind: str, name: str, case: OpenCase) -> None:
    tx.execute(_PUT, (kind, name, case.failures, case.since, case.category, int(case.person)))


def retries(tx: Tx, *, since: int) -> list[tuple[str, str, int, int]]:
    """The retries that were planned since a moment: status, category, how many, the sum of their waits."""
    sql = (
        "SELECT status, category, count(*), sum(delay_ms) FROM retry WHERE scheduled_at >= ?"
        " GROUP BY status, category ORDER BY status, category"
    )
    return [(row[0], row[1], int(row[2]), int(row[3])) for row in tx.rows(sql, (since,))]
