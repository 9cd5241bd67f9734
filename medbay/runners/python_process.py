"""One worker process as the engine sees it: started, handed a call, listened to, let go."""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from medbay.core.feeding import needs_own_process
from medbay.runners.environment import Encoded, own_variables
from medbay.runners.protocol import Launch
from medbay.runners.python_channel import receive, send
from medbay.runners.spawn import Child, spawn_into

IDLE: Final = "idle"  # in place of task and number in the mark of a process between two calls: no attempt's key
_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv.pop(1)); from medbay.runners.python_worker import main; main(sys.argv[1:])"
)
_PACKAGE: Final = str(Path(__file__).parents[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a worker process is asked to do."""

    target: str
    arguments: str
    isolated: bool  # in a process of its own: asked for, or because a limit or variable counts from its start

    @classmethod
    def of(cls, launch: Launch) -> Call:
        """From the command of a task: target, arguments, and perhaps the word `isolated`; raises ValueError."""
        command = launch.command
        if isinstance(command, str) or len(command) < 2:
            raise ValueError("a Python task has a command of target and arguments")
        isolated = launch.cpu_s is not None or needs_own_process(command, launch.env)
        return cls(target=command[0], arguments=_normal(command[1]), isolated=isolated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a worker process said at the end of a call."""

    begun: bool  # False: it knows an older version of the code, and somebody else has to do it
    keep: bool  # whether it waits for the next call
    code: int = 0
    value: Any = None
    error: Mapping[str, Any] | None = None
    summary: str = ""
    retry_after: Any = None
    left: str = ""
    resident_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """When a worker process has served long enough."""

    calls_max: int = 100
    age_max_s: float = 600.0


class Closed(Exception):
    """The worker process closed its end, or sent what is no answer."""


class WorkerProcess:
    """A process that makes one call at a time."""

    def __init__(self, child: Child, channel: socket.socket, *, cwd: Path) -> None:
        self.child = child
        self.cwd = cwd
        self.resident_bytes = 0
        channel.setblocking(False)
        self._channel = channel
        self._events = select.epoll()
        self._events.register(channel, select.EPOLLIN)
        if child.pidfd >= 0:
            self._events.register(child.pidfd, select.EPOLLIN)

    @property
    def pid(self) -> int:
        """Its number, ours until it is reaped."""
        return self.child.identity.pid

    def fileno(self) -> int:
        """Readable when it answered or ended."""
        return self._events.fileno()

    def hand(self, call: Call, launch: Launch, *, log: int) -> bool:
        """Hand it a call without waiting; False when it takes none any more."""
        asked = {
            "key": launch.attempt_key,
            "target": call.target,
            "arguments": call.arguments,
            "isolated": call.isolated,
            "cwd": os.path.abspath(launch.cwd),
            "env": own_variables(launch),
        }
        try:
            send(self._channel, asked, log)
        except OSError:
            return False
        return True

    def listen(self, attempt_key: str) -> Answer | None:
        """Its answer to this attempt, None while there is none; raises Closed when none will come."""
        try:
            found = receive(self._channel)
        except BlockingIOError:
            return None
        except (OSError, ValueError) as error:
            raise Closed(str(error)) from error
        if found is None:
            raise Closed("the connection was closed")
        return _answer(found[0], attempt_key)

    def let_go(self) -> None:
        """Close what is ours of it; what it does then is for it to know: it ends."""
        self._events.close()
        self._channel.close()


def start_process(
    launch: Launch, inherited: Encoded, *, stdin: int, log: int, variables: Mapping[str, str], lifetime: Lifetime
) -> WorkerProcess:
    """Start one in the directory of the task; raises SpawnFailed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    idle_key = f"{launch.store_id}:{IDLE}"
    limits = (str(lifetime.calls_max), str(lifetime.age_max_s))
    argv = [sys.executable, "-P", "-c", _PROGRAM, _PACKAGE, str(theirs.fileno()), str(os.getpid()), idle_key, *limits]
    try:
        child = spawn_into(
            log,
            replace(launch, command=argv, env=variables),
            inherited,
            stdin=stdin,
            pass_fds=(theirs.fileno(),),
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return WorkerProcess(child, ours, cwd=launch.cwd)


def _normal(arguments: str) -> str:
    """A list is positional, an object is by name; the long form has both."""
    given = json.loads(arguments)
    if isinstance(given, list):
        given = {"args": given, "kwargs": {}}
    elif not isinstance(given, dict):
        raise ValueError("the arguments of a Python task are a list or an object")
    elif given.keys() != {"args", "kwargs"}:
        given = {"args": [], "kwargs": given}
    return json.dumps(given)


def _answer(said: Any, attempt_key: str) -> Answer | None:
    try:
        if said["key"] != attempt_key:
            return None  # a child that one of its calls forked
        return Answer(
            begun=bool(said["begun"]),
            keep=bool(said["keep"]),
            code=int(said.get("code", 0)),
            value=json.loads(said.get("value", "null")),
            error=said.get("error"),
            summary=str(said.get("summary", "")),
            retry_after=said.get("retry_after"),
            left=str(said.get("left", "")),
            resident_bytes=int(said.get("resident", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Closed("what it sent is no answer") from error
