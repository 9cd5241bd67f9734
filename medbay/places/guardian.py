"""The program of the guardian: a small process next to an engine that ends the engine's trees when it cannot itself.

It listens to the engine through a pipe, and hears when the lease was last renewed. When the pipe closes, or no renewal
came for too long, everything that carries the engine's mark is ended. It asks no store and starts no process.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from typing import Final, Literal

from medbay.places.processes import end_guarded

LOOKS_PER_LIMIT: Final = 20  # a suspended machine stops our waiting too: check the clock this often
LATE_S: Final = (0.05, 0.25)  # what the engine was about to start when it died shows up within this
_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); from medbay.places.guardian import main; main(sys.argv[1:])"
)
_PIPE: Final = 0
_CHUNK: Final = 65_536

Verdict = Literal["wait", "strike", "strike and end"]


def main(arguments: list[str]) -> None:
    """Watch the engine at the other end of standard input until it is gone."""
    mark, engine_pid, renewed_s, limit_s = arguments
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # meant for the engine, which still needs us while it stops
    watch(mark, engine=_watched(int(engine_pid)), renewed_s=float(renewed_s), limit_s=float(limit_s))


def verdict(*, engine_gone: bool, silent_s: float, limit_s: float) -> Verdict:
    """What has to be done when the lease was renewed so long ago."""
    if engine_gone:
        return "strike and end"
    return "strike" if silent_s >= limit_s else "wait"


def newest(sent: bytes, renewed_s: float) -> float:
    """The last renewal that was sent in full; each is a line with a time since boot."""
    for line in sent.split(b"\n")[:-1]:
        renewed_s = max(renewed_s, float(line))
    return renewed_s


def watch(mark: str, *, engine: int, renewed_s: float, limit_s: float) -> None:
    """Strike while the engine is silent for too long, and once more when it is gone."""
    os.set_blocking(_PIPE, False)
    waiting = select.poll()
    waiting.register(_PIPE, select.POLLIN)
    if engine >= 0:
        waiting.register(engine, select.POLLIN)
    decided: Verdict = "wait"
    while decided != "strike and end":
        heard = {descriptor for descriptor, _ in waiting.poll(max(1, round(limit_s * 1000 / LOOKS_PER_LIMIT)))}
        now_s = time.clock_gettime(time.CLOCK_BOOTTIME)  # before reading: were we suspended in between, a renewal came
        sent = _read_pipe()
        renewed_s = newest(sent or b"", renewed_s)
        engine_gone = sent is None or engine in heard
        decided = verdict(engine_gone=engine_gone, silent_s=now_s - renewed_s, limit_s=limit_s)
        if decided != "wait":
            end_guarded(mark)
    for pause_s in LATE_S:
        time.sleep(pause_s)
        end_guarded(mark)


def _read_pipe() -> bytes | None:
    """What the engine sent since the last time; None when it let go of its end."""
    try:
        return os.read(_PIPE, _CHUNK) or None
    except BlockingIOError:
        return b""


def _watched(engine_pid: int) -> int:
    """A descriptor that is readable once the engine is gone: a child it forked may keep the pipe open. Or -1."""
    try:
        engine = os.pidfd_open(engine_pid)
    except OSError:
        return -1  # the pipe alone says so
    if os.getppid() != engine_pid:  # it died before we could look: the number may be another's by now
        os.close(engine)
        os.close(_PIPE)
        os.open(os.devnull, os.O_RDONLY)  # in its place: it reads as closed
        return -1
    return engine


def start_command(package: str, *arguments: str) -> list[str]:
    """How to start it: without site packages and the user's settings, in a tenth of the memory of an engine."""
    return [sys.executable, "-I", "-S", "-c", _PROGRAM, package, *arguments]
