"""Opening files that others may have put in place: regular files only, never hanging, size capped.

Whatever is wrong is an OSError or a ValueError that says so in words.
"""

from __future__ import annotations

import os
import stat


def open_regular(path: str | os.PathLike[str], *, follow: bool = False) -> int:
    """A descriptor to read a file with; a link is followed only where a person may have made it."""
    # Without O_NONBLOCK a FIFO put in its place would hang whoever opens it.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError("not a regular file")
    return descriptor


def read_regular(path: str | os.PathLike[str], bytes_max: int, *, follow: bool = False) -> bytes:
    """All of a file; one that is larger is refused."""
    with open(open_regular(path, follow=follow), "rb") as handle:
        raw = handle.read(bytes_max + 1)
    if len(raw) > bytes_max:
        raise ValueError(f"larger than {bytes_max} bytes")
    return raw
