"""A job of a file: what became of it, or would, in words and as JSON."""

from __future__ import annotations

from typing import Any, Final

from medbay.core.durations import write_duration
from medbay.core.jobs import JobAction, JobChange
from medbay.views.text import clean

_NAMES: Final = {
    "command": "run",
    "runner": "what runs it",
    "tags": "tag",
    "resources": "provider",
    "memory_bytes": "memory",
    "cpu_ms": "cpu_time",
    "stall_ms": "stall",
    "advice": "takes_advice",
}
_WORDS: Final[dict[JobAction, tuple[str, str]]] = {
    "add": ("+", "added"),
    "change": ("~", "changed"),
    "keep": ("=", "unchanged"),
    "cancel": ("-", "cancelled"),
    "refuse": ("!", "refused"),
}
_SHOWN: Final = 60  # characters of a value


def mark(change: JobChange) -> str:
    """Return the sign of what becomes of a job, as in a difference: `+`, `~`, `=`, `-`, `!`."""
    return _WORDS[change.action][0]


def word(change: JobChange) -> str:
    """Return what becomes of a job in one word."""
    return _WORDS[change.action][1]


def details(change: JobChange) -> str:
    """Return what changes, each with the value before and after; or why it is refused."""
    if change.error is not None:
        return str(change.error)
    return "; ".join(_said(name, *values) for name, values in change.changed.items())


def as_json(change: JobChange) -> dict[str, Any]:
    """Return what became of one job as data; of variables only their names."""
    return {
        "name": change.name,
        "action": change.action,
        "line": change.line,
        "id": change.task_id or None,
        "title": change.title or None,
        "changed": sorted(map(_name, change.changed)),
        "why": change.error.message if change.error is not None else None,
    }


def _name(field: str) -> str:
    return _NAMES.get(field, field.removesuffix("_ms"))


def _said(field: str, was: Any, wanted: Any) -> str:
    if field == "env":  # what a variable holds may be a secret
        names = sorted({name for name, _ in set(was) ^ set(wanted)})
        return f"env {', '.join(names)}"
    if field in ("spec", "description"):
        return _name(field)
    return f"{_name(field)} {_value(field, was)} -> {_value(field, wanted)}"


def _value(field: str, value: Any) -> str:
    if value in (None, "", ()):
        return "none"
    if field.endswith("_ms"):
        return write_duration(value)
    said = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    shown = clean(said)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
