"""Messages between the engine and a worker process: each is a file in memory whose descriptor is passed.

So neither side ever waits for the other to read, and a message is there whole or not at all.
"""

from __future__ import annotations

import array
import json
import os
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

_DESCRIPTORS_MAX: Final = 4
_MESSAGE_BYTES_MAX: Final = 16_000_000


def send(channel: socket.socket, message: Mapping[str, Any], *descriptors: int) -> None:
    """Send a message, and open files with it; raises OSError when nobody takes it."""
    file = os.memfd_create("medbay-message", os.MFD_CLOEXEC)
    try:
        with open(file, "wb", closefd=False) as stream:
            stream.write(json.dumps(message).encode())
        socket.send_fds(channel, [b"m"], [file, *descriptors])
    finally:
        os.close(file)


def receive(channel: socket.socket) -> tuple[Any, list[int]] | None:
    """The next message and the files with it; None at the end. Raises OSError, or ValueError for no message."""
    found = array.array("i")
    # Not socket.recv_fds: it drops its flags, and what is received has to be closed in children.
    room = socket.CMSG_SPACE(_DESCRIPTORS_MAX * found.itemsize)
    data, extra, _, _ = channel.recvmsg(16, room, socket.MSG_CMSG_CLOEXEC)
    for level, kind, packed in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(packed[: len(packed) - len(packed) % found.itemsize])
    if not data and not found:
        return None
    try:
        message = _read(found[0] if found else -1)
    except (OSError, ValueError, RecursionError) as error:
        _close(found.tolist())
        raise ValueError("this is no message") from error
    _close(found[:1].tolist())
    return message, found[1:].tolist()


def _read(descriptor: int) -> Any:
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_size > _MESSAGE_BYTES_MAX:
        raise ValueError("not a message")
    return json.loads(os.pread(descriptor, about.st_size, 0))


def _close(descriptors: list[int]) -> None:
    for each in descriptors:
        with suppress(OSError):
            os.close(each)
