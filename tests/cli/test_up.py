"""`medbay up`: the daemon as a process, its words, its exit codes, and how it ends."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import medbay
from medbay.cli.live.display import Interrupts
from tests.cli.calling import Cli, call
from tests.cli.test_run import QUICK, processes_of, started, wait_until_it_says
from tests.guardians import kill_with_guardian
from tests.waiting import wait_for

HUMAN = "echo 'HTTP/1.1 401 Unauthorized'; exit 1"
SLEEPER = "echo up > up; (setsid sleep 1000 &) ; sleep 1000"


@pytest.fixture
def quick(cli: Cli) -> Iterator[Cli]:
    """A project in which everything is retried after milliseconds; nothing of it is left running."""
    (cli.folder / "medbay.toml").write_text(QUICK, encoding="utf-8")
    yield cli
    for pid in processes_of(cli):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("scripts", "code"),
    [((), 0), (("true",), 0), (("true", HUMAN), 75), (("true", HUMAN, "exit 3"), 1)],
)
def test_until_idle_exits_by_what_became_of_the_work(quick: Cli, scripts: tuple[str, ...], code: int) -> None:
    """1 when something was given up, else 75 when something waits for a person, else 0."""
    for number, script in enumerate(scripts):
        quick.add(f"task {number}", "--run", script)

    assert quick("up", "--until-idle", "--no-web").code == code


def test_the_summary_says_what_healed_and_what_to_type(quick: Cli) -> None:
    """Counts, then each question with the command that answers it."""
    quick.add("flaky", "--run", "[ $MEDBAY_ATTEMPT = 2 ] || { echo connect ECONNREFUSED; exit 7; }")
    asking = quick.add("asking", "--run", HUMAN)

    ran = quick.process("up", "--until-idle")

    assert "✓ 1 completed (1 healed)   ! 1 needs you" in ran.err
    assert f"medbay answer {asking} 1" in ran.err
    assert ran.out == ""


def test_each_change_is_one_line_for_programs(quick: Cli) -> None:
    """Tab-separated: time, glyph, id, title, what happened, what follows."""
    flaky = quick.add("flaky\tone", "--run", "[ $MEDBAY_ATTEMPT = 2 ] || { echo connect ECONNREFUSED; exit 7; }")

    ran = quick("up", "--until-idle")

    rows = [line.split("\t") for line in ran.err.splitlines() if flaky in line.split("\t")]
    assert [row[1] for row in rows] == ["▶", "✗", "▶", "✓"]
    assert all(row[0].endswith("Z") and row[3] == "flaky\\tone" for row in rows)
    assert rows[1][4].startswith("attempt 1 failed: transient/network")
    assert rows[1][5].startswith("◷ retry in ")


def test_on_start_it_announces_the_retries_that_are_pending(cli: Cli) -> None:
    """How many, and the next five by name."""
    for number in range(7):
        cli.add(f"flaky {number}", "--run", "echo connect ECONNREFUSED; exit 7")
    bay = cli.bay()
    with started(cli, "up", "--workers", "7"):
        wait_for(lambda: bay.pending_retries()[0] == 7)

    with started(cli, "up") as process:
        assert process.stderr is not None
        lines = [process.stderr.readline().decode() for _ in range(8)]

    assert lines[0].startswith("medbay up: sqlite:///") and ", 4 slots" in lines[0]
    assert lines[1] == "7 retries are pending\n"
    assert sum("retry in" in line and "flaky" in line for line in lines) == 5
    assert "and 2 more" in lines[7]


def test_a_stop_in_order_hands_back_what_runs(quick: Cli) -> None:
    """SIGTERM: back to pending, no process left, exit 0, and it says so."""
    task_id = quick.add("sleeper", "--shell", "sh", "--run", SLEEPER)
    with started(quick, "up") as process:
        wait_for((quick.folder / "up").exists)

        process.send_signal(signal.SIGTERM)

        _, told = process.communicate(timeout=30)
    assert process.returncode == 0
    assert b"stopping: 1 running" in told and b"handed back" in told
    assert quick.bay().get(task_id).status == "pending"
    assert processes_of(quick) == []


def test_until_idle_that_is_stopped_early_is_no_success(quick: Cli) -> None:
    """Something still waits: 75, so that a script does not go on as if all were done."""
    quick.add("sleeper", "--shell", "sh", "--run", SLEEPER)
    with started(quick, "up", "--until-idle") as process:
        wait_for((quick.folder / "up").exists)

        process.send_signal(signal.SIGINT)

        process.communicate(timeout=30)
    assert process.returncode == 75


def test_a_second_signal_stops_at_once(cli: Cli) -> None:
    """Nobody waits for the grace of ten seconds, even where the command does not listen."""
    task_id = cli.add("deaf", "--run", "trap '' TERM; echo up > up; while :; do sleep 0.1; done")
    with started(cli, "up") as process:
        wait_for((cli.folder / "up").exists)
        process.send_signal(signal.SIGINT)
        wait_until_it_says(process, b"stopping: 1 running")

        process.send_signal(signal.SIGINT)

        process.communicate(timeout=4)
    assert process.returncode == 0
    assert cli.bay().get(task_id).status == "pending"
    assert processes_of(cli) == []


def test_a_killed_daemon_is_carried_on_by_the_next(quick: Cli) -> None:
    """kill -9: the next one ends what was left over and runs the task to its end."""
    script = "echo x >> ups; [ $MEDBAY_ATTEMPT = 2 ] || { (setsid sleep 1000 &) ; sleep 1000; }"
    task_id = quick.add("sleeper", "--run", script)
    with started(quick, "up") as process:
        wait_for((quick.folder / "ups").exists)
        process.kill()

    ran = quick("up", "--until-idle")

    assert ran.code == 0
    assert quick.bay().get(task_id).status == "completed"
    assert "attempt 1 lost" in ran.err
    assert processes_of(quick) == []


def test_only_the_queues_it_is_told_are_served(quick: Cli) -> None:
    """`--queue a,b` instead of default."""
    ids = [quick.add(queue, "--queue", queue) for queue in ("default", "a", "b")]

    quick("up", "--until-idle", "--queue", "a, b")

    assert [quick.bay().get(each).status for each in ids] == ["pending", "completed", "completed"]


def test_a_terminal_gets_short_times_and_a_line_in_place(quick: Cli) -> None:
    """The counts stand below the changes and are gone at the end."""
    quick.add("one")

    ran = quick.terminal("up", "--until-idle")

    assert ran.code == 0
    assert "✓ 1 completed" in ran.out
    assert "running" in ran.out and "\r\x1b[K" in ran.out


def test_a_store_that_is_gone_is_one_line(quick: Cli) -> None:
    """Its folder removed under a running daemon: it says so in one line and ends by itself, with its processes."""
    (quick.folder / "medbay.toml").write_text('[engine]\nlease = "1s"\n', encoding="utf-8")
    quick.add("sleeper", "--shell", "sh", "--run", SLEEPER)
    with started(quick, "up") as process:
        wait_for((quick.folder / "up").exists)
        for path in sorted((quick.folder / ".medbay").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()

        _, told = process.communicate(timeout=60)
    assert b"Traceback" not in told
    assert b"was removed or replaced; start again" in told
    assert process.returncode == 1


def test_without_a_store_it_says_what_to_do(bare: Cli) -> None:
    """A daemon does not make a store by accident."""
    ran = bare("up")

    assert (ran.code, ran.err) == (3, "medbay: no store here or above; medbay init makes one, --store names one\n")


def test_the_engine_speaks_through_the_screen(quick: Cli) -> None:
    """What it has to say about leftovers stands on a line of its own, with its time."""
    quick.add("sleeper", "--shell", "sh", "--run", SLEEPER)
    with started(quick, "up") as process:
        wait_for((quick.folder / "up").exists)
        kill_with_guardian(process)

    with started(quick, "up") as process:
        wait_until_it_says(process, b"Z\tended 3 processes")


def test_a_signal_that_comes_before_anybody_listens_is_not_lost() -> None:
    """A daemon that is stopped while it starts would otherwise never hear of it."""
    heard: list[int] = []
    with Interrupts(signal.SIGUSR1) as interrupts:
        signal.raise_signal(signal.SIGUSR1)
        interrupts.then = heard.append
        signal.raise_signal(signal.SIGUSR1)
        interrupts.then = None
        interrupts.then = heard.append

    assert heard == [1, 2]


FAILS_THEN_HEALS = ["sh", "-c", "test -e done || { touch done; echo 'connect: Connection refused'; exit 1; }"]


@pytest.mark.parametrize(
    ("level", "shown", "hidden"),
    [
        ("error", ["transient/network"], ["completed after", "added"]),
        ("info", ["transient/network", "fine"], []),
    ],
)
def test_the_level_of_the_log_says_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, shown: list[str], hidden: list[str]
) -> None:
    """Failures and blocks are errors; transitions come with `info`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".medbay").mkdir()
    (tmp_path / "medbay.toml").write_text('[policy.ladder.transient]\ndelays = ["100ms"]\n', encoding="utf-8")
    with medbay.open(cwd=tmp_path) as bay:
        bay.add("heals", run=FAILS_THEN_HEALS, cwd=str(tmp_path))
        bay.add("fine", run=["true"])

    done = call(("up", "--until-idle", "--log-level", level))

    said = [line for line in done.err.splitlines() if line.count("\t") > 2]
    assert all(any(word in line for line in said) for word in shown)
    assert not any(word in line for line in said for word in hidden)


def test_the_log_as_json_is_one_object_per_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by the settings; with its level, its words, and what `events --json` has."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".medbay").mkdir()
    (tmp_path / "medbay.toml").write_text('[log]\nlevel = "warn"\njson = true\n', encoding="utf-8")
    with medbay.open(cwd=tmp_path) as bay:
        bay.add("odd", run=["sh", "-c", "echo 'fatal: Authentication failed'; exit 1"])

    done = call(("up", "--until-idle"))

    found = [json.loads(line) for line in done.err.splitlines() if line]
    events = [each for each in found if each["name"]]
    assert {each["level"] for each in events} <= {"warn", "error"} and found[0]["message"].startswith("medbay up: ")
    failed = next(each for each in events if each["name"] == "task:failed")
    assert failed["level"] == "error" and failed["data"]["diagnosis"] and failed["task"] and failed["seq"]
