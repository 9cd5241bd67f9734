"""What the work itself said about its failure: `MEDBAY_RESULT`, or the exception of a Python task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from medbay.core.diagnosis.facts import Verdict
from medbay.core.diagnosis.record import CATEGORIES

TEXT_MAX: Final = 8_000

# Finer labels and the error types of operations, with the kind each one is.
NAMED: Final[dict[str, tuple[str, str | None]]] = {
    "auth": ("unknown", "auth"),
    "config_error": ("code_error", "config"),
    "conflict": ("unknown", "conflict"),
    "malformed_output": ("unknown", "malformed_output"),
    "no_evidence": ("unknown", "no_evidence"),
    "agent_spawn_failed": ("transient", "spawn"),
    "agent_timeout": ("timeout", "limit"),
    "precondition_failed": ("dependency_missing", "precondition"),
    "external_service_down": ("transient", "service"),
}


def said(result: Mapping[str, object] | None) -> Verdict | None:
    """The kind that the work named itself, if it is one we know."""
    for key in ("category", "error_type", "type"):
        kind = _kind(_text(result, key))
        if kind is not None:
            category, subcategory = kind
            named = _text(result, "subcategory") or subcategory
            return Verdict("result.named", category, named, 0.97, _text(result, "summary") or _text(result, "message"))
    return None


def as_output(result: Mapping[str, object] | None) -> str:
    """The exception as a text to read after the output: its traceback, or its type and message."""
    parts = [_text(result, "summary"), _text(result, "traceback")]
    kind, message = _text(result, "type"), _text(result, "message")
    if not parts[1] and (kind or message):
        parts.append(f"{kind}: {message}" if kind else message)
    return "\n".join(part for part in parts if part)


def _kind(name: str) -> tuple[str, str | None] | None:
    category, _, subcategory = name.lower().partition("/")
    if category in CATEGORIES:
        return category, subcategory or None
    return NAMED.get(name.lower())


def _text(result: Mapping[str, object] | None, key: str) -> str:
    value = result.get(key) if result is not None else None
    return value[-TEXT_MAX:] if isinstance(value, str) else ""
