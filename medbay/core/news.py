"""A changed breaker as a decision: what is told of it, and what becomes of the question that belongs to it."""

from __future__ import annotations

from typing import Any, Final

from medbay.core.breaker import ENGINE, Breaker, BreakerChange
from medbay.core.decision import Decision, QuestionClosed
from medbay.core.model import Event
from medbay.core.times import iso

_WORDS: Final = {"open": "breaker:opened", "half_open": "breaker:half_open", "closed": "breaker:closed"}


def changed_breaker(before: Breaker | None, after: Breaker) -> Decision:
    """Save it, tell what happened, and withdraw its question when it closes."""
    if after == before:
        return Decision()
    events = [*_events(before, after)]
    closed: tuple[QuestionClosed, ...] = ()
    asked = before.question_id if before is not None and before.kind == "incident" else None
    if after.state == "closed" and asked is not None:
        answer = "it is over"
        events.append(Event(name="question:withdrawn", data={"question": asked, "why": answer}))
        closed = (
            QuestionClosed(question_id=asked, task_id="", whole=True, status="withdrawn", by=ENGINE, answer=answer),
        )
    return Decision(breakers=(BreakerChange(before, after),), events=tuple(events), questions_closed=closed)


def _events(before: Breaker | None, after: Breaker) -> list[Event]:
    was = before.state if before is not None else "closed"
    told = _facts(after)
    if after.kind == "provider":
        longer = before is not None and was != "closed" and after.until != before.until
        if after.state == "open" and (was != "open" or longer):
            return [Event(name="hold:placed", data={**told, "extended": was != "closed"})]
        over = after.state == "closed" and was != "closed"
        return [Event(name="hold:released", data=told)] if over else []
    if after.state == was:
        return []
    if after.kind == "budget":
        return [Event(name="budget:exceeded", data={**told, **after.data})] if after.state == "open" else []
    events = [Event(name=_WORDS[after.state], data=told)]
    if after.kind == "incident" and (was == "closed" or after.state == "closed"):
        name = "incident:closed" if after.state == "closed" else "incident:opened"
        events.append(Event(name=name, data={**told, "question": after.question_id}))
    return events


def _facts(breaker: Breaker) -> dict[str, Any]:
    return {
        "key": breaker.key,
        "kind": breaker.kind,
        "why": breaker.why,
        "by": breaker.opened_by,
        "until": iso(breaker.until) if breaker.until is not None else None,
        "probe_at": iso(breaker.probe_at) if breaker.probe_at is not None and breaker.state == "open" else None,
        "canary": breaker.canary_task,
    }
