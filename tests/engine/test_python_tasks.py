"""Python functions as durable tasks through a real engine: results, failures, kill -9, many at once."""

from __future__ import annotations

import os
import signal
import textwrap
import time
from pathlib import Path

import pytest

import medbay
from medbay.bay import Bay
from medbay.core.diagnosis.record import Diagnosis
from medbay.errors import NotFound
from medbay.places.processes import marks, read_process
from tests.engine.test_real_crashes import start_daemon
from tests.waiting import wait_for

QUICK = '[engine]\ngrace = "2s"\n' + "".join(
    f'[policy.ladder.{name}]\ndelays = ["20ms"]\n'
    for name in ("transient", "code_error", "dependency_missing", "unknown")
)
MODULE = """
import os, subprocess, sys, time
import medbay

@medbay.task(title="adding", timeout="20s", tag="sums")
def add(a, b=1):
    print("adding", a, b)
    return {"sum": a + b}

def flaky():
    if os.environ["MEDBAY_ATTEMPT"] == "1":
        raise RuntimeError("only the first time")
    return os.environ["MEDBAY_GUIDANCE"] != ""

def later():
    raise medbay.TryAgain("not yet", after=3600)

def missing():
    import not_installed_anywhere

def sleeper():
    subprocess.Popen(["sleep", "300"], start_new_session=True)
    open(f"started.{os.environ['MEDBAY_ATTEMPT']}", "w").write(str(os.getpid()))
    time.sleep(300 if os.environ["MEDBAY_ATTEMPT"] == "1" else 0)

def crash(): os.kill(os.getpid(), 11)

def note(word, crashes=False):
    with open("notes", "a") as notes: print(word, file=notes)
    if crashes and os.environ["MEDBAY_ATTEMPT"] == "1": os.kill(os.getpid(), 11)
def nothing(): pass
"""


@pytest.fixture
def bay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bay:
    """A store with quick delays, in a directory with a module of functions."""
    (tmp_path / "work_of_test.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / ".medbay").mkdir()
    (tmp_path / "medbay.toml").write_text(QUICK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return medbay.open()


def diagnosis_of(bay: Bay, task_id: str) -> Diagnosis:
    """Of the first attempt."""
    found = bay.attempts(task_id)[0].diagnosis
    assert found is not None
    return found


def test_a_function_runs_to_its_end_and_its_result_is_kept(bay: Bay) -> None:
    """In the library and in `show --json`."""
    task = bay.add("sum", python="work_of_test:add", args=[2, 3])
    with pytest.raises(NotFound, match="has no result"):
        bay.result(task.id)

    assert bay.run_until_idle() == 0

    assert bay.result(task.id) == {"sum": 5}
    shown = bay.show(task.id)
    assert (shown["result"], shown["python"], shown["args"]) == ({"sum": 5}, "work_of_test:add", [2, 3])
    assert (shown["run"], shown["isolated"], shown["runner"]) == (None, False, "python")
    assert marks(f"{bay.store.store_id}:") == {}


def test_a_function_that_fails_is_diagnosed_and_heals(bay: Bay) -> None:
    """The exception is the evidence."""
    task = bay.add("flaky", python="work_of_test:flaky", isolated=True)

    assert bay.run_until_idle() == 0

    assert bay.get(task.id).attempts == 2
    assert bay.result(task.id) is True
    found = diagnosis_of(bay, task.id)
    assert "only the first time" in found.summary
    assert found.location is not None
    assert found.location.file.endswith("work_of_test.py")


def test_what_cannot_heal_is_a_question_and_the_others_go_on(bay: Bay) -> None:
    """A module that is not installed; a crash beside it is charged to its own task."""
    missing = bay.add("missing", python="work_of_test:missing")
    crash = bay.add("crash", python="work_of_test:crash")
    fine = [bay.add(f"t{n}", python="work_of_test:nothing") for n in range(10)]

    assert bay.run_until_idle() in (1, 75)

    assert diagnosis_of(bay, missing.id).kind == "dependency_missing/module"
    assert bay.attempts(crash.id)[0].signal == signal.SIGSEGV
    assert bay.attempts(crash.id)[0].charged
    assert [bay.get(task.id).status for task in fine] == ["completed"] * 10


def test_try_again_waits_for_the_time_it_named(bay: Bay) -> None:
    """Uncharged."""
    task = bay.add("later", python="work_of_test:later")
    daemon = bay.daemon()

    daemon.run(until=lambda: bay.get(task.id).attempts == 1 and bay.get(task.id).live is None)

    waiting = bay.get(task.id)
    assert waiting.status == "pending"
    assert waiting.due_at is not None
    assert 3_500_000 < waiting.due_at - time.time() * 1000 < 3_700_000
    assert bay.attempts(task.id)[0].outcome == "requeued"


def test_an_engine_that_is_killed_leaves_nothing(bay: Bay, tmp_path: Path) -> None:
    """The worker process dies with it, its detached child is ended by the next engine, which does the work again."""
    task = bay.add("sleeper", python="work_of_test:sleeper")
    daemon = start_daemon(tmp_path)
    wait_for(lambda: (tmp_path / "started.1").exists() and (tmp_path / "started.1").read_text() != "")
    worker = int((tmp_path / "started.1").read_text())
    wait_for(lambda: len(marks(f"{bay.store.store_id}:")) >= 2)
    os.kill(daemon.pid, signal.SIGKILL)
    daemon.wait()
    wait_for(lambda: (found := read_process(worker)) is None or found.dead)

    assert start_daemon(tmp_path).wait(timeout=60) == 0

    assert bay.get(task.id).status == "completed"
    wait_for(lambda: set(marks(f"{bay.store.store_id}:").values()) <= {f"{bay.store.store_id}:{task.id}:2"})
    for pid in marks(f"{bay.store.store_id}:"):  # what the second, successful attempt detached on purpose
        os.kill(pid, signal.SIGKILL)


def test_a_second_engine_beside_it_does_not_end_its_processes(bay: Bay, tmp_path: Path) -> None:
    """It looks for leftovers when it starts, again and again."""
    tasks = [bay.add(f"t{n}", python="work_of_test:nothing") for n in range(150)]
    daemon = start_daemon(tmp_path)
    for n in range(8):
        bay.add(f"beside {n}", run="true", queue="other")
        assert bay.run_until_idle(queues=("other",)) == 0

    assert daemon.wait(timeout=60) == 0
    assert {len(bay.attempts(task.id)) for task in tasks} == {1}
    assert {bay.get(task.id).status for task in tasks} == {"completed"}


def test_many_short_functions_cost_no_process_each(bay: Bay) -> None:
    """The figures are printed with -s."""
    tasks = bay.add_many([{"title": f"t{n}", "python": "work_of_test:nothing"} for n in range(200)])
    begun_s = time.monotonic()

    assert bay.run_until_idle() == 0

    taken_s = time.monotonic() - begun_s
    print(f"\n{len(tasks) / taken_s:.0f} tasks/s through the engine")
    assert len({bay.attempts(task.id)[0].pid for task in tasks}) <= 8


def test_processes_that_die_with_calls_ahead_lose_nothing_and_run_nothing_twice(bay: Bay, tmp_path: Path) -> None:
    """Each call is made once, and once more where its own process died in it."""
    crashing = set(range(20, 200, 30))
    tasks = bay.add_many(
        [{"title": f"t{n}", "python": "work_of_test:note", "args": [n, n in crashing]} for n in range(200)]
    )

    assert bay.run_until_idle(workers=2) == 0

    assert {bay.get(task.id).status for task in tasks} == {"completed"}
    assert {n for n, task in enumerate(tasks) if len(bay.attempts(task.id)) > 1} == crashing
    made = sorted(int(word) for word in (tmp_path / "notes").read_text().split())
    assert made == sorted([*range(200), *crashing])
    for n in crashing:
        first, second = bay.attempts(tasks[n].id)
        assert (first.outcome, first.signal, first.charged, second.outcome) == ("failed", 11, True, "succeeded")


def test_a_decorated_function_is_added_and_runs(bay: Bay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, with its options."""
    monkeypatch.syspath_prepend(str(tmp_path))
    import work_of_test  # type: ignore[import-not-found]

    task = work_of_test.add.using(priority=1).add(bay, 2, b=4)
    bay.run_until_idle()

    assert work_of_test.add(1) == {"sum": 2}
    assert (task.title, task.timeout_ms, task.tags, task.priority) == ("adding", 20_000, ("sums",), 1)
    assert bay.result(task.id) == {"sum": 6}


def test_a_script_adds_its_own_functions(bay: Bay, tmp_path: Path) -> None:
    """From `__main__`, from a module beside it, and from another directory."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "beside.py").write_text("import medbay\n@medbay.task\ndef other(): return 'beside'\n")
    (folder / "script.py").write_text(
        textwrap.dedent(
            """
            import medbay, beside

            @medbay.task
            def own(): return __name__

            if __name__ == "__main__":
                with medbay.open() as bay:
                    print(own.add(bay).id, beside.other.add(bay).id)
            """
        )
    )
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "scripts/script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    own, other = done.stdout.split()

    assert bay.run_until_idle() == 0
    assert (bay.result(own), bay.result(other)) == ("script", "beside")


def test_a_command_has_no_value_but_may_have_a_result(bay: Bay) -> None:
    """What it wrote to MEDBAY_RESULT."""
    plain = bay.add("plain", run="true")
    speaks = bay.add("speaks", run="""echo '{"summary": "done"}' > "$MEDBAY_RESULT" """)

    bay.run_until_idle()

    assert bay.result(plain.id) is None
    assert bay.result(speaks.id) == {"summary": "done"}


def test_a_task_can_be_edited_from_a_function_to_a_command_and_back(bay: Bay) -> None:
    """Its runner goes with it."""
    task = bay.add("changes", python="work_of_test:missing")

    assert bay.edit(task.id, run="true").runner == "shell"
    bay.edit(task.id, python="work_of_test:add", args=[1])
    bay.run_until_idle()

    assert bay.result(task.id) == {"sum": 2}


def test_the_names_are_public() -> None:
    """As the documentation writes them."""
    assert issubclass(medbay.TryAgain, Exception)
    assert callable(medbay.task)
