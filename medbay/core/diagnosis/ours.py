"""A diagnosis of what Medbay itself knows: nothing has to be read from a text. Never charged to the work."""

from __future__ import annotations

from medbay.core.diagnosis.record import Diagnosis, Pattern


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
