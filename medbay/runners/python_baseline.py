"""What is the same again before every call of a worker process, and what a call left behind in it."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

_OURS: Final = "MEDBAY_"
_SOURCES_MAX: Final = 500  # files of the task's own directory that are watched for changes
_LINGER_S: Final = 0.05  # how long threads and children have to end after the call that made them
_LOOK_S: Final = 0.002
_AS_PATHS: Final = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Baseline:
    """How the process was before its first call: directory, environment, path, streams, signals.

    After a call each is looked at, and put back where it differs. The variables of a call stay until the next one
    brings its own: nothing runs in between.
    """

    def __init__(self) -> None:
        for name in [name for name in os.environ if name.startswith(_OURS)]:
            del os.environ[name]
        self._environ = os.environ
        self._known: dict[bytes, bytes] = self._environ._data  # type: ignore[attr-defined]
        self._variables = dict(self._known)
        self._wanted = self._variables  # with what the call was given
        self._path = list(sys.path)
        self._directory = os.getcwd()
        self._streams = (sys.stdin, sys.stdout, sys.stderr)
        self._signals = [(number, _signal.getsignal(number)) for number in map(int, _signal.valid_signals())]
        self._masked = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
        self._umask = os.umask(0o077)
        os.umask(self._umask)
        self._memory = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._sources: dict[str, int] = {}
        self._modules_seen: set[str] = set(sys.modules)

    def enter(self, directory: str, variables: Mapping[str, str]) -> None:
        """Stand where the task stands and see what it sees; modules of its directory come first."""
        os.chdir(directory)
        given = {name.encode(*_AS_PATHS): value.encode(*_AS_PATHS) for name, value in variables.items()}
        self._wanted = {**self._variables, **given}
        self._set_variables()
        path = [directory, *(each for each in self._path if each != directory)]
        if sys.path != path:
            sys.path[:] = path
        for finder in list(sys.path_importer_cache.values()):
            if finder is not None and hasattr(finder, "invalidate_caches"):
                finder.invalidate_caches()

    def flush(self) -> None:
        """What the call wrote is in its log before its end is told."""
        streams = (sys.stdout, sys.stderr)
        for stream in streams if streams == self._streams[1:] else (*streams, *self._streams[1:]):
            try:
                stream.flush()
            except Exception:
                continue  # closed, a full disk, or a stream of its own making

    def restore(self) -> bool:
        """Put everything back; False when it cannot be done and the process should not be used again."""
        try:
            if os.getcwd() != self._directory:
                os.chdir(self._directory)
            os.umask(self._umask)
            self._restore_signals()
        except (OSError, ValueError):
            return False
        os.environ = self._environ  # noqa: B003 (not cleared: put back, in case it was replaced)
        self._set_variables()
        if sys.path != self._path:
            sys.path[:] = self._path
        sys.argv[:] = [""]
        sys.stdin, sys.stdout, sys.stderr = self._streams
        return not any(stream is None or stream.closed for stream in self._streams)

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

    def resident_bytes(self) -> int:
        """The memory this process holds now; raises OSError or ValueError when a call took that view away."""
        return int(os.pread(self._memory, 100, 0).split()[1]) * _PAGE_BYTES

    def _restore_signals(self) -> None:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        for number, handler in self._signals:
            if handler is not None and _signal.getsignal(number) != handler:
                _signal.signal(number, handler)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, self._masked)

    def _set_variables(self) -> None:
        """The environment is what it was at the start and what the call was given, nothing else."""
        if self._known == self._wanted:
            return
        for name in self._known.keys() - self._wanted.keys():
            os.unsetenv(name)
            del self._known[name]
        for name, value in self._wanted.items():
            if self._known.get(name) != value:
                os.putenv(name, value)
                self._known[name] = value


def left_behind() -> str:
    """What the call left running, in words; threads and children get a moment to end."""
    until_s = 0.0
    while True:
        threads, children = _thread._count(), _has_children()
        if not threads and not children:
            return ""
        until_s = until_s or time.monotonic() + _LINGER_S
        if time.monotonic() >= until_s:
            return " and ".join(word for word in ("threads" * bool(threads), "child processes" * children) if word)
        time.sleep(_LOOK_S)


def _has_children() -> bool:
    """Whether any descendant lives: orphans come to this process, because it asked for them."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _file_of(module: Any) -> str:
    path = getattr(module, "__dict__", {}).get("__file__")
    return path if isinstance(path, str) else ""


def _modified_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return -1
