"""What was diagnosed before: a fleet fails with the same words again and again. The same answer, in microseconds.

Only a memory of a pure function: what is in it never changes an answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from medbay.core.diagnosis.record import Diagnosis

KEPT_MAX: Final = 512  # diagnoses, each of a few KB at most


@dataclass(frozen=True, slots=True)
class Known:
    """A diagnosis without its time, and the lines that may name one: they are read again with each call's clock."""

    diagnosis: Diagnosis
    times: str


class Memory:
    """The last diagnoses by what they were made from. Threads may share it: at worst something is read twice."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Known] = {}

    def get(self, key: Hashable) -> Known | None:
        """What was found for this key before."""
        return self._known.get(key)

    def keep(self, key: Hashable, known: Known) -> Known:
        """Remember it, in place of the oldest when there are too many."""
        if len(self._known) >= KEPT_MAX:
            self._known.pop(next(iter(self._known), key), None)
        self._known[key] = known
        return known


def digest(text: str) -> bytes:
    """Sixteen bytes that stand for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
