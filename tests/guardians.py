"""Finding the guardians of engines, and taking an engine away together with its own."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from medbay.places.processes import pids, read_process


def guardians_of(engine_pid: int) -> set[int]:
    """The guardian processes that watch this engine."""
    found = set()
    for pid in pids():
        with suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if any(b"places.guardian" in word for word in words) and str(engine_pid).encode() in words:
                process = read_process(pid)
                if process is not None and not process.dead:
                    found.add(pid)
    return found


def kill_with_guardian(engine: subprocess.Popen[bytes]) -> None:
    """Kill both, the guardian first and unnoticed, so that what the engine started is left."""
    os.kill(engine.pid, signal.SIGSTOP)
    for pid in guardians_of(engine.pid):
        os.kill(pid, signal.SIGKILL)
    engine.kill()
    engine.wait()
