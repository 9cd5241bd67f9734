"""No statement of the loop may scan: each is answered by its index, whatever the backlog."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from medbay.store import attempts, tasks, workers
from medbay.store.dialect import POSTGRES
from medbay.store.postgres import PostgresStore
from medbay.store.rows import TASK_COLUMNS, TASK_FIELDS
from medbay.store.sqlite import SqliteStore
from tests.conftest import TEMPLATE
from tests.postgres_server import Server
from tests.worlds import ManualClock, World

TAKE = POSTGRES.locks.take_free
LOOP = {
    "claim fresh and recovering work": (tasks.CLAIM_HEAD_SQL, TAKE, ("default", 0, 4), "task_claim"),
    "claim suspects": (tasks.CLAIM_SUSPECTS_SQL, TAKE, ("default", 1), "task_suspect"),
    "release what is due": (tasks.DUE_SQL, TAKE, (0, 500), "task_due"),
    "find the next wake": (tasks.NEXT_DUE_SQL, "", (), "task_due"),
    "find cancel requests": (tasks.CANCELS_SQL, "", (), "task_cancel"),
    "find a worker's attempts": (attempts.LIVE_OF_WORKER_SQL, "", ("w",), "attempt_live_by_worker"),
    "find living workers": (workers.ALIVE_SQL, "", (), "worker_alive"),
    "lock what ended": (POSTGRES.lock_tasks_sql, "", (["f7"], ["f7"]), "task_pkey"),
}


@pytest.mark.parametrize("what", [what for what in LOOP if what != "lock what ended"])
def test_the_loop_reads_by_its_index(what: str) -> None:
    """The plan names the index, sorts nothing and scans no table."""
    store = SqliteStore(":memory:", ManualClock(), new_store_id="s", machine_id="m")
    sql, _, params, index = LOOP[what]

    with store.read() as tx:
        plan = " / ".join(str(row[3]) for row in tx.rows(f"EXPLAIN QUERY PLAN {sql}", params))

    # A scan of a partial index reads only what is in it: the few that wait for exactly this.
    assert all(index in step for step in plan.split(" / ") if "TEMP B-TREE" not in step)
    if what != "find living workers":
        assert "TEMP B-TREE" not in plan


@pytest.fixture(scope="module")
def filled(postgres: Server) -> Iterator[PostgresStore]:
    """A store with a backlog, its statistics taken: many future, parked and finished tasks, few ready ones."""
    database = postgres.new_database(TEMPLATE)
    clock = ManualClock()
    store = PostgresStore(postgres.url(database), clock, new_store_id="s")
    world = World(store, clock)
    world.add("template", None)
    world.run(world.engine())
    with store.write() as tx:
        for letter, count, overrides in (
            ("f", 6_000, {"due_at": "2000000000000 + n"}),
            ("p", 3_000, {"ready": "1", "ready_at": "n", "hold": "'provider:x'"}),
            ("r", 300, {"ready": "1", "ready_at": "n"}),
            ("c", 6_000, {"status": "'completed'", "ended_at": "n"}),
        ):
            same = {"id": f"'{letter}' || n", "key": "NULL", "status": "'pending'", "live": "NULL", **overrides}
            columns = ", ".join(same.get(name, f"task.{name}") for name in TASK_FIELDS)
            source = f"generate_series(1, {count}) n, (SELECT * FROM task WHERE live = 1) task"
            tx.execute(f"INSERT INTO task ({TASK_COLUMNS}) SELECT {columns} FROM {source}")
        tx.execute("INSERT INTO dependency SELECT 'f' || n, 'c' || n FROM generate_series(1, 6000) n")
        tx.execute(
            "INSERT INTO worker SELECT 'w' || n, host, machine_id, boot_id, pid, pid_start, slots, queues, started_at,"
            " beat_at, lease_until, policy_hash, 1, 'stopped' FROM generate_series(1, 2000) n, worker"
        )
        tx.execute(
            "INSERT INTO attempt SELECT 'c' || n, number, worker_id, host, iteration, started_at, canary, forced, pid,"
            " pid_start, log_path, 1, 'succeeded', 0, signal, charged, diagnosis, guidance, policy_hash"
            " FROM generate_series(1, 6000) n, attempt"
        )
    with postgres.connect(database) as raw:
        raw.execute("ANALYZE")
    yield store
    store.close()
    postgres.drop(database)


@pytest.mark.postgres
@pytest.mark.parametrize("what", LOOP)
def test_the_loop_reads_by_its_index_on_postgresql(filled: PostgresStore, what: str) -> None:
    """The plan the server chose, for the statement as it is run, locks included."""
    sql, lock, params, index = LOOP[what]

    with filled.write() as tx:
        plan = "\n".join(row[0] for row in tx.rows(f"EXPLAIN {sql}{lock}", params))

    assert f"using {index} on" in plan or f"on {index} " in plan, plan
    assert "Seq Scan" not in plan, plan
    if what in ("claim fresh and recovering work", "claim suspects", "release what is due", "find the next wake"):
        assert "Sort" not in plan, plan


@pytest.mark.postgres
def test_a_plan_made_for_any_parameters_reads_by_the_index_too(filled: PostgresStore) -> None:
    """The driver prepares what it runs often, and the server may then stop looking at the parameters."""
    numbers = iter("123")
    sql = "".join(f"${next(numbers)}" if letter == "?" else letter for letter in tasks.CLAIM_HEAD_SQL)

    with filled.write() as tx:
        tx.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        tx.execute(f"PREPARE head AS {sql}{TAKE}")
        plan = "\n".join(row[0] for row in tx.rows("EXPLAIN EXECUTE head ('default', 0, 4)"))

    assert "using task_claim on" in plan, plan
    assert "Sort" not in plan, plan
