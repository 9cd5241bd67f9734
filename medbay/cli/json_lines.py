"""Files of JSON lines that people hand in: one object per line, and a bad line names itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

from medbay.errors import ConfigError, NotFound, UsageError

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
