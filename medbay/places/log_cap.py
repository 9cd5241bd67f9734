"""Keeps a growing log to its head and tail by punching out its middle while the command writes.

The command writes straight into the file and notices nothing; the file keeps its size and loses its blocks.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

_KEEP_SIZE_PUNCH_HOLE: Final = 0x01 | 0x02
_BLOCK_BYTES: Final = 4_096
_BLOCK_BYTES_MAX: Final = 1 << 20
_FIRST_S: Final = 0.1
_FAST_S: Final = 0.05
_SLOW_S: Final = 1.0
_UNSUPPORTED: Final = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EPERM})

Punch = Callable[[int, int, int], int]


class LogCap:
    """The size limit of one log; looks more often the faster the log grows."""

    def __init__(
        self,
        path: str | Path,
        monotonic_s: float,
        *,
        head_bytes: int,
        tail_bytes: int,
        punch: Punch | None = None,
        beside: LogCap | None = None,
    ) -> None:
        """`beside` is that of another file the same command writes: both are checked together."""
        self.next_s = monotonic_s + _FIRST_S
        self.path = path
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._punch = punch or punch_hole
        self._beside = beside
        self._interval_s = _FIRST_S
        self._size = 0
        self._punched = 0

    def keep(self, monotonic_s: float) -> bool:
        """Look at the size and punch when it is time; False when the limit is passed and cannot be kept."""
        if monotonic_s < self.next_s:
            return True
        both = [each for each in (self, self._beside) if each is not None]
        kept = [each._keep(slack_bytes=each._tail_bytes // 4) for each in both]
        self.next_s = monotonic_s + min(each._interval_s for each in both)
        return all(kept)

    def close(self) -> None:
        """After the end: drop the rest of what is over the limit."""
        self._keep(slack_bytes=0)
        if self._beside is not None:
            self._beside.close()

    def _keep(self, *, slack_bytes: int) -> bool:
        try:
            size = os.stat(self.path, follow_symlinks=False).st_size
        except OSError:
            return True  # it was removed: nothing there to limit
        grown, self._size = size - self._size, size
        self._interval_s = _FAST_S if grown > self._tail_bytes else min(_SLOW_S, self._interval_s * 2)
        if size < self._punched:
            self._punched = 0  # the command truncated its own output
        if size - self._tail_bytes - max(self._punched, self._head_bytes) <= slack_bytes:
            return True
        return self._drop_middle(size)

    def _drop_middle(self, size: int) -> bool:
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return True
        try:
            # Only whole blocks are freed; part of one would be overwritten with zeros instead.
            block = min(max(_BLOCK_BYTES, os.fstat(descriptor).st_blksize), _BLOCK_BYTES_MAX)
            begin = -(-self._head_bytes // block) * block
            end = (size - self._tail_bytes) // block * block
            if end <= begin:
                return True
            failed = self._punch(descriptor, begin, end - begin)
        finally:
            os.close(descriptor)
        if failed in _UNSUPPORTED:
            return False
        if not failed:
            self._punched = end
        return True  # any other error is tried again at the next look


def punch_hole(descriptor: int, offset: int, length: int) -> int:
    """Free this range of a file; 0, or the errno."""
    result = _fallocate()(descriptor, _KEEP_SIZE_PUNCH_HOLE, offset, length)
    return ctypes.get_errno() if result else 0


@functools.cache
def _fallocate() -> Callable[[int, int, int, int], int]:
    libc = ctypes.CDLL(None, use_errno=True)
    # fallocate64 is glibc's name for 64-bit offsets everywhere; musl has only the one.
    function = getattr(libc, "fallocate64", None) or libc.fallocate
    function.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    function.restype = ctypes.c_int
    call: Callable[[int, int, int, int], int] = function
    return call
