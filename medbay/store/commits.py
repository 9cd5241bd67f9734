"""Hearing of other processes' commits to a SQLite file: the kernel says when its write-ahead log is written."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import Final

_MODIFIED: Final = 0x2  # IN_MODIFY
_AT_ONCE: Final = 4_096


class Commits:
    """A descriptor that is readable after somebody wrote to the log. The commit itself may be seen a moment later."""

    def __init__(self, path: str) -> None:
        self._descriptor = _watch(os.fsencode(f"{path}-wal"))

    def fileno(self) -> int:
        """The descriptor; -1 where the kernel cannot tell, and one has to look."""
        return self._descriptor

    def take(self) -> None:
        """Forget what was said."""
        if self._descriptor >= 0:
            with suppress(BlockingIOError):
                while len(os.read(self._descriptor, _AT_ONCE)) == _AT_ONCE:
                    pass

    def close(self) -> None:
        """Listen no more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _watch(path: bytes) -> int:
    try:
        libc = ctypes.CDLL(None)
        descriptor: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, AttributeError):  # no Linux
        return -1
    if descriptor >= 0 and libc.inotify_add_watch(descriptor, path, ctypes.c_uint32(_MODIFIED)) < 0:
        os.close(descriptor)
        return -1
    return descriptor
