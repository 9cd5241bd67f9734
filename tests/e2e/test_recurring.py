"""Recurring tasks through the installed command: backoff, cap, jitter, reset, loops; each as a user meets it."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import medbay
from tests.e2e.test_the_path_of_a_task import MEDBAY, Terminal

FAILS_WHILE = "echo run >> runs; test ! -e broken"


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A fresh project."""
    here = Terminal(tmp_path)
    here.must("init")
    return here


class Up:
    """A daemon that runs until the block ends; another one may be started after it."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def __enter__(self) -> None:
        self._process = subprocess.Popen(
            [MEDBAY, "up"],
            cwd=self._terminal.home,
            env=self._terminal.environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)


def until(terminal: Terminal, task: str, says: Callable[[Any], bool]) -> Any:
    """Wait until a task looks like this; what was said of it then. The library looks: a command each time is slow."""
    give_up = time.monotonic() + 90
    with medbay.open(cwd=terminal.home) as bay:
        while not says(shown := bay.show(task)):
            assert time.monotonic() < give_up, shown
            bay.store.changed()
            select.select((), (), (), 0.02)
    return shown


def failures(shown: Any) -> int:
    """How often it failed in all."""
    return len(delays(shown))


def past(moment: str, seconds: float) -> bool:
    """Whether so much time has passed since."""
    return time.time() > datetime.fromisoformat(moment).timestamp() + seconds


def seconds_between(earlier: str, later: str) -> float:
    """Between two moments."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def delays(shown: Any) -> list[float]:
    """The waits after the failures, in order."""
    return [each["delay_s"] for each in shown["retries"]]


def events(terminal: Terminal, task: str, name: str) -> list[Any]:
    """What was told of a task under one name."""
    return [each["data"] for each in terminal.events() if each["task"] == task and each["name"] == name]


def test_the_wait_grows_with_each_failure_and_a_success_returns_to_the_period(terminal: Terminal) -> None:
    """Scenario 1: one period, then about 2, 4, 8 after failures 1, 2, 3, and one again after a success."""
    (terminal.home / "broken").touch()
    task = terminal.must("add", "poll", "--every", "500ms", "--run", FAILS_WHILE).strip()
    with Up(terminal):
        failing = until(terminal, task, lambda shown: shown["consecutive_failures"] == 3)
        (terminal.home / "broken").unlink()
        until(terminal, task, lambda shown: shown["iterations_done"] >= 2)
    shown = terminal.show(task)

    for failures, delay in enumerate(delays(failing), start=1):
        assert 0.9 <= delay / (0.5 * 2**failures) <= 1.1
    good = [each for each in shown["attempts"] if each["outcome"] == "succeeded"]
    assert seconds_between(good[0]["planned_at"], good[1]["planned_at"]) % 0.5 == 0
    assert [each["iteration"] for each in shown["attempts"][:4]] == [1, 2, 3, 4]
    assert (shown["consecutive_failures"], shown["status"]) == (0, "pending")
    told = events(terminal, task, "task:occurrences_skipped")
    assert {each["reason"] for each in told} >= {"backoff"}
    assert all(set(each) == {"reason", "first", "last", "number"} for each in told)


@pytest.mark.long
def test_twenty_failures_end_at_the_cap_and_ask_once(terminal: Terminal) -> None:
    """Scenario 2: the last waits are the cap, at most a tenth earlier; nothing is blocked, one question is asked."""
    (terminal.home / "medbay.toml").write_text(
        '[recurring]\nfailure_backoff_max_delay = "1s"\nfailure_backoff_multiplier = 3\nask_after = "5s"\n',
        encoding="utf-8",
    )
    task = terminal.must("add", "poll", "--every", "10ms", "--run", "exit 1").strip()
    with Up(terminal):
        until(terminal, task, lambda shown: shown["consecutive_failures"] >= 20)
    shown = terminal.show(task)

    assert all(0.9 <= delay <= 1.0 for delay in delays(shown)[5:])
    assert shown["block_kind"] is None
    (asked,) = json.loads(terminal.must("inbox", "--json"))
    assert "failures in a row" in asked["why"]
    said = terminal.must("show", task)
    assert "step 5 of 5 towards the cap of 1s" in said


def test_the_wait_is_the_same_after_a_restart_and_another_for_another_task(terminal: Terminal) -> None:
    """Scenario 3: jitter depends on the task and the count alone."""
    tasks = [terminal.must("add", f"poll {n}", "--every", "10m", "--run", "exit 1").strip() for n in range(3)]
    with Up(terminal):
        before = [until(terminal, task, lambda shown: shown["consecutive_failures"] == 1) for task in tasks]
    with Up(terminal):
        after = [terminal.show(task) for task in tasks]

    assert [each["next_attempt_at"] for each in after] == [each["next_attempt_at"] for each in before]
    waits = [delays(each)[0] for each in after]
    assert len(set(waits)) == 3
    assert all(1080 <= wait <= 1320 for wait in waits)


def test_after_a_reset_the_next_failure_is_the_first_again(terminal: Terminal) -> None:
    """Scenarios 4 and 15: `--reset-failures` starts at step 1, and says what it changed."""
    task = terminal.must("add", "poll", "--every", "100ms", "--run", "exit 1").strip()
    with Up(terminal):
        until(terminal, task, lambda shown: shown["consecutive_failures"] >= 4)
    said = terminal.must("edit", task, "--reset-failures")
    assert "failures" in said
    assert terminal.show(task)["consecutive_failures"] == 0
    before = failures(terminal.show(task))
    with Up(terminal):
        shown = until(terminal, task, lambda shown: failures(shown) > before)

    assert 0.18 <= delays(shown)[before] <= 0.22
    assert events(terminal, task, "task:edited")[-1]["reset_failures"] is True


def test_a_loop_starts_again_at_its_owner_and_asks_at_the_limit(terminal: Terminal) -> None:
    """Scenario 5: b fails; a and b run again after the backoff, so often as allowed; then the owner is exhausted."""
    a = terminal.must("add", "a", "--run", "echo a >> order").strip()
    b = terminal.must("add", "b", "--run", "echo b >> order; test -e fixed").strip()
    terminal.must("loop", a, b, "--max-failure-restarts", "3", "--delay", "50ms", "--max-iterations", "4")

    terminal.must("up", "--until-idle", code=1)

    assert (terminal.home / "order").read_text(encoding="utf-8").split() == ["a", "b"] * 3
    owner = terminal.show(a)
    assert (owner["status"], owner["block_kind"], owner["failure_restarts"]) == ("blocked", "exhausted", 3)
    assert (terminal.show(b)["status"], terminal.show(b)["consecutive_failures"]) == ("pending", 3)
    assert len(json.loads(terminal.must("inbox", "--json"))) == 1
    (terminal.home / "fixed").touch()
    terminal.must("answer", a, "1")
    terminal.must("up", "--until-idle")
    assert {terminal.show(each)["status"] for each in (a, b)} == {"completed"}
    assert terminal.show(b)["iterations_done"] == 4


def test_iterations_have_keys_of_their_own_and_the_last_completes(terminal: Terminal) -> None:
    """`--max-iterations` keeps `up --until-idle` busy; an endless task does not."""
    task = terminal.must("add", "beat", "--every", "50ms", "--max-iterations", "3", "--run", "echo $MEDBAY_KEY >> keys")
    terminal.must("add", "night", "--cron", "0 3 * * *", "--zone", "Europe/Berlin", "--", "true")

    terminal.must("up", "--until-idle")

    keys = (terminal.home / "keys").read_text(encoding="utf-8").split()
    assert [key.rsplit(":", 1)[1] for key in keys] == ["1", "2", "3"]
    assert terminal.show(task.strip())["status"] == "completed"
    assert len(events(terminal, task.strip(), "task:iteration_done")) == 3


def test_what_was_missed_while_nothing_ran_is_run_once(terminal: Terminal) -> None:
    """The daemon was down over many occurrences: one run, one event."""
    task = terminal.must("add", "beat", "--every", "100ms", "--", "true").strip()
    with Up(terminal):
        until(terminal, task, lambda shown: shown["iterations_done"] >= 1)
    done = terminal.show(task)["iterations_done"]
    until(terminal, task, lambda shown: past(shown["planned_at"], 1))
    with Up(terminal):
        until(terminal, task, lambda shown: shown["iterations_done"] > done)

    down = [each for each in events(terminal, task, "task:occurrences_skipped") if each["reason"] == "down"]
    assert down[-1]["number"] >= 9


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--cron", "61 * * * *"), "bad minute"),
        (("--cron", "* * * * *", "--every", "5s"), "both given"),
        (("--zone", "UTC"), "goes with cron"),
        (("--cron", "0 3 * * *", "--zone", "Mars/Base"), "no time zone"),
        (("--max-iterations", "3"), "goes with cron or every"),
        (("--every", "1s", "--max-iterations", "0"), "from 1 on"),
        (("--every", "0s"), "longer than nothing"),
    ],
)
def test_a_schedule_nobody_could_mean_is_refused(terminal: Terminal, words: tuple[str, ...], says: str) -> None:
    """In one line, and nothing is added."""
    refused = terminal.run("add", "x", *words, "--", "true")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert says in refused.stderr
    assert json.loads(terminal.must("list", "--json")) == []


def test_nothing_comes_after_a_recurring_task(terminal: Terminal) -> None:
    """Neither when it is added nor later, nor by making something recur that others wait for."""
    beat = terminal.must("add", "beat", "--every", "1h", "--", "true").strip()
    assert "recurs" in terminal.run("add", "x", "--after", beat, "--", "true").stderr
    one = terminal.must("add", "one", "--", "true").strip()
    two = terminal.must("add", "two", "--after", one, "--", "true").strip()
    terminal.must("edit", two, "--after", beat, code=4)
    terminal.must("edit", one, "--every", "5m", code=4)
    terminal.must("loop", one, two, code=4)
    terminal.must("edit", two, "--every", "5m")
    assert terminal.show(two)["every_s"] == 300
    assert "every 5m" in terminal.must("show", two)


def test_a_schedule_survives_export_and_import_and_can_be_edited(terminal: Terminal, tmp_path: Path) -> None:
    """Every field of it."""
    task = terminal.must(
        *("add", "night", "--cron", "0 3 * * *", "--zone", "Europe/Berlin", "--catch-up", "all"),
        *("--max-iterations", "9", "--", "true"),
    ).strip()
    lines = terminal.must("export")
    (copy,) = terminal.must("import", "-", stdin=lines).split()
    names = ("cron", "zone", "catch_up", "max_iterations", "next_attempt_at")
    assert [terminal.show(copy)[name] for name in names] == [terminal.show(task)[name] for name in names]

    terminal.must("edit", copy, "--every", "2h", "--catch-up", "none")
    shown = terminal.show(copy)
    assert (shown["cron"], shown["zone"], shown["every_s"], shown["catch_up"]) == (None, None, 7200, "none")
    terminal.must("edit", task, "--zone", "America/New_York")
    assert terminal.show(task)["zone"] == "America/New_York"
    terminal.must("edit", copy, "--zone", "UTC", code=2)
    assert "cron 0 3 * * * America/New_York" in terminal.must("list")
    assert "by its schedule" in terminal.must("explain", task)


def test_pause_keeps_the_streak_and_skips_what_is_planned(terminal: Terminal) -> None:
    """Resumed, the next failure is n + 1."""
    task = terminal.must("add", "poll", "--every", "200ms", "--run", "exit 1").strip()
    with Up(terminal):
        until(terminal, task, lambda shown: shown["consecutive_failures"] >= 2)
        terminal.must("pause", task)
        paused = until(terminal, task, lambda shown: shown["status"] == "failed")
        until(terminal, task, lambda shown: past(shown["retries"][-1]["due_at"], 0.5))
        assert terminal.show(task)["attempts_total"] == paused["attempts_total"]
        terminal.must("resume", task)
        streak = paused["consecutive_failures"] + 1
        shown = until(terminal, task, lambda shown: shown["consecutive_failures"] == streak)

    assert sum(each["outcome"] is not None for each in shown["attempts"]) == streak
    assert any(each["reason"] == "paused" for each in events(terminal, task, "task:occurrences_skipped"))
