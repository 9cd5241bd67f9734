"""Processes of this host: identity, trees, and ending what an earlier engine left behind."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from medbay.places.processes import (
    HostLeftovers,
    Process,
    below,
    end_tree,
    identity_of,
    is_alive,
    look,
    marks,
    read_process,
    send,
)
from medbay.places.protocol import Identity, Leftovers
from tests.runners.driving import PYTHON, wait_until


class Sleepers:
    """Starts processes that carry an attempt key, and ends them after the test."""

    def __init__(self, store_id: str) -> None:
        self.store_id = store_id
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, task: str, number: int, **extra: str) -> subprocess.Popen[bytes]:
        """One that sleeps in a session of its own."""
        return self.run(["sleep", "100"], {"MEDBAY_ATTEMPT_KEY": f"{self.store_id}:{task}:{number}", **extra})

    def run(self, command: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
        """Any command with this environment alone."""
        env = {"PATH": os.environ["PATH"], **env}
        process = subprocess.Popen(command, env=env, start_new_session=True)
        self.started.append(process)
        return process


@pytest.fixture
def sleepers(tmp_path: Path) -> Iterator[Sleepers]:
    """Sleepers of a store that is the test's alone."""
    made = Sleepers(f"s{os.getpid()}x{abs(hash(tmp_path))}")
    yield made
    for process in made.started:
        process.kill()
        process.wait(10)


def test_a_process_is_known_by_pid_and_start_time(sleepers: Sleepers) -> None:
    """A reused pid is another process."""
    process = sleepers.start("a", 1)
    identity = identity_of(process.pid)
    assert identity is not None

    assert identity.group == process.pid
    assert is_alive(identity)
    assert not is_alive(structs.replace(identity, pid_start=identity.pid_start - 1))


def test_a_zombie_is_not_alive(sleepers: Sleepers) -> None:
    """It runs no more, though its pid is still taken."""
    process = sleepers.start("a", 1)
    identity = identity_of(process.pid)
    assert identity is not None

    process.kill()

    wait_until(lambda: not is_alive(identity))
    assert read_process(process.pid) is not None


def test_there_is_no_identity_without_a_process() -> None:
    """And nothing alive."""
    assert identity_of(2**22 + 1) is None
    assert not is_alive(Identity(pid=2**22 + 1, pid_start=1, group=1))


def test_a_signal_does_not_reach_a_process_that_took_over_the_pid(sleepers: Sleepers) -> None:
    """The start time is compared first."""
    process = sleepers.start("a", 1)
    now = read_process(process.pid)
    assert now is not None

    assert not send(now._replace(start=now.start - 1), 9)
    assert process.poll() is None
    assert send(now, 9)


def test_a_name_with_parentheses_and_spaces_is_read_right(tmp_path: Path, sleepers: Sleepers) -> None:
    """A process names itself; the name is hostile."""
    odd = tmp_path / ") S 1 (x"
    odd.symlink_to("/bin/sleep")
    process = sleepers.run([str(odd), "100"], {})

    found = read_process(process.pid)

    assert found is not None
    assert (found.parent, found.group, found.session) == (os.getpid(), process.pid, process.pid)


def test_keys_are_found_whatever_else_is_in_the_environment(sleepers: Sleepers) -> None:
    """Behind large values, and not where another value only looks like one."""
    large = sleepers.run(["sleep", "100"], {"A": "x" * 100_000, "MEDBAY_ATTEMPT_KEY": f"{sleepers.store_id}:a:1"})
    fake = sleepers.run(["sleep", "100"], {"A": f"MEDBAY_ATTEMPT_KEY={sleepers.store_id}:a:1"})

    wait_until(lambda: large.pid in marks(f"{sleepers.store_id}:"))

    assert marks(f"{sleepers.store_id}:") == {large.pid: f"{sleepers.store_id}:a:1"}
    assert fake.pid not in marks("")


def test_below_never_contains_this_process_or_one_it_descends_from() -> None:
    """Whatever the roots."""
    snapshot = look()

    found = below(snapshot.processes, [1, os.getppid(), os.getpid()])

    assert not found & {1, os.getppid(), os.getpid()}


def test_below_ends_on_a_table_that_goes_round_in_circles() -> None:
    """A table read while pids are reused may say anything."""

    def process(pid: int, parent: int) -> Process:
        return Process(pid, 1, parent, pid, pid, False, 0, 0.0)

    assert below({5: process(5, 6), 6: process(6, 5)}, [5]) == {5, 6}


def test_leftovers_are_ended_and_live_attempts_spared(sleepers: Sleepers) -> None:
    """Own sessions included; other stores are not touched."""
    dead = [sleepers.start("a", 1), sleepers.start("b", 7)]
    live = sleepers.start("a", 2)
    other = sleepers.run(["sleep", "100"], {"MEDBAY_ATTEMPT_KEY": f"{sleepers.store_id}other:a:1"})
    wait_until(lambda: len(marks(sleepers.store_id)) == 4)
    leftovers: Leftovers = HostLeftovers()

    count = leftovers.end(store_id=sleepers.store_id, live=lambda: frozenset({("a", 2)}))

    assert count == 2
    assert [process.wait(5) for process in dead] == [-9, -9]
    assert (live.poll(), other.poll()) == (None, None)


def test_leftovers_of_one_task_only(sleepers: Sleepers) -> None:
    """As before an attempt of that task."""
    mine, another = sleepers.start("a", 1), sleepers.start("ab", 1)
    wait_until(lambda: len(marks(sleepers.store_id)) == 2)

    assert HostLeftovers().end(store_id=sleepers.store_id, live=frozenset, task_id="a") == 1
    assert mine.wait(5) == -9
    assert another.poll() is None


def test_leftovers_without_the_mark_are_found_below_those_with_it(sleepers: Sleepers) -> None:
    """A child that cleared its environment still has its parent."""
    key = f"{sleepers.store_id}:a:1"
    parent = sleepers.run(["sh", "-c", "setsid env -i sleep 100 & wait"], {"MEDBAY_ATTEMPT_KEY": key})
    wait_until(lambda: len(marks(key)) == 1 and len(_children(parent.pid)) == 1)
    wait_until(lambda: _children(parent.pid)[0].session != parent.pid)
    child = _children(parent.pid)[0]

    assert HostLeftovers().end(store_id=sleepers.store_id, live=frozenset) == 2
    wait_until(lambda: not is_alive(Identity(pid=child.pid, pid_start=child.start, group=child.group)))


def test_an_engine_inside_an_attempt_does_not_end_its_own(sleepers: Sleepers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its children carry the mark it inherited."""
    monkeypatch.setenv("MEDBAY_ATTEMPT_KEY", f"{sleepers.store_id}:outer:1")
    own = sleepers.start("outer", 1)
    wait_until(lambda: marks(sleepers.store_id))

    assert HostLeftovers().end(store_id=sleepers.store_id, live=frozenset) == 0
    assert own.poll() is None


def test_a_key_that_is_no_attempt_is_not_ours_to_end(sleepers: Sleepers) -> None:
    """Somebody else's variable that happens to begin like ours."""
    strange = sleepers.run(["sleep", "100"], {"MEDBAY_ATTEMPT_KEY": f"{sleepers.store_id}:a:one"})
    wait_until(lambda: marks(sleepers.store_id))

    assert HostLeftovers().end(store_id=sleepers.store_id, live=frozenset) == 0
    assert strange.poll() is None


def test_a_tree_that_forks_while_it_is_ended_is_ended(sleepers: Sleepers) -> None:
    """Until two scans in a row are empty."""
    code = """
import os, time
while True:
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.05)
        os._exit(0)
    time.sleep(0.002)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
"""
    key = f"{sleepers.store_id}:a:1"
    process = sleepers.run([PYTHON, "-c", code], {"MEDBAY_ATTEMPT_KEY": key})
    wait_until(lambda: len(marks(key)) > 3)
    identity = identity_of(process.pid)
    assert identity is not None

    assert end_tree(identity, attempt_key=key) >= 1

    assert process.wait(5) == -9
    assert marks(key) == {}


def test_a_scan_of_many_processes_is_fast(sleepers: Sleepers) -> None:
    """Generous here because tests share the machine; the bench has the real figure."""
    for number in range(40):
        sleepers.start("many", number)
    wait_until(lambda: len(marks(sleepers.store_id)) == 40)

    begun = time.perf_counter()
    marks(sleepers.store_id)

    assert time.perf_counter() - begun < 0.5


def _children(pid: int) -> list[Process]:
    return [process for process in look().processes.values() if process.parent == pid]
