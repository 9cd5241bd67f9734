"""Reading tasks: by id, by what the loop needs (claim, release, cancel), and for people's lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT
from medbay.core.model import MUTEX, Task
from medbay.core.schedule.cron import REBOOT
from medbay.store.database import Tx
from medbay.store.rows import TASK_COLUMNS, task

_LIMIT: Final = 1_000
_LISTED_AT_ONCE: Final = 16

# The statements of the loop; a test reads their query plans.
CLAIM_HEAD_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE queue = ? AND recovery = ? AND place = ? AND ready = 1 AND hold IS NULL"
    " AND crashes = 0 ORDER BY priority, ready_at, id LIMIT ?"
)
CLAIM_SUSPECTS_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE queue = ? AND ready = 1 AND hold IS NULL AND crashes > 0"
    " ORDER BY crashes, priority, ready_at, id LIMIT ?"
)
DUE_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE due_at <= ? AND due_at IS NOT NULL AND ready = 0 AND paused = 0"
    " AND unmet = 0 AND live IS NULL ORDER BY due_at, id LIMIT ?"
)
NEXT_DUE_SQL: Final = (
    "SELECT due_at FROM task WHERE due_at IS NOT NULL AND ready = 0 AND paused = 0 AND unmet = 0"
    " AND live IS NULL ORDER BY due_at, id LIMIT 1"
)
_BEHIND_MUTEX: Final = "mutex <> '' AND hold = 'mutex:' || mutex"
# The first behind each mutex for each place, from one to the next by the index: what waits behind them costs nothing.
_FIRST_BEHIND: Final = f"(SELECT id FROM task WHERE queue = ? AND {_BEHIND_MUTEX}"
_IN_ORDER: Final = " ORDER BY mutex, place, priority, ready_at, id LIMIT 1)"
_OF_HEAD: Final = "(SELECT b.{0} FROM task b WHERE b.id = head.id)"
MUTEX_HEADS_SQL: Final = (
    f"WITH RECURSIVE head (id, number) AS (SELECT {_FIRST_BEHIND}{_IN_ORDER}, 1 UNION ALL SELECT COALESCE("
    f"{_FIRST_BEHIND} AND mutex = {_OF_HEAD.format('mutex')} AND place > {_OF_HEAD.format('place')}{_IN_ORDER},"
    f" {_FIRST_BEHIND} AND mutex > {_OF_HEAD.format('mutex')}{_IN_ORDER}), number + 1 FROM head"
    " WHERE id IS NOT NULL AND number < ?) SELECT id, mutex, priority, ready_at, place FROM (SELECT id, "
    + ", ".join(f"{_OF_HEAD.format(name)} AS {name}" for name in ("mutex", "priority", "ready_at", "place"))
    + " FROM head WHERE id IS NOT NULL) first"
    " WHERE (SELECT l.id FROM task l WHERE l.mutex = first.mutex AND l.mutex <> '' AND l.live IS NOT NULL LIMIT 1)"
    " IS NULL"
)
MUTEX_HEAD_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE id = ? AND {_BEHIND_MUTEX} AND NOT EXISTS (SELECT 1 FROM task l"
    " WHERE l.mutex = task.mutex AND l.mutex <> '' AND l.live IS NOT NULL)"
)
BEHIND_MUTEX_SQL: Final = (
    f"SELECT 1 FROM task WHERE queue = ? AND {_BEHIND_MUTEX}"
    " ORDER BY queue, mutex, place, priority, ready_at, id LIMIT 1"
)
MUTEX_HOLDER_SQL: Final = "SELECT id FROM task WHERE mutex = ? AND mutex <> '' AND live IS NOT NULL"
COUNT_LIVE_SQL: Final = "SELECT count(*) FROM task WHERE queue = ? AND live IS NOT NULL"
_MUTEXES_LOOKED_AT: Final = 1_000  # names in one look; what waits behind more of them waits for the first

# Where a task stands in a list: 0 needs a person, 1 runs, 2 waits, 3 is held, 4 is ready, 6 ended. The words that
# `views.glyphs` finds for the same task stand in the same order; a test compares them.
_TIME_OUT: Final = ", ".join(f"'{kind}'" for kind in sorted(BLOCKS_THAT_TIME_OUT))
PLACE_SQL: Final = (
    "CASE WHEN t.status IN ('completed', 'cancelled') THEN 6"
    " WHEN t.live IS NOT NULL OR t.status IN ('in_progress', 'pending_verification') THEN 1"
    f" WHEN t.status = 'blocked' AND t.due_at IS NOT NULL AND t.block_kind IN ({_TIME_OUT}) THEN 2"
    " WHEN t.status = 'blocked' THEN 0"
    " WHEN t.paused = 1 THEN 3"
    " WHEN t.waits_for IS NOT NULL OR t.unmet > 0 OR t.status = 'failed' THEN 2"
    " WHEN t.ready = 0 AND t.due_at IS NOT NULL THEN 2"
    " WHEN t.hold IS NOT NULL THEN 3 ELSE 4 END"
)
_NEVER: Final = 9_000_000_000_000_000
# As the index of what is due has it.
_DUE: Final = "t.due_at IS NOT NULL AND t.ready = 0 AND t.paused = 0 AND t.unmet = 0 AND t.live IS NULL"
# What a list is ordered by, each rising, so that the values of a row say where the next page begins.
_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "newest": ("-t.since", "t.id"),
    "oldest": ("t.created_at", "t.id"),
    "due": ("t.due_at", "t.id"),
    "need": (
        PLACE_SQL,
        f"CASE {PLACE_SQL} WHEN 2 THEN coalesce(t.due_at, {_NEVER}) WHEN 4 THEN t.priority"
        f" WHEN 6 THEN -t.since ELSE t.since END",
        f"CASE {PLACE_SQL} WHEN 4 THEN coalesce(t.ready_at, t.since) ELSE t.priority END",
        "t.id",
    ),
}
_IS_TRIAGE: Final = "t.id IN (SELECT o.id FROM task o WHERE o.owner_kind <> '' AND o.role = 'triage')"
_ORDERS: Final = {order: ", ".join(keys) for order, keys in _KEYS.items()}
PageKey = tuple[int | str, ...]  # where a page of a list ended
PARKED_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE hold = ? AND queue = ? AND hold IS NOT NULL ORDER BY id LIMIT ?"
)
HELD_SQL: Final = f"SELECT {TASK_COLUMNS} FROM task WHERE hold = ? AND hold IS NOT NULL ORDER BY queue, id LIMIT ?"
FAILED_ALIKE_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE last_fingerprint = ? AND status = 'failed' ORDER BY due_at, id LIMIT ?"
)
RECURRING_ALIKE_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE last_fingerprint = ? AND status = 'failed' AND due_at > ?"
    " AND (cron <> '' OR every_ms IS NOT NULL) AND owner_kind <> 'loop' AND paused = 0 AND unmet = 0"
    " AND cancel_requested = 0 AND waits_for IS NULL ORDER BY due_at, id LIMIT ?"
)
CANCELS_SQL: Final = "SELECT id, live FROM task WHERE cancel_requested = 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Which tasks a list shows."""

    statuses: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    without_tags: tuple[str, ...] = ()  # none of them
    queue: str | None = None
    text: str = ""
    category: str = ""
    fingerprint: str = ""  # of the last failure
    due: bool = False  # only what wakes by itself at a time that is known
    agent: str = ""  # the runner of its profile
    hold: str = ""  # the key of what holds them
    places: tuple[int, ...] = ()  # where they stand in a list: the numbers of PLACE_SQL
    warned: bool = False  # only what succeeded and says in its log that something failed
    only_open: bool = False
    ended_since: int | None = None  # what ended then or later
    moved_since: int | None = None  # what is open, or ended then or later
    triages: bool | None = None  # False: without triages; True: triages alone
    order: Literal["newest", "need", "oldest", "due"] = "newest"  # need: what needs a person first
    limit: int = _LIMIT

    @property
    def narrows(self) -> bool:
        """Whether it leaves anything out that a person would have to name."""
        named = self.statuses or self.tags or self.without_tags or self.text or self.category or self.warned
        return bool(named or self.fingerprint or self.agent or self.hold or self.places) or self.queue is not None


def get(tx: Tx, task_id: str) -> Task | None:
    """One task by its whole id; in a transaction that writes it is this one's from now on."""
    row = tx.one(f"SELECT {TASK_COLUMNS} FROM task WHERE id = ?{tx.locks.take}", (task_id,))
    return task(row) if row else None


def lock(tx: Tx, ids: Iterable[str], *, dependents_of: Iterable[str] = ()) -> None:
    """Take tasks with their owners and what comes after some of them, in one order, before any changes.

    Of a triage also the task it looks at, and what comes after that.
    """
    if tx.locks.take:
        mine = sorted(ids)
        tx.rows(tx.dialect.lock_tasks_sql, (mine, mine, mine, mine, mine, sorted(dependents_of)))


def many(tx: Tx, ids: Iterable[str]) -> list[Task]:
    """Several tasks by their ids, in the order of the ids."""
    found = (get(tx, task_id) for task_id in sorted(ids))
    return [each for each in found if each is not None]


def taken(tx: Tx, ids: Sequence[str]) -> frozenset[str]:
    """Which of these ids exist."""
    sql = f"SELECT id FROM task WHERE id IN ({', '.join('?' * len(ids))})"
    return frozenset(row[0] for row in tx.rows(sql, ids))


def ids_with_prefix(tx: Tx, prefix: str, limit: int = 5) -> list[str]:
    """Which ids begin like this; the exact one first."""
    after_all = prefix + "\U0010ffff"
    rows = tx.rows("SELECT id FROM task WHERE id >= ? AND id < ? ORDER BY id LIMIT ?", (prefix, after_all, limit))
    return [row[0] for row in rows]


def by_key(tx: Tx, key: str) -> Task | None:
    """The task that was added under this key."""
    row = tx.one(f"SELECT {TASK_COLUMNS} FROM task WHERE key = ?{tx.locks.take}", (key,))
    return task(row) if row else None


def id_by_key(tx: Tx, key: str) -> str | None:
    """The id of the task that was added under this key."""
    row = tx.one("SELECT id FROM task WHERE key = ?", (key,))
    return str(row[0]) if row else None


def open_by_key_prefix(tx: Tx, prefix: str) -> list[tuple[str, str]]:
    """The unfinished tasks whose key begins like this: their ids and keys."""
    sql = (
        "SELECT id, key FROM task WHERE substr(key, 1, ?) = ? AND status NOT IN ('completed', 'cancelled') ORDER BY key"
    )
    return [(row[0], row[1]) for row in tx.rows(sql, (len(prefix), prefix))]


def rename_key(tx: Tx, task_id: str, key: str) -> None:
    """Free a key for a task that replaces this one."""
    tx.execute("UPDATE task SET key = ?, version = version + 1 WHERE id = ?", (key, task_id))


def add_dependency(tx: Tx, task_id: str, after_id: str) -> bool:
    """Let a task come after another; False when it did already."""
    sql = "INSERT INTO dependency (task_id, after_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
    return tx.execute(sql, (task_id, after_id)) == 1


def how_many(tx: Tx, adding: int = 1) -> int:
    """About how many tasks there are, without counting them, when so many are being added."""
    sql = tx.dialect.how_many_sql
    row = tx.one(sql, (adding,) * sql.count("?"))
    return int(row[0] or 0) if row else 0


def claim_head(
    tx: Tx, queue: str, *, recovery: bool, limit: int, past: Sequence[str] = (), place: str = ""
) -> list[Task]:
    """The most urgent ready tasks of a queue: fresh ones, or ones that failed before. Reads past some runners."""
    sql = CLAIM_HEAD_SQL
    if past:
        sql = sql.replace(" ORDER BY", f" AND runner NOT IN ({', '.join('?' * len(past))}) ORDER BY")
    return [task(row) for row in tx.rows(sql + tx.locks.take_free, (queue, int(recovery), place, *past, limit))]


def suspects(tx: Tx, queue: str, limit: int) -> list[Task]:
    """Ready tasks whose engine died while they ran, fewest crashes first."""
    return [task(row) for row in tx.rows(CLAIM_SUSPECTS_SQL + tx.locks.take_free, (queue, limit))]


def free_mutexes(tx: Tx, queue: str, limit: int, places: Collection[str] | None = None) -> list[tuple[str, str]]:
    """The most urgent tasks of a queue that wait behind a mutex nobody has: id and mutex, one for each mutex.

    With `places`, of those that would run there.
    """
    rows = tx.rows(MUTEX_HEADS_SQL, (queue, queue, queue, _MUTEXES_LOOKED_AT))
    first: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: (row[2], row[3] or 0, row[0])):
        if places is None or row[4] in places:
            first.setdefault(row[1], row[0])
    return [(task_id, mutex) for mutex, task_id in first.items()][:limit]


def take_mutex(tx: Tx, task_id: str, mutex: str) -> Task | None:
    """A task that waits behind a mutex, with the right to run it; None when somebody else has or takes either."""
    if not tx.try_serialise(f"{MUTEX}{mutex}"):
        return None
    row = tx.one(MUTEX_HEAD_SQL + tx.locks.take_free, (task_id,))
    return task(row) if row else None


def waits_behind_mutex(tx: Tx, queue: str) -> bool:
    """Whether a task of a queue waits behind a mutex."""
    return tx.one(BEHIND_MUTEX_SQL, (queue,)) is not None


def mutex_holder(tx: Tx, mutex: str) -> str | None:
    """The id of the running task that has a mutex."""
    row = tx.one(MUTEX_HOLDER_SQL, (mutex,))
    return str(row[0]) if row else None


def count_live(tx: Tx, queue: str) -> int:
    """How many tasks of a queue are running, on all engines together."""
    row = tx.one(COUNT_LIVE_SQL, (queue,))
    return int(row[0]) if row else 0


def due(tx: Tx, limit: int) -> list[Task]:
    """Tasks whose time has come and which are not released yet."""
    return [task(row) for row in tx.rows(DUE_SQL + tx.locks.take_free, (tx.now, limit))]


def parked(tx: Tx, key: str, queue: str, limit: int) -> list[Task]:
    """Tasks of a queue that are parked under a breaker."""
    return [task(row) for row in tx.rows(PARKED_SQL + tx.locks.take_free, (key, queue, limit))]


def held(tx: Tx, key: str, limit: int) -> list[Task]:
    """Tasks that are parked under a breaker, in the order in which they are released."""
    return [task(row) for row in tx.rows(HELD_SQL + tx.locks.take_free, (key, limit))]


def count_held(tx: Tx, key: str, queue: str | None = None) -> int:
    """How many tasks are parked under a breaker; of one queue, where one is named."""
    which, params = ("", (key,)) if queue is None else (" AND queue = ?", (key, queue))
    row = tx.one(f"SELECT count(*) FROM task WHERE hold = ? AND hold IS NOT NULL{which}", params)
    return int(row[0]) if row else 0


def has_held(tx: Tx, key: str) -> bool:
    """Whether any task is parked under a breaker."""
    return tx.one("SELECT 1 FROM task WHERE hold = ? AND hold IS NOT NULL LIMIT 1", (key,)) is not None


def failed_alike(tx: Tx, fingerprint: str, limit: int) -> list[Task]:
    """Tasks that wait for a retry after this failure, the one due soonest first."""
    return [task(row) for row in tx.rows(FAILED_ALIKE_SQL + tx.locks.take_free, (fingerprint, limit))]


def recurring_alike(tx: Tx, fingerprint: str, limit: int) -> list[Task]:
    """Recurring tasks that wait for their next run after this failure, the one due soonest first."""
    return [task(row) for row in tx.rows(RECURRING_ALIKE_SQL + tx.locks.take_free, (fingerprint, tx.now, limit))]


def seen_failing(tx: Tx, fingerprint: str, *, but: str, since: int, key: str, limit: int) -> list[Task]:
    """Other tasks that met this failure since then, and since the incident on it was closed last."""
    sql = (
        f"SELECT {TASK_COLUMNS} FROM task WHERE id IN (SELECT f.task_id FROM failure_task f WHERE f.fingerprint = ?"
        " AND f.last_seen > ? AND f.last_seen > coalesce((SELECT closed_at FROM breaker WHERE key = ?), 0)"
        " AND f.task_id <> ? LIMIT ?)"
    )
    return [task(row) for row in tx.rows(sql, (fingerprint, since, key, but, limit))]


def next_due_at(tx: Tx) -> int | None:
    """When the next task wakes."""
    row = tx.one(NEXT_DUE_SQL)
    return int(row[0]) if row else None


def cancel_requests(tx: Tx) -> list[tuple[str, int | None]]:
    """Tasks that are to be cancelled, with their live attempt."""
    return [(row[0], row[1]) for row in tx.rows(CANCELS_SQL)]


EXPECTED_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE expect_at <= ? AND expect_at IS NOT NULL ORDER BY expect_at, id LIMIT ?"
)
SLOW_SQL: Final = (
    f"SELECT {TASK_COLUMNS} FROM task WHERE slow_at <= ? AND slow_at IS NOT NULL ORDER BY slow_at, id LIMIT ?"
)
NEXT_EXPECTED_SQL: Final = "SELECT expect_at FROM task WHERE expect_at IS NOT NULL ORDER BY expect_at, id LIMIT 1"
NEXT_SLOW_SQL: Final = "SELECT slow_at FROM task WHERE slow_at IS NOT NULL ORDER BY slow_at, id LIMIT 1"


def expected(tx: Tx, limit: int) -> list[Task]:
    """Tasks that should have ended by now, whether or not they did."""
    return [task(row) for row in tx.rows(EXPECTED_SQL + tx.locks.take_free, (tx.now, limit))]


def slow(tx: Tx, limit: int) -> list[Task]:
    """Tasks whose live attempt takes strangely long by now."""
    return [task(row) for row in tx.rows(SLOW_SQL + tx.locks.take_free, (tx.now, limit))]


def with_specification(tx: Tx, but: str, limit: int) -> list[tuple[str, str, str, int, str]]:
    """The newest tasks that ran and have a specification: id, text, status, attempts, category of the last failure."""
    sql = (
        "SELECT id, spec, status, attempts, last_category FROM task WHERE spec <> '' AND attempts > 0 AND id <> ?"
        " ORDER BY created_at DESC, id LIMIT ?"
    )
    return [(row[0], row[1], row[2], row[3], row[4]) for row in tx.rows(sql, (but, limit))]


def dependents(tx: Tx, task_id: str) -> tuple[Task, ...]:
    """The tasks that come directly after this one."""
    sql = (
        f"SELECT {TASK_COLUMNS} FROM task WHERE id IN (SELECT task_id FROM dependency WHERE after_id = ?)"
        f" ORDER BY id{tx.locks.take}"
    )
    return tuple(task(row) for row in tx.rows(sql, (task_id,)))


def of_loop(tx: Tx, loop: str) -> tuple[Task, ...]:
    """The tasks of a loop, in their order."""
    sql = f"SELECT {TASK_COLUMNS} FROM task WHERE {_IN_LOOP} AND owner_id = ? ORDER BY position{tx.locks.take}"
    return tuple(task(row) for row in tx.rows(sql, (loop,)))


_IN_LOOP: Final = "owner_kind = 'loop' AND owner_kind <> ''"  # the second as the index of owners has it


def owners(tx: Tx, ids: Collection[str], loops: Collection[str]) -> list[Task]:
    """Tasks by their ids and the members of loops, in one look; in a transaction that writes they are its own."""
    if not ids and not loops:
        return []
    (some, wanted), (those, members) = (_listed(sorted(each)) if each else ("NULL", []) for each in (ids, loops))
    sql = (
        f"SELECT {TASK_COLUMNS} FROM task WHERE id IN (SELECT id FROM task WHERE id IN ({some}) UNION"
        f" SELECT id FROM task WHERE {_IN_LOOP} AND owner_id IN ({those})) ORDER BY id{tx.locks.take}"
    )
    return [task(row) for row in tx.rows(sql, (*wanted, *members))]


def per_boot(tx: Tx, queue: str) -> tuple[Task, ...]:
    """The unfinished tasks of a queue that run once after each start of their machine."""
    sql = (
        f"SELECT {TASK_COLUMNS} FROM task WHERE cron = '{REBOOT}' AND queue = ?"
        f" AND status NOT IN ('completed', 'cancelled') ORDER BY queue, id{tx.locks.take}"
    )
    return tuple(task(row) for row in tx.rows(sql, (queue,)))


def dependents_of(tx: Tx, ids: Sequence[str]) -> dict[str, tuple[Task, ...]]:
    """The tasks that come directly after any of these, by the one they come after; most have none."""
    if not ids:
        return {}
    marks, wanted = _listed(ids)
    found: dict[str, list[str]] = {}
    for after_id, task_id in tx.rows(f"SELECT after_id, task_id FROM dependency WHERE after_id IN ({marks})", wanted):
        found.setdefault(after_id, []).append(task_id)
    waiting = {each.id: each for each in many(tx, {task_id for those in found.values() for task_id in those})}
    return {after_id: tuple(waiting[each] for each in sorted(those)) for after_id, those in found.items()}


def titles(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """The titles of these tasks."""
    if not ids:
        return {}
    marks, wanted = _listed(ids)
    return dict(tx.rows(f"SELECT id, title FROM task WHERE id IN ({marks})", wanted))


def with_role(tx: Tx, ids: Sequence[str], role: str) -> set[str]:
    """Those of these tasks that have a role."""
    if not ids:
        return set()
    marks, wanted = _listed(ids)
    return {row[0] for row in tx.rows(f"SELECT id FROM task WHERE id IN ({marks}) AND role = ?", (*wanted, role))}


def _listed(ids: Sequence[str]) -> tuple[str, list[str]]:
    """Marks and values of a list; there are few lengths, so that statements are prepared once."""
    wanted = [*ids, *[ids[-1]] * (-len(ids) % _LISTED_AT_ONCE)]
    return ", ".join("?" * len(wanted)), wanted


def ids_after(tx: Tx, task_id: str) -> list[str]:
    """The ids of the tasks that come directly after this one."""
    return [row[0] for row in tx.rows("SELECT task_id FROM dependency WHERE after_id = ? ORDER BY task_id", (task_id,))]


def edges(tx: Tx, *, open_only: bool, limit: int) -> list[tuple[str, str]]:
    """Which task comes after which; of open ones only, those edges that are not fulfilled."""
    sql = "SELECT d.task_id, d.after_id FROM dependency d"
    if open_only:
        sql += (
            " JOIN task t ON t.id = d.task_id JOIN task a ON a.id = d.after_id"
            " WHERE t.status NOT IN ('completed', 'cancelled') AND a.status <> 'completed'"
        )
    return [(row[0], row[1]) for row in tx.rows(f"{sql} ORDER BY d.after_id, d.task_id LIMIT ?", (limit,))]


def comes_after(tx: Tx, task_id: str) -> list[tuple[str, str]]:
    """What a task comes directly after: id and status."""
    return [
        (row[0], row[1])
        for row in tx.rows(
            "SELECT d.after_id, t.status FROM dependency d JOIN task t ON t.id = d.after_id"
            " WHERE d.task_id = ? ORDER BY d.after_id",
            (task_id,),
        )
    ]


def select(tx: Tx, wanted: TaskFilter) -> list[Task]:
    """Tasks for a list, in the order it asks for. Only what is given back is read in full."""
    chosen, params = _chosen(tx, wanted)
    order = _ORDERS[wanted.order]
    columns = ", ".join(f"t.{name.strip()}" for name in TASK_COLUMNS.split(","))
    sql = f"SELECT {columns} FROM task t WHERE t.id IN (SELECT t.id{chosen} ORDER BY {order} LIMIT ?) ORDER BY {order}"
    return [task(row) for row in tx.rows(sql, (*params, wanted.limit))]


def page(tx: Tx, wanted: TaskFilter, after: PageKey = ()) -> list[tuple[Task, PageKey]]:
    """Some tasks of a list from where another page ended, each with the place from which the next page goes on."""
    chosen, params = _chosen(tx, wanted)
    keys = _KEYS[wanted.order]
    if len(after) == len(keys):
        joint = " AND " if " WHERE " in chosen else " WHERE "
        chosen += f"{joint}({', '.join(keys)}) > ({', '.join('?' * len(keys))})"
        params = (*params, *after)
    sql = f"SELECT {', '.join(keys)}{chosen} ORDER BY {', '.join(keys)} LIMIT ?"
    found = [tuple(row) for row in tx.rows(sql, (*params, wanted.limit))]
    if not found:
        return []
    marks, ids = _listed([key[-1] for key in found])
    by_id = {
        each.id: each for each in map(task, tx.rows(f"SELECT {TASK_COLUMNS} FROM task WHERE id IN ({marks})", ids))
    }
    return [(by_id[key[-1]], key) for key in found]


def count_places(tx: Tx, wanted: TaskFilter) -> dict[int, int]:
    """How many tasks there are like this, by where they stand in a list: the numbers of PLACE_SQL."""
    chosen, params = _chosen(tx, wanted)
    return {int(row[0]): int(row[1]) for row in tx.rows(f"SELECT {PLACE_SQL}, count(*){chosen} GROUP BY 1", params)}


def select_ids(tx: Tx, wanted: TaskFilter) -> list[str]:
    """The ids alone of what `select` would give."""
    chosen, params = _chosen(tx, wanted)
    sql = f"SELECT t.id{chosen} ORDER BY {_ORDERS[wanted.order]} LIMIT ?"
    return [row[0] for row in tx.rows(sql, (*params, wanted.limit))]


def count(tx: Tx, wanted: TaskFilter) -> int:
    """How many tasks there are like this, whatever the limit."""
    if wanted.triages is False:  # by two counts that indexes answer
        return count(tx, replace(wanted, triages=None)) - count(tx, replace(wanted, triages=True))
    chosen, params = _chosen(tx, wanted)
    row = tx.one(f"SELECT count(*){chosen}", params)
    return int(row[0]) if row else 0


def count_done(tx: Tx, since: int) -> int:
    """How many tasks were completed since a moment, without triages; answered by indexes, however many they are."""
    sql = (
        "SELECT (SELECT count(*) FROM task WHERE status = 'completed' AND ended_at IS NOT NULL AND ended_at >= ?)"
        " - (SELECT count(*) FROM task WHERE owner_kind <> '' AND role = 'triage' AND status = 'completed'"
        " AND ended_at >= ?)"
    )
    row = tx.one(sql, (since, since))
    return int(row[0]) if row else 0


def count_by_status(tx: Tx) -> dict[str, int]:
    """How many tasks have each status."""
    return dict(tx.rows("SELECT status, count(*) FROM task GROUP BY status ORDER BY status"))


def count_open(tx: Tx) -> dict[str, int]:
    """How many tasks have each status that is not an end; answered by an index, which may still be long."""
    sql = "SELECT status, count(*) FROM task WHERE status NOT IN ('completed', 'cancelled') GROUP BY status"
    return dict(tx.rows(sql))


def unfinished(tx: Tx, limit: int = 1_000_000) -> list[Task]:
    """Every task that is neither completed nor cancelled."""
    rows = tx.rows(
        f"SELECT {TASK_COLUMNS} FROM task WHERE status NOT IN ('completed', 'cancelled') ORDER BY id LIMIT ?",
        (limit,),
    )
    return [task(row) for row in rows]


def unfinished_in_private_queue(tx: Tx, queue: str) -> list[Task]:
    """What a `medbay run` has not brought to its end."""
    rows = tx.rows(
        f"SELECT {TASK_COLUMNS} FROM task WHERE queue = ? AND queue LIKE 'run-%'"
        " AND status NOT IN ('completed', 'cancelled') ORDER BY id",
        (queue,),
    )
    return [task(row) for row in rows]


def status_against_history(tx: Tx) -> list[tuple[str, str, str]]:
    """Tasks whose last transition does not lead to their status: id, status, what history says."""
    rows = tx.rows(
        "SELECT t.id, t.status, coalesce(h.target, 'pending') FROM task t LEFT JOIN history h ON h.id ="
        " (SELECT max(id) FROM history WHERE task_id = t.id) WHERE t.status <> coalesce(h.target, 'pending')"
        " ORDER BY t.id"
    )
    return [(row[0], row[1], row[2]) for row in rows]


def _chosen(tx: Tx, wanted: TaskFilter) -> tuple[str, Sequence[object]]:
    where, params = _where(tx, wanted)
    tagged = "".join(f" JOIN task_tag g{n} ON g{n}.task_id = t.id AND g{n}.tag = ?" for n in range(len(wanted.tags)))
    return f" FROM task t{tagged}{where}", (*wanted.tags, *params)


def _where(tx: Tx, wanted: TaskFilter) -> tuple[str, Sequence[object]]:
    parts: list[str] = []
    params: list[object] = []
    if wanted.only_open:
        parts.append("t.status NOT IN ('completed', 'cancelled')")
    if wanted.statuses:
        parts.append(f"t.status IN ({', '.join('?' * len(wanted.statuses))})")
        params += wanted.statuses
    if wanted.ended_since is not None:
        parts.append("t.ended_at IS NOT NULL AND t.ended_at >= ?")
        params.append(wanted.ended_since)
    if wanted.moved_since is not None:
        parts.append("(t.status NOT IN ('completed', 'cancelled') OR (t.ended_at IS NOT NULL AND t.ended_at >= ?))")
        params.append(wanted.moved_since)
    parts += [_DUE] * wanted.due
    parts += [f"t.{column} = ?" for column, value in _named(wanted) if value]
    params += [value for _, value in _named(wanted) if value]
    parts += [f"{PLACE_SQL} IN ({', '.join(map(str, map(int, wanted.places)))})"] * bool(wanted.places)
    if wanted.triages is not None:
        parts.append(_IS_TRIAGE if wanted.triages else "t.role <> 'triage'")
    for tag in wanted.without_tags:
        parts.append("NOT EXISTS (SELECT 1 FROM task_tag n WHERE n.task_id = t.id AND n.tag = ?)")
        params.append(tag)
    if wanted.queue is not None:
        parts.append("t.queue = ?")
        params.append(wanted.queue)
    if wanted.category:
        parts.append("(t.last_category = ? OR t.last_category LIKE ?)")
        params += [wanted.category, wanted.category + "/%"]
    if wanted.warned:
        parts.append("t.warning <> ''")
    if wanted.text:
        parts.append(tx.dialect.contains.format(text="lower(t.title)"))
        params.append(wanted.text.lower())
    return (" WHERE " + " AND ".join(parts) if parts else ""), params


def _named(wanted: TaskFilter) -> tuple[tuple[str, str], ...]:
    """Columns that have to hold exactly what is named."""
    return ("last_fingerprint", wanted.fingerprint), ("runner", wanted.agent), ("hold", wanted.hold)
