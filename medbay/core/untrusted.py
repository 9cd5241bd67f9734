"""Text and numbers from elsewhere made harmless: printable, bounded, finite. A log or a model may have written them."""

from __future__ import annotations

import math
from typing import Final

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
