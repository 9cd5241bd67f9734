"""Checks through the installed command with real processes: passed, healed, broken, stopped, cancelled, repeated."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

import medbay
from medbay.places.processes import marks
from tests.e2e.test_the_path_of_a_task import MEDBAY, QUICK, Terminal
from tests.waiting import wait_for

CONFIG = f'[engine]\ngrace = "500ms"\n{QUICK}\n'


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A fresh project with quick delays; nothing may be left running at its end."""
    here = Terminal(tmp_path)
    here.must("init")
    (tmp_path / "medbay.toml").write_text(CONFIG, encoding="utf-8")
    yield here
    assert processes(here) == {}


def add(terminal: Terminal, title: str, *words: str) -> str:
    """Add a task; its id."""
    return terminal.must("add", title, *words).strip()


def store_id(terminal: Terminal) -> str:
    """The name every process of this store carries."""
    with medbay.open(cwd=terminal.home) as bay:
        return bay.store.store_id


def processes(terminal: Terminal) -> dict[int, str]:
    """What runs of this store now."""
    return marks(f"{store_id(terminal)}:")


def daemon(terminal: Terminal, *words: str) -> subprocess.Popen[bytes]:
    """A daemon of its own."""
    return subprocess.Popen(
        [MEDBAY, "up", *words],
        cwd=terminal.home,
        env=terminal.environ,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def statuses(attempt: dict[str, Any]) -> list[str]:
    """How the checks of an attempt ended."""
    return [each["status"] for each in attempt["checks"]]


def test_checks_see_what_the_work_made_and_all_run_side_by_side(terminal: Terminal) -> None:
    """Each waits for the other: only side by side can both pass."""
    meet = "touch {0}; for i in $(seq 400); do test -e {1} && exit 0; sleep 0.02; done; exit 1"
    task = add(
        terminal,
        "build",
        *("--run", "echo built > result; echo worked"),
        *("--check", "grep built result && " + meet.format("a", "b"), "--check", meet.format("b", "a")),
        *("--required-check", 'test "$MEDBAY_TASK" = "$(cat id)"'),
    )
    (terminal.home / "id").write_text(task, encoding="utf-8")

    terminal.must("up", "--until-idle")

    done = terminal.show(task)
    (attempt,) = done["attempts"]
    assert (done["status"], attempt["outcome"], attempt["exit_code"]) == ("completed", "succeeded", 0)
    assert statuses(attempt) == ["PASS"] * 3
    assert all(each["exit_code"] == 0 and each["duration_s"] >= 0 for each in attempt["checks"])
    assert [each["required"] for each in done["checks"]] == [False, False, True]
    assert [row["to"] for row in done["history"]] == ["in_progress", "pending_verification", "completed"]
    assert terminal.must("log", task) == "worked\n"
    assert terminal.must("log", task, "--check", "1") == "built\n"
    assert json.loads(terminal.must("log", task, "--check", "1", "--json"))["check"] == 1
    Path(attempt["checks"][0]["log_path"]).unlink()
    assert terminal.must("log", task, "--check", "1") == "built\n"
    terminal.must("log", task, "--check", "9", code=3)
    assert "check\t1\t3\tPASS\texit 0" in terminal.must("show", task)


def test_a_result_that_is_not_accepted_is_made_again_with_what_the_check_said(terminal: Terminal) -> None:
    """Fails at its check, learns from it, heals."""
    task = add(
        terminal,
        "fix",
        *("--run", 'echo "$MEDBAY_GUIDANCE" > told; echo $MEDBAY_ATTEMPT > n'),
        *("--check", "echo 'FAILED tests/test_a.py::test_b - assert 1 == 2'; test $(cat n) -ge 2"),
    )

    terminal.must("up", "--until-idle")

    done = terminal.show(task)
    first, second = done["attempts"]
    assert (first["outcome"], statuses(first), first["charged"]) == ("failed", ["FAIL"], True)
    assert first["diagnosis"]["category"] == "test_failure"
    assert (second["outcome"], statuses(second)) == ("succeeded", ["PASS"])
    assert "check 1 (" in (terminal.home / "told").read_text(encoding="utf-8")


def test_a_gate_that_cannot_answer_asks_a_person_at_the_second_time(terminal: Terminal) -> None:
    """A missing command, and a required check that never ends."""
    missing = add(terminal, "missing", "--run", "true", "--check", "there-is-no-such-command")
    late = add(
        terminal,
        "late",
        *("--run", "true", "--check", "true", "--required-check", "sleep 300", "--check-timeout", "200ms"),
    )

    terminal.must("up", "--until-idle", code=75)

    for task, end in ((missing, ["ERROR"]), (late, ["PASS", "TIMEOUT"])):
        asked = terminal.show(task)
        assert (asked["status"], asked["block_kind"], asked["charged_failures"]) == ("blocked", "human", 0)
        assert [statuses(each) for each in asked["attempts"]] == [end, end]
        assert {each["diagnosis"]["subcategory"] for each in asked["attempts"]} == {"gate_error"}
    assert len(json.loads(terminal.must("inbox", "--json"))) == 2


def test_a_check_that_times_out_does_not_take_the_others_with_it(terminal: Terminal) -> None:
    """Its tree is ended, the tree of its neighbour is not; the pass carries a warning."""
    task = add(
        terminal,
        "warned",
        *("--run", "true", "--check", "setsid sleep 300 & sleep 300", "--check", "sleep 0.8 && sleep 0.8"),
        *("--check-timeout", "1200ms"),
    )
    terminal.must("edit", task, "--check-timeout", "2200ms")

    terminal.must("up", "--until-idle")

    (attempt,) = terminal.show(task)["attempts"]
    assert statuses(attempt) == ["TIMEOUT", "PASS"]
    (passed,) = (event for event in terminal.events() if event["name"] == "gate:passed")
    assert "timed out" in passed["data"]["warning"]


def test_fail_fast_kills_the_trees_of_the_others(terminal: Terminal) -> None:
    """Also what made a session of its own and does not listen to SIGTERM."""
    task = add(
        terminal,
        "fast",
        *("--run", "echo $MEDBAY_ATTEMPT > n", "--fail-fast"),
        *("--check", "test $(cat n) = 2 || while ! test -e ready; do sleep 0.02; done; test $(cat n) = 2"),
        *("--check", "test $(cat n) = 2 || { setsid sh -c \"trap '' TERM; touch ready; sleep 300; sleep 300\"; }"),
    )

    terminal.must("up", "--until-idle")

    first, second = terminal.show(task)["attempts"]
    assert statuses(first) == ["FAIL", "STOPPED"]
    assert statuses(second) == ["PASS", "PASS"]


def test_cancelling_while_verifying_ends_every_tree(terminal: Terminal) -> None:
    """Then the task is cancelled."""
    task = add(terminal, "x", "--run", "true", "--check", "setsid sleep 300 & sleep 300", "--check", "sleep 300")
    engine = daemon(terminal, "--until-idle")
    wait_for(lambda: len(processes(terminal)) >= 4)
    assert [line for line in terminal.must("list").splitlines() if "pending_verification" in line]

    terminal.must("cancel", task)

    engine.wait(timeout=30)
    assert terminal.show(task)["status"] == "cancelled"
    assert statuses(terminal.show(task)["attempts"][0]) == ["STOPPED", "STOPPED"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "stopped"])
def test_a_daemon_that_ends_while_verifying_has_only_the_checks_repeated(
    terminal: Terminal, number: signal.Signals
) -> None:
    """The work itself is not run twice, and what the first round left running is ended."""
    task = add(
        terminal,
        "once",
        *("--run", "echo work >> record"),
        *("--check", "echo check >> record; test -e go || { setsid sleep 300 & sleep 300; }"),
    )
    first = daemon(terminal)
    wait_for(lambda: len(processes(terminal)) >= 3)
    old = set(processes(terminal))
    first.send_signal(number)
    first.wait(timeout=30)
    (terminal.home / "go").touch()

    terminal.must("up", "--until-idle")

    done = terminal.show(task)
    (attempt,) = done["attempts"]
    assert (done["status"], attempt["outcome"]) == ("completed", "succeeded")
    assert [(each["status"], each["round"]) for each in attempt["checks"]] == [("PASS", 2)]
    assert (terminal.home / "record").read_text(encoding="utf-8").split() == ["work", "check", "check"]
    assert not old & set(processes(terminal))


def test_run_takes_checks_too_and_fails_with_them(terminal: Terminal) -> None:
    """What its check never accepts ends as a question; the work's own output passes through."""
    good = terminal.run("run", "--check", "test -e made", "--", "touch", "made")
    bad = terminal.run("run", "--check", "exit 3", "--", "echo", "hello")

    assert good.returncode == 0, good.stderr
    assert bad.returncode == 75, bad.stderr
    assert "hello" in bad.stdout
    assert "check 1 (exit 3) failed" in bad.stderr


def test_a_line_of_a_file_names_its_checks(terminal: Terminal) -> None:
    """A text is one command line; a list holds several, each a text or a list of words."""
    line = {
        "title": "many",
        "run": ["true"],
        "check": ["true", ["sh", "-c", "exit 0"]],
        "required_check": "true",
        "check_timeout": "9s",
        "fail_fast": True,
    }
    task = terminal.must("add", "--file", "-", stdin=json.dumps(line)).strip()

    shown = terminal.show(task)
    assert [(each["command"], each["required"]) for each in shown["checks"]] == [
        ("true", False),
        (["sh", "-c", "exit 0"], False),
        ("true", True),
    ]
    assert (shown["check_timeout_s"], shown["fail_fast"]) == (9.0, True)
    terminal.must("up", "--until-idle")
    assert statuses(terminal.show(task)["attempts"][0]) == ["PASS"] * 3


def test_checks_can_be_changed_and_taken_away(terminal: Terminal) -> None:
    """`edit` replaces them; an empty one takes all away, but only there."""
    task = add(terminal, "x", "--run", "true", "--check", "false", "--required-check", "false", "--fail-fast")

    terminal.must("edit", task, "--check", "true", "--no-fail-fast", "--check-timeout", "3s")
    shown = terminal.show(task)
    assert [each["command"] for each in shown["checks"]] == ["true"]
    assert (shown["check_timeout_s"], shown["fail_fast"]) == (3.0, False)
    terminal.must("edit", task, "--check", "")

    assert terminal.show(task)["checks"] == []
    terminal.must("add", "y", "--run", "true", "--check", "", code=2)
    terminal.must("add", "y", "--run", "true", *["--check", "true"] * 51, code=2)
    wrong = json.dumps({"title": "y", "run": "true", "check": 7})
    terminal.must("add", "--file", "-", stdin=wrong, code=2)
    wrong = json.dumps({"title": "y", "run": "true", "fail_fast": "yes"})
    terminal.must("add", "--file", "-", stdin=wrong, code=2)


def test_a_verifying_task_is_explained(terminal: Terminal) -> None:
    """What is going on, and what decides."""
    task = add(terminal, "x", "--run", "true", "--check", "while ! test -e go; do sleep 0.05; done")
    engine = daemon(terminal, "--until-idle")
    wait_for(lambda: terminal.show(task)["status"] == "pending_verification")

    told = terminal.must("explain", task)
    shown = terminal.must("show", task)
    (terminal.home / "go").touch()

    assert "its checks decide" in told
    assert "\tRUNNING\t" in shown
    assert engine.wait(timeout=30) == 0


def test_an_engine_inside_a_check_spares_its_own_line(terminal: Terminal) -> None:
    """A check may itself run Medbay."""
    inner = f"mkdir -p in && cd in && env -u MEDBAY_STORE {quote(MEDBAY)} run -- true"
    task = add(terminal, "outer", "--run", "true", "--check", inner)

    terminal.must("up", "--until-idle")

    assert terminal.show(task)["status"] == "completed"
    assert os.path.isdir(terminal.home / "in")
