"""Files that a person hands in, or stdin for `-`: text, or JSON lines of which a bad one is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from medbay.cli.output import note
from medbay.errors import ConfigError, NotFound, UsageError

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


_LINE_BYTES_MAX: Final = 4_000_000


def read_lines(file: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every line with its number; blank ones are skipped."""
    try:
        with sys.stdin.buffer if file == "-" else open(file, "rb") as stream:
            for number, raw in enumerate(iter(lambda: stream.readline(_LINE_BYTES_MAX), b""), start=1):
                if raw.strip():
                    yield number, _parse(raw, name, number)
    except FileNotFoundError:
        raise NotFound(f"there is no file {name}", hint="name a file of JSON lines") from None
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}", hint="name a file of JSON lines") from None


def _parse(raw: bytes, name: str, number: int) -> dict[str, Any]:
    def wrong(message: str) -> ConfigError:
        return ConfigError(message, file=name, line=number, hint="nothing was added")

    try:
        line = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        raise wrong("is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise wrong(f"is not JSON: {said}") from None
    if not isinstance(line, dict):
        raise wrong(f"is not a JSON object but {type(line).__name__}")
    return line
