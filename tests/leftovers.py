"""Which processes of a run of the tests are still there at its end. Every process inherits the run's mark."""

from __future__ import annotations

import os
import signal
import time
import uuid
from contextlib import suppress
from pathlib import Path

MARK = "TESTS_OF_MEDBAY"  # without our prefix: tests take those variables away
PATIENCE_S = 20.0  # a guardian looks twice before it goes, and the machine may be busy
LOOK_EVERY_S = 0.05


def mark_this_run() -> None:
    """Everything that is started from here on can be found."""
    os.environ.setdefault(MARK, uuid.uuid4().hex)


def end_leftovers(patience_s: float) -> list[str]:
    """Kill what does not go by itself; one line about each."""
    deadline = time.monotonic() + patience_s
    while (found := marked_processes(os.environ[MARK])) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [f"{pid}  {words}" for pid, words in found.items()]


def marked_processes(mark: str) -> dict[int, str]:
    """The processes that carry a mark, this one and those above it left out, with their command lines."""
    wanted, found = f"{MARK}={mark}".encode(), {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        with suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    for pid in _this_and_above():
        found.pop(pid, None)
    return found


def _this_and_above() -> list[int]:
    pids = [os.getpid()]
    while pids[-1] > 1:
        stat = Path(f"/proc/{pids[-1]}/stat").read_text(encoding="utf-8", errors="replace")
        pids.append(int(stat.rpartition(")")[2].split()[1]))
    return pids
