"""The files that processes write to before it is known whose log they will be; one folder per store.

A command that writes nothing costs no file: the next one writes to the same. That is done only where the kernel says
that no process can write to it any more, for what a command left running may keep its output open.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

from medbay.errors import SpawnFailed
from medbay.places.files import NEW_FILE, make_directory, move, place, remove
from medbay.places.processes import identity_of, is_alive
from medbay.places.protocol import Identity, Launch

SPOOLS: Final = ".warm"  # the folder of these files, next to the logs
_APPEND: Final = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_numbers: Final = itertools.count(1)  # of this process, whichever engine of it asks


class Spools:
    """Names and makes them; each is named after its engine."""

    def __init__(self) -> None:
        me = identity_of(os.getpid())
        self._own = f"{os.getpid()}.{me.pid_start if me else 0}"
        self._seen: dict[str, str] = {}

    def name(self, launch: Launch) -> str:
        """A new one for a process of this attempt's store; what dead engines left there is removed first."""
        return f"{self.folder(launch)}/{self._own}.{next(_numbers)}"

    def result(self, launch: Launch) -> str:
        """Where a command may leave its result: a name of its own, for what it left running may write there late."""
        return f"{self.folder(launch)}/{self._own}.{launch.task_id}.{launch.number}.json"

    def folder(self, launch: Launch) -> str:
        """Where those of this attempt's store are."""
        logs = os.path.dirname(os.path.dirname(launch.log_path))
        if logs not in self._seen:
            self._seen[logs] = os.path.abspath(os.path.join(logs, SPOOLS))
            _remove_stale(Path(self._seen[logs]))
        return self._seen[logs]

    def open(self, path: str) -> int:
        """Make it, ours alone; raises SpawnFailed."""
        try:
            make_directory(os.path.dirname(path))
            return os.open(path, NEW_FILE, 0o600)
        except OSError as error:
            raise SpawnFailed(f"cannot create the log file {path}: {error.strerror}") from error


class CommandSpools:
    """Those of short commands, used again and again."""

    def __init__(self) -> None:
        self._spools = Spools()
        self._free: list[CommandSpool] = []

    def take(self, launch: Launch) -> tuple[CommandSpool, int]:
        """One that is empty and unused, and a descriptor for its next writer; raises SpawnFailed."""
        folder = self._spools.folder(launch)
        while self._free:
            spool = self._free.pop()
            if spool.folder == folder and (writer := spool.open()) >= 0:
                return spool, writer
            spool.drop()
        path = self._spools.name(launch)
        writer = self._spools.open(path)
        return CommandSpool(path), writer

    def result(self, launch: Launch) -> str:
        """Where a command may leave its result until it has ended."""
        return self._spools.result(launch)

    def settle(self, spool: CommandSpool, log: str, *, needed: bool) -> str:
        """Its command has ended: where its log is. One that wrote nothing needs none, unless it may yet write."""
        if not needed and not spool.shown and spool.is_nobodys():
            self._free.append(spool)
            return ""
        if not spool.show(log):
            return spool.path  # a full disk, perhaps: better under this name than lost
        spool.drop()
        return log

    def close(self) -> None:
        """Remove all that wait for a command."""
        while self._free:
            self._free.pop().drop()


class CommandSpool:
    """The file that one short command writes to, or several one after another as long as they write nothing."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.folder = os.path.dirname(path)
        self.shown = False  # it was made the log of its command, as far as that was possible
        self._look = os.open(path, _LOOK)
        fcntl.fcntl(self._look, fcntl.F_SETSIG, signal.SIGURG)  # what breaks a lease; the usual signal would end us

    def open(self) -> int:
        """A descriptor for the next writer; -1 when the file is gone."""
        try:
            return os.open(self.path, _APPEND)
        except OSError:
            return -1

    def size(self) -> int:
        """How much was written."""
        return os.fstat(self._look).st_size

    def is_nobodys(self) -> bool:
        """Whether it is empty and no process can write to it: a lease to read is only given while none can."""
        try:
            fcntl.fcntl(self._look, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(self._look, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError:  # it has a writer, or this file system knows no leases
            return False
        return self.size() == 0  # asked last: what could have written is gone

    def show(self, log: str) -> bool:
        """Let it be the log of its command from now on; whether it is."""
        self.shown = True
        try:
            place(self.path, log)
        except OSError:
            return _is_same(self._look, log)  # where there are no links it was moved before
        return True

    def drop(self) -> None:
        """It is not needed any more under this name."""
        os.close(self._look)
        with suppress(OSError):
            remove(self.path)


def _is_same(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except OSError:
        return False


def keep_result(left: str, result: str) -> bool:
    """Whether a command left a result, which then is where results are kept."""
    if not os.path.lexists(left):
        return False
    with suppress(OSError):  # then there is none to be read
        move(left, result)
    return True


def _remove_stale(folder: Path) -> None:
    with suppress(OSError):
        for name in os.listdir(folder):
            pid, _, rest = name.partition(".")
            start = rest.partition(".")[0]
            if pid.isdecimal() and start.isdecimal():
                owner = Identity(pid=int(pid), pid_start=int(start), group=0)
                if not is_alive(owner):
                    (folder / name).unlink(missing_ok=True)
