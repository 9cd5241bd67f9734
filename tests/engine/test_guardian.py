"""The guardian with real engines and real processes: it ends what its engine cannot, and nothing of anybody else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import medbay
from medbay.bay import Bay
from medbay.engine.guardian import Guardian
from medbay.places.guardian import newest, verdict
from medbay.places.processes import GUARD_NAME, KEY_NAME, marks, pids, read_process
from tests.guardians import guardians_of
from tests.waiting import wait_for

CONFIG = """
[engine]
workers = 4
grace = "1s"
lease = "{lease}"
"""
DAEMON = "import medbay; raise SystemExit(medbay.open().daemon(queues={queues!r}).run(until_idle={until_idle}))"
STUBBORN = "trap '' TERM; setsid sh -c 'sleep 301 & exec sleep 302' & (env -i sleep 303 &); sleep 304; sleep 305"


class Engines:
    """Starts engines in processes of their own, and ends all that is left after the test."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, *, queues: tuple[str, ...] = ("default",), until_idle: bool = False) -> subprocess.Popen[bytes]:
        """One more, in its own session."""
        program = DAEMON.format(queues=queues, until_idle=until_idle)
        engine = subprocess.Popen([sys.executable, "-c", program], cwd=self.home, start_new_session=True)
        self.started.append(engine)
        return engine


@pytest.fixture
def bay(tmp_path: Path) -> Iterator[Bay]:
    """A store with a lease so long that only a closed pipe tells."""
    with bay_in(tmp_path, lease="60s") as opened:
        yield opened


@pytest.fixture
def engines(bay: Bay) -> Iterator[Engines]:
    """Engines of the store, none of which outlives the test."""
    made = Engines(bay.place.folder.parent)
    yield made
    for engine in made.started:
        with suppress(ProcessLookupError):
            os.killpg(engine.pid, signal.SIGKILL)
        engine.wait(10)
    wait_for(lambda: not tree_of(bay))


def bay_in(home: Path, *, lease: str) -> Bay:
    """A store in a directory of its own."""
    (home / ".medbay").mkdir(exist_ok=True)
    (home / "medbay.toml").write_text(CONFIG.format(lease=lease), encoding="utf-8")
    return medbay.open(cwd=home)


def tree_of(bay: Bay, task_id: str = "") -> set[int]:
    """The living processes of a store, or of one of its tasks."""
    found = marks(f"{bay.store.store_id}:{task_id}")
    return {pid for pid in found if (process := read_process(pid)) is not None and not process.dead}


def session_of(leader: int) -> set[int]:
    """The living members of a session."""
    found = (read_process(pid) for pid in pids())
    return {each.pid for each in found if each is not None and each.session == leader and not each.dead}


# The decision


@pytest.mark.parametrize(
    ("engine_gone", "silent_s", "expected"),
    [
        (False, 0.0, "wait"),
        (False, 24.999, "wait"),
        (False, 25.0, "strike"),
        (False, 9_999.0, "strike"),
        (True, 0.0, "strike and end"),
        (True, 9_999.0, "strike and end"),
        (False, -1.0, "wait"),
    ],
)
def test_it_strikes_at_five_sixths_or_when_its_engine_is_gone(
    engine_gone: bool, silent_s: float, expected: str
) -> None:
    """The whole decision."""
    assert verdict(engine_gone=engine_gone, silent_s=silent_s, limit_s=25.0) == expected


@pytest.mark.parametrize(
    ("told", "expected"), [(b"", 5.0), (b"6.5\n", 6.5), (b"6.5\n7.25\n", 7.25), (b"7\n6\n", 7.0), (b"9.5\n98", 9.5)]
)
def test_the_newest_renewal_that_was_told_in_full_counts(told: bytes, expected: float) -> None:
    """Half a line is not a time."""
    assert newest(told, 5.0) == expected


# With real processes


def test_what_an_engine_that_was_killed_had_started_is_gone_soon(bay: Bay, engines: Engines) -> None:
    """No other engine starts. Sessions of its own, emptied environments and deaf processes included."""
    task = bay.add("stubborn", run=STUBBORN)
    engine = engines.start()
    wait_for(lambda: len(tree_of(bay, task.id)) >= 4)
    leader = min(tree_of(bay, task.id))
    wait_for(lambda: len(session_of(leader)) >= 3)  # the one without an environment too

    engine.kill()
    engine.wait()

    wait_for(lambda: not tree_of(bay) and not session_of(leader), seconds=5)
    wait_for(lambda: not guardians_of(engine.pid))
    assert bay.get(task.id).status == "in_progress"  # nobody was there to record anything


def test_what_a_job_let_go_lives_on(bay: Bay, engines: Engines, tmp_path: Path) -> None:
    """A job takes the key of its attempt away from what is meant to outlive it."""
    run = f"(env -u {KEY_NAME} setsid sh -c 'echo $$ > let-go; exec sleep 311' &); sleep 312"
    bay.add("starts a server", run=run, cwd=str(tmp_path))
    engine = engines.start()
    wait_for(lambda: (tmp_path / "let-go").exists() and (tmp_path / "let-go").read_text().endswith("\n"))
    kept = int((tmp_path / "let-go").read_text())

    engine.kill()
    engine.wait()
    wait_for(lambda: not guardians_of(engine.pid))

    assert not tree_of(bay)
    process = read_process(kept)
    assert process is not None
    assert not process.dead
    os.kill(kept, signal.SIGKILL)


def test_an_engine_that_is_stopped_longer_than_its_lease_loses_its_trees_in_time(tmp_path: Path) -> None:
    """SIGSTOP: by five sixths of the lease nothing of it runs; the engine then goes on under a new name."""
    with bay_in(tmp_path, lease="3s") as bay:
        run = "echo $MEDBAY_ATTEMPT >> runs; [ $MEDBAY_ATTEMPT -gt 1 ] || sleep 300"
        task = bay.add("long", run=run, cwd=str(tmp_path))
        engine = Engines(tmp_path).start(until_idle=True)
        wait_for((tmp_path / "runs").exists)
        os.kill(engine.pid, signal.SIGSTOP)
        stopped_s = time.monotonic()

        wait_for(lambda: not tree_of(bay))
        silent_s = time.monotonic() - stopped_s
        wait_for(lambda: time.monotonic() > stopped_s + 3.2)  # its lease is over by now
        os.kill(engine.pid, signal.SIGCONT)

        assert engine.wait(30) == 0
        assert silent_s <= 3.0
        assert (tmp_path / "runs").read_text().split() == ["1", "2"]
        done = bay.get(task.id)
        assert (done.status, done.streak, done.crashes) == ("completed", 0, 0)
        assert [each.outcome for each in bay.attempts(task.id)] == ["lost", "succeeded"]
        assert not guardians_of(engine.pid)


def test_a_warm_worker_process_is_ended_too(bay: Bay, engines: Engines, tmp_path: Path) -> None:
    """It changes the key of its attempt with every call, and keeps the mark of its engine."""
    (tmp_path / "work.py").write_text("import time\ndef quick(): pass\ndef long(): time.sleep(300)\n")
    bay.add("quick", python="work:quick", cwd=str(tmp_path))
    engine = engines.start()
    wait_for(lambda: bay.select()[0].status == "completed")
    task = bay.add("long", python="work:long", cwd=str(tmp_path))
    wait_for(lambda: tree_of(bay, task.id))
    (worker,) = tree_of(bay, task.id)
    assert f"{GUARD_NAME}=" in Path(f"/proc/{worker}/environ").read_text()

    engine.kill()
    engine.wait()

    wait_for(lambda: not tree_of(bay), seconds=5)


def test_of_two_engines_on_one_store_the_other_goes_on(bay: Bay, engines: Engines) -> None:
    """Each guardian ends what its own engine started."""
    killed, spared = engines.start(queues=("a",)), engines.start(queues=("b",))
    first, second = bay.add("first", run="sleep 321", queue="a"), bay.add("second", run="sleep 322", queue="b")
    wait_for(lambda: tree_of(bay, first.id) and tree_of(bay, second.id))
    lives_on = tree_of(bay, second.id)
    watching = guardians_of(killed.pid)

    killed.kill()
    killed.wait()

    wait_for(lambda: not tree_of(bay, first.id), seconds=5)
    wait_for(lambda: not watching & set(pids()) or not guardians_of(killed.pid))
    assert tree_of(bay, second.id) == lives_on
    assert spared.poll() is None


def test_a_guardian_that_died_is_replaced(tmp_path: Path) -> None:
    """And the new one does what the old one would have done."""
    with bay_in(tmp_path, lease="5s") as bay:
        bay.add("long", run="sleep 331")
        engine = Engines(tmp_path).start()
        wait_for(lambda: tree_of(bay) and guardians_of(engine.pid))
        (first,) = guardians_of(engine.pid)
        os.kill(first, signal.SIGKILL)

        wait_for(lambda: guardians_of(engine.pid) - {first})
        assert tree_of(bay)
        engine.kill()
        engine.wait()

        wait_for(lambda: not tree_of(bay), seconds=5)


def test_after_an_end_in_order_no_guardian_is_left(bay: Bay, engines: Engines) -> None:
    """Neither when there was nothing left to do, nor after SIGTERM to everybody, which the guardian survives."""
    bay.add("quick", run="true")
    assert engines.start(until_idle=True).wait(30) == 0
    assert not guardians_of(engines.started[0].pid)

    assert bay.run_until_idle() == 0
    assert not guardians_of(os.getpid())

    program = "import medbay, signal; d = medbay.open().daemon(); signal.signal(15, lambda *_: d.stop()); d.run()"
    engine = subprocess.Popen([sys.executable, "-c", program], cwd=engines.home, start_new_session=True)
    engines.started.append(engine)
    wait_for(lambda: guardians_of(engine.pid))
    (guardian,) = guardians_of(engine.pid)
    wait_for(lambda: _ignores_sigterm(guardian))
    os.kill(guardian, signal.SIGTERM)
    assert guardians_of(engine.pid) == {guardian}
    os.kill(engine.pid, signal.SIGTERM)
    assert engine.wait(30) == 0
    assert not guardians_of(engine.pid)


def test_a_loop_that_broke_leaves_nothing_running(bay: Bay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the engine ends by an error of its own, its guardian ends its trees, though the process lives on."""
    bay.add("long", run="sleep 341")
    daemon = bay.daemon()

    def broken() -> int:
        if tree_of(bay):
            raise RuntimeError("a step broke")
        return 0

    monkeypatch.setattr(daemon.engine, "release", broken)
    with pytest.raises(RuntimeError, match="a step broke"):
        daemon.run()

    assert not tree_of(bay)
    assert not guardians_of(os.getpid())


def test_its_pipe_reaches_no_task(bay: Bay, engines: Engines, tmp_path: Path) -> None:
    """A task that held an end of it would hide the death of the engine."""
    bay.add("shows", run="ls -l /proc/self/fd > fds", cwd=str(tmp_path))
    engines.start(until_idle=True).wait(30)

    assert "pipe:" not in (tmp_path / "fds").read_text().replace("fds", "")


def test_one_that_cannot_be_started_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine runs without one meanwhile."""
    real = subprocess.Popen
    guardian = Guardian("a-mark-of-nobody", lease_ms=30_000)
    monkeypatch.setattr(subprocess, "Popen", _refuse)
    guardian.begin(0.0)
    assert not guardians_of(os.getpid())
    monkeypatch.setattr(subprocess, "Popen", real)

    guardian.tend(time.clock_gettime(time.CLOCK_BOOTTIME))

    wait_for(lambda: len(guardians_of(os.getpid())) == 1)  # a new process has no name for a moment
    guardian.close(in_order=True)
    assert not guardians_of(os.getpid())


def _refuse(*_: object, **__: object) -> None:
    raise OSError(11, "Resource temporarily unavailable")


def _ignores_sigterm(pid: int) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    ignored = next(int(line.split()[1], 16) for line in lines if line.startswith("SigIgn"))
    return bool(ignored >> (signal.SIGTERM - 1) & 1)
