"""What the tasks of the scenarios do. Copied into the project of each run, where worker processes import it.

Each call leaves a line in a record outside the store, `KIND NUMBER ATTEMPT TIME`: S began, F failed on purpose, E done.
"""

from __future__ import annotations

import os
import time

import medbay

RECORD = "BENCH_LOG"
_opened: dict[int, int] = {}  # the record's descriptor, by the process that opened it


class Flaky(Exception):
    """Failed on purpose."""


def note(kind: str, number: int, attempt: int = 1) -> None:
    """Add a line to the record; one write, so that lines of several processes do not mix."""
    pid = os.getpid()
    if pid not in _opened:
        _opened[pid] = os.open(os.environ[RECORD], os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
    os.write(_opened[pid], b"%s %d %d %.6f\n" % (kind.encode(), number, attempt, time.time()))


@medbay.task
def noop(number: int) -> None:
    """Scenario A: done at once."""
    note("E", number)


@medbay.task
def flaky(number: int) -> None:
    """Scenario B: fails twice, counted outside the store."""
    path = os.path.join(os.path.dirname(os.environ[RECORD]), f"tries_{number}")
    counter = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o644)
    os.write(counter, b"x")
    attempt = os.fstat(counter).st_size
    os.close(counter)
    if attempt < 3:
        note("F", number, attempt)
        raise Flaky(f"attempt {attempt}")
    note("E", number, attempt)


@medbay.task
def short(number: int) -> None:
    """Scenario E: 10 ms long."""
    note("S", number)
    time.sleep(0.01)
    note("E", number)


@medbay.task
def nap(number: int) -> None:
    """Two workers against one: 20 ms long."""
    time.sleep(0.02)
    note("E", number)
