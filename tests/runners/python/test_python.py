"""The python runner with real processes: what a call returns, raises, prints and asks for."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from medbay.core.diagnosis import diagnose
from medbay.core.outcome import Failed, Outcome, Requeued, Succeeded
from medbay.errors import SpawnFailed
from medbay.places.protocol import Runner, Running
from medbay.places.tree import Trees
from medbay.runners.python.call import PythonRunning
from medbay.runners.python.runner import PythonRunner
from tests.runners.calling import Caller, call, maker

__all__ = ["call"]


def diagnosis_of(outcome: Outcome) -> str:
    """Category and subcategory, as the engine would have them."""
    assert isinstance(outcome, Failed)
    found = diagnose(
        outcome.output.text(),
        now=datetime.now(UTC),
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        runner="python",
        result=outcome.output.result,
    )
    return found.kind


def test_a_call_returns_its_value(call: Caller) -> None:
    """As JSON, with exit code 0."""
    outcome = call("add", 1, 2)

    assert isinstance(outcome, Succeeded)
    assert outcome.output.result == {"value": {"sum": 3}}


@pytest.mark.parametrize(
    ("arguments", "total"),
    [("[1, 2]", 3), ('{"a": 1, "b": 4}', 5), ('{"args": [1], "kwargs": {"b": 7}}', 8), ('{"a": 9}', 9)],
)
def test_arguments_are_a_list_or_by_name_or_both(call: Caller, arguments: str, total: int) -> None:
    """The three forms."""
    assert call.value("add", command=("jobs:add", arguments)) == {"sum": total}


def test_an_exception_is_data(call: Caller) -> None:
    """Class, message, traceback with its cause; the traceback is in the log too."""
    outcome = call("fail")

    assert isinstance(outcome, Failed)
    assert outcome.exit_code == 1
    said = outcome.output.result
    assert said is not None
    assert (said["type"], said["message"]) == ("ValueError", "wrong ? value")
    assert said["causes"] == [{"type": "KeyError", "message": "'gone'"}]
    assert said["traceback"].startswith("Traceback (most recent call last):\n  File")
    assert "The above exception was the direct cause" in said["traceback"]
    assert "python_call.py" not in said["traceback"]
    assert outcome.output.tail == said["traceback"]
    assert diagnosis_of(outcome).startswith("code_error")


def test_the_traceback_of_a_decorated_function_begins_with_its_own_line(call: Caller) -> None:
    """What called it is ours and helps nobody."""
    outcome = call("decorated")

    assert outcome.output.result is not None
    lines = outcome.output.result["traceback"].splitlines()
    assert "in decorated" in lines[1]


def test_a_module_that_is_not_there_is_a_missing_dependency(call: Caller) -> None:
    """With the traceback of the import."""
    (call.home / "needs.py").write_text("import nowhere_to_be_found\ndef f(): pass\n")

    for target in ("absent_module:f", "needs:f"):
        outcome = call(target)
        assert outcome.output.result is not None
        assert outcome.output.result["type"] == "ModuleNotFoundError"
        assert diagnosis_of(outcome) == "dependency_missing/module"


@pytest.mark.parametrize(("name", "kind"), [("absent", "AttributeError"), ("value", "TypeError")])
def test_what_is_no_function_fails_with_its_name(call: Caller, name: str, kind: str) -> None:
    """Absent, or something else."""
    outcome = call(name)

    assert outcome.output.result is not None
    assert outcome.output.result["type"] == kind
    assert name in outcome.output.result["message"]


def test_everything_written_is_in_the_log_of_the_call(call: Caller) -> None:
    """Of Python, of its children, straight to the descriptor; the next call has its own log."""
    first, second = call("speak", "one"), call("speak", "two")

    for outcome, word in ((first, "one"), (second, "two")):
        lines = sorted(outcome.output.tail.splitlines())
        assert lines == [f"child {word}", f"err {word}", f"out {word}", f"raw {word}"]
    much = call("speak", "x" * 2_000)
    log = call.home / "logs" / "3.log"
    assert log.read_text() == much.output.tail
    assert log.stat().st_mode & 0o777 == 0o600


def test_standard_input_is_empty(call: Caller) -> None:
    """Nobody is there to answer."""
    assert call.value("read") == ["", [""]]


def test_a_function_may_be_named_by_its_file(call: Caller) -> None:
    """Its neighbours are in reach, and its name may be that of a module of the library."""
    (call.home / "sub").mkdir()
    (call.home / "sub" / "json.py").write_text("import beside\ndef f(): return beside.here, __name__ != '__main__'\n")
    (call.home / "sub" / "beside.py").write_text("here = 'beside'\n")

    assert call.value("sub/json.py:f") == ["beside", True]
    assert call.value(f"{call.home}/sub/json.py:f") == ["beside", True]


def test_an_async_function_is_awaited(call: Caller) -> None:
    """In a loop of its own."""
    assert call.value("waits") == "awaited"


@pytest.mark.parametrize(
    ("kind", "said"),
    [("set", "not JSON serializable"), ("nan", "JSON"), ("large", "larger than 1000000"), ("deep", "JSON")],
)
def test_a_result_that_is_no_json_is_a_clear_failure(call: Caller, kind: str, said: str) -> None:
    """Said in the log too."""
    outcome = call("odd", kind)

    assert isinstance(outcome, Failed)
    assert outcome.output.result is not None
    assert outcome.output.result["type"] == "medbay.ResultError"
    assert said in outcome.output.result["message"]
    assert said in outcome.output.tail


def test_a_long_traceback_is_bounded(call: Caller) -> None:
    """Recursion without an end."""
    outcome = call("endless")

    assert outcome.output.result is not None
    assert outcome.output.result["type"] == "RecursionError"
    assert len(outcome.output.result["traceback"]) < 40_000


def test_exit_codes_are_those_of_a_process(call: Caller) -> None:
    """`sys.exit` with a number, a text, or nothing."""
    three, text, nothing = call("exits", 3), call("exits", "that was it"), call("exits", None)

    assert isinstance(three, Failed)
    assert three.exit_code == 3
    assert isinstance(text, Failed)
    assert (text.exit_code, text.output.tail) == (1, "that was it\n")
    assert isinstance(nothing, Succeeded)
    assert nothing.output.result == {"value": None}


def test_exit_75_asks_to_be_tried_again(call: Caller) -> None:
    """As with any command."""
    outcome = call("exits", 75)

    assert isinstance(outcome, Requeued)
    assert (outcome.asked, outcome.exit_code) == (True, 75)


@pytest.mark.parametrize("after", [60, "10m", None])
def test_try_again_names_its_time_and_its_reason(call: Caller, after: object) -> None:
    """Raised with seconds, a duration or nothing."""
    outcome = call("again", after)

    assert isinstance(outcome, Requeued)
    assert (outcome.asked, outcome.why, outcome.retry_after) == (True, "the mirror is busy", after)


def test_try_again_may_be_returned(call: Caller) -> None:
    """Not only raised."""
    outcome = call("again_returned")

    assert isinstance(outcome, Requeued)
    assert outcome.why == "later"


@pytest.mark.parametrize("name", ["interrupted", "interrupts_itself"])
def test_an_interrupt_is_the_calls_own_failure(call: Caller, name: str) -> None:
    """The worker process goes on."""
    before = call.value("pid")
    outcome = call(name)

    assert isinstance(outcome, Failed)
    assert outcome.exit_code == 130
    assert call.value("pid") == before


def test_what_it_wrote_to_its_result_file_counts_too(call: Caller) -> None:
    """As with any command."""
    outcome = call("speaks_result")

    assert outcome.output.result == {"value": 5, "artifacts": ["a.txt"]}


def test_a_command_that_is_no_call_cannot_start(call: Caller) -> None:
    """Nor can one whose directory is gone."""
    for command in ("jobs:pid", ("jobs:pid",), ("jobs:pid", "5"), ("jobs:pid", "not json")):
        with pytest.raises(SpawnFailed, match="not a Python call"):
            call("pid", command=command)
    with pytest.raises(SpawnFailed, match="working directory does not exist"):
        call("pid", cwd=call.home / "gone")


def test_it_is_a_runner(call: Caller) -> None:
    """For the type checker and for readers."""
    runner: Runner = call.runner
    running: Running = runner.start(call.launch("pid"), 0.0)

    assert isinstance(running, PythonRunning)
    assert maker(running).pid > 0
    running.kill()


def test_large_arguments_and_results_pass(call: Caller, tmp_path: Path) -> None:
    """Neither side waits for the other to read."""
    (call.home / "echo.py").write_text("def f(x): return x\n")
    text = "x" * 900_000

    assert call.value("echo:f", text) == text


def test_secrets_of_the_engine_stay_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with commands."""
    monkeypatch.setenv("API_TOKEN", "hidden")
    monkeypatch.setenv("MEDBAY_STORE", "sqlite:///x")
    runner = PythonRunner(Trees(0.3, ["*_TOKEN"]))
    call = Caller(tmp_path, runner)
    (call.home / "env.py").write_text("import os\ndef f(): return dict(os.environ)\n")

    seen = call.value("env:f", env={"OWN": "x"})

    runner.close()
    assert "API_TOKEN" not in seen
    assert "MEDBAY_STORE" not in seen
    assert seen["OWN"] == "x"
    assert seen["MEDBAY_TASK"] == "k7f2"
    assert json.loads(json.dumps(seen))["MEDBAY_ATTEMPT"] == "1"
    assert seen["PATH"] == os.environ["PATH"]
