"""One worker process as the engine sees it: started, handed calls, listened to, let go."""

from __future__ import annotations

import json
import marshal
import os
import select
import socket
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import MsgspecError, Struct, field
from msgspec.structs import replace

from medbay.core.attempt.ahead import AHEAD_MAX, BRIEF_AHEAD_MAX, BRIEF_S, KEPT_MAX, needs_own_process
from medbay.places.environment import Encoded, own_variables
from medbay.places.files import remove, result_beside
from medbay.places.protocol import IDLE, Launch
from medbay.places.spawn import Child, spawn_into
from medbay.runners.python.channel import receive, send
from medbay.runners.result import retry_after

_SHORT_S: Final = 0.010  # a process whose calls take longer than this on average is handed none ahead
_NEWEST_SHARE: Final = 0.2  # what the newest call counts for in that average
_GATHERED_MAX: Final = 8  # a message wakes the process, which may take the engine's processor: so many at once
_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); from medbay.runners.python.worker import main; main(sys.argv[1:])"
)
_PACKAGE: Final = str(Path(__file__).parents[3])
_absolute: Final = lru_cache(maxsize=256)(os.path.abspath)  # many calls are made in few directories


class Call(Struct, frozen=True, kw_only=True):
    """What a worker process is asked to do."""

    target: str
    args: list[Any]
    kwargs: dict[str, Any]
    isolated: bool  # in a process of its own: asked for, or because a limit or variable counts from its start

    @classmethod
    def of(cls, launch: Launch) -> Call:
        """From the command of a task: target, arguments, and perhaps the word `isolated`; raises ValueError."""
        command = launch.command
        if isinstance(command, str) or len(command) < 2:
            raise ValueError("a Python task has a command of target and arguments")
        args, kwargs = _given(command[1])
        isolated = launch.cpu_s is not None or needs_own_process(command, launch.env)
        return cls(target=command[0], args=args, kwargs=kwargs, isolated=isolated)

    def message(self, launch: Launch, spool: str) -> bytes:
        """As it is handed to a process with this spool; raises ValueError for arguments nested without end."""
        env = own_variables(launch)
        if spool:
            env["MEDBAY_RESULT"] = result_beside(spool)
        asked = {
            "key": launch.attempt_key,
            "target": self.target,
            "args": self.args,
            "kwargs": self.kwargs,
            "cwd": _absolute(launch.cwd),
            "env": env,
            "log": launch.log_path,
            "result": launch.result_path,
        }
        return marshal.dumps(asked)


class CallAnswer(Struct, frozen=True, kw_only=True):
    """What a worker process said at the end of a call."""

    key: str  # of the attempt
    begun: bool  # False: it knows an older version of the code, and another process has to do it
    keep: bool  # whether it waits for the next call
    clean: bool = False  # whether nothing of the call is left in it
    code: int = 0
    value: Any = "null"  # sent as JSON
    error: dict[str, Any] | None = None
    summary: str = ""
    wish: Any = field(default=None, name="retry_after")
    left: str = ""
    resident_bytes: int = field(default=0, name="resident")
    took_s: float = 0.0
    total_bytes: int = field(default=0, name="bytes")
    text: str | None = None  # all it wrote, when that is little
    has_log: bool = field(default=True, name="log")  # what it wrote is in its log by now
    handed_result: bool = field(default=False, name="result")

    @property
    def has_result(self) -> bool:
        """Whether it may have left a result file."""
        return self.handed_result or not self.clean

    @property
    def retry_after(self) -> str | int | float | None:
        """When it wants to be tried again."""
        return retry_after(self.wish)


class Lifetime(Struct, frozen=True, kw_only=True):
    """When a worker process has served long enough."""

    calls_max: int = 10_000  # a new process costs 25 ms of computing: at 100 calls that was a third of each
    age_max_s: float = 600.0


class Closed(Exception):
    """The worker process closed its end, or sent what is no answer."""


class WorkerProcess:
    """A process that makes one call at a time. Calls are known by their attempt keys."""

    def __init__(
        self, child: Child, inbox: tuple[socket.socket, socket.socket], answers: socket.socket, *, cwd: Path, spool: str
    ) -> None:
        self.child = child
        self.cwd = cwd
        self.spool = spool  # empty for one that makes a single call and writes straight into its log
        self.resident_bytes = 0
        self.keys: deque[str] = deque()  # handed and not answered; the first is being made, as far as is known
        self.handed = 0
        self.answered = 0
        self.overdue = False  # the call it is making takes long, or it takes no more
        self.has_successor = False  # another is started to take over from it
        self.average_s: float | None = None  # how long its calls take; a successor expects what its predecessor saw
        self._calls, self._unread = inbox  # where calls are sent to, and where they are until it receives them
        self._answers = answers
        self.unsent: deque[tuple[str, bytes]] = deque()  # handed behind another, and gathered for a while
        self._events = select.epoll()
        self._events.register(answers, select.EPOLLIN)
        if child.pidfd >= 0:
            self._events.register(child.pidfd, select.EPOLLIN)

    @property
    def pid(self) -> int:
        """Its number, ours until it is reaped."""
        return self.child.pid

    @property
    def room(self) -> int:
        """How many more calls may wait for it, beyond the one it makes: none unless its calls are short."""
        if self.average_s is None or self.average_s >= _SHORT_S or self.overdue:
            return 0
        return max(0, self._ahead_max + (KEPT_MAX if self._is_brief else 0) + 1 - max(1, len(self.keys)))

    @property
    def _is_brief(self) -> bool:
        return self.average_s is not None and self.average_s < BRIEF_S

    @property
    def _ahead_max(self) -> int:
        """How many calls it may have been sent, beyond the one it makes."""
        return BRIEF_AHEAD_MAX if self._is_brief else AHEAD_MAX

    def fileno(self) -> int:
        """Readable when it answered or ended."""
        return self._events.fileno()

    def hand(self, key: str, message: bytes) -> bool:
        """Hand it a call without waiting; False when it takes none any more.

        What comes behind another is gathered here, never sent before that, and sent when it is asked for.
        """
        if self.keys:
            self.unsent.append((key, message))
        elif not self._send(message):
            return False
        self.keys.append(key)
        self.handed += 1
        return True

    @property
    def at_work(self) -> bool:
        """Whether it was sent a call that it has not answered; else what it has begins with the next that is sent."""
        return len(self.keys) > len(self.unsent)

    @property
    def has_gathered_enough(self) -> bool:
        """Whether so much was gathered that it is worth a message now: the process need not wait for the rest."""
        return self.at_work and len(self.unsent) >= _GATHERED_MAX

    def send_gathered(self) -> None:
        """Send what was gathered, as far as it may have that and there is room for it."""
        room = self._ahead_max + 1 - (len(self.keys) - len(self.unsent))
        while room > 0 and self.unsent and self._send(self.unsent[0][1]):
            self.unsent.popleft()
            room -= 1

    def take_back(self) -> list[str]:
        """The calls it has not received, which are not its any more."""
        taken = []
        while True:
            try:
                message = receive(self._unread)
            except (OSError, ValueError):
                break
            if message is None:
                break
            taken.append(marshal.loads(message)["key"])
        taken += [key for key, _ in self.unsent]
        self.unsent.clear()
        for key in taken:
            self.keys.remove(key)
        self.handed -= len(taken)
        return taken

    def listen(self) -> CallAnswer | None:
        """Its answer to the first of its calls, None while there is none; raises Closed when none will come."""
        while True:
            try:
                message = receive(self._answers)
            except BlockingIOError:
                return None
            except (OSError, ValueError) as error:
                raise Closed(str(error)) from error
            if message is None:
                raise Closed("the connection was closed")
            answer = _answer(message, self.keys[0] if self.keys else "")
            if answer is not None:
                self._count(answer)
                return answer

    def is_over(self) -> bool:
        """Whether it has ended. Looks without reaping: until then no other process has its number."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def let_go(self) -> None:
        """Close what is ours of it; what it does then is for it to know: it ends."""
        for each in (self._events, self._calls, self._unread, self._answers):
            each.close()

    def clean_up(self) -> None:
        """It is gone: so are the files that are not needed any more."""
        if self.spool:
            remove(self.spool)
            remove(result_beside(self.spool))

    def _send(self, message: bytes) -> bool:
        try:
            send(self._calls, message)
        except OSError:
            return False
        return True

    def _count(self, answer: CallAnswer) -> None:
        self.keys.popleft()
        self.overdue = False
        if self.answered:  # the first call also imported what it needs
            before_s = answer.took_s if self.average_s is None else self.average_s
            self.average_s = before_s + _NEWEST_SHARE * (answer.took_s - before_s)
        self.answered += 1
        self.resident_bytes = answer.resident_bytes


def start_process(
    launch: Launch,
    inherited: Encoded,
    *,
    stdin: int,
    log: int,
    spool: str,
    variables: Mapping[str, str],
    lifetime: Lifetime,
) -> WorkerProcess:
    """Start one in the directory of the task, writing to `log`; raises SpawnFailed.

    One with a spool serves many attempts, and carries the mark of none before it has received a call.
    """
    calls, unread = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours, answers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    passed = (unread.fileno(), answers.fileno())
    limits = (str(lifetime.calls_max), str(lifetime.age_max_s))
    options = (*map(str, passed), str(os.getpid()), f"{launch.store_id}:{IDLE}", *limits, spool)
    argv = [sys.executable, "-P", "-c", _PROGRAM, _PACKAGE, *options]
    try:
        # Our copy of `unread` stays open: it is how calls are taken back. That of `answers` must not.
        asked = replace(launch, command=argv, env=variables, task_id="" if spool else launch.task_id)
        child = spawn_into(log, asked, inherited, stdin=stdin, pass_fds=passed)
    except BaseException:
        for each in (calls, unread, ours):
            each.close()
        raise
    finally:
        answers.close()
    return WorkerProcess(child, (calls, unread), ours, cwd=launch.cwd, spool=spool)


def _given(arguments: str) -> tuple[list[Any], dict[str, Any]]:
    """A list is positional, an object is by name; the long form has both."""
    given = _read_json(arguments)
    if isinstance(given, list):
        return given, {}
    if not isinstance(given, dict):
        raise ValueError("the arguments of a Python task are a list or an object")
    if given.keys() != {"args", "kwargs"}:
        return [], given
    if not isinstance(given["args"], list) or not isinstance(given["kwargs"], dict):
        raise ValueError('"args" is a list and "kwargs" an object')
    return given["args"], given["kwargs"]


def _answer(message: bytes, attempt_key: str) -> CallAnswer | None:
    try:
        said = _read_answer(message)
        if said.key != attempt_key:
            return None  # a child that one of its calls forked
        return replace(said, value=None if said.value == "null" else _read_json(said.value))
    except (MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise Closed("what it sent is no answer") from error


_read_answer: Final = msgspec.json.Decoder(CallAnswer).decode
_decoder: Final = json.JSONDecoder()


def _read_json(text: str) -> Any:
    """As `json.loads` reads it, which looks for an encoding and for space around it each time."""
    with suppress(ValueError):
        value, end = _decoder.raw_decode(text)
        if end == len(text):
            return value
    return _decoder.decode(text)
