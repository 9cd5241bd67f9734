"""What is known of failures: read by fingerprint and for lists; `learn` writes it with the decision it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from msgspec.structs import replace

from medbay.core.attempt.knowledge import LIKE, Advice, Known, Learned, Seen, Taught, Teaching, Tried, likeness
from medbay.core.diagnosis.record import Diagnosis
from medbay.store.database import Row, Tx, listed

ADVICE_MAX: Final = 50  # kept per fingerprint; what cured least goes first
TASKS_SHOWN: Final = 20
SUMMARY_MAX: Final = 500
EXCERPT_MAX: Final = 2_000

_COLUMNS: Final = (
    "fingerprint, category, subcategory, summary, excerpt, count, first_seen, last_seen,"
    " taught_category, taught_subcategory, taught_by, taught_at"
)
_OWN: Final = f"substr(fingerprint, 1, {len(LIKE)}) <> '{LIKE}'"  # of a failure, not of all that are like one
Order = Literal["seen", "count"]
LIST_SQL: Final[dict[Order, str]] = {
    "seen": f"SELECT {_COLUMNS} FROM failure_pattern WHERE {_OWN} ORDER BY last_seen DESC, fingerprint LIMIT ?",
    "count": f"SELECT {_COLUMNS} FROM failure_pattern WHERE {_OWN} ORDER BY count DESC, fingerprint LIMIT ?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternFilter:
    """Which patterns a list shows; the category is the one acted on."""

    category: str = ""
    subcategory: str | None = None
    order: Order = "seen"
    limit: int = 50


_GET_SQL: Final = f"SELECT {_COLUMNS} FROM failure_pattern WHERE fingerprint = ?"


def get(tx: Tx, fingerprint: str) -> Known | None:
    """Everything known of one fingerprint."""
    row = tx.one(f"SELECT {_COLUMNS} FROM failure_pattern WHERE fingerprint = ?", (fingerprint,))
    return _counted(tx, row) if row else None


def of_failures(tx: Tx, failures: Iterable[Diagnosis]) -> dict[str, Known | None]:
    """What is known of each failure, with what a person taught for one of the same rule and wording; by fingerprint.

    In two questions for all, and without how many tasks met it: rules never ask for that.
    """
    first: dict[str, Diagnosis] = {}
    for each in failures:
        first.setdefault(each.fingerprint, each)
    if not first:
        return {}
    likes = {name: likeness(each) for name, each in first.items()}
    marks, names = listed([*first, *dict.fromkeys(likes.values())])
    sql = f"SELECT {_COLUMNS} FROM failure_pattern WHERE fingerprint IN ({marks})"
    rows = {row[0]: row for row in tx.rows(sql, names)}
    advice = _advice_of_all(tx, [name for name in first if name in rows])
    known: dict[str, Known | None] = {}
    for name, each in first.items():
        own = _known(rows[name], advice=advice.get(name, ())) if name in rows else None
        known[name] = _carried(each, own, rows.get(likes[name]))
    return known


def _carried(found: Diagnosis, known: Known | None, row: Row | None) -> Known | None:
    """With what was taught for all that are like it, unless something was taught for this one."""
    if row is None or (known is not None and known.taught is not None):
        return known
    base = known or Known(fingerprint=found.fingerprint, category=found.category, subcategory=found.subcategory)
    return replace(base, taught=Teaching(row[8], row[9], row[10], row[11]), carried=True)


def record(tx: Tx, fingerprint: str, advice: str) -> Advice:
    """How one advice has fared against one fingerprint."""
    row = tx.one(
        "SELECT advice, given, cured FROM failure_advice WHERE fingerprint = ? AND advice = ?", (fingerprint, advice)
    )
    return Advice(*row) if row else Advice(advice)


def select(tx: Tx, wanted: PatternFilter) -> list[Known]:
    """Patterns for a list, the one seen last or most often first."""
    if not wanted.category:
        return [_counted(tx, row) for row in tx.rows(LIST_SQL[wanted.order], (wanted.limit,))]
    # A taught category hides what the rules say, so each part of a kind is looked up in the same of the two.
    where = f"{_OWN} AND coalesce(taught_category, category) = ?"
    params: list[object] = [wanted.category]
    if wanted.subcategory is not None:
        where += " AND CASE WHEN taught_category IS NULL THEN subcategory ELSE taught_subcategory END = ?"
        params.append(wanted.subcategory)
    by = "last_seen" if wanted.order == "seen" else "count"
    sql = f"SELECT {_COLUMNS} FROM failure_pattern WHERE {where} ORDER BY {by} DESC, fingerprint LIMIT ?"
    return [_counted(tx, row) for row in tx.rows(sql, (*params, wanted.limit))]


def with_prefix(tx: Tx, prefix: str, limit: int = 5) -> list[str]:
    """Which fingerprints begin like this; the exact one first."""
    after_all = prefix + "\U0010ffff"
    rows = tx.rows(
        f"SELECT fingerprint FROM failure_pattern WHERE fingerprint >= ? AND fingerprint < ? AND {_OWN}"
        " ORDER BY fingerprint LIMIT ?",
        (prefix, after_all, limit),
    )
    return [row[0] for row in rows]


def tasks_of(tx: Tx, fingerprint: str, limit: int = TASKS_SHOWN) -> list[str]:
    """The tasks that met it, the last one first."""
    rows = tx.rows(
        "SELECT task_id FROM failure_task WHERE fingerprint = ? ORDER BY last_seen DESC, task_id LIMIT ?",
        (fingerprint, limit),
    )
    return [row[0] for row in rows]


def learn(tx: Tx, learned: Learned) -> None:
    """Remember what a decision taught us, in its transaction.

    At the end of it, one transaction after the other: two that learn of the same failures cannot wait for each other.
    """
    match learned:
        case Seen():
            _see(tx, learned.diagnosis, learned.task_id, again=True)
        case Tried():
            _try(tx, learned)
        case Taught():
            _see(tx, learned.diagnosis, learned.task_id, again=False)
            tx.execute_last(
                "UPDATE failure_pattern SET taught_category = ?, taught_subcategory = ?, taught_by = ?,"
                " taught_at = ? WHERE fingerprint = ?",
                (learned.category, learned.subcategory, learned.by, tx.now, learned.diagnosis.fingerprint),
            )
            _teach_like(tx, learned)
        case _:
            assert_never(learned)


def _teach_like(tx: Tx, learned: Taught) -> None:
    """The same for failures of its rule in its wording; the summary names the failure that was corrected."""
    found = learned.diagnosis
    tx.execute_last(
        "INSERT INTO failure_pattern (fingerprint, category, subcategory, summary, excerpt, count, first_seen,"
        " last_seen, taught_category, taught_subcategory, taught_by, taught_at)"
        " VALUES (?, ?, ?, ?, '', 0, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (fingerprint) DO UPDATE SET summary = excluded.summary, last_seen = excluded.last_seen,"
        " taught_category = excluded.taught_category, taught_subcategory = excluded.taught_subcategory,"
        " taught_by = excluded.taught_by, taught_at = excluded.taught_at",
        (
            likeness(found),
            found.category,
            found.subcategory,
            found.fingerprint,
            tx.now,
            tx.now,
            learned.category,
            learned.subcategory,
            learned.by,
            tx.now,
        ),
    )


def forget(tx: Tx, fingerprint: str) -> None:
    """As if it had never been seen: its count, what was taught, and the record of every advice."""
    tx.execute_last(f"DELETE FROM failure_pattern WHERE summary = ? AND NOT ({_OWN})", (fingerprint,))
    for table in ("failure_task", "failure_advice", "failure_pattern"):
        tx.execute_last(f"DELETE FROM {table} WHERE fingerprint = ?", (fingerprint,))


def _see(tx: Tx, found: Diagnosis, task_id: str, *, again: bool) -> None:
    """One more failure like this; a failure that is counted already (`again` false) only makes a missing row."""
    update = (
        "DO UPDATE SET category = excluded.category, subcategory = excluded.subcategory, summary = excluded.summary,"
        " excerpt = excluded.excerpt, count = failure_pattern.count + 1, last_seen = excluded.last_seen"
    )
    tx.execute_last(
        "INSERT INTO failure_pattern (fingerprint, category, subcategory, summary, excerpt, count, first_seen,"
        " last_seen, taught_category, taught_subcategory, taught_by, taught_at)"
        " VALUES (?, ?, ?, ?, ?, 1, ?, ?, NULL, NULL, '', NULL)"
        f" ON CONFLICT (fingerprint) {update if again else 'DO NOTHING'}",
        (
            found.fingerprint,
            found.category,
            found.subcategory,
            found.summary[:SUMMARY_MAX],
            found.pattern.excerpt[:EXCERPT_MAX],
            tx.now,
            tx.now,
        ),
    )
    tx.execute_last(
        "INSERT INTO failure_task (fingerprint, task_id, last_seen) VALUES (?, ?, ?)"
        " ON CONFLICT (fingerprint, task_id) DO UPDATE SET last_seen = excluded.last_seen",
        (found.fingerprint, task_id, tx.now),
    )


def _try(tx: Tx, tried: Tried) -> None:
    tx.execute_last(
        "INSERT INTO failure_advice (fingerprint, advice, given, cured, last_given) VALUES (?, ?, 1, ?, ?)"
        " ON CONFLICT (fingerprint, advice) DO UPDATE SET given = failure_advice.given + 1,"
        " cured = failure_advice.cured + excluded.cured, last_given = excluded.last_given",
        (tried.fingerprint, tried.advice, int(tried.cured), tx.now),
    )
    # This one stays, and of the others those that cured most, then those given last.
    tx.execute_last(
        "DELETE FROM failure_advice WHERE fingerprint = ? AND advice IN (SELECT advice FROM failure_advice"
        " WHERE fingerprint = ? AND advice <> ? ORDER BY cured DESC, last_given DESC, advice LIMIT ? OFFSET ?)",
        (tried.fingerprint, tried.fingerprint, tried.advice, ADVICE_MAX, ADVICE_MAX - 1),
    )


def _counted(tx: Tx, row: Row) -> Known:
    (met,) = tx.one("SELECT count(*) FROM failure_task WHERE fingerprint = ?", (row[0],)) or (0,)
    return _known(row, advice=_advice(tx, row[0]), tasks=int(met))


def _known(row: Row, *, advice: tuple[Advice, ...], tasks: int = 0) -> Known:
    taught = Teaching(row[8], row[9], row[10], row[11]) if row[8] else None
    return Known(
        fingerprint=row[0],
        category=row[1],
        subcategory=row[2],
        summary=row[3],
        excerpt=row[4],
        count=row[5],
        tasks=tasks,
        first_seen=row[6],
        last_seen=row[7],
        taught=taught,
        advice=advice,
    )


def _advice(tx: Tx, fingerprint: str) -> tuple[Advice, ...]:
    """Every advice given against it, the best record first."""
    return _advice_of_all(tx, [fingerprint]).get(fingerprint, ())


def _advice_of_all(tx: Tx, fingerprints: Sequence[str]) -> dict[str, tuple[Advice, ...]]:
    if not fingerprints:
        return {}
    marks, names = listed(fingerprints)
    found: dict[str, list[Advice]] = {}
    for name, *record in tx.rows(
        f"SELECT fingerprint, advice, given, cured FROM failure_advice WHERE fingerprint IN ({marks})", names
    ):
        found.setdefault(name, []).append(Advice(*record))
    return {name: tuple(sorted(those, key=_by_record)) for name, those in found.items()}


def _by_record(advice: Advice) -> tuple[float, int, str]:
    return (-advice.score, -advice.given, advice.text)
