"""`medbay demo`: it judges itself; here that it does so everywhere, and leaves nothing behind."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

import pytest

from medbay.cli.demo.fleet import FLEET
from tests.cli.calling import Called, Cli
from tests.cli.test_run import started

LIMIT_S = 60


@pytest.mark.long
def test_it_heals_its_fleet_and_says_so(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines while it runs on stderr, the report on stdout, under a minute, nothing left behind."""
    monkeypatch.setenv("TMPDIR", str(bare.folder))
    monkeypatch.setenv("MEDBAY_STORE", "sqlite:////nowhere/else.db")
    began_s = time.monotonic()

    ran = bare.process("demo")

    assert ran.code == 0, ran
    assert time.monotonic() - began_s < LIMIT_S
    assert "✗ pull rates  attempt 1 failed: transient/network" in ran.err
    assert "types: medbay answer" in ran.err
    expect_a_report(ran)
    assert list(bare.folder.iterdir()) == []


@pytest.mark.long
def test_it_lives_on_a_terminal(bare: Cli) -> None:
    """The view redraws in place on the other screen, which is left at the end; 80 columns are kept."""
    ran = bare.terminal("demo", "--no-color", columns=80, env={"LINES": "24"})

    assert ran.code == 0
    assert ran.out.count("\x1b[?1049h") == ran.out.count("\x1b[?1049l") == 1
    assert ran.out.index("\x1b[?25l") < ran.out.index("\x1b[?25h")
    live, report = ran.out.split("\x1b[?1049l")
    assert "again in" in live and "attempt 2" in live and "need you" in live
    assert all(len(line) < 80 for line in report.splitlines())
    assert not re.search("\x1b\\[[0-9;]*m", ran.out)
    expect_a_report(Called(ran.code, report))


def test_interrupted_it_takes_everything_with_it(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C: exit 130, and neither its directory nor a process is left."""
    monkeypatch.setenv("TMPDIR", str(bare.folder))
    with started(bare, "demo") as process:
        assert process.stderr is not None
        process.stderr.readline()

        process.send_signal(signal.SIGINT)

        process.communicate(timeout=30)
    assert process.returncode == 130
    assert list(bare.folder.iterdir()) == []
    assert not any(each.startswith(f"{bare.folder}/medbay-demo-") for each in working_directories())


def expect_a_report(ran: Called) -> None:
    """Every command by name, what healed, what waits, what to type."""
    for patient in FLEET:
        assert patient.title in ran.out
    assert "each ended as it should" in ran.out
    assert "7 healed by themselves, 2 after one answer to one question   ! 2 need you" in ran.out
    assert "1 " in ran.out and "medbay answer" not in ran.out  # its store is gone: nothing could be answered
    assert "medbay run -- CMD" in ran.out and "medbay init" in ran.out


def working_directories() -> list[str]:
    """Where the processes of this machine stand."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            found.append(str((entry / "cwd").readlink()))
        except OSError:
            continue
    return found
