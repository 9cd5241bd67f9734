"""The check at the end of a run of the tests finds what was left behind, and ends it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.leftovers import MARK, end_leftovers, marked_processes

GREEN = """
import subprocess
from tests import leftovers
def test_it():
    leftovers.PATIENCE_S = 0.2
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
"""


def test_what_is_left_behind_is_named_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what runs in a session of its own."""
    monkeypatch.setenv(MARK, f"{os.getpid()}-left")
    left = subprocess.Popen(["sleep", "1000"], start_new_session=True)

    told = end_leftovers(patience_s=0.2)

    assert told == [f"{left.pid}  sleep 1000 "]
    assert left.wait(10) == -9


def test_what_goes_by_itself_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is about to end is nothing to complain about."""
    monkeypatch.setenv(MARK, f"{os.getpid()}-going")
    with subprocess.Popen(["sleep", "0.1"]):
        assert end_leftovers(10) == []


def test_a_run_does_not_find_itself() -> None:
    """Neither this process nor what started it."""
    assert os.getpid() not in marked_processes(os.environ[MARK])


def test_a_run_that_leaves_a_process_behind_fails_and_names_it(tmp_path: Path) -> None:
    """With every test green."""
    (tmp_path / "test_green.py").write_text(GREEN, encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "tests.conftest", str(tmp_path)]
    env = {**os.environ, MARK: f"{os.getpid()}-run"}

    ran = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)

    assert "1 passed" in ran.stdout
    assert "sleep 1000" in ran.stdout
    assert ran.returncode == 1
