"""The triages of a task: what the last one found, what the next one waits for, and their JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from medbay.core.model import TRIAGE, Task, Triage
from medbay.core.snapshot import Explanation, TaskDetail
from medbay.core.triage.cycle import Item, cooling_until
from medbay.core.triage.rights import shown
from medbay.views import glyphs, moments
from medbay.views.glyphs import Token
from medbay.views.status import status_phrase

When = Callable[[int], str]
_MADE_FOR: Final = {
    "fix": "fix for",
    "review": "reviews the specification of",
    "part": "part of",
    "revision": "revises the work of",
    "triage": "triage of",
}
_WOULD: Final = {
    "triage_started": "would be triaged",
    "cooldown_pending": "would wait",
    "escalated_to_human": "would ask you",
    "no_action": "would be left alone",
}
LOOKS: Final[dict[int, tuple[str, Token]]] = {
    1: (glyphs.WAITING, "wait"),
    2: (glyphs.JUDGED, "wait"),
    3: (glyphs.YOU, "you"),
}


def as_json(each: Triage) -> dict[str, Any]:
    """Return one triage as data: which agent, of which attempt, what came of it."""
    return {
        "id": each.id,
        "attempt": each.number,
        "fingerprint": each.fingerprint,
        "agent": each.agent,
        "started_at": moments.iso(each.started_at),
        "ended_at": moments.iso(each.ended_at),
        "action": each.action or None,
        "detail": each.detail or None,
        "verdict": each.verdict,
        "diff": each.diff,
    }


def last(found: TaskDetail) -> str:
    """Return `last triage 2h ago: adjusted, timeout 10m to 20m; 22h of its cooldown left`; empty without one."""
    if not found.triages:
        return "waits for a triage to start" if found.task.wants_triage else ""
    newest, *earlier = found.triages
    if newest.ended_at is None:
        return f"triage under way: {newest.id} ({newest.agent})"
    ago = moments.ago(newest.started_at, found.now)
    before = f", {len(earlier)} earlier" if earlier else ""
    return f"last triage {ago} ({newest.id}{before}): {outcome(newest)}{cooldown(found)}"


def outcome(each: Triage) -> str:
    """Return what a triage came to, what it changed and its agent's words: `adjusted (time limit 10m → 20m), ...`."""
    said = (each.action or "under way").replace("_", " ")
    changed = ", ".join(shown(each.diff or {}))
    said = f"{said} ({changed})" if changed else said
    return f"{said}, {each.detail}" if each.detail and each.detail != changed else said


def cooldown(found: TaskDetail) -> str:
    """Return how long no second triage is started."""
    until = cooling_until(found.task, found.rules) or 0
    return f"; {moments.short(until - found.now)} of its cooldown left" if until > found.now else ""


def made_for(found: TaskDetail) -> str:
    """Return what it was made for: `fix for k7f2`, `triage of k7f2: adjusted`."""
    task = found.task
    if not found.subject:
        return ""
    said = f"{_MADE_FOR.get(task.role, 'follows up on')} {found.subject}"
    return f"{said}: {outcome(found.triage)}" if found.triage else said


def item_words(each: Item, *, dry_run: bool) -> str:
    """Return what one cycle did about a task, or would do."""
    if dry_run:
        return _WOULD.get(each.action, each.action.replace("_", " "))
    return "waits" if each.action == "cooldown_pending" else each.action.replace("_", " ")


def item_detail(each: Item) -> str:
    """Return what was changed, and what the agent said about it."""
    return "; ".join(part for part in (", ".join(each.diff), each.detail) if part)


def explained(found: Explanation, when: When) -> list[str]:
    """Return what the last triage found or does, and why the next one has not started."""
    said = []
    if found.parts:
        parts = (f"{each.id} {each.title} ({each.status.replace('_', ' ')})" for each in found.parts)
        said.append(f"it was split into {', '.join(parts)}")
    if found.triage is not None and not found.task.finished:
        said.append(_standing(found.triage, found.triage_task, found.now, when))
    if found.wanted is not None and not found.task.finished:
        said.append(_waits(found, when))
    return said


def next_step(found: Explanation, when: When) -> str:
    """Return what comes next for a task that waits for its triage; empty for any other."""
    if found.task.waits_for != TRIAGE:
        return ""
    if found.triage_task is None:
        starts = found.wanted is not None and found.wanted.what == "start"
        return "a triage, as soon as a worker is free" if starts else "a triage, when what keeps it back is over"
    own = found.triage_task
    if own.live is None:
        return f"the verdict of {own.id}, which has not started"
    limit = f", at the latest {when(own.since + own.timeout_ms)}" if own.timeout_ms is not None else ""
    return f"the verdict of {own.id}{limit}"


def of_parts(found: Explanation) -> list[str]:
    """Return the commands for the parts of a split task that have not ended."""
    return [f"medbay explain {each.id}" for each in found.parts if not each.finished]


def of_helper(found: Explanation) -> list[str]:
    """Return how a person says that what is theirs to do for it is done."""
    return [f"medbay answer {found.helper.id}"] if found.helper is not None else []


def changes(found: Explanation) -> list[str]:
    """Return the commands that would change what its triage does."""
    if found.wanted is None:
        own = found.triage_task
        return [f"medbay log {own.id} -f"] if own is not None and own.live else []
    if found.wanted.what == "held_back":
        return ["medbay breaker close agency"]
    return [f"medbay triage {found.task.id}"]


def _standing(each: Triage, own: Task | None, now_ms: int, when: When) -> str:
    """Return what a triage found, or how far it is."""
    whose = f"attempt {each.number}"
    if each.ended_at is None and own is not None and own.live is None:
        return f"{each.id} ({each.agent}) is the triage of {whose}: {status_phrase(own, now_ms).words}"
    if each.ended_at is None:
        return f"{each.id} ({each.agent}) is the triage of {whose}, under way since {when(each.started_at)}"
    cause = str((each.verdict or {}).get("root_cause") or "")
    said = f"triage of {whose} by {each.agent} at {when(each.started_at)}: {each.action.replace('_', ' ')}"
    return said + "".join(f"; {part}" for part in (cause, each.detail) if part) + f" (medbay log {each.id})"


def _waits(found: Explanation, when: When) -> str:
    """Return why no triage of it has started."""
    answer, breaker = found.wanted, found.agency
    assert answer is not None
    if answer.what == "held_back" and breaker is not None:
        then = f"; {when(breaker.next_at)}: one is let through" if breaker.next_at is not None else f"; {breaker.ends}"
        return f"no triage of it starts, because the breaker agency is open: {breaker.why}{then}"
    if answer.what == "start":
        return "a triage of it is due"
    return f"no triage of it has started: {answer.why}"
