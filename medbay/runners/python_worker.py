"""The program of a worker process: it takes calls of Python functions one at a time and answers each.

It imports next to nothing, of Medbay or of the library, so that it starts quickly and a call finds what it imports
itself: hence the modules in C where others would do (`signal`, `socket`, `json` and `ctypes` need ten times as long).
"""

from __future__ import annotations

import _ctypes
import _signal  # type: ignore[import-not-found]
import _socket
import atexit
import faulthandler
import marshal
import os
import select
import sys
import time

from medbay.runners.python_baseline import Baseline, left_behind
from medbay.runners.python_call import as_json, perform, raised
from medbay.runners.python_channel import receive, send
from medbay.runners.python_spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

RESIDENT_MAX_BYTES: Final = 512 * 1024 * 1024  # one that stays larger than this after a call is not kept
_OURS: Final = b"MEDBAY_"
_KEY_NAME: Final = b"MEDBAY_ATTEMPT_KEY"
_ENV_START: Final = 47  # which field of /proc/PID/stat, counted from the one after the name
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36


def main(arguments: list[str]) -> None:
    """Serve the engine at the other end of two descriptors until it goes away, or until it is time to end."""
    calls, answers, engine_pid, idle_key, calls_max, age_max_s, spool = arguments
    _die_with(int(engine_pid))
    faulthandler.enable()  # a crash in C code leaves the Python lines that led to it in the log
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv[:] = [""]
    until_s = time.monotonic() + float(age_max_s)
    inbox, outbox = _channel(int(calls)), _channel(int(answers))
    server = Server(outbox, Mark(idle_key), Spool(spool) if spool else None, calls_max=int(calls_max), until_s=until_s)
    while (call := _receive(inbox, until_s)) is not None and server.serve(call):
        pass
    atexit._run_exitfuncs()
    server.flush()
    os._exit(0)  # all that is left is to take the modules apart, which costs more than several calls


class Server:
    """Answers call after call."""

    def __init__(
        self, outbox: _socket.socket, mark: Mark, spool: Spool | None, *, calls_max: int, until_s: float
    ) -> None:
        self._outbox = outbox
        self._mark = mark
        self._spool = spool  # without one the process is for one call, whose log it writes to
        self._baseline = Baseline()
        self._calls_left = calls_max
        self._until_s = until_s

    def serve(self, call: dict[str, Any]) -> bool:
        """Make one call and answer it; whether this process goes on to the next."""
        key = call["key"]
        if not self._mark.show(key) or self._baseline.is_outdated():
            self._say({"key": key, "begun": False, "keep": False})
            return False
        answer = self._answer(call)
        self._calls_left -= 1
        clean = not answer["left"] and self._spool is not None and self._clear(self._spool, call, answer)
        answer["clean"] = clean
        answer["keep"] = (
            clean
            and self._calls_left > 0
            and time.monotonic() < self._until_s
            and answer["resident"] < RESIDENT_MAX_BYTES
        )
        self._say(answer)
        if answer["left"]:
            os._exit(0)  # an orderly end would wait for the threads
        return bool(answer["keep"])

    def flush(self) -> None:
        """Before the process ends."""
        self._baseline.flush()

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        own_pid = os.getpid()
        begun_s = time.monotonic()
        try:
            self._baseline.enter(call["cwd"], call["env"])
            answer = perform(call["target"], call["args"], call["kwargs"])
        except BaseException as error:  # an interrupt between two lines of ours
            answer = raised(error)
        if os.getpid() != own_pid:
            os._exit(answer["code"])  # a child the function forked came back from it: it is not the worker
        self._baseline.flush()
        self._baseline.remember_sources(call["cwd"], call["target"])
        answer["key"], answer["begun"], answer["left"] = call["key"], True, left_behind()
        answer["took_s"] = time.monotonic() - begun_s
        return answer

    def _clear(self, spool: Spool, call: dict[str, Any], answer: dict[str, Any]) -> bool:
        """Be as before the call, with its output in its own log; False where that cannot be done."""
        try:
            spool.restore()
            answer["resident"] = self._baseline.resident_bytes()
            # The mark before the answer: that of an attempt never outlives it.
            if not self._baseline.restore() or not self._mark.show(self._mark.idle_key):
                return False
            answer.update(spool.hand_out(call["log"], call["result"]))
        except (OSError, ValueError):
            return False
        return True

    def _say(self, answer: dict[str, Any]) -> None:
        send(self._outbox, as_json(answer).encode(), wait=True)


class Mark:
    """The attempt key as others see it in /proc/PID/environ, changed in place for each call.

    The kernel shows the memory that the environment was put into at the start, so overwriting it there lets anybody
    who ends what a dead engine left find the attempt that runs now. A forked child has a copy of it.
    """

    def __init__(self, idle_key: str) -> None:
        self.idle_key = idle_key  # between two calls it belongs to no attempt
        self._shown = os.environb.get(_KEY_NAME, b"").decode()
        self._address, self._room = _key_memory()
        self._memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)

    def show(self, key: str) -> bool:
        """Carry this key from now on; False where that cannot be done."""
        if key == self._shown:
            return True
        text = _KEY_NAME + b"=" + key.encode() + b"\0"
        if len(text) > self._room:
            return False
        try:
            os.pwrite(self._memory, text.ljust(self._room, b"\0"), self._address)
        except OSError:
            return False
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
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    _ctypes.call_function(prctl, (_PR_SET_PDEATHSIG, int(_signal.SIGKILL), 0, 0, 0))
    _ctypes.call_function(prctl, (_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    if os.getppid() != engine_pid:  # it died before we asked to be told
        os._exit(1)


def _channel(descriptor: int) -> _socket.socket:
    os.set_inheritable(descriptor, False)
    return _socket.socket(fileno=descriptor)


def _receive(inbox: _socket.socket, until_s: float) -> dict[str, Any] | None:
    """The next call; None when the engine is gone or this process is too old."""
    closing = False
    try:
        while True:
            try:
                message = receive(inbox)
                return None if message is None else marshal.loads(message)
            except BlockingIOError:
                if closing:
                    return None
            if not _wait(inbox, until_s):
                inbox.shutdown(_socket.SHUT_RD)  # a call sent before this is still here, none comes after it
                closing = True
    except (OSError, KeyboardInterrupt):
        return None


def _wait(inbox: _socket.socket, until_s: float) -> bool:
    """Whether there may be something before the time is up; what is taken back meanwhile is not ours to have."""
    waiting = select.poll()
    waiting.register(inbox.fileno(), select.POLLIN)
    left_s = until_s - time.monotonic()
    return bool(waiting.poll(max(1, round(left_s * 1000)))) or time.monotonic() < until_s
