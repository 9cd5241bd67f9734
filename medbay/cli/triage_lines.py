"""What is said of the triages of a task: the last one, what it found, and what the next one waits for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from medbay.cli import times
from medbay.cli.glyphs import status_phrase
from medbay.core.durations import from_iso
from medbay.core.model import TRIAGE, Task, Triage

if TYPE_CHECKING:
    from medbay.service.explain import Explanation

When = Callable[[int], str]


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
    if not detail["subject"]:
        return ""
    said = f"{words.get(task.role, 'follows up on')} {detail['subject']}"
    return f"{said}: {outcome(detail['triage'])}" if detail["triage"] else said


def explained(found: Explanation, when: When) -> list[str]:
    """For `explain`: what the last triage said or does, and why the next one has not started."""
    said = []
    if found.parts:
        parts = (f"{each.id} {each.title} ({each.status.replace('_', ' ')})" for each in found.parts)
        said.append(f"it was split into {', '.join(parts)}")
    if found.triage is not None and not found.task.finished:
        said.append(_looked(found.triage, found.looker, found.now, when))
    if found.wanted is not None and not found.task.finished:
        said.append(_waits(found, when))
    return said


def next_step(found: Explanation, when: When) -> str:
    """What comes next for a task that waits for its triage; empty for any other."""
    if found.task.waits_for != TRIAGE:
        return ""
    if found.looker is None:
        starts = found.wanted is not None and found.wanted.what == "start"
        return "a triage, as soon as a worker looks" if starts else "a triage, when what keeps it back is over"
    name, own = found.looker.id, found.looker
    if own.live is None:
        return f"the verdict of {name}, which has not started"
    limit = f", at the latest {when(own.since + own.timeout_ms)}" if own.timeout_ms is not None else ""
    return f"the verdict of {name}{limit}"


def of_parts(found: Explanation) -> list[str]:
    """Where a task that was split goes on: those of its parts that have not ended."""
    return [f"medbay explain {each.id}" for each in found.parts if not each.finished]


def of_helper(found: Explanation) -> list[str]:
    """How somebody says that what is theirs to do for it is done."""
    return [f"medbay answer {found.helper.id}"] if found.helper is not None else []


def changes(found: Explanation) -> list[str]:
    """The commands that would change what its triage does."""
    if found.wanted is None:
        return [f"medbay log {found.looker.id} -f"] if found.looker is not None and found.looker.live else []
    if found.wanted.what == "held_back":
        return ["medbay breaker close agency"]
    return [f"medbay triage {found.task.id}"]


def _looked(looked: Triage, looker: Task | None, now_ms: int, when: When) -> str:
    """What a triage said, or how far it is."""
    whose = f"attempt {looked.number}"
    if looked.ended_at is None and looker is not None and looker.live is None:
        return f"{looked.id} ({looked.agent}) is to look at {whose}: {status_phrase(looker, now_ms).words}"
    if looked.ended_at is None:
        return f"{looked.id} ({looked.agent}) looks at {whose} since {when(looked.started_at)}"
    cause = str((looked.verdict or {}).get("root_cause") or "")
    said = f"triage of {whose} by {looked.agent} at {when(looked.started_at)}: {looked.action.replace('_', ' ')}"
    return said + "".join(f"; {each}" for each in (cause, looked.detail) if each) + f" (medbay log {looked.id})"


def _waits(found: Explanation, when: When) -> str:
    """Why no triage of it has started."""
    answer, breaker = found.wanted, found.agency
    assert answer is not None
    if answer.what == "held_back" and breaker is not None:
        then = f"; {when(breaker.next_at)}: one is let through" if breaker.next_at is not None else f"; {breaker.ends}"
        return f"no triage of it starts, because the breaker agency is open: {breaker.why}{then}"
    if answer.what == "start":
        return "a triage of it is due"
    return f"no triage of it has started: {answer.why}"
