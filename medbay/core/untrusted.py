"""Text, numbers and JSON from elsewhere made harmless: printable, bounded, finite. Anybody may have written them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Final, NoReturn

CUT: Final = "…"


def printable(text: str) -> str:
    """Control characters, half surrogates and line ends become spaces."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def line(text: str, limit: int) -> str:
    """One line: what a log says cannot look like a line of ours."""
    return _cut(" ".join(printable(text[: limit * 4]).split()), limit)


def block(text: str, limit: int) -> str:
    """Lines without control characters, at most `limit` characters; the end of what is longer is cut off."""
    return _cut(lines(text[: limit * 4]).strip(), limit)


def lines(text: str) -> str:
    """The same lines without control characters, however long."""
    return "\n".join(map(printable, text.split("\n")))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + CUT


def number(value: object) -> float | None:
    """A finite number, written as one or as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


_DIGITS_MAX: Final = 18  # every whole number up to this fits into 64 bits


def decoder(
    *,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
    parse_constant: Callable[[str], Any] | None = None,
) -> json.JSONDecoder:
    """What reads JSON that others wrote: no number is too long for what comes after, and NaN is none unless wanted.

    Its methods raise ValueError, and RecursionError for what is nested too deep.
    """
    constant = parse_constant or _refuse
    return json.JSONDecoder(
        parse_int=_whole, parse_constant=constant, object_pairs_hook=object_pairs_hook, strict=False
    )


def parsed(text: str | bytes) -> Any:
    """What a text says as JSON. Raises ValueError for whatever is wrong with it, and nothing else."""
    try:
        return _DECODER.decode(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS_MAX else float(digits)  # infinite where even that is too small


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = decoder()
