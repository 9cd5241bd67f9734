"""The files that processes write to. A warm worker has one for call after call: it becomes the log of a long output.

A call that writes nothing, or so little that the store keeps all of it, costs no file. While a call lasts, the engine
may already show the file as its log: both sides use `place`, and what a file is called says nothing, only which file it
is.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

TEXT_BYTES_MAX: Final = 4_096  # output up to this is part of the answer and kept in the store, without a file
NEW_FILE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})


class Spool:
    """The file of one worker process, and next to it the one that calls may leave their result in."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = os.dup(1)
        self._null = os.fstat(0).st_rdev

    def restore(self) -> None:
        """Standard input, output and error as they were; raises OSError when they cannot be."""
        own = os.fstat(self._file).st_ino
        for number in (1, 2):
            if not _is(number, own):
                os.dup2(self._file, number)
        if not _is_device(0, self._null):
            nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            os.dup2(nothing, 0)
            os.close(nothing)

    def hand_out(self, log: str, result: str) -> dict[str, Any]:
        """What the call wrote becomes its own; how much that was, its text when it is short, whether it has a log."""
        answer: dict[str, Any] = {}
        left = result_beside(self.path)
        if os.path.lexists(left):
            move(left, result)
            answer["result"] = True
        about = os.fstat(self._file)
        shown = about.st_nlink > 1 and _is_file(log, about.st_ino)  # a link may also have come too late for another
        if about.st_size <= TEXT_BYTES_MAX:
            written = os.pread(self._file, TEXT_BYTES_MAX, 0) if about.st_size else b""
            answer["text"] = text = written.decode("utf-8", "replace").replace("\0", "\ufffd")
            as_it_is = not answer.get("result") and text.encode() == written
            if not shown and (not written or (as_it_is and not os.path.lexists(log))):  # then the store keeps all of it
                if written:
                    os.ftruncate(self._file, 0)
                return {**answer, "bytes": len(written), "log": False}
        place(self.path, log)
        self._renew()
        return {**answer, "bytes": about.st_size, "log": True}

    def _renew(self) -> None:
        remove(self.path)
        new = os.open(self.path, NEW_FILE, 0o600)
        for number in (self._file, 1, 2):
            os.dup2(new, number, number != self._file)
        os.close(new)


def result_beside(spool: str) -> str:
    """The file that a call of this process may leave its result in."""
    return f"{spool}.json"


def place(spool: str, log: str) -> None:
    """Let this file be the log, under its name too; an old file of that name is set aside."""
    try:
        link(spool, log)
    except FileExistsError:
        if not os.path.samefile(spool, log):
            os.replace(log, f"{log}.old")
            link(spool, log)


def link(spool: str, log: str) -> None:
    """Show this file as the log; raises FileExistsError when there is one. Without links, it is moved."""
    try:
        os.link(spool, log)
    except FileNotFoundError:
        make_directory(os.path.dirname(log))
        os.link(spool, log)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(log):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), log) from error
        os.rename(spool, log)


def move(source: str, target: str) -> None:
    """Move a file, into a directory that need not be there yet."""
    try:
        os.rename(source, target)
    except FileNotFoundError:
        make_directory(os.path.dirname(target))
        os.rename(source, target)


def remove(path: str) -> None:
    """Remove a file that may be gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def make_directory(path: str) -> None:
    """Like makedirs, but what it makes is for the owner only at every level."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        parent = os.path.dirname(path)
        if parent in ("", path):
            raise  # nothing above it to make: our own directory was removed
        make_directory(parent)
        make_directory(path)


def _is(number: int, inode: int) -> bool:
    try:
        return os.fstat(number).st_ino == inode
    except OSError:
        return False


def _is_device(number: int, device: int) -> bool:
    try:
        return os.fstat(number).st_rdev == device
    except OSError:
        return False


def _is_file(path: str, inode: int) -> bool:
    try:
        return os.lstat(path).st_ino == inode
    except OSError:
        return False
