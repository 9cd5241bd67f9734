"""Real engines on a PostgreSQL server that dies and comes back: work goes on, nothing is lost or recorded twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from medbay.bay import Bay
from medbay.core.attempt.ahead import BRIEF_AHEAD_MAX, KEPT_MAX
from medbay.errors import StoreUnavailable
from medbay.places.processes import marks
from medbay.store.database import Store
from tests.engine.test_real_crashes import bay_in, record_of
from tests.postgres_server import Server
from tests.waiting import wait_for
from tests.worlds import ManualClock, World, deaf

DAEMON = "import medbay; raise SystemExit(medbay.open().daemon(queues=('a', 'b')).run(until_idle=True))"
# Notes its start and its end, and shouts when another attempt of the same task is running.
JOB = """
exec 9>>lock.$MEDBAY_TASK
flock -n 9 || echo "DOUBLE $MEDBAY_TASK" >> record
echo "start $MEDBAY_TASK $MEDBAY_ATTEMPT" >> record
sleep {seconds} 9>&-
echo "end $MEDBAY_TASK $MEDBAY_ATTEMPT" >> record
"""


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of this test alone."""
    made = Server()
    yield made
    made.stop()


def start_daemon(home: Path) -> subprocess.Popen[bytes]:
    """A worker of both queues in a process and session of its own."""
    return subprocess.Popen([sys.executable, "-c", DAEMON], cwd=home, start_new_session=True)


def add_many(bay: Bay, home: Path, count: int, seconds: float) -> list[str]:
    """Tasks of two queues that write a record of their own."""
    job = JOB.format(seconds=seconds)
    lines = [{"title": f"t{n}", "run": job, "cwd": str(home), "queue": "ab"[n % 2]} for n in range(count)]
    return [task.id for task in bay.add_many(lines)]


def ends(home: Path) -> int:
    """How many attempts have written their end."""
    return sum(line.startswith("end") for line in record_of(home))


def check_record(bay: Bay, home: Path, made: list[str]) -> Counter[str]:
    """The tasks' own record and the store's agree; how the attempts ended."""
    lines = record_of(home)
    starts = [tuple(line.split()[1:]) for line in lines if line.startswith("start")]
    ended = [tuple(line.split()[1:]) for line in lines if line.startswith("end")]
    assert not [line for line in lines if line.startswith("DOUBLE")]
    assert len(starts) == len(set(starts)), "an attempt was started twice"
    assert len(ended) == len(set(ended)), "an attempt ended twice"
    outcomes: Counter[str] = Counter()
    for task_id in made:
        attempts = bay.attempts(task_id)
        good = [each for each in attempts if each.outcome == "succeeded"]
        assert len(good) == 1, [each.outcome for each in attempts]
        assert (task_id, str(good[0].number)) in ended
        outcomes.update(str(each.outcome) for each in attempts)
    assert {bay.get(task_id).status for task_id in made} == {"completed"}
    assert marks(f"{bay.store.store_id}:") == {}
    assert bay.standstills() == []
    return outcomes


@pytest.mark.postgres
@pytest.mark.timeout(180)
def test_children_survive_a_server_that_is_killed_and_comes_back(server: Server, tmp_path: Path) -> None:
    """Every attempt that was started also ended, once, and its end is in the store."""
    with bay_in(tmp_path, f'[store]\nurl = "{server.url()}"\n') as bay:
        made = add_many(bay, tmp_path, 40, 0.3)
        daemon = start_daemon(tmp_path)
        wait_for(lambda: ends(tmp_path) >= 8)

        server.kill()
        begun = sum(line.startswith("start") for line in record_of(tmp_path))
        wait_for(lambda: ends(tmp_path) >= begun)  # they go on and end, though nobody can be told
        assert daemon.poll() is None
        server.start()

        assert daemon.wait(timeout=90) == 0
        wait_for(lambda: _reachable(bay))
        outcomes = check_record(bay, tmp_path, made)
        assert set(outcomes) <= {"succeeded", "requeued"}, "a child was killed or given up"
        lines = record_of(tmp_path)
        assert sum(line.startswith("start") for line in lines) == ends(tmp_path) == len(made)


@pytest.mark.postgres
@pytest.mark.timeout(240)
def test_two_workers_one_killed_and_the_server_restarted(server: Server, tmp_path: Path) -> None:
    """Two hundred tasks in two queues; all done, nothing recorded twice, and the tasks' own record agrees."""
    config = f'[store]\nurl = "{server.url()}"\n'
    with bay_in(tmp_path, config) as bay:
        text = (tmp_path / "medbay.toml").read_text(encoding="utf-8")
        (tmp_path / "medbay.toml").write_text(text.replace("[engine]", '[engine]\nlease = "20s"'), encoding="utf-8")
        made = add_many(bay, tmp_path, 200, 0.05)
        victim, survivor = start_daemon(tmp_path), start_daemon(tmp_path)
        wait_for(lambda: ends(tmp_path) >= 20 and len(bay.workers()) == 2)

        os.kill(victim.pid, signal.SIGKILL)
        victim.wait()
        wait_for(lambda: len(bay.workers()) == 1, seconds=15)  # its process is gone: no lease is waited for
        wait_for(lambda: ends(tmp_path) >= 60)
        server.restart()

        assert survivor.wait(timeout=150) == 0
        wait_for(lambda: _reachable(bay))
        outcomes = check_record(bay, tmp_path, made)
        assert set(outcomes) <= {"succeeded", "lost", "requeued"}
        assert outcomes["lost"] <= 4 * (1 + BRIEF_AHEAD_MAX + KEPT_MAX), (
            "only what the dead worker ran or had claimed ahead is lost"
        )


def test_a_claim_whose_commit_was_not_heard_is_handed_back(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the task would be running for ever, and nothing would run it."""
    world = World(store, clock)
    task = world.add("a")
    engine = world.engine()
    with deaf(store, monkeypatch), pytest.raises(StoreUnavailable):
        engine.claim()
    assert world.task(task.id).live == 1

    world.run(engine, ticks=4)

    assert world.task(task.id).status == "completed"
    with store.read() as tx:
        found = tx.rows("SELECT outcome FROM attempt WHERE task_id = ? ORDER BY number", (task.id,))
    assert found == [("requeued",), ("succeeded",)]
    assert len(world.runner.started) == 1


def test_an_end_whose_commit_was_not_heard_is_recorded_once(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays in memory, is stored again, and the fence says that it is there already."""
    world = World(store, clock)
    task = world.add("a")
    engine = world.engine()
    world.run(engine)

    with deaf(store, monkeypatch):
        assert not engine.collect()
    assert engine.collect()

    assert world.task(task.id).status == "completed"
    with store.read() as tx:
        (count,) = tx.one("SELECT count(*) FROM history WHERE task_id = ?", (task.id,)) or (0,)
    assert count == 2


def _reachable(bay: Bay) -> bool:
    """The connection of this process died with the server; the second call makes a new one."""
    try:
        bay.counts()
    except StoreUnavailable:
        return False
    return True
