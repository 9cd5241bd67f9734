"""A diagnosis: what is said of it, and its JSON."""

from __future__ import annotations

from typing import Any

from medbay.core import durations
from medbay.core.diagnosis.record import Diagnosis, doubt, facts


def as_json(found: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as data."""
    return facts(found)


def sentences(found: Diagnosis) -> list[tuple[str, str]]:
    """Return what there is to say, each sentence under its label."""
    said = [
        ("cause", f"{found.kind} {found.confidence:.2f}"),
        ("doubt", doubt(found)),
        ("summary", found.summary),
        ("where", str(found.location) if found.location else ""),
        ("evidence", found.pattern.evidence),
        ("rule", found.pattern.rule),
        ("advice", found.suggested_fix),
        ("retry", _retry(found)),
        ("provider", found.provider or ""),
        ("fingerprint", found.fingerprint),
    ]
    others = ", ".join(
        f"{each.category}/{each.subcategory} {each.confidence:.2f} ({each.rule})" for each in found.runners_up
    )
    return [(label, sentence) for label, sentence in [*said, ("also seen", others)] if sentence]


def _retry(found: Diagnosis) -> str:
    if found.kind == "unknown/no_failure":
        return "nothing to try again: the run succeeded"
    if not found.retryable:
        return "trying again cannot help: a person is needed"
    charged = "uses up an attempt" if found.charge else "uses up no attempt"
    until = f"not before {durations.iso(found.retry_after_ms)}, " if found.retry_after_ms is not None else ""
    return f"{until}{charged}"
