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
    ago = times.ago(from_iso(newest["started_at"]), now_ms)
    earlier = f", {len(found) - 1} earlier" if len(found) > 1 else ""
    return f"last triage {ago} ({newest['id']}{earlier}): {outcome(newest)}{cooldown(detail, now_ms)}"


def outcome(looked: Mapping[str, Any]) -> str:
    """`adjusted, timeout 10m to 20m`: what a triage came to."""
    said = str(looked["action"] or "under way").replace("_", " ")
    return f"{said}, {looked['detail']}" if looked["detail"] else said


def cooldown(detail: Mapping[str, Any], now_ms: int) -> str:
    """What remains of the time in which no second one is started."""
    text = detail["triage_cooldown_until"]
    until = from_iso(text) if text is not None else 0
    if until <= now_ms:
        return ""
    return f"; {times.short(until - now_ms)} of its cooldown left"


def serves(task: Task, detail: Mapping[str, Any]) -> str:
    """`fix for k7f2`, `triage of k7f2: adjusted`: whom it was made for."""
    words = {"fix": "fix for", "review": "reviews the specification of", "part": "part of", "triage": "triage of"}
    if not task.subject:
        return ""
    said = f"{words.get(task.role, 'follows up on')} {task.subject}"
    return f"{said}: {outcome(detail['triage'])}" if detail["triage"] else said
