"""The one triage of an incident: whether it may start, with whom as an example, and the task that runs it.

It looks at what many tasks have in common. Nothing here changes any of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from medbay.core.breaker import Breaker
from medbay.core.decision import Added, Decision, Draft
from medbay.core.durations import format_duration
from medbay.core.model import Event, Task, Triage
from medbay.core.news import changed_breaker
from medbay.core.triage import agency
from medbay.core.triage.case import Means
from medbay.core.triage.starting import INCIDENT_IDS, OPTED_OUT, Answer, own_task

LOOKED_AT = "triage"  # in the data of an incident: the triage it has; empty where it gets none
FIX = "fix"  # the fix that was filed for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What decides beyond the incident itself."""

    examples: tuple[Task, ...] = ()  # tasks that failed like this, in the queues that are looked after
    elsewhere: bool = False  # others are in queues that somebody else looks after
    running: str | None = None  # the triage that looks at the same fingerprint now
    last: Triage | None = None  # the last one of an incident on this fingerprint
    cooldown_ms: int = 0
    agency: Breaker | None = None


def wants_one(breaker: Breaker) -> bool:
    """Whether it is an open incident for which nobody has decided about a triage."""
    return breaker.kind == "incident" and breaker.state != "closed" and LOOKED_AT not in breaker.data


def example_of(tasks: Iterable[Task]) -> Task | None:
    """The task that is shown to the agent; one that wants no triage is never shown."""
    return next((task for task in tasks if OPTED_OUT not in task.tags and task.role != "triage"), None)


def decide(now: int, around: Around) -> Answer:
    """Whether the triage of an incident may start now."""
    if around.running is not None:
        return Answer("wait", f"{around.running} looks at the same failure")
    last = around.last
    if last is not None and now - last.started_at < around.cooldown_ms:
        ago = format_duration(now - last.started_at)
        return Answer("drop", f"{last.id} looked at the same failure {ago} ago")
    if example_of(around.examples) is None:
        known = "its tasks want no triage" if around.examples else "none of its tasks is left"
        return Answer("wait", "its tasks are elsewhere") if around.elsewhere else Answer("drop", known)
    if agency.lets(around.agency) == "none":
        return Answer("held_back", "the agency breaker is open")
    return Answer("start")


def start(
    incident: Breaker, example: Task, now: int, *, means: Means, last_seq: int, queue: str = ""
) -> tuple[Decision, Triage]:
    """Begin it: the task that runs it, its row, and the incident that remembers it."""
    fingerprint = incident.fingerprints[0]
    looked = Triage(
        id=f"{INCIDENT_IDS}{fingerprint.rpartition(':')[2]}-{incident.opened_at:x}",
        task_id=example.id,
        number=example.attempts,
        fingerprint=fingerprint,
        agent=means.agent,
        started_at=now,
        since_seq=last_seq,
    )
    task = replace(own_task(example, looked, means, now, queue), title=f"Triage of {incident.key}", tags=(OPTED_OUT,))
    own = Draft(task, now, actor="triage")
    own.tell("task:created", title=task.title, queue=task.queue, priority=task.priority)
    noted = changed_breaker(incident, _with(incident, looked.id))
    told: dict[str, Any] = {"triage": looked.id, "agent": means.agent, "incident": incident.key}
    begun = Event(name="triage:started", task_id=example.id, attempt=example.attempts, data=told)
    made = replace(noted, added=(Added(own.change()),), triages=(looked,), events=(*noted.events, begun, *own.events))
    return made, looked


def passed_over(incident: Breaker, why: str) -> Decision:
    """It gets none, and nobody asks again."""
    return changed_breaker(incident, _with(incident, "", why))


def in_words(incident: Breaker, looked: Triage | None) -> str:
    """What came of it so far, for people; empty while nobody has decided."""
    if LOOKED_AT not in incident.data:
        return ""
    if looked is None:
        return f"no triage: {incident.data.get('triage_why', '')}"
    if looked.ended_at is None:
        return f"{looked.id} looks at it"
    return f"triage: {looked.action.replace('_', ' ')}: {looked.detail}"


def _with(incident: Breaker, triage_id: str, why: str = "") -> Breaker:
    return replace(incident, data={**incident.data, LOOKED_AT: triage_id, "triage_why": why})
