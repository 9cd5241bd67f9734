"""No statement of the loop may scan: each is answered by its index, whatever the backlog."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from psycopg.sql import Literal

from medbay.core.model import TASK_FIELDS
from medbay.core.policy import learning
from medbay.store import activity, attempts, breakers, fallbacks, questions, retries, tasks, triages, workers
from medbay.store.dialect import POSTGRES
from medbay.store.postgres import PostgresStore
from medbay.store.rows import TASK_COLUMNS
from medbay.store.sqlite import SqliteStore
from medbay.store.tasks import TaskFilter
from tests.conftest import TEMPLATE
from tests.postgres_server import Server
from tests.worlds import ManualClock, World

TAKE = POSTGRES.locks.take_free
INNER = ("SEARCH t USING INDEX", "SEARCH r USING INDEX retry_pending ", "CORRELATED SCALAR")  # for one row of the outer
LOOP = {
    "claim fresh and recovering work": (tasks.CLAIM_HEAD_SQL, TAKE, ("default", 0, "", 4), "task_claim"),
    "claim suspects": (tasks.CLAIM_SUSPECTS_SQL, TAKE, ("default", 1), "task_suspect"),
    "release what is due": (tasks.DUE_SQL, TAKE, (0, 500), "task_due"),
    "find the next breaker to look after": (breakers.NEXT_LOOK_SQL, "", (), "breaker_probe"),
    "find the next question to send again": (questions.NEXT_SEND_SQL, "", (), "question_send"),
    "find the breakers to look after": (breakers.DUE_SQL, TAKE, (0, 20), "breaker_probe"),
    "find a canary among the parked": (tasks.PARKED_SQL, TAKE, ("provider:x", "default", 1), "task_hold"),
    "release the parked": (tasks.HELD_SQL, TAKE, ("provider:x", 4), "task_hold"),
    "find a canary among the failed": (tasks.FAILED_ALIKE_SQL, TAKE, ("fp", 20), "task_failed"),
    "find the next wake": (tasks.NEXT_DUE_SQL, "", (), "task_due"),
    "find what should have ended": (tasks.NEXT_EXPECTED_SQL, "", (), "task_expected"),
    "find what takes long": (tasks.NEXT_SLOW_SQL, "", (), "task_slow"),
    "find cancel requests": (tasks.CANCELS_SQL, "", (), "task_cancel"),
    "find a worker's attempts": (attempts.LIVE_OF_WORKER_SQL, "", ("w",), "attempt_live_by_worker"),
    "find living workers": (workers.ALIVE_SQL, "", (), "worker_alive"),
    "is anything running": (activity.LIVE_ATTEMPT_SQL, "", ("other",), "attempt_live_by_worker"),
    "is anything fresh": (activity.FRESH_SQL, "", ("other",), "task_claim"),
    "is anything suspect": (activity.SUSPECT_SQL, "", ("other",), "task_suspect"),
    "is a retry pending": (activity.PENDING_RETRY_SQL, "", ("other",), "task_retried"),
    "is anything asked to come later": (activity.REQUEUED_SQL, "", ("other",), "task_requeued"),
    "find who wants a triage": (triages.WANTED_SQL, "", ("other", *triages.FIRST, 50), "task_wants_triage"),
    "does anybody want a triage": (triages.NEWEST_WISH_SQL, "", ("other",), "task_wants_triage"),
    "is anything looked at elsewhere": (activity.LOOKED_AT_ELSEWHERE_SQL, "", ("a", "a"), "triage_running"),
    "is anybody waiting for a triage": (activity.WANTS_TRIAGE_SQL, "", ("other",), "task_wants_triage"),
    "find what waits behind a mutex": (tasks.BEHIND_MUTEX_SQL, "", ("other",), "task_mutex_waiting"),
    "find who has a mutex": (tasks.MUTEX_HOLDER_SQL, "", ("db",), "task_mutex"),
    "count what runs in a queue": (tasks.COUNT_LIVE_SQL, "", ("other",), "task_live"),
    "find those that other agents could take": (fallbacks.PARKED_SQL, TAKE, ("provider:x", 20), "task_fallback"),
    "find what was tried": (retries.TRIED_SQL, "", ("c1", *learning.SAYS_SOMETHING, 100), "retry_tried"),
    "lock what ended": (POSTGRES.lock_tasks_sql, "", (*[["f7"]] * 6,), "task_pkey"),
}


LISTS = {
    "task_listed": TaskFilter(only_open=True, triages=False, order="need", limit=50),
    "task_recent": TaskFilter(statuses=("completed", "cancelled"), ended_since=1, order="need"),
}


@pytest.mark.parametrize("index", LISTS)
def test_a_list_reads_what_is_open_and_what_ended_lately(index: str) -> None:
    """However much ended before, it is not looked at."""
    store = SqliteStore(":memory:", ManualClock(), new_store_id="s", machine_id="m")
    with store.read() as tx:
        chosen, params = tasks._chosen(tx, LISTS[index])
        plan = str(tx.rows(f"EXPLAIN QUERY PLAN SELECT t.id{chosen} ORDER BY {tasks.PLACE_SQL} LIMIT 50", params))
    assert index in plan


def page_plan(store: SqliteStore | PostgresStore) -> str:
    """How a list of what is open finds its first page."""
    wanted = TaskFilter(only_open=True, triages=False, order="need")
    explain = "EXPLAIN QUERY PLAN" if isinstance(store, SqliteStore) else "EXPLAIN"
    with store.read() as tx:
        chosen, params = tasks._chosen(tx, wanted)
        rows = tx.rows(f"{explain} SELECT t.id{chosen} ORDER BY {tasks._ORDERS['need']} LIMIT 50", params)
    return "\n".join(str(row[-1]) for row in rows)


def test_a_page_of_a_list_is_read_in_its_order() -> None:
    """However many tasks are open: none is sorted."""
    plan = page_plan(SqliteStore(":memory:", ManualClock(), new_store_id="s", machine_id="m"))

    assert plan == "SCAN t USING INDEX task_listed"


@pytest.mark.parametrize("what", [what for what in LOOP if what != "lock what ended"])
def test_the_loop_reads_by_its_index(what: str) -> None:
    """The plan names the index, sorts nothing and scans no table."""
    store = SqliteStore(":memory:", ManualClock(), new_store_id="s", machine_id="m")
    sql, _, params, index = LOOP[what]

    with store.read() as tx:
        plan = " / ".join(str(row[3]) for row in tx.rows(f"EXPLAIN QUERY PLAN {sql}", params))

    # A scan of a partial index reads only what is in it: the few that wait for exactly this.
    own = [step for step in plan.split(" / ") if not step.startswith(INNER)]
    assert all(index in step for step in own if "TEMP B-TREE" not in step), plan
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
        tx.execute(
            "INSERT INTO breaker (key, kind, state, why, opened_by, opened_at, failures, successes, data, probe_at)"
            " SELECT 'incident:' || n, 'incident', 'closed', '', 'engine', n, 0, 0, '{}',"
            " CASE WHEN n % 500 = 0 THEN n END FROM generate_series(1, 5000) n"
        )
        tx.execute(
            "INSERT INTO question (id, need, why, evidence, options, default_option, status, asked_at, answered_by,"
            " answer, send_at) SELECT 'q' || n, '', '', '', '[]', 1, CASE WHEN n % 100 = 0 THEN 'open' ELSE 'answered'"
            " END, n, '', '', n FROM generate_series(1, 5000) n"
        )
        tx.execute(
            "INSERT INTO triage (id, task_id, number, fingerprint, agent, started_at, since_seq, ended_at)"
            " SELECT '.triage-c' || n, 'c' || n, 1, 'x:' || n, 'rules', n, n, CASE WHEN n % 200 > 0 THEN n END"
            " FROM generate_series(1, 6000) n"
        )
        tx.execute("INSERT INTO dependency SELECT 'f' || n, 'c' || n FROM generate_series(1, 6000) n")
        tx.execute(
            "INSERT INTO retry SELECT 'c' || n, 1, 'c' || n % 2, 'a', n, n, n, '', '', CASE WHEN n % 200 = 0"
            " THEN 'pending' ELSE 'executed' END, n, CASE WHEN n % 200 > 0 THEN 'failed' END, ''"
            " FROM generate_series(1, 6000) n"
        )
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
@pytest.mark.parametrize("plans", ["for these parameters", "for any parameters"])
@pytest.mark.parametrize("what", LOOP)
def test_the_loop_reads_by_its_index_on_postgresql(filled: PostgresStore, what: str, plans: str) -> None:
    """The plan the server chose, locks included; for what is run often it may stop looking at the parameters."""
    sql, lock, params, index = LOOP[what]
    numbers = iter(range(1, 10))
    numbered = "".join(f"${next(numbers)}" if letter == "?" else letter for letter in sql)
    values = f" ({', '.join(Literal(each).as_string() for each in params)})" if params else ""

    with filled.write() as tx:
        forced = "force_custom_plan" if plans == "for these parameters" else "force_generic_plan"
        tx.execute(f"SET LOCAL plan_cache_mode = {forced}")
        tx.execute(f"PREPARE asked AS {numbered}{lock}")
        plan = "\n".join(row[0] for row in tx.rows(f"EXPLAIN EXECUTE asked{values}"))
        tx.execute("DEALLOCATE asked")

    assert f"using {index} on" in plan or f"on {index} " in plan, plan
    assert "Seq Scan" not in plan, plan
    if what not in ("lock what ended", "find a worker's attempts", "find living workers"):
        assert "Sort" not in plan, plan


@pytest.mark.postgres
def test_a_page_of_a_list_is_read_in_its_order_on_postgresql(filled: PostgresStore) -> None:
    """By the same index."""
    plan = page_plan(filled)

    assert "task_listed" in plan, plan
    assert "Sort" not in plan, plan
