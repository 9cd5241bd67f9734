"""Limits and deaths of Python calls: the one process is ended with its tree, and the next call goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from medbay.core.outcome import Cancelled, Failed, Requeued, Succeeded, TimedOut
from medbay.places.processes import is_alive, marks
from tests.runners.calling import JOBS, Caller, call, maker
from tests.runners.driving import finish, wait_until
from tests.runners.python.test_python import diagnosis_of

__all__ = ["call"]


def test_the_time_limit_ends_a_stubborn_function_with_its_tree(call: Caller) -> None:
    """SIGTERM, the grace, SIGKILL; a child in a session of its own goes too."""
    warm = call.value("pid")
    beside = call.start("sleeps", 1.5)
    running = call.start("stubborn", timeout_s=0.6)

    outcome = finish(running)

    assert isinstance(outcome, TimedOut)
    assert outcome.signal == signal.SIGKILL
    assert outcome.output.tail == "deaf\n[medbay] ended: time limit of 0.6 s\n"
    assert not is_alive(maker(running))
    assert not [key for key in marks(f"{call.launch('pid').store_id}:").values() if key.endswith(":3")]
    assert maker(beside).pid == warm
    assert isinstance(finish(beside), Succeeded)


def test_a_function_without_a_handler_ends_at_once(call: Caller) -> None:
    """SIGTERM does."""
    outcome = call("sleeps", 30, timeout_s=0.2)

    assert isinstance(outcome, TimedOut)
    assert outcome.signal == signal.SIGTERM
    assert call.value("add", 1) == {"sum": 1}


@pytest.mark.parametrize("isolated", [False, True])
def test_the_memory_limit_ends_what_takes_too_much(call: Caller, isolated: bool) -> None:
    """Warm or fresh; the next call has a new process and no limit."""
    before = call.value("pid")

    outcome = call("greedy", memory_bytes=200_000_000, isolated=isolated)

    assert isinstance(outcome, Failed)
    assert outcome.memory_limit_hit
    assert (call.value("pid") == before) is isolated


def test_a_process_that_grew_is_not_given_a_call_with_a_smaller_limit(call: Caller) -> None:
    """The limit counts what the call takes, not what one before it left."""
    (call.home / "grow.py").write_text(
        "import os\nheld = []\ndef f(): held.append(bytearray(150_000_000)); return os.getpid()\n"
    )
    grown = call.value("grow:f")

    assert call.value("pid", memory_bytes=200_000_000) != grown


def test_a_process_that_stays_too_large_is_not_kept(call: Caller) -> None:
    """A leak ends the process, not the task."""
    (call.home / "leak.py").write_text(
        "import os\nheld = []\ndef f(): held.append(b'x' * 540_000_000); return os.getpid()\n"
    )
    leaked = call.value("leak:f")

    assert call.value("pid") != leaked


def test_the_limit_of_cpu_time_is_that_of_the_call(call: Caller) -> None:
    """It is counted from the start of a process, so the call has its own."""
    warm = call.value("pid")

    outcome = call("spins", cpu_s=0.3)

    assert isinstance(outcome, Failed)
    assert outcome.cpu_limit_hit
    assert call.value("pid") == warm


@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize(
    ("name", "number", "kind"),
    [("segfault", signal.SIGSEGV, "code_error/crash"), ("killed", signal.SIGKILL, "resource_exhaustion/memory")],
)
def test_dying_by_a_signal_is_that_calls_failure(call: Caller, name: str, number: int, kind: str, warm: bool) -> None:
    """Of a process that made calls before, and of a new one."""
    if warm:
        call.value("pid")

    outcome = call(name)

    assert isinstance(outcome, Failed)
    assert (outcome.exit_code, outcome.signal) == (None, number)
    assert diagnosis_of(outcome) == kind
    assert call.value("add", 1) == {"sum": 1}


def test_a_crash_in_c_code_leaves_the_python_lines_in_the_log(call: Caller) -> None:
    """So that somebody can find it."""
    outcome = call("segfault")

    assert "Segmentation fault" in outcome.output.tail
    assert "jobs.py" in outcome.output.tail


def test_leaving_by_the_back_door_is_no_success(call: Caller) -> None:
    """`os._exit` with 0 returned nothing; other codes are exit codes."""
    nothing, three, again = call("leave", 0), call("leave", 3), call("leave", 75)

    assert isinstance(nothing, Failed)
    assert nothing.exit_code is None
    assert nothing.output.result is not None
    assert "before the function returned" in nothing.output.result["message"]
    assert isinstance(three, Failed)
    assert three.exit_code == 3
    assert isinstance(again, Requeued)


def test_closing_every_descriptor_ends_the_process(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot answer any more, so nobody waits for it."""
    monkeypatch.setattr("medbay.runners.python.call._LEAVING_S", 0.2)

    outcome = call("closes_everything")

    assert isinstance(outcome, Failed)
    assert call.value("add", 1) == {"sum": 1}


def test_cancel_ends_the_call(call: Caller) -> None:
    """Its process too."""
    running = call.start("sleeps", 30)
    wait_until(lambda: marks(f"{call.launch('pid').store_id}:"), running)

    running.cancel(time.monotonic())

    assert isinstance(finish(running), Cancelled)
    assert not is_alive(maker(running))


def test_a_stopping_worker_gets_its_call_back(call: Caller) -> None:
    """By request, or killed at once."""
    asked, killed = call.start("sleeps", 30), call.start("sleeps", 30)

    asked.hand_back(time.monotonic(), why="the worker is stopping")
    killed.kill()

    for running in (asked, killed):
        outcome = finish(running)
        assert isinstance(outcome, Requeued)
        assert not outcome.asked
        assert not is_alive(maker(running))


ENGINE = """
import sys, time
from pathlib import Path
from medbay.places.tree import Trees
from tests.runners.calling import Caller, maker
from medbay.runners.python.runner import PythonRunner
call = Caller(Path(sys.argv[1]), PythonRunner(Trees(0.3)))
first, second = call.start("sleeps", 0.01), call.start("stubborn")
while first.poll(time.monotonic()) is None: time.sleep(0.01)
log = call.home / "logs" / "2.log"
while not (log.exists() and "deaf" in log.read_text()): second.poll(time.monotonic()); time.sleep(0.01)
print(maker(first).pid, maker(second).pid, flush=True)
time.sleep(100)
"""


def test_no_worker_process_outlives_an_engine_that_was_killed(tmp_path: Path) -> None:
    """Neither the idle one nor one that ignores SIGTERM in the middle of a call."""
    root = Path(__file__).parents[3]
    assert "stubborn" in JOBS
    with subprocess.Popen(
        [sys.executable, "-c", ENGINE, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as engine:
        assert engine.stdout is not None
        pids = [int(word) for word in engine.stdout.readline().split()]
        assert len(pids) == 2
        os.kill(engine.pid, signal.SIGKILL)

    wait_until(lambda: not any(marks("").get(pid) for pid in pids))
    for pid in [pid for pid, key in marks("").items() if key.endswith(":k7f2:2")]:
        os.kill(pid, signal.SIGKILL)  # the child of the call is for the next engine to end
