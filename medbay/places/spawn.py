"""Starts one process straight into its log file, or says in plain words why it could not.

No shell of ours, no wrapper and no preexec_fn: each of them costs half the spawn rate or more.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medbay.core.shell import shell_words
from medbay.errors import SpawnFailed
from medbay.places.environment import Encoded, child_environment
from medbay.places.files import make_directory
from medbay.places.logs import note_line
from medbay.places.processes import identity_of
from medbay.places.protocol import Identity, Launch

_SHOWN_CHARS_MAX: Final = 200
_NEW_LOG: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Child:
    """A process of ours that was started and not yet reaped."""

    popen: subprocess.Popen[bytes]
    pidfd: int  # -1 where the kernel has none
    _identity: Identity | None = None

    @property
    def pid(self) -> int:
        """Its number, its own until it is reaped; it leads its session and its group."""
        return self.popen.pid

    @property
    def identity(self) -> Identity:
        """Looked up when it is asked for: right after the start the look waits until the command is loaded."""
        if self._identity is None:
            # Until it is reaped its pid is its own, so this sees that very process.
            found = identity_of(self.pid) if self.popen.returncode is None else None
            self._identity = found or Identity(pid=self.pid, pid_start=0, group=self.pid)
        return self._identity


def spawn(launch: Launch, inherited: Encoded, *, stdin: int) -> Child:
    """Start it in a session of its own; raises SpawnFailed, with the reason also in the log."""
    log = new_log(launch)
    try:
        if launch.stdin_path is None and launch.answer_path is None:
            return spawn_into(log, launch, inherited, stdin=stdin)
        return _spawn_answering(log, launch, inherited, stdin=stdin)
    finally:
        os.close(log)


def _spawn_answering(log: int, launch: Launch, inherited: Encoded, *, stdin: int) -> Child:
    """A process that is asked something: it reads a file and answers into another, its complaints go to the log."""
    opened: list[int] = []
    try:
        reads, answers = stdin, log
        if launch.stdin_path is not None:
            opened.append(_new_log(os.fspath(launch.stdin_path)))
            os.write(opened[0], launch.stdin_text.encode("utf-8", "replace"))
            reads = os.open(launch.stdin_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            opened.append(reads)
        if launch.answer_path is not None:
            answers = _new_log(os.fspath(launch.answer_path))
            opened.append(answers)
        return spawn_into(log, launch, inherited, stdin=reads, stdout=answers)
    except OSError as error:
        raise SpawnFailed(f"cannot open {launch.stdin_path}: {_words(error)}") from error
    finally:
        for each in opened:
            os.close(each)


def spawn_into(
    log: int,
    launch: Launch,
    inherited: Encoded,
    *,
    stdin: int,
    stdout: int | None = None,
    pass_fds: Sequence[int] = (),
) -> Child:
    """The same into a log that is open already, with more descriptors than the usual three."""
    outputs = (log if stdout is None else stdout, log)
    try:
        popen = _popen(launch, inherited, stdin=stdin, outputs=outputs, pass_fds=pass_fds)
    except (OSError, ValueError) as error:
        reason = _explain(error, launch)
        with suppress(OSError):
            os.write(log, note_line(reason))
        raise SpawnFailed(reason) from error
    return _child(popen)


def new_log(launch: Launch) -> int:
    """The new log of an attempt, open for appending, and room for its result next to it."""
    log = _new_log(launch.log_path)
    try:
        _clear_result(launch.result_path, launch.log_path)
    except (OSError, ValueError) as error:
        os.close(log)
        raise SpawnFailed(f"cannot make room for the result {launch.result_path}: {_words(error)}") from error
    return log


def _popen(
    launch: Launch, inherited: Encoded, *, stdin: int, outputs: tuple[int, int], pass_fds: Sequence[int]
) -> subprocess.Popen[bytes]:
    argv = arguments(launch.command, launch.shell)
    if not argv or not argv[0]:
        raise ValueError("the command is empty")
    return subprocess.Popen(
        argv,
        cwd=launch.cwd,
        env=child_environment(inherited, launch),
        stdin=stdin,
        stdout=outputs[0],
        stderr=outputs[1],
        close_fds=True,
        pass_fds=pass_fds,
        start_new_session=True,
    )


def arguments(command: Sequence[str] | str, shell: str = "") -> list[str]:
    """The argument list: a list as it is, a string through the shell because it was asked for."""
    return shell_words(shell, command) if isinstance(command, str) else list(command)


def _child(popen: subprocess.Popen[bytes]) -> Child:
    try:
        return Child(popen, os.pidfd_open(popen.pid))
    except OSError:
        return Child(popen, -1)


def _new_log(path: str) -> int:
    """A new file, ours alone; an old one of the same name is set aside, links are never followed."""
    try:
        try:
            return os.open(path, _NEW_LOG, 0o600)
        except FileNotFoundError:
            make_directory(os.path.dirname(path))
        except FileExistsError:
            os.replace(path, f"{path}.old")
        return os.open(path, _NEW_LOG, 0o600)
    except (OSError, ValueError) as error:
        raise SpawnFailed(f"cannot create the log file {path}: {_words(error)}") from error


def _clear_result(path: str, log_path: str) -> None:
    """The command finds room for its result and none of an earlier attempt."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        directory = os.path.dirname(path)
        if directory != os.path.dirname(log_path) and not os.path.isdir(directory or os.curdir):
            make_directory(directory)


def _explain(error: OSError | ValueError, launch: Launch) -> str:
    argv = arguments(launch.command, launch.shell)
    command = _shown(argv[0]) if argv else ""
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOENT, errno.ENOTDIR, errno.EACCES) and (wrong := explain_directory(launch.cwd)):
        return wrong
    match number:
        case errno.ENOENT if _is_there(argv[0], launch.cwd):
            return f"interpreter not found for command: {command} (ENOENT)"
        case errno.ENOENT | errno.ENOTDIR:
            return f"command not found: {command} ({errno.errorcode[number]})"
        case errno.EACCES | errno.EPERM:
            return f"permission denied: {command} ({errno.errorcode[number]})"
        case errno.ENOEXEC:
            return f"not an executable file: {command} (ENOEXEC)"
        case errno.E2BIG:
            return f"arguments or environment too long: {command} (E2BIG)"
        case _:
            return f"cannot start {command or 'nothing'}: {_words(error)}"


def explain_directory(cwd: Path) -> str:
    """Why nothing can run in this directory; empty when it can."""
    try:
        if not os.path.isdir(cwd):
            os.stat(cwd)
            return f"working directory is not a directory: {cwd} (ENOTDIR)"
        if not os.access(cwd, os.X_OK):
            return f"permission denied: working directory {cwd} (EACCES)"
    except FileNotFoundError:
        return f"working directory does not exist: {cwd} (ENOENT)"
    except OSError as error:
        return f"working directory cannot be used: {cwd}: {_words(error)}"
    return ""


def _is_there(command: str, cwd: Path) -> bool:
    return "/" in command and os.path.isfile(os.path.join(cwd, command))


def _shown(command: str) -> str:
    short = command[:_SHOWN_CHARS_MAX]
    return short if short.isprintable() else ascii(short)


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return f"{os.strerror(error.errno)} ({errno.errorcode.get(error.errno, error.errno)})"
    return str(error)[:_SHOWN_CHARS_MAX]


def write_private(path: str, text: str) -> None:
    """Write a new file for its owner only; what was there is replaced, links are never followed."""
    try:
        make_directory(os.path.dirname(path))
        with suppress(FileNotFoundError):
            os.unlink(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(path, flags, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise SpawnFailed(f"cannot write {path}: {error.strerror or error}") from error
