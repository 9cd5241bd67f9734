"""Messages between the engine and a worker process: a datagram, or for a large one a file in memory that is passed.

So neither side waits for the other to read, and a message is there whole or not at all. A datagram is received by
exactly one reader: who takes back what was sent knows that no other reader has seen it.
"""

from __future__ import annotations

import _socket
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_PLAIN_BYTES_MAX: Final = 16_000  # nine of them fit into what a socket holds unread
_MESSAGE_BYTES_MAX: Final = 16_000_000
_PASSED: Final = b"m"
_INT_BYTES: Final = 4
_NOW: Final = _socket.MSG_DONTWAIT | _socket.MSG_NOSIGNAL
_TAKE: Final = _socket.MSG_DONTWAIT | _socket.MSG_CMSG_CLOEXEC
_ROOM: Final = _socket.CMSG_SPACE(4 * _INT_BYTES)


def send(channel: _socket.socket, message: bytes, *, wait: bool = False) -> None:
    """Send a message; raises OSError when it has no reader, or when it does not fit and we do not wait."""
    flags = _socket.MSG_NOSIGNAL if wait else _NOW
    if len(message) <= _PLAIN_BYTES_MAX:
        channel.send(message, flags)
        return
    file = os.memfd_create("medbay-message", os.MFD_CLOEXEC)
    try:
        with open(file, "wb", closefd=False) as stream:
            stream.write(message)
        passed = file.to_bytes(_INT_BYTES, sys.byteorder)
        channel.sendmsg([_PASSED], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)], flags)
    finally:
        os.close(file)


def receive(channel: _socket.socket) -> bytes | None:
    """The next message; None at the end. Raises BlockingIOError when there is none now, ValueError for no message."""
    data, extra, _, _ = channel.recvmsg(_PLAIN_BYTES_MAX + 1, _ROOM, _TAKE)
    if not extra:
        return data or None
    files = [
        int.from_bytes(packed[at : at + _INT_BYTES], sys.byteorder)
        for level, kind, packed in extra
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS)
        for at in range(0, len(packed) - _INT_BYTES + 1, _INT_BYTES)
    ]
    try:
        return _read(files[0])
    except (OSError, IndexError) as error:
        raise ValueError("this is no message") from error
    finally:
        for each in files:
            os.close(each)


def _read(descriptor: int) -> bytes:
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_size > _MESSAGE_BYTES_MAX:
        raise ValueError("not a message")
    return os.pread(descriptor, about.st_size, 0)
