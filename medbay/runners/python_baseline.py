"""What is the same again before every call of a worker process, and what a call left behind in it."""

from __future__ import annotations

import _thread
import importlib
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

_OURS: Final = "MEDBAY_"
_SOURCES_MAX: Final = 500  # files of the task's own directory that are watched for changes
_LINGER_S: Final = 0.05  # how long threads and children have to end after the call that made them
_LOOK_S: Final = 0.002


class Baseline:
    """How the process was before its first call: directory, environment, path, streams, signals."""

    def __init__(self) -> None:
        for name in [name for name in os.environ if name.startswith(_OURS)]:
            del os.environ[name]
        self._environ = os.environ
        self._variables = os.environ.copy()
        self._path = list(sys.path)
        self._directory = os.getcwd()
        self._streams = (sys.stdin, sys.stdout, sys.stderr)
        self._signals = {number: signal.getsignal(number) for number in signal.valid_signals()}
        self._masked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._sources: dict[str, int] = {}
        self._modules_seen: set[str] = set(sys.modules)

    def enter(self, directory: str, variables: Mapping[str, str]) -> None:
        """Stand where the task stands and see what it sees; modules of its directory come first."""
        os.chdir(directory)
        self._environ.update(variables)
        sys.path[:] = [directory, *(each for each in self._path if each != directory)]
        importlib.invalidate_caches()

    def flush(self) -> None:
        """What the call wrote is in its log before its end is told."""
        for stream in (sys.stdout, sys.stderr, *self._streams[1:]):
            with suppress(Exception):  # closed, a full disk, or a stream of its own making
                stream.flush()

    def restore(self) -> bool:
        """Put everything back; False when it cannot be done and the process should not be used again."""
        try:
            os.chdir(self._directory)
            os.umask(self._umask)
            self._restore_signals()
        except (OSError, ValueError):
            return False
        self._restore_environment()
        sys.path[:] = self._path
        sys.argv[:] = [""]
        sys.stdin, sys.stdout, sys.stderr = self._streams
        if any(stream is None or stream.closed for stream in self._streams):
            return False
        _write_to_nothing()
        return True

    def remember_sources(self, directory: str, target: str) -> None:
        """The files beside the task and beside what it calls that were imported by now, and when each was changed."""
        if len(sys.modules) == len(self._modules_seen):
            return
        place = target.rpartition(":")[0]
        beside = os.path.dirname(os.path.join(directory, place)) if place.endswith(".py") else directory
        inside = (os.path.join(directory, ""), os.path.join(beside, ""))
        for name in sys.modules.keys() - self._modules_seen:
            path = _file_of(sys.modules.get(name))
            own = path.startswith(inside) and "site-packages" not in path
            if own and len(self._sources) < _SOURCES_MAX:
                self._sources[path] = _modified_ns(path)
        self._modules_seen = set(sys.modules)

    def is_outdated(self) -> bool:
        """Whether a file was changed after it was imported here: then this process knows old code."""
        return any(_modified_ns(path) != known for path, known in self._sources.items())

    def _restore_signals(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._signals.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._masked)

    def _restore_environment(self) -> None:
        os.environ = self._environ  # noqa: B003 (not cleared: put back, in case it was replaced)
        now = self._environ.copy()
        for name in now.keys() - self._variables.keys():
            del self._environ[name]
        for name, value in self._variables.items():
            if now.get(name) != value:
                self._environ[name] = value


def left_behind() -> str:
    """What the call left running, in words; threads and children get a moment to end."""
    until_s = time.monotonic() + _LINGER_S
    while True:
        threads, children = _thread._count(), _has_children()
        if not threads and not children:
            return ""
        if time.monotonic() >= until_s:
            return " and ".join(word for word in ("threads" * bool(threads), "child processes" * children) if word)
        time.sleep(_LOOK_S)


def resident_bytes() -> int:
    """The memory this process holds now."""
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _has_children() -> bool:
    """Whether any descendant lives: orphans come to this process, because it asked for them."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _write_to_nothing() -> None:
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    if nothing > 2:
        os.close(nothing)


def _file_of(module: Any) -> str:
    path = getattr(module, "__dict__", {}).get("__file__")
    return path if isinstance(path, str) else ""


def _modified_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1
