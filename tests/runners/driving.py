"""Drives runners in tests the way the engine does: wait on the descriptor or the deadline, then poll."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from medbay.core.outcome import Outcome
from medbay.places.protocol import Launch, Running
from medbay.places.tree import Trees
from medbay.runners.shell.runner import ShellRunner, ShellRunning

PYTHON = sys.executable
IN_A_LINE = quote(PYTHON)  # as a shell reads it: the path may have spaces
LIMIT_S = 30.0


def launch(tmp_path: Path, command: Sequence[str] | str, **changes: Any) -> Launch:
    """A launch with everything below the test's own directory; its store is the test's alone."""
    values: dict[str, Any] = {
        "store_id": f"s{abs(hash(tmp_path))}",
        "task_id": "k7f2",
        "number": 1,
        "runner": "shell",
        "command": command,
        "cwd": tmp_path,
        "log_path": f"{tmp_path}/logs/k7f2/1.log",
        "result_path": f"{tmp_path}/logs/k7f2/1.json",
        "idempotency_key": "k7f2:0",
    }
    return Launch(**{**values, **changes})


def start(what: Launch, runner: ShellRunner | None = None) -> ShellRunning:
    """Start it now, with a short grace period unless a runner is given."""
    running = (runner or ShellRunner(Trees(0.3))).start(what, time.monotonic())
    assert isinstance(running, ShellRunning)
    return running


def finish(running: Running) -> Outcome:
    """Poll it to its end."""
    until = time.monotonic() + LIMIT_S
    while (outcome := running.poll(time.monotonic())) is None:
        assert time.monotonic() < until, "did not end in time"
        deadline = running.deadline_s()
        assert deadline is not None
        waiting = select.poll()
        if running.fileno() >= 0:
            waiting.register(running.fileno(), select.POLLIN)
        waiting.poll(max(0.0, min(deadline - time.monotonic(), 1.0)) * 1000)
    return outcome


def run(tmp_path: Path, command: Sequence[str] | str, **changes: Any) -> Outcome:
    """Start a command and see it to its end."""
    return finish(start(launch(tmp_path, command, **changes)))


def wait_until(condition: Callable[[], object], running: Running | None = None) -> None:
    """Wait for a condition, polling the attempt meanwhile."""
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, "the condition never held"
        if running is not None:
            assert running.poll(time.monotonic()) is None, "ended before the condition held"
        time.sleep(0.005)


def pids_in(path: Path, count: int = 1) -> list[int]:
    """The pids that a test's command wrote down, once all are there."""
    lines = path.read_text().split() if path.exists() else []
    return [int(line) for line in lines] if len(lines) >= count else []
