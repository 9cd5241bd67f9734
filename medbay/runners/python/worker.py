"""The program of a worker process: it takes calls of Python functions one at a time and answers each.

It imports next to nothing, of Medbay or of the library, so that it starts quickly and a call finds what it imports
itself: hence the modules in C where others would do (`signal`, `socket`, `json` and `ctypes` need ten times as long).
"""

from __future__ import annotations

import _ctypes
import _signal  # type: ignore[import-not-found]
import _socket
import _thread
import atexit
import faulthandler
import importlib
import marshal
import os
import select
import sys
import time
from _json import encode_basestring_ascii, make_encoder

from medbay.places.files import Spool
from medbay.runners.python.channel import receive, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType, ModuleType, TracebackType
    from typing import Any, Final, NoReturn

RESIDENT_MAX_BYTES: Final = 512 * 1024 * 1024  # one that stays larger than this after a call is not kept
_OWN_VARIABLE: Final = b"MEDBAY_"
_KEY_NAME: Final = b"MEDBAY_ATTEMPT_KEY"
_ENV_START: Final = 47  # which field of /proc/PID/stat, counted from the one after the name
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
VALUE_CHARS_MAX: Final = 1_000_000
_TRACEBACK_HEAD: Final = 8_000
_TRACEBACK_TAIL: Final = 24_000
_MESSAGE_MAX: Final = 10_000
_CAUSES_MAX: Final = 10
_TRACE_HEAD: Final = "Traceback (most recent call last):\n"
_FRAMES_MAX: Final = 1_000
_REPEATED_MAX: Final = 3  # more of one place the library folds
_ONLY_THE_LIBRARY: Final = (BaseExceptionGroup, NameError, AttributeError, ImportError)  # a tree, and suggestions
_frames: dict[tuple[CodeType, int], str] = {}  # places in the code with their source, as a traceback shows them
_TRY_AGAIN: Final = 75
_INTERRUPTED: Final = 130  # as a shell says it of SIGINT
_OUR_FILES: Final = (__file__, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "function.py"))
_SOURCES_MAX: Final = 500  # files of the task's own directory that are watched for changes
_LINGER_S: Final = 0.05  # how long threads and children have to end after the call that made them
_LOOK_S: Final = 0.002
_AS_PATHS: Final = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


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

    The kernel shows the memory that the environment was put into at the start, so overwriting it there lets any process
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
        elif each.startswith(_OWN_VARIABLE):
            room += len(each) + 1
        else:
            break
    return address, room


def _die_with(engine_pid: int) -> None:
    """Nothing of this process outlives its engine, and orphans of its calls come back to it."""
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    _ctypes.call_function(prctl, (_PR_SET_PDEATHSIG, int(_signal.SIGKILL), 0, 0, 0))
    _ctypes.call_function(prctl, (_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    if os.getppid() != engine_pid:  # it died before we asked to be notified
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


def perform(target: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Call `module:function`; nothing it raises gets out of here."""
    try:
        value = _find(target)(*args, **kwargs)
        if hasattr(value, "__await__"):
            import asyncio

            value = asyncio.run(_awaited(value))
        return _returned(value)
    except BaseException as error:
        return raised(error)


def as_json(value: Any) -> str:
    """As `json.dumps` writes it, without loading half of the library; raises TypeError and ValueError as that does."""
    if value is None:
        return "null"
    encode = make_encoder({}, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, False)
    return "".join(encode(value, 0))


def _refuse(value: Any) -> NoReturn:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


async def _awaited(value: Any) -> Any:
    return await value


def _find(target: str) -> Any:
    place, _, name = target.rpartition(":")
    found: Any = _load_file(os.path.abspath(place)) if place.endswith(".py") else importlib.import_module(place)
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{target} is not a function but a {type(found).__name__}")
    return found


def _load_file(path: str) -> ModuleType:
    """A module by its file, kept under the file's name, with its neighbours in reach as `python FILE` has them."""
    name = os.path.basename(path).removesuffix(".py")
    if name in sys.stdlib_module_names or getattr(sys.modules.get(name), "__file__", path) != path:
        name = f"{name}@{path}"  # the name belongs to another module
    if os.path.dirname(path) not in sys.path:
        sys.path.insert(1, os.path.dirname(path))
    if name in sys.modules:
        return sys.modules[name]
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _returned(value: Any) -> dict[str, Any]:
    if _asks_again(value):
        return raised(value)
    try:
        text = as_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        return _refused(f"the result cannot be written as JSON: {_said(error)}")
    if len(text) > VALUE_CHARS_MAX:
        limit = f"the result is larger than {VALUE_CHARS_MAX} characters of JSON"
        return _refused(f"{limit}: write it to a file and return the file's name")
    return {"code": 0, "value": text}


def _refused(why: str) -> dict[str, Any]:
    _print(f"medbay.ResultError: {why}\n")
    return {"code": 1, "error": {"type": "medbay.ResultError", "message": why, "traceback": "", "causes": []}}


def raised(error: BaseException) -> dict[str, Any]:
    """An exception as data: an exit code, or class, message, traceback and causes."""
    if _asks_again(error):
        return {"code": _TRY_AGAIN, "summary": _said(error), "retry_after": getattr(error, "after", None)}
    if isinstance(error, SystemExit):
        return _exited(error.code)
    text = _plain(_trace_text(error, _own_part(error.__traceback__)))
    if len(text) > _TRACEBACK_HEAD + _TRACEBACK_TAIL:
        text = f"{text[:_TRACEBACK_HEAD]}\n  [...]\n{text[-_TRACEBACK_TAIL:]}"
    _print(text)
    said: dict[str, Any] = {
        "type": _name_of(error),
        "message": _said(error),
        "traceback": text,
        "causes": _causes(error),
    }
    after = _retry_after(error)
    if after is not None:
        said["retry_after"] = after
    return {"code": _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1, "error": said}


def _retry_after(error: BaseException) -> float | str | None:
    """When an exception says that it may be tried again: its own word, or the header of the response it carries."""
    try:
        after: Any = getattr(error, "retry_after", None)
        headers = getattr(getattr(error, "response", None), "headers", None)
        if after is None and headers is not None:
            after = headers.get("Retry-After") or headers.get("retry-after")
        seconds = after.total_seconds() if hasattr(after, "total_seconds") else after
        if isinstance(seconds, int | float) and not isinstance(seconds, bool):
            return float(seconds)
        return str(seconds)[:200] if isinstance(seconds, str | bytes) else None
    except Exception:  # what a stranger's exception does when it is asked
        return None


def _trace_text(error: BaseException, trace: TracebackType | None) -> str:
    """As the library writes it; a place in the code that it has written once is not written again."""
    import traceback

    lines: list[str] = []
    place = trace
    while place is not None:
        key = (place.tb_frame.f_code, place.tb_lasti)
        if key not in _frames:
            if len(_frames) >= _FRAMES_MAX:
                _frames.clear()
            _frames[key] = "".join(traceback.format_tb(place, 1))
        lines.append(_frames[key])
        place = place.tb_next
    folded = any(lines.count(each) > _REPEATED_MAX for each in set(lines))
    if not lines or folded or _cause_of(error) is not None or isinstance(error, _ONLY_THE_LIBRARY):
        return "".join(traceback.format_exception(type(error), error, trace))
    return "".join((_TRACE_HEAD, *lines, *traceback.format_exception_only(type(error), error)))


def _exited(code: Any) -> dict[str, Any]:
    """`sys.exit(CODE)` means what it means to a process."""
    if code is None or code == 0:
        return {"code": 0, "value": "null"}
    if isinstance(code, int):
        return {"code": code & 0xFF}
    _print(f"{_plain(str(code))}\n")
    return {"code": 1}


def _asks_again(value: Any) -> bool:
    """Whether it is a `medbay.TryAgain`; only code that imported it can have one."""
    module = sys.modules.get("medbay.function")
    return module is not None and isinstance(value, module.TryAgain)


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the task's own first line on; of an import that found nothing, the import."""
    while trace is not None and trace.tb_frame.f_code.co_filename in _OUR_FILES:
        trace = trace.tb_next
    below = trace
    while below is not None and "importlib" in below.tb_frame.f_code.co_filename:
        below = below.tb_next
    return below or trace


def _causes(error: BaseException) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    seen = {id(error)}
    cause = _cause_of(error)
    while cause is not None and id(cause) not in seen and len(found) < _CAUSES_MAX:
        seen.add(id(cause))
        found.append({"type": _name_of(cause), "message": _said(cause)})
        cause = _cause_of(cause)
    return found


def _cause_of(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _name_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _said(error: BaseException) -> str:
    try:
        return _plain(str(error))[:_MESSAGE_MAX]
    except Exception as wrong:
        return f"<its message raised {type(wrong).__name__}>"


def _plain(text: str) -> str:
    """No database takes lone surrogates, and PostgreSQL takes no NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _print(text: str) -> None:
    """To the log, after what the function wrote itself and whatever it did to its streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue  # closed, or of its own making
    rest = text.encode("utf-8", "replace")
    try:
        while rest:
            rest = rest[os.write(2, rest) :]
    except OSError:
        return


class Baseline:
    """How the process was before its first call: directory, environment, path, streams, signals.

    After a call each is looked at, and put back where it differs. The variables of a call stay until the next one
    brings its own: nothing runs in between.
    """

    def __init__(self) -> None:
        for name in [name for name in os.environ if name.startswith("MEDBAY_")]:
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
        """What the call wrote is in its log before its end is answered."""
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
        """The files next to the task and next to what it calls that were imported by now, and when each was changed."""
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
