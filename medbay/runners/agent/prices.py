"""What models cost, as data with a date. A tool that reckons its cost itself is believed before this table.

A model that is not here has no price: its tokens are counted, its cost is unknown and said to be so. The prices are the
providers' list prices for ordinary calls (platform.claude.com/docs/en/about-claude/pricing,
developers.openai.com/api/docs/pricing, ai.google.dev/gemini-api/docs/pricing); what a very long prompt, a fast or a
batch call costs more or less is not in them.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

AS_OF: Final = "2026-11-18"


class Price(Struct, frozen=True):
    """Money for a million tokens: plain input, input read from a cache, input written to one, output."""

    plain: float
    cached: float
    written: float
    out: float


# By the whole name of a model; a date or a word like `latest` may follow it.
PRICES: Final[dict[str, Price]] = {
    "claude-fable-5-1": Price(10.0, 0.25, 12.5, 50.0),
    "claude-fable-5": Price(10.0, 1.0, 12.5, 50.0),
    "claude-opus-5-5": Price(4.0, 0.2, 5.0, 20.0),
    "claude-opus-5": Price(5.0, 0.5, 6.25, 25.0),
    "claude-opus-4-8": Price(5.0, 0.5, 6.25, 25.0),
    "claude-opus-4-7": Price(5.0, 0.5, 6.25, 25.0),
    "claude-opus-4-6": Price(5.0, 0.5, 6.25, 25.0),
    "claude-opus-4-5": Price(5.0, 0.5, 6.25, 25.0),
    "claude-opus-4-1": Price(15.0, 1.5, 18.75, 75.0),
    "claude-opus-4": Price(15.0, 1.5, 18.75, 75.0),
    "claude-sonnet-5-5": Price(2.0, 0.1, 2.5, 10.0),
    "claude-sonnet-5": Price(2.0, 0.2, 2.5, 10.0),
    "claude-sonnet-4-6": Price(3.0, 0.3, 3.75, 15.0),
    "claude-sonnet-4-5": Price(3.0, 0.3, 3.75, 15.0),
    "claude-sonnet-4": Price(3.0, 0.3, 3.75, 15.0),
    "claude-haiku-5-5": Price(0.1, 0.01, 0.125, 0.5),
    "claude-haiku-4-5": Price(1.0, 0.1, 1.25, 5.0),
    "gpt-6-astra": Price(10.0, 1.0, 12.5, 50.0),
    "gpt-6.1-sol": Price(2.0, 0.1, 2.5, 10.0),
    "gpt-6-sol": Price(2.0, 0.2, 2.5, 10.0),
    "gpt-6-luna": Price(0.1, 0.01, 0.125, 0.5),
    "gpt-5.6-sol": Price(4.0, 0.4, 5.0, 20.0),
    "gpt-5.6-terra": Price(2.0, 0.2, 2.5, 12.0),
    "gpt-5.6-luna": Price(0.2, 0.02, 0.25, 1.2),
    "gpt-5.5": Price(5.0, 0.5, 5.0, 30.0),
    "gpt-5.4": Price(2.5, 0.25, 2.5, 15.0),
    "gpt-5.4-mini": Price(0.75, 0.075, 0.75, 4.5),
    "gpt-5.4-nano": Price(0.2, 0.02, 0.2, 1.25),
    "gpt-5.3-codex": Price(1.75, 0.175, 1.75, 14.0),
    "gpt-5": Price(1.25, 0.125, 1.25, 10.0),
    "gpt-5-mini": Price(0.25, 0.025, 0.25, 2.0),
    "gpt-5-nano": Price(0.05, 0.005, 0.05, 0.4),
    "gemini-3.8-flash": Price(0.75, 0.075, 0.75, 3.75),
    "gemini-3.7-flash": Price(0.75, 0.075, 0.75, 3.75),
    "gemini-3.6-flash": Price(0.75, 0.075, 0.75, 3.75),
    "gemini-3.5-flash": Price(1.5, 0.15, 1.5, 9.0),
    "gemini-3.5-flash-lite": Price(0.3, 0.03, 0.3, 2.5),
    "gemini-3.1-pro": Price(2.0, 0.2, 2.0, 12.0),
    "gemini-2.5-pro": Price(1.25, 0.125, 1.25, 10.0),
    "gemini-2.5-flash": Price(0.3, 0.03, 0.3, 2.5),
}
USUAL: Final = Price(1.0, 0.1, 1.25, 5.0)  # how prices stand to each other where only their ratio matters
_EDITION: Final = re.compile(r"[-@]?(?:20\d{2}-?\d{2}-?\d{2}|latest|preview)(?:-customtools)?$|\[1m\]$")


def price_of(model: str) -> Price | None:
    """The price of a model, as it is called with or without its provider and its edition; None when it is not known."""
    name = model.rpartition("/")[2].lower()
    return PRICES.get(name) or PRICES.get(_EDITION.sub("", name))
