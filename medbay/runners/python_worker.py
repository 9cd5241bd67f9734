"""The program of a worker process: it takes calls of Python functions one at a time and answers each.

It imports next to nothing of Medbay, so that it starts quickly and a call finds what it imports itself.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import socket
import sys
import time
from typing import Any, Final

from medbay.runners.python_baseline import Baseline, left_behind, resident_bytes
from medbay.runners.python_call import perform, raised
from medbay.runners.python_channel import receive, send

RESIDENT_MAX_BYTES: Final = 512 * 1024 * 1024  # one that stays larger than this after a call is not kept
_OURS: Final = b"MEDBAY_"
_KEY_NAME: Final = b"MEDBAY_ATTEMPT_KEY"
_ENV_START: Final = 47  # which field of /proc/PID/stat, counted from the one after the name
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def main(arguments: list[str]) -> None:
    """Serve the engine at the other end of a descriptor until it goes away, or until it is time to end."""
    descriptor, engine_pid, idle_key, calls_max, age_max_s = arguments
    channel = socket.socket(fileno=int(descriptor))
    channel.set_inheritable(False)
    _die_with(int(engine_pid))
    faulthandler.enable()  # a crash in C code leaves the Python lines that led to it in the log
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv[:] = [""]
    mark = Mark(idle_key)
    until_s = time.monotonic() + float(age_max_s)
    _serve(channel, Baseline(), mark, calls_max=int(calls_max), until_s=until_s)


def _serve(channel: socket.socket, baseline: Baseline, mark: Mark, *, calls_max: int, until_s: float) -> None:
    calls = 0
    while (received := _receive(channel, until_s)) is not None:
        call, log = received
        _write_to(log)
        if not mark.show(call["key"]) or baseline.is_outdated():
            send(channel, {"key": call["key"], "begun": False, "keep": False})
            return
        answer = _answer(call, baseline)
        calls += 1
        answer["keep"] = (
            answer["keep"]
            and calls < calls_max
            and time.monotonic() < until_s
            and answer["resident"] < RESIDENT_MAX_BYTES
            and baseline.restore()
            and mark.show(mark.idle_key)  # before the answer: the mark of an attempt never outlives it
        )
        send(channel, answer)
        if answer["left"]:
            os._exit(0)  # an orderly end would wait for the threads
        if not answer["keep"]:
            return


def _answer(call: dict[str, Any], baseline: Baseline) -> dict[str, Any]:
    own_pid = os.getpid()
    try:
        baseline.enter(call["cwd"], call["env"])
        answer = perform(call["target"], call["arguments"])
    except BaseException as error:  # an interrupt between two lines of ours
        answer = raised(error)
    if os.getpid() != own_pid:
        os._exit(answer["code"])  # a child the function forked came back from it: it is not the worker
    baseline.flush()
    baseline.remember_sources(call["cwd"], call["target"])
    left = left_behind()
    keep = not left and not call["isolated"]
    return {**answer, "key": call["key"], "begun": True, "left": left, "keep": keep, "resident": resident_bytes()}


class Mark:
    """The attempt key as others see it in /proc/PID/environ, changed in place for each call.

    The kernel shows the memory that the environment was put into at the start, so overwriting it there lets anybody
    who ends what a dead engine left find the attempt that runs now. A forked child has a copy of it.
    """

    def __init__(self, idle_key: str) -> None:
        self.idle_key = idle_key  # between two calls it belongs to no attempt
        self._shown = os.environb.get(_KEY_NAME, b"").decode()
        self._address, self._room = _key_memory()

    def show(self, key: str) -> bool:
        """Carry this key from now on; False where that cannot be done."""
        if key == self._shown:
            return True
        text = _KEY_NAME + b"=" + key.encode() + b"\0"
        if len(text) > self._room:
            return False
        ctypes.memmove(self._address, text.ljust(self._room, b"\0"), self._room)
        self._shown = key
        return True


def _key_memory() -> tuple[int, int]:
    """Where the key is in the environment it was started with, and the room up to what is not ours."""
    with open("/proc/self/environ", "rb") as environ:
        strings = environ.read().split(b"\0")
    with open("/proc/self/stat", "rb") as stat:
        address = int(stat.read().rpartition(b")")[2].split()[_ENV_START])
    room = 0
    for each in strings if address else ():
        if room == 0 and not each.startswith(_KEY_NAME + b"="):
            address += len(each) + 1
        elif each.startswith(_OURS):
            room += len(each) + 1
        else:
            break
    return address, room


def _die_with(engine_pid: int) -> None:
    """Nothing of this process outlives its engine, and orphans of its calls come back to it."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != engine_pid:  # it died before we asked to be told
        os._exit(1)


def _receive(channel: socket.socket, until_s: float) -> tuple[dict[str, Any], int] | None:
    """The next call and where its output goes; None when the engine is gone or this process is too old."""
    try:
        channel.settimeout(max(0.001, until_s - time.monotonic()))
        try:
            found = receive(channel)
        except TimeoutError:
            channel.shutdown(socket.SHUT_RD)  # a call sent before this is still here, none comes after it
            found = receive(channel)
        channel.settimeout(None)
    except (OSError, KeyboardInterrupt):
        return None
    if found is None:
        return None
    call, (log,) = found
    return call, log


def _write_to(log: int) -> None:
    """Standard output and error: of Python, of C code in it and of its children."""
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
