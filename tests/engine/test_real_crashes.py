"""Real engines and processes: what a killed one left is ended, and of many that claim one wins. See tests/chaos."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import medbay
from medbay import app
from medbay.bay import Bay
from medbay.places.processes import marks
from tests.guardians import kill_with_guardian
from tests.postgres_server import Server
from tests.waiting import wait_for

CONFIG = """
[engine]
workers = 4
grace = "2s"
[policy.ladder.unknown]
delays = ["20ms"]
"""
DAEMON = "import medbay; raise SystemExit(medbay.open().daemon().run(until_idle=True))"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def bay(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bay]:
    """A store with quick delays, and a directory of its own for everything else."""
    if request.param == "sqlite":
        yield bay_in(tmp_path)
        return
    server: Server = request.getfixturevalue("postgres")
    database = server.new_database()  # made anew, so that its name is its own: leftovers are found by it
    with bay_in(tmp_path, f'[store]\nurl = "{server.url(database)}"\n') as opened:
        yield opened
    server.drop(database)


def bay_in(home: Path, more: str = "") -> Bay:
    """A store with quick delays in a directory of its own."""
    app.make_home(home, file_is_ours=True, environ=os.environ)
    (home / "medbay.toml").write_text(more + CONFIG, encoding="utf-8")
    return medbay.open(cwd=home)


def start_daemon(home: Path) -> subprocess.Popen[bytes]:
    """An engine in a process of its own, in its own session."""
    return subprocess.Popen([sys.executable, "-c", DAEMON], cwd=home, start_new_session=True)


def record_of(home: Path) -> list[str]:
    """What the jobs wrote down themselves."""
    file = home / "record"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def test_what_a_killed_daemon_left_running_is_ended_by_the_next(bay: Bay, tmp_path: Path) -> None:
    """Also a child that made a session of its own."""
    bay.add("sleeper", run="setsid sleep 300 & sleep 300", cwd=str(tmp_path))
    daemon = start_daemon(tmp_path)
    wait_for(lambda: len(marks(f"{bay.store.store_id}:")) >= 3)
    kill_with_guardian(daemon)
    old = set(marks(f"{bay.store.store_id}:"))
    assert old

    again = start_daemon(tmp_path)
    wait_for(lambda: bay.select()[0].attempts == 2)

    assert not old & set(marks(f"{bay.store.store_id}:"))
    os.kill(again.pid, signal.SIGTERM)
    bay.cancel(bay.select()[0].id)
    os.kill(again.pid, signal.SIGKILL)
    again.wait()
    bay.run_until_idle()
    assert marks(f"{bay.store.store_id}:") == {}


@pytest.mark.parametrize("many", [False, True])
def test_a_task_is_cancelled_at_once_when_its_daemon_is_dead(bay: Bay, tmp_path: Path, many: bool) -> None:
    """No other engine is needed for that, and what the daemon left running of it is ended; of others it is not."""
    task = bay.add("sleeper", run="setsid sleep 300 & sleep 300", cwd=str(tmp_path))
    other = bay.add("other", run=["sleep", "300"], cwd=str(tmp_path))
    follower = bay.add("follower", run="true", after=[task.id])
    daemon = start_daemon(tmp_path)
    wait_for(lambda: len(marks(f"{bay.store.store_id}:")) >= 4)
    kill_with_guardian(daemon)

    if many:
        bay.act_on("cancel", [task.id])
    else:
        assert bay.cancel(task.id).status == "cancelled"

    assert (bay.get(task.id).status, bay.get(task.id).live) == ("cancelled", None)
    assert [each.outcome for each in bay.attempts(task.id)] == ["cancelled"]
    assert bay.get(follower.id).status == "blocked"
    assert marks(f"{bay.store.store_id}:{task.id}:") == {}
    assert (bay.get(other.id).status, len(marks(f"{bay.store.store_id}:{other.id}:"))) == ("in_progress", 1)
    assert bay.cancel(other.id).status == "cancelled"


def test_a_task_whose_daemon_lives_is_ended_by_that(bay: Bay, tmp_path: Path) -> None:
    """Whoever cancels it only asks."""
    task = bay.add("sleeper", run=["sleep", "300"], cwd=str(tmp_path))
    daemon = start_daemon(tmp_path)
    wait_for(lambda: len(marks(f"{bay.store.store_id}:")) >= 1)
    os.kill(daemon.pid, signal.SIGSTOP)

    asked = bay.cancel(task.id)

    assert (asked.status, asked.cancel_requested) == ("in_progress", True)
    os.kill(daemon.pid, signal.SIGCONT)
    wait_for(lambda: bay.get(task.id).status == "cancelled")
    daemon.wait(30)


CLAIMER = """
import sys, medbay
from medbay import app, wiring
from medbay.env import SystemClock
bay = medbay.open()
engine = wiring.build_engine(bay.store, bay.place, slots=1000)
sys.stdin.readline()
while True:
    claims = engine.claim()
    for claim in claims:
        print(claim.task.id, flush=True)
    if not claims:
        break
"""


def test_of_eight_processes_one_wins_each_task(bay: Bay, tmp_path: Path) -> None:
    """Eight claim from one store at the same time; every task has exactly one winner."""
    made = bay.add_many([{"title": f"t{n}", "run": "true"} for n in range(400)])
    claimers = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMER.replace("slots=1000", f"slots={20 + n}")],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(8)
    ]
    for each in claimers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()

    won = [line for each in claimers for line in each.communicate(timeout=60)[0].split()]

    assert sorted(won) == sorted(task.id for task in made)
    assert len(won) == len(set(won))
