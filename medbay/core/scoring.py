"""What a policy came to over many failing tasks: the figures by which two of them are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

# Healed by itself; brought to a person; neither when the record or the night ended.
End = Literal["healed", "blocked", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """How one failing task went under one policy."""

    end: End
    wasted: int  # attempts that failed
    tokens: int = 0  # that they used
    heal_ms: int | None = None  # from the first failure to the end of the attempt that succeeded
    person: str | None = None  # which question it joined, where a person was called
    guessed: int = 0  # attempts whose end is not known from the record but assumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The figures of one policy."""

    tasks: int  # or runs of failures, where they are taken from a record
    healed: int
    blocked: int
    open: int
    wasted: int
    tokens: int
    people: int  # questions, not tasks: several may wait for one
    median_ms: int | None
    p95_ms: int | None
    guessed: int = 0


def score(played: Iterable[Played]) -> Score:
    """Sum up how the tasks went."""
    each = tuple(played)
    heals = sorted(one.heal_ms for one in each if one.heal_ms is not None)
    return Score(
        tasks=len(each),
        healed=sum(one.end == "healed" for one in each),
        blocked=sum(one.end == "blocked" for one in each),
        open=sum(one.end == "open" for one in each),
        wasted=sum(one.wasted for one in each),
        tokens=sum(one.tokens for one in each),
        people=len({one.person for one in each if one.person is not None}),
        median_ms=_at(heals, 0.5),
        p95_ms=_at(heals, 0.95),
        guessed=sum(one.guessed for one in each),
    )


def _at(ordered: Sequence[int], share: float) -> int | None:
    """The smallest value that at least this share of all do not exceed."""
    return ordered[max(0, -(-len(ordered) * round(share * 100) // 100) - 1)] if ordered else None
