"""What is said of the triages of a task: the last one, what it found, and what remains of its cooldown. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medbay.cli import times
from medbay.core.model import Task
from medbay.core.times import from_iso


def last(task: Task, detail: Mapping[str, Any], now_ms: int) -> str:
    """`last triage 2h ago: adjusted, timeout 10m to 20m; 22h of its cooldown left`; empty where there was none."""
    found = detail["triages"]
    if not found:
        return "waits for a triage to start" if task.wants_triage else ""
    newest = found[0]
    if newest["ended_at"] is None:
        return f"looked at now by {newest['id']} ({newest['agent']})"
    said = f"last triage {times.ago(from_iso(newest['started_at']), now_ms)}: {newest['action'].replace('_', ' ')}"
    said += f", {newest['detail']}" if newest["detail"] else ""
    return said + cooldown(detail, now_ms)


def cooldown(detail: Mapping[str, Any], now_ms: int) -> str:
    """What remains of the time in which no second one is started."""
    text = detail["triage_cooldown_until"]
    until = from_iso(text) if text is not None else 0
    if until <= now_ms:
        return ""
    return f"; {times.short(until - now_ms)} of its cooldown left"


def serves(task: Task) -> str:
    """`fix for k7f2`: whom it was made for."""
    words = {"fix": "fix for", "review": "reviews the specification of", "part": "part of", "triage": "triage of"}
    if not task.subject:
        return ""
    return f"{words.get(task.role, 'follows up on')} {task.subject}"
