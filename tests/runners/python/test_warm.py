"""Warm worker processes: when one is used again, what is restored between calls, and what ends one."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from medbay.core.outcome import Failed, Succeeded
from medbay.places.processes import HostLeftovers, is_alive, mark_of, marks, read_process
from medbay.places.tree import Trees
from medbay.runners.python.process import Lifetime
from medbay.runners.python.runner import PythonRunner
from tests.runners.calling import Caller, call, maker
from tests.runners.driving import finish, wait_until

__all__ = ["call"]


def lives(pid: int) -> bool:
    """Whether a process runs, zombies not counted."""
    found = read_process(pid)
    return found is not None and not found.dead


def test_one_process_makes_call_after_call(call: Caller) -> None:
    """The same pid, also after an exception and an exit."""
    first = call.value("pid")

    call("fail")
    call("exits", 3)

    assert [call.value("pid") for _ in range(5)] == [first] * 5


def test_two_calls_at_once_have_a_process_each(call: Caller) -> None:
    """One call at a time per process; both are kept."""
    one, two = call.start("sleeps", 0.1), call.start("sleeps", 0.1)

    assert maker(one).pid != maker(two).pid
    assert isinstance(finish(one), Succeeded)
    assert isinstance(finish(two), Succeeded)
    assert call.value("pid") in (maker(one).pid, maker(two).pid)


def test_an_isolated_call_has_a_fresh_process_that_ends(call: Caller) -> None:
    """And the warm one waits meanwhile."""
    warm = call.value("pid")

    alone = [call.value("pid", isolated=True) for _ in range(2)]

    assert len({warm, *alone}) == 3
    assert not any(map(lives, alone))
    assert call.value("pid") == warm


def test_nothing_of_a_call_is_seen_by_the_next(call: Caller) -> None:
    """Directory, environment, path, umask, signals and streams are restored."""
    plain = call.value("seen")
    disturbed = call.value("disturb", env={"OWN": "mine"})

    after = call.value("seen")

    assert call.value("pid") == disturbed
    for each in (plain, after):
        each["env"] = {name: value for name, value in each["env"].items() if name not in ("MEDBAY_ATTEMPT",)}
        del each["env"]["MEDBAY_ATTEMPT_KEY"], each["env"]["MEDBAY_RESULT"]
    assert after == plain
    assert after["cwd"] == after["path"] == str(call.home)
    assert "OWN" not in after["env"]


def test_a_process_whose_streams_were_closed_is_not_used_again(call: Caller) -> None:
    """There is nothing to restore."""
    closed = call.value("close_streams")

    assert call.value("pid") != closed


@pytest.mark.parametrize("name", ["leaves_thread", "leaves_child", "leaves_orphan"])
def test_what_a_call_leaves_running_ends_with_its_process(call: Caller, name: str) -> None:
    """The result counts, the log says so, the next call has another process."""
    outcome = call(name)

    assert isinstance(outcome, Succeeded)
    assert outcome.output.result is not None
    left = outcome.output.result["value"]
    pids = left if isinstance(left, list) else [left]
    assert "the worker process was ended" in outcome.output.tail
    assert not any(map(lives, pids))
    assert call.value("pid") not in pids


def test_what_has_ended_in_time_is_not_left_behind(call: Caller) -> None:
    """A joined thread and a child that was waited for."""
    assert call.value("joins") == call.value("pid")


@pytest.mark.parametrize("name", ["forks", "forks_and_raises"])
def test_a_forked_child_that_comes_back_is_not_the_worker(call: Caller, name: str) -> None:
    """Only the parent answers."""
    outcome = call(name)

    assert isinstance(outcome, Succeeded)
    assert outcome.output.result in ({"value": "from the parent"}, {"value": "fine"})


def test_a_process_ends_after_its_hundredth_call(tmp_path: Path) -> None:
    """Here after its third."""
    runner = PythonRunner(Trees(0.3), lifetime=Lifetime(calls_max=3))
    call = Caller(tmp_path, runner)

    pids = [call.value("pid") for _ in range(7)]

    runner.close()
    assert Lifetime() == Lifetime(calls_max=100, age_max_s=600)
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 1]


def test_a_process_that_is_old_enough_ends_by_itself(tmp_path: Path) -> None:
    """Idle or after its call; the next call has another."""
    runner = PythonRunner(Trees(0.3), lifetime=Lifetime(age_max_s=0.2))
    call = Caller(tmp_path, runner)

    late = call("sleeps", 0.3)
    idle = call.value("pid")
    wait_until(lambda: not lives(idle))

    assert isinstance(late, Succeeded)
    assert call.value("pid") != idle
    runner.close()


def test_a_changed_module_is_called_in_a_new_process(call: Caller) -> None:
    """Also one that it imports; the log is that of the one attempt."""
    (call.home / "inner.py").write_text("word = 'old'\n")
    (call.home / "outer.py").write_text("import inner, os\ndef f(): print('called'); return inner.word, os.getpid()\n")
    first, pid = call.value("outer:f")

    (call.home / "inner.py").write_text("word = 'new'\n")
    os.utime(call.home / "inner.py", ns=(1, 1))
    outcome = call("outer:f")

    assert outcome.output.result is not None
    second, other = outcome.output.result["value"]
    assert (first, second) == ("old", "new")
    assert pid != other
    assert outcome.output.tail == "called\n"


def test_a_changed_file_is_called_in_a_new_process_wherever_it_is(call: Caller, tmp_path: Path) -> None:
    """It need not be in the task's directory."""
    here = tmp_path / "here"
    here.mkdir()
    script = tmp_path / "script.py"
    script.write_text("def f(): return 'old'\n")
    before = call.value(f"{script}:f", cwd=here)

    script.write_text("def f(): return 'new'\n")
    os.utime(script, ns=(1, 1))

    assert (before, call.value(f"{script}:f", cwd=here)) == ("old", "new")


def test_the_same_name_in_another_directory_is_another_module(call: Caller) -> None:
    """One process serves one directory."""
    other = call.home / "other"
    other.mkdir()
    (other / "jobs.py").write_text("def pid(): return 'elsewhere'\n")
    here = call.value("pid")

    assert call.value("pid", cwd=other) == "elsewhere"
    assert call.value("pid") == here


def test_there_are_never_more_processes_than_slots(tmp_path: Path) -> None:
    """The one that waited longest goes."""
    runner = PythonRunner(Trees(0.3), workers=2)
    call = Caller(tmp_path, runner)
    pids = []
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.py").write_text("import os\ndef f(): return os.getpid()\n")
        pids.append(call.value("m:f", cwd=tmp_path / name))

    wait_until(lambda: not lives(pids[0]))
    assert call.value("m:f", cwd=tmp_path / "b") == pids[1]
    assert call.value("m:f", cwd=tmp_path / "c") == pids[2]
    runner.close()


def test_variables_that_are_read_at_the_start_get_a_fresh_process(call: Caller) -> None:
    """PYTHONPATH is one."""
    away = call.home / "away"
    away.mkdir()
    (away / "far.py").write_text("def f(): return 'found'\n")
    warm = call.value("pid")

    assert call.value("far:f", env={"PYTHONPATH": str(away)}) == "found"
    assert isinstance(call("far:f"), Failed)
    assert call.value("pid") == warm


def test_a_process_carries_the_key_of_the_attempt_it_runs(call: Caller) -> None:
    """Seen from outside, and by a forked child; between calls it belongs to none."""
    running = call.start("sleeps", 0.2)
    launch = call.launch("mark")
    wait_until(lambda: mark_of(maker(running).pid).endswith(":k7f2:1"), running)
    finish(running)

    idle = mark_of(maker(running).pid)
    seen = finish(call.runner.start(launch, time.monotonic())).output.result

    assert idle == f"{launch.store_id}:idle"
    assert seen == {"value": [f"MEDBAY_ATTEMPT_KEY={launch.attempt_key}"]}


def test_who_ends_leftovers_spares_idle_processes_and_live_attempts(call: Caller) -> None:
    """And finds the process whose attempt is over."""
    warm = call.value("pid")
    store_id = call.launch("pid").store_id
    leftovers = HostLeftovers()

    assert leftovers.end(store_id=store_id, live=frozenset) == 0
    running = call.start("sleeps", 30)
    key = ("k7f2", call.number)
    assert maker(running).pid == warm
    wait_until(lambda: mark_of(warm).endswith(f":{call.number}"), running)
    assert leftovers.end(store_id=store_id, live=lambda: frozenset({key})) == 0
    assert leftovers.end(store_id=store_id, live=frozenset) == 1
    assert isinstance(finish(running), Failed)


def test_closing_the_runner_ends_all_that_wait(call: Caller) -> None:
    """And nothing is left, no zombie either."""
    running = [call.start("sleeps", 0.05) for _ in range(3)]
    for each in running:
        finish(each)

    call.runner.close()

    assert not any(is_alive(maker(each)) for each in running)
    assert not any(os.path.exists(f"/proc/{maker(each).pid}") for each in running)
    assert marks(f"{call.launch('pid').store_id}:") == {}


def test_a_descriptor_tells_when_to_look(call: Caller) -> None:
    """Quiet while the function runs, and no busy loop while its process is ended."""
    call.value("pid")
    running = call.start("sleeps", 0.15)
    waiting = select.poll()
    waiting.register(running.fileno(), select.POLLIN)

    assert waiting.poll(30) == []
    assert waiting.poll(5_000)
    assert isinstance(running.poll(time.monotonic()), Succeeded)
    assert running.fileno() == -1
    assert running.deadline_s() is None


def test_a_warm_call_is_many_times_faster_than_a_process(call: Caller) -> None:
    """The reason for all of this; the figures are printed with -s."""
    call.value("pid")
    warm_s, fresh_s = (
        _seconds_for(call, 60, isolated=False) / 60,
        _seconds_for(call, 6, isolated=True) / 6,
    )

    print(f"\nwarm {1 / warm_s:.0f} calls/s, a process each {1 / fresh_s:.0f} calls/s")
    assert warm_s * 3 < fresh_s


def _seconds_for(call: Caller, count: int, *, isolated: bool) -> float:
    begun_s = time.monotonic()
    for _ in range(count):
        call.value("pid", isolated=isolated)
    return time.monotonic() - begun_s


def test_a_worker_process_imports_next_to_nothing() -> None:
    """That is what it starts quickly by; neither the records nor the library's larger modules are among it."""
    code = "import sys, medbay.runners.python.worker; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout

    assert not {"msgspec", "medbay.core.model", "dataclasses", "inspect", "json", "re"} & set(loaded.split())
