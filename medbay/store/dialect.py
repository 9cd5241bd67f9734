"""Everything in which the two databases differ for those who write SQL. Nothing else knows which one it talks to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple


class Locks(NamedTuple):
    """What ends a query whose rows are to be changed; empty where the whole store is locked, or nothing is."""

    take: str = ""  # wait for the rows, then no other transaction changes them
    take_free: str = ""  # the rows that are not locked, without waiting
    keep: str = ""  # wait for the rows, then they stay as they are


NO_LOCKS: Final = Locks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One kind of database."""

    name: str  # the folder of its migrations
    locks: Locks = NO_LOCKS
    is_away: bool = False  # an answer is a way to a server and back
    lock_tasks_sql: str = (
        ""  # (ids, ids, ids, others): the tasks, their loops, whom they serve, what comes after others
    )
    lock_questions_sql: str = ""  # (ids,): the questions these tasks wait for, by id
    unsettled_event_sql: str = ""  # (seq): the first event after it that came with a transaction others may overtake
    contains: str  # whether a text contains a parameter
    how_many_sql: str  # about how many tasks there are, without counting them; may ask how many are being added
    begin_migration: tuple[str, ...]
    is_empty_sql: str  # whether no migration was ever applied
    schema_sql: str  # the number of the last migration
    set_schema_sql: str
    describe: tuple[tuple[str, str], ...]  # what `doctor` shows


SQLITE: Final = Dialect(
    name="sqlite",
    contains="instr({text}, ?) > 0",
    how_many_sql="SELECT max(rowid) FROM task",
    begin_migration=("BEGIN IMMEDIATE",),
    is_empty_sql="SELECT 0",
    schema_sql="PRAGMA user_version",
    set_schema_sql="PRAGMA user_version = {number}",
    describe=(
        ("version", "SELECT sqlite_version()"),
        ("journal", "PRAGMA journal_mode"),
        ("schema", "PRAGMA user_version"),
    ),
)

POSTGRES: Final = Dialect(
    name="postgres",
    is_away=True,
    locks=Locks(take=" FOR UPDATE", take_free=" FOR UPDATE SKIP LOCKED", keep=" FOR SHARE"),
    lock_tasks_sql=(
        "SELECT id FROM task WHERE id IN (SELECT unnest(?::text[]) UNION"
        " SELECT l.id FROM task m JOIN task l ON l.owner_kind = 'loop' AND l.owner_id = m.owner_id"
        " WHERE m.id = ANY(?::text[]) AND m.owner_kind = 'loop' UNION"
        " SELECT owner_id FROM task WHERE id = ANY(?::text[]) AND owner_kind = 'task' UNION"
        " SELECT task_id FROM triage WHERE id = ANY(?::text[]) UNION"
        " SELECT d.task_id FROM dependency d JOIN triage x ON d.after_id = x.task_id WHERE x.id = ANY(?::text[]) UNION"
        " SELECT task_id FROM dependency WHERE after_id = ANY(?::text[])) ORDER BY id FOR UPDATE"
    ),
    lock_questions_sql=(
        "SELECT id FROM question WHERE id IN (SELECT question_id FROM question_task"
        " WHERE waiting = 1 AND task_id = ANY(?::text[])) ORDER BY id FOR UPDATE"
    ),
    # Numbers follow the order of commits; a reader that remembers one still waits until no older one is at work.
    unsettled_event_sql=("SELECT min(seq) FROM event WHERE seq > ? AND xid >= pg_snapshot_xmin(pg_current_snapshot())"),
    contains="strpos({text}, ?) > 0",
    # A sequence is not undone and not hidden: it counts what others are adding at this moment as well.
    how_many_sql="SELECT max(nextval('task_count')) FROM generate_series(1, ?::int)",
    # The name of the lock is any number that is not used elsewhere; it is released with the transaction.
    begin_migration=("BEGIN", "SELECT pg_advisory_xact_lock(hashtext('medbay migrations'))"),
    # Not to_regclass: after waiting for the lock it may still answer from what was known before.
    is_empty_sql=(
        "SELECT (NOT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'meta' AND pg_table_is_visible(oid)))::int"
    ),
    schema_sql="SELECT value FROM meta WHERE key = 'schema'",
    set_schema_sql=(
        "INSERT INTO meta (key, value) VALUES ('schema', '{number}')"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    ),
    describe=(
        ("version", "SHOW server_version"),
        ("durability", "SELECT 'synchronous_commit ' || current_setting('synchronous_commit')"),
        ("schema", "SELECT value FROM meta WHERE key = 'schema'"),
    ),
)
