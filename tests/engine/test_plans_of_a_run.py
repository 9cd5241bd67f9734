"""Every statement that an engine runs is answered by an index: recorded from runs in which everything happens.

SQLite says which statements were run, with their values, and each is explained afterwards. PostgreSQL explains each one
while it runs, with sequential scans forbidden as far as there is any other way: what it still scans has no index.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from medbay.core.outcome import Requeued, Succeeded
from medbay.service import idle, tasks
from medbay.store import activity, attempts, history, retries, workers
from medbay.store import tasks as task_rows
from medbay.store.dialect import POSTGRES
from medbay.store.meta import TABLES
from medbay.store.postgres import PostgresStore
from medbay.store.sqlite import SqliteStore
from tests.postgres_server import Server
from tests.worlds import ManualClock, World, failed

SMALL = {"meta", "head"}  # tables that do not grow, and what one statement makes for itself
# Indexes of the few rows that are in one state right now: these may be read from end to end.
FEW = {
    "task_cancel",
    "worker_alive",
    "attempt_live",
    "attempt_live_by_worker",
    "breaker_open",
    "breaker_probe",
    "question_open",
    "question_scope",
    "question_owner",
}
# How it is planned depends on how many tasks there are; tests/store/test_query_plans.py asks with many.
LOCK = POSTGRES.lock_tasks_sql
# Statements that have to have been run, or the run was hollow.
LOOP = (
    task_rows.CLAIM_HEAD_SQL,
    task_rows.CLAIM_SUSPECTS_SQL,
    task_rows.DUE_SQL,
    activity.NEXT_WAKES_SQL,
    task_rows.CANCELS_SQL,
    attempts.LIVE_OF_WORKER_SQL,
    workers.ALIVE_SQL,
    activity.LIVE_ATTEMPT_SQL,
    activity.FRESH_SQL,
    activity.SUSPECT_SQL,
    activity.PENDING_RETRY_SQL,
    activity.REQUEUED_SQL,
)


def everything_happens(world: World) -> None:
    """Success, failure, retry, a question, a cancel, a hand-back, checks, a dead engine, an idle tick, a stop."""
    first = world.add("first", tag=["t"], key="k")
    world.add("second", after=[first.id])
    world.add("flaky", failed("connection refused"), failed("connection refused"))
    world.add("broken", *[failed("AssertionError: no") for _ in range(8)])
    world.add("denied", failed("fatal: Authentication failed for 'https://example.org/'"))
    world.add("unspawnable", "no such file")
    world.add("later", Requeued(asked=True, why="busy"), at="+10m")
    world.add("checked", check=["ok"])
    engine = world.engine(lease_ms=10 * 60_000)  # longer than a step
    engine.start()
    world.run(engine, ticks=30, step_ms=60_000)

    running = world.add("cancelled", None)
    lost = world.add("lost", None, Succeeded())
    world.run(engine)
    world.act(tasks.cancel, running.id)
    world.run(engine)

    heir = world.engine()
    world.sightings[engine.worker.pid] = "dead"
    world.run(heir, ticks=6)
    assert world.task(lost.id).status == "completed"

    world.add("handed back", None)
    world.run(heir)
    heir.hand_back_all("the worker is stopping")
    heir.collect()
    _looked_at(world, heir)
    heir.stop()
    with world.store.read() as tx:
        idle.exit_code(tx, heir.worker_ids)


def _looked_at(world: World, engine: Any) -> None:
    """What a daemon asks between two ticks."""
    engine.next_wake_s()
    engine.is_idle()
    with world.store.read() as tx:
        assert idle.is_idle(tx, ("unserved",))
        seq = history.last_event_seq(tx)
        history.events_since(tx, seq - 5, limit=100)
        retries.pending(tx, 5)


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tuple[SqliteStore, list[str]]]:
    """A store whose statements are recorded, each with its values."""
    clock = ManualClock()
    store = SqliteStore(tmp_path / "a.db", clock, new_store_id="s", machine_id="m")
    seen: dict[str, None] = {}
    store._connection.set_trace_callback(lambda sql: seen.setdefault(sql))
    everything_happens(World(store, clock))
    store._connection.set_trace_callback(None)
    yield store, list(seen)
    store.close()


def test_no_statement_of_a_run_scans_on_sqlite(recorded: tuple[SqliteStore, list[str]]) -> None:
    """Whole tables never; a partial index only where few rows are in it, or only its head is read."""
    store, statements = recorded
    explained = [sql for sql in statements if sql.split(None, 1)[0] in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")]
    _was_everything_run(explained)
    with store.read() as tx:
        partial = {
            row[0] for row in tx.rows("SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE '%WHERE%'")
        }
        found = {
            f"{step}: {sql}"
            for sql in explained
            for _, _, _, step in tx.rows(f"EXPLAIN QUERY PLAN {sql}")
            if _scans(step, sql, partial)
        }
    assert not found, "\n".join(sorted(found))


def _scans(step: str, sql: str, partial: set[str]) -> bool:
    if not step.startswith("SCAN ") or "CONSTANT ROW" in step or "VIRTUAL TABLE" in step or step.startswith("SCAN ("):
        return False
    index = step.rpartition(" INDEX ")[2] if " INDEX " in step else ""
    return index not in FEW and not (index in partial and " LIMIT " in sql) and step.split()[1] not in SMALL


def test_the_judge_of_sqlite_knows_a_scan(tmp_path: Path) -> None:
    """Else the test above would pass whatever happened."""
    assert _scans("SCAN task", "SELECT 1 FROM task", set())
    assert _scans("SCAN task USING INDEX task_due", "SELECT 1 FROM task", {"task_due"})
    assert not _scans("SCAN task USING INDEX task_due", "SELECT 1 FROM task LIMIT 1", {"task_due"})
    assert not _scans("SCAN task USING COVERING INDEX task_cancel", "SELECT id FROM task", {"task_cancel"})
    assert not _scans("SEARCH task USING INDEX task_claim (queue=?)", "SELECT 1 FROM task", set())


@pytest.fixture
def explained(postgres: Server, database: str) -> Iterator[tuple[PostgresStore, list[dict[str, Any]]]]:
    """A store whose server says how it answers each statement, and what it said."""
    clock = ManualClock()
    store = PostgresStore(postgres.url(database), clock, new_store_id="s")
    plans: list[dict[str, Any]] = []
    connection = store._connected()
    connection.execute(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_level = notice;"
        " SET auto_explain.log_format = json; SET client_min_messages = notice; SET enable_seqscan = off"
    )
    connection.add_notice_handler(lambda said: plans.extend(_plan_in(said.message_primary or "")))
    everything_happens(World(store, clock))
    connection.execute("SET auto_explain.log_min_duration = -1")
    yield store, plans
    store.close()


@pytest.mark.postgres
def test_no_statement_of_a_run_scans_on_postgresql(explained: tuple[PostgresStore, list[dict[str, Any]]]) -> None:
    """Neither a table from end to end nor an index without a condition."""
    store, plans = explained
    _was_everything_run([plan["Query Text"] for plan in plans])
    with store.read() as tx:
        partial = {row[0] for row in tx.rows("SELECT indexname FROM pg_indexes WHERE indexdef LIKE '% WHERE %'")}
    found = {
        f"{node['Node Type']} on {node.get('Relation Name')} by {node.get('Index Name')}: {plan['Query Text']}"
        for plan in plans
        if not _shape(plan["Query Text"]).startswith(_shape(LOCK))
        for node in _unconditional(plan["Plan"], partial, limited=False)
    }
    assert not found, "\n".join(sorted(found))


def _unconditional(node: dict[str, Any], partial: set[str], *, limited: bool) -> Iterator[dict[str, Any]]:
    """The nodes that read more than they have to, below this one."""
    limited = limited or node["Node Type"] == "Limit"
    table, index = node.get("Relation Name"), node.get("Index Name")
    whole_table = node["Node Type"] == "Seq Scan" and table in set(TABLES) - SMALL
    whole_index = index is not None and "Index Cond" not in node
    if whole_table or (whole_index and index not in FEW and not (index in partial and limited)):
        yield node
    for below in node.get("Plans", ()):
        yield from _unconditional(below, partial, limited=limited)


def _plan_in(said: str) -> list[dict[str, Any]]:
    _, found, text = said.partition("plan:\n")
    return [json.loads(text)] if found else []


def _was_everything_run(statements: list[str]) -> None:
    """Each statement of the loop is among them, whatever its values were."""
    run = {_shape(sql) for sql in statements}
    missing = [sql for sql in LOOP if not any(shape.startswith(_shape(sql)) for shape in run)]
    assert not missing, "\n".join(missing)


def _shape(sql: str) -> str:
    plain: Callable[[str], str] = lambda text: re.sub(r"\$\d+|\?|'[^']*'|\b\d+\b", "?", text)  # noqa: E731
    return plain(sql)
