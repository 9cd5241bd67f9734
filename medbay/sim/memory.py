"""Diagnosis is pure and simulated work fails with few texts: each is diagnosed once, then remembered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from msgspec.structs import replace

from medbay.core.attempt import diagnosed
from medbay.core.diagnosis import Diagnosis, diagnose


class RememberedDiagnosis:
    """Diagnoses by what was printed. The texts of the simulation name times from now on, never dates."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[Diagnosis, datetime]] = {}

    def __call__(self, text: str, *, now: datetime, **facts: Any) -> Diagnosis:
        """The diagnosis of this text, with the time it names moved to now."""
        key = (text, *sorted((name, repr(value)) for name, value in facts.items()))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (diagnose(text, now=now, **facts), now)
        found, then = known
        if found.retry_after_ms is None:
            return found
        return replace(found, retry_after_ms=found.retry_after_ms + (now - then) // timedelta(milliseconds=1))


@contextmanager
def remembered_diagnoses() -> Iterator[None]:
    """Within this block the rules ask the memory instead of reading the same text again."""
    before = vars(diagnosed)["diagnose"]
    setattr(diagnosed, "diagnose", _memory())  # noqa: B010 (a function is replaced, on purpose)
    try:
        yield
    finally:
        setattr(diagnosed, "diagnose", before)  # noqa: B010


@cache
def _memory() -> RememberedDiagnosis:
    """One for all worlds of a process: they fail with the same texts."""
    return RememberedDiagnosis()
