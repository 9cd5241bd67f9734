"""What models cost, as data with a date. A tool that reckons its cost itself is believed before this table.

A model that is not here has no price: its tokens are counted, its cost is unknown and said to be so.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

AS_OF: Final = "2026-11-01"


class Price(Struct, frozen=True):
    """Money for a million tokens: plain input, input read from a cache, input written to one, output."""

    plain: float
    cached: float
    written: float
    out: float


# By the beginning of a model's name; the longest that fits counts.
PRICES: Final[dict[str, Price]] = {
    "claude-opus-5-5": Price(4.0, 0.2, 5.0, 20.0),
    "claude-opus-4-1": Price(15.0, 1.5, 18.75, 75.0),
    "claude-opus-4-2": Price(15.0, 1.5, 18.75, 75.0),
    "claude-opus": Price(5.0, 0.5, 6.25, 25.0),
    "claude-sonnet": Price(3.0, 0.3, 3.75, 15.0),
    "claude-haiku": Price(1.0, 0.1, 1.25, 5.0),
    "gpt-5-mini": Price(0.25, 0.025, 0.25, 2.0),
    "gpt-5-nano": Price(0.05, 0.005, 0.05, 0.4),
    "gpt-5": Price(1.25, 0.125, 1.25, 10.0),
    "gemini-2.5-pro": Price(1.25, 0.31, 1.25, 10.0),
    "gemini-2.5-flash": Price(0.3, 0.075, 0.3, 2.5),
}
USUAL: Final = Price(1.0, 0.1, 1.25, 5.0)  # how prices stand to each other where only their ratio matters


def price_of(model: str) -> Price | None:
    """The price of a model, as it is called with or without its provider; None when it is not known."""
    name = model.rpartition("/")[2].lower()
    found = max((each for each in PRICES if name.startswith(each)), key=len, default=None)
    return PRICES[found] if found is not None else None
