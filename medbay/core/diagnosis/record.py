"""The record a diagnosis is: what failed, how sure we are, what helps. Plain frozen data."""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import Struct

from medbay.core.durations import iso

CATEGORIES: Final = (
    "transient",
    "code_error",
    "test_failure",
    "timeout",
    "resource_exhaustion",
    "dependency_missing",
    "unknown",
)

SURE_FROM: Final = 0.8  # a person is asked at once from here on, and is told of doubt below
Session = Literal["resume", "fresh"]


class Location(Struct, frozen=True):
    """Where the text itself says the error is."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return place if self.column is None else f"{place}:{self.column}"


class Pattern(Struct, frozen=True):
    """The id of the rule that decided, the exact excerpt it matched ("" for facts beyond the text), and its lines.

    `lines` is the excerpt with the rest of its lines, `number` that of the first in the whole output, from 1.
    """

    rule: str
    excerpt: str = ""
    lines: str = ""
    number: int | None = None

    @property
    def evidence(self) -> str:
        """What shows it to a person: whole lines of the log with their number where it is known."""
        shown = self.lines or self.excerpt
        return f"line {self.number}: {shown}" if shown and self.number is not None else shown


class RunnerUp(Struct, frozen=True):
    """Another reading that was considered and lost."""

    rule: str
    category: str
    subcategory: str | None
    confidence: float


class Diagnosis(Struct, frozen=True, kw_only=True):
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


def known(subcategory: str, *, rule: str, excerpt: str, summary: str, suggested_fix: str) -> Diagnosis:
    """An `unknown` with a name of its own: retryable, free, certain."""
    return Diagnosis(
        category="unknown",
        subcategory=subcategory,
        confidence=1.0,
        pattern=Pattern(rule, excerpt),
        location=None,
        fingerprint=f"unknown:{subcategory}",
        summary=summary,
        suggested_fix=suggested_fix,
        retryable=True,
        retry_after_ms=None,
        provider=None,
        charge=False,
        session=None,
    )


def doubt(diagnosis: Diagnosis) -> str:
    """Return that the rules doubt, and what else it may be; nothing where they are sure or know nothing."""
    if diagnosis.confidence >= SURE_FROM or diagnosis.kind == "unknown":
        return ""
    others = [f"{r.category}/{r.subcategory}" if r.subcategory else r.category for r in diagnosis.runners_up]
    may_be = f"it may also be {' or '.join(others[:2])}" if others else "read the evidence first"
    return f"not sure that it is {diagnosis.kind} ({diagnosis.confidence:.2f}): {may_be}"


def facts(diagnosis: Diagnosis) -> dict[str, Any]:
    """A diagnosis as plain data, for events and `--json`."""
    place = diagnosis.location
    return {
        "category": diagnosis.category,
        "subcategory": diagnosis.subcategory,
        "confidence": round(diagnosis.confidence, 3),
        "rule": diagnosis.pattern.rule,
        "excerpt": diagnosis.pattern.excerpt,
        "evidence": {"line": diagnosis.pattern.number, "text": diagnosis.pattern.lines or diagnosis.pattern.excerpt},
        "location": {"file": place.file, "line": place.line, "column": place.column} if place else None,
        "fingerprint": diagnosis.fingerprint,
        "summary": diagnosis.summary,
        "suggested_fix": diagnosis.suggested_fix,
        "retryable": diagnosis.retryable,
        "retry_after": iso(diagnosis.retry_after_ms) if diagnosis.retry_after_ms is not None else None,
        "provider": diagnosis.provider,
        "charge": diagnosis.charge,
        "session": diagnosis.session,
        "runners_up": [
            {"rule": r.rule, "category": r.category, "subcategory": r.subcategory, "confidence": r.confidence}
            for r in diagnosis.runners_up
        ],
    }
