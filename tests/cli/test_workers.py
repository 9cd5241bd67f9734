"""`medbay worker` and `medbay workers`: more engines on one store, who they are and what they run."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from medbay.store import workers as worker_rows
from tests.cli.calling import Cli
from tests.cli.test_run import QUICK, processes_of, started
from tests.waiting import wait_for


@pytest.fixture
def quick(cli: Cli) -> Iterator[Cli]:
    """A project in which a stop is quick; nothing of it is left running."""
    (cli.folder / "medbay.toml").write_text(QUICK, encoding="utf-8")
    yield cli
    for pid in processes_of(cli):
        os.kill(pid, signal.SIGKILL)


def test_a_worker_serves_its_queues_and_stops_in_order(quick: Cli) -> None:
    """What it ran is handed back, others' queues are left alone, and it says goodbye."""
    mine = quick.add("mine", "--queue", "gpu", "--run", "sleep 1000")
    other = quick.add("other")
    bay = quick.bay()

    with started(quick, "worker", "--queue", "gpu", "--workers", "2") as process:
        wait_for(lambda: bay.get(mine).status == "in_progress")
        (seen,) = quick.good("workers", "--json").json
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0

    assert (seen["state"], seen["host"], seen["pid"]) == ("alive", socket.gethostname(), process.pid)
    assert (seen["slots"], seen["queues"]) == (2, ["gpu"])
    assert [(each["task"], each["attempt"]) for each in seen["running"]] == [(mine, 1)]
    assert seen["policy"] == bay.policy.hash()
    assert 0 < seen["lease_left_s"] <= 30
    assert bay.get(mine).status == "pending" and bay.get(mine).ready
    assert bay.get(other).attempts == 0
    assert quick.good("workers", "--json").json == []
    assert [each["state"] for each in quick.good("workers", "--all", "--json").json] == ["stopped"]


def test_a_worker_needs_a_store_that_exists(bare: Cli) -> None:
    """It never makes one by mistake."""
    assert bare("worker").code == 3
    assert bare("worker", "--store", "sqlite:///none.db").code == 3


@pytest.mark.parametrize("queue", ["", "a,,b", ","])
def test_a_list_of_queues_has_names(cli: Cli, queue: str) -> None:
    """Wrong usage, as for `up`."""
    assert cli("worker", "--queue", queue).code == 2


def test_leases_are_told_in_words_and_cells(cli: Cli) -> None:
    """Alive, expired, and how the others ended."""
    world = cli.world()
    engine = cli.engine(world)
    running = world.add("runs", None)
    engine.tick()
    with world.store.write() as tx:
        for name, how, stopped_at in (
            ("w-lost", "lost", tx.now),
            ("w-crash", "crashed", tx.now - 1),
            ("w-late", "", None),
        ):
            old = replace(engine.worker, id=name, lease_until=tx.now - 5_000, stopped_at=stopped_at, how=how)
            worker_rows.insert(tx, old)

    here = {cells[0]: cells for cells in cli.good("workers").cells}
    assert {cells[1] for cells in here.values()} == {"alive", "expired"}
    assert here[engine.worker.id][2] == "here"
    assert here[engine.worker.id][-1] == f"{running.id}#1"
    states = [cells[1] for cells in cli.good("workers", "--all").cells]
    assert sorted(states) == ["alive", "crashed", "expired", "lost"]
    told = cli.screen("workers", "--all", env={"NO_COLOR": "1"}, columns=160).out
    assert f"1 of 4 slots  default  {running.id}#1" in told
    assert "lease expired" in told
    assert "✗ w-crash" in told


def test_nobody_serving_is_said(cli: Cli) -> None:
    """With the command that does."""
    told = cli.good("workers")

    assert told.out == ""
    assert "medbay up or medbay worker" in told.err
    assert cli.good("workers", "--json").json == []


def test_an_engine_that_was_killed_is_not_called_alive(quick: Cli) -> None:
    """Its lease still lasts, but this machine knows better."""
    task_id = quick.add("sleeper", "--run", "echo x > up; sleep 1000")
    with started(quick, "up") as process:
        wait_for((quick.folder / "up").exists)
        assert "1 alive" in quick("doctor").out
        process.kill()
        process.wait(30)

    assert f"there is no process {process.pid} any more" in quick("doctor").out
    assert "1 alive" not in quick("doctor").out
    told = quick.good("explain", task_id)
    assert "attempt 1 was running when its engine died" in told.out
    assert "attempt 1 is live" not in told.out
    assert quick.good("explain", task_id, "--json").json["changes"][0] == "medbay up"
