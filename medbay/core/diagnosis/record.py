"""The record a diagnosis is: what failed, how sure we are, what helps. Plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

CATEGORIES: Final = (
    "transient",
    "code_error",
    "test_failure",
    "timeout",
    "resource_exhaustion",
    "dependency_missing",
    "unknown",
)

Session = Literal["resume", "fresh"]


@dataclass(frozen=True, slots=True)
class Location:
    """Where the text itself says the error is."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return place if self.column is None else f"{place}:{self.column}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """The id of the rule that decided, and the exact excerpt it matched ("" for facts beyond the text)."""

    rule: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """Another reading that was considered and lost."""

    rule: str
    category: str
    subcategory: str | None
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What an analysis of a failed attempt found."""

    category: str
    subcategory: str | None
    confidence: float
    pattern: Pattern
    location: Location | None
    fingerprint: str
    summary: str
    suggested_fix: str
    retryable: bool
    retry_after_ms: int | None  # UTC milliseconds before which a retry is pointless
    provider: str | None
    charge: bool
    session: Session | None
    runners_up: tuple[RunnerUp, ...] = ()

    @property
    def kind(self) -> str:
        """`category/subcategory`, or the category alone."""
        return f"{self.category}/{self.subcategory}" if self.subcategory else self.category
