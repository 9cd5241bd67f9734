"""Text that a person hands in: a file, or stdin for `-`."""

from __future__ import annotations

import sys
from typing import BinaryIO, Final

from medbay.cli.output import note
from medbay.errors import NotFound, UsageError

BYTES_MAX: Final = 64 * 1024 * 1024


def opened(name: str) -> BinaryIO:
    """The file, or stdin."""
    if name == "-":
        if sys.stdin.isatty():
            note("reading from the keyboard; Ctrl-D ends it")
        return sys.stdin.buffer
    try:
        return open(name, "rb")
    except FileNotFoundError:
        raise NotFound(f"there is no file {name}", hint="name a file, or - for stdin") from None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}", hint="name a file, or - for stdin") from None


def text_of(name: str) -> str:
    """The whole text; of a very long one its end, where the error is."""
    with opened(name) as stream:
        try:
            data = stream.read(BYTES_MAX)
            while more := stream.read(BYTES_MAX):
                data = (data + more)[-BYTES_MAX:]
        except OSError as error:
            raise UsageError(f"cannot read {name}: {error.strerror}", hint="name a file, or - for stdin") from None
    return data.decode("utf-8", "replace")
