"""No statement of the loop may scan: each is answered by its index, whatever the backlog."""

from __future__ import annotations

import pytest

from medbay.store import attempts, tasks, workers
from medbay.store.database import Store
from medbay.store.tasks import TaskFilter

LOOP = {
    "claim fresh and recovering work": (tasks.CLAIM_HEAD_SQL, ("default", 0, 4), "task_claim"),
    "claim suspects": (tasks.CLAIM_SUSPECTS_SQL, ("default", 1), "task_suspect"),
    "release what is due": (tasks.DUE_SQL, (0, 500), "task_due"),
    "find the next wake": (tasks.NEXT_DUE_SQL, (), "task_due"),
    "find cancel requests": (tasks.CANCELS_SQL, (), "task_cancel"),
    "find a worker's attempts": (attempts.LIVE_OF_WORKER_SQL, ("w",), "attempt_live_by_worker"),
    "find living workers": (workers.ALIVE_SQL, (), "worker_alive"),
}


def test_a_list_reads_what_is_open_and_what_ended_lately(store: Store) -> None:
    """However much ended before, it is not looked at."""
    lists = {
        "task_open": TaskFilter(only_open=True, order="need"),
        "task_recent": TaskFilter(statuses=("completed", "cancelled"), ended_since=1, order="need"),
    }
    for index, wanted in lists.items():
        chosen, params = tasks._chosen(wanted)
        with store.read() as tx:
            plan = str(tx.rows(f"EXPLAIN QUERY PLAN SELECT t.id{chosen} ORDER BY {tasks.PLACE_SQL} LIMIT 50", params))
        assert index in plan


@pytest.mark.parametrize("what", LOOP)
def test_the_loop_reads_by_its_index(store: Store, what: str) -> None:
    """The plan names the index, sorts nothing and scans no table."""
    sql, params, index = LOOP[what]

    with store.read() as tx:
        plan = " / ".join(str(row[3]) for row in tx.rows(f"EXPLAIN QUERY PLAN {sql}", params))

    # A scan of a partial index reads only what is in it: the few that wait for exactly this.
    assert all(index in step for step in plan.split(" / ") if "TEMP B-TREE" not in step)
    if what != "find living workers":
        assert "TEMP B-TREE" not in plan
