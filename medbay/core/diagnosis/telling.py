"""A diagnosis as plain data, for events and `--json`."""

from __future__ import annotations

from typing import Any

from medbay.core.diagnosis.record import Diagnosis
from medbay.core.times import iso


def facts(diagnosis: Diagnosis) -> dict[str, Any]:
    """A diagnosis as plain data, for events and `--json`."""
    place = diagnosis.location
    return {
        "category": diagnosis.category,
        "subcategory": diagnosis.subcategory,
        "confidence": round(diagnosis.confidence, 3),
        "rule": diagnosis.pattern.rule,
        "excerpt": diagnosis.pattern.excerpt,
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
