"""The life of a task as lanes of time: its states, attempts, waits and judgements, and what would come next. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from medbay.core.durations import format_duration
from medbay.core.model import Attempt, HistoryRow, Question, Retry
from medbay.core.snapshot import Explanation, FleetRow, TaskDetail
from medbay.views import attempt as attempts
from medbay.views import glyphs, moments, schedule, triage
from medbay.views.glyphs import Token
from medbay.views.status import phrase_as_json, status_phrase

DIAGNOSED: Final = "◆"
PERSON: Final = "☺"
_STATES: Final[dict[str, tuple[str, Token]]] = {
    "pending": (glyphs.READY, "idle"),
    "in_progress": (glyphs.RUNNING, "run"),
    "pending_verification": (glyphs.VERIFYING, "run"),
    "failed": (glyphs.WAITING, "wait"),
    "blocked": (glyphs.YOU, "you"),
    "completed": (glyphs.DONE, "done"),
    "cancelled": (glyphs.CANCELLED, "idle"),
}
_PEOPLE: Final = "person:"


def as_json(found: TaskDetail, explained: Explanation) -> dict[str, Any]:
    """Return the four lanes of a task, what is known of its future, and when it all begins."""
    task, now = found.task, found.now
    end = task.ended_at if task.finished and task.ended_at is not None else now
    found = _recent(found)
    return {
        "from": moments.iso(_begin(found)),
        "now": moments.iso(now),
        "until": moments.iso(end),
        "state": list(_states(found, end)),
        "attempts": [_attempt(each, now) for each in found.attempts],
        "waits": sorted([*_backoffs(found), *_questions(found)], key=lambda each: str(each["from"])),
        "judgement": sorted(_judgements(found), key=lambda each: str(each["at"])),
        "coming": [] if task.finished else list(_coming(explained)),
    }


def _begin(found: TaskDetail) -> int:
    """Where the lanes begin: with the task, or with the oldest attempt that is shown."""
    whole = not found.attempts or found.attempts[0].number == 1
    return found.task.created_at if whole else found.attempts[0].started_at


def _recent(found: TaskDetail) -> TaskDetail:
    """The same without what happened before the oldest attempt that is shown."""
    begin = _begin(found)
    return replace(
        found,
        history=tuple(each for each in found.history if each.at >= begin),
        retries=tuple(each for each in found.retries if (each.executed_at or each.due_at) >= begin),
        questions=tuple(each for each in found.questions if (each.answered_at or found.now) >= begin),
        triages=tuple(each for each in found.triages if each.started_at >= begin),
    )


def fleet_row_as_json(row: FleetRow, now: int) -> dict[str, Any]:
    """Return one line of the timeline of a fleet: how the task stands, its bars, its waits, what comes."""
    task = row.task
    return {
        "id": task.id,
        "title": task.title,
        "phrase": phrase_as_json(status_phrase(task, now)),
        "group": _group(row),
        "recurs": schedule.how(task) or None,
        "next_at": moments.iso(task.due_at if not task.finished and not task.paused else None),
        "hold": task.hold,
        "since": moments.iso(task.since),
        "category": task.last_category or None,
        "attempts": [_attempt(each, now) for each in row.attempts],
    }


def _group(row: FleetRow) -> str:
    if row.task.hold:
        return "held"
    return "recurring" if row.task.recurs else "one-off"


def _states(found: TaskDetail, end: int) -> Iterator[dict[str, Any]]:
    """The spans between the transitions."""
    at, status = _begin(found), "pending"
    for step in found.history:
        if step.at > at:
            yield _span(status, at, step.at)
        at, status = step.at, step.target
    if not found.task.finished:
        yield _span(status, at, end)


def _span(status: str, begin: int, end: int) -> dict[str, Any]:
    glyph, token = _STATES[status]
    said = f"{status} {moments.short(end - begin)}"
    return {"from": moments.iso(begin), "to": moments.iso(end), "glyph": glyph, "token": token, "words": said}


def _attempt(each: Attempt, now: int) -> dict[str, Any]:
    glyph, token = glyphs.of_outcome(each.outcome)
    why = attempts.why(each)
    return {
        "number": each.number,
        "from": moments.iso(each.started_at),
        "to": moments.iso(each.ended_at),
        "glyph": glyph,
        "token": token,
        "charged": each.charged or each.diagnosis is None,
        "words": f"attempt {each.number} {attempts.ending(each)}, {attempts.lasted(each, now)}"
        + (f": {why}" if why else ""),
    }


def _backoffs(found: TaskDetail) -> Iterator[dict[str, Any]]:
    for each in found.retries:
        over = each.executed_at if each.executed_at is not None else _left_at(found, each)
        yield {
            "from": moments.iso(each.scheduled_at),
            "to": moments.iso(over),
            "until": moments.iso(each.due_at),
            "token": "wait",
            "words": f"{format_duration(each.delay_ms)} {each.action.replace('_', ' ')}, {each.category}",
        }


def _left_at(found: TaskDetail, each: Retry) -> int | None:
    """When the task moved on without a retry that was cancelled; None for one that is still to come."""
    if each.status == "pending":
        return None
    return next(
        (step.at for step in found.history if step.at > each.scheduled_at and step.source == "failed"), each.due_at
    )


def _questions(found: TaskDetail) -> Iterator[dict[str, Any]]:
    for each in found.questions:
        yield {
            "from": moments.iso(each.asked_at),
            "to": moments.iso(each.answered_at),
            "until": None,
            "token": "you",
            "words": f"a person: {each.need}",
        }


def _judgements(found: TaskDetail) -> Iterator[dict[str, Any]]:
    for each in found.attempts:
        if each.diagnosis is not None and each.ended_at is not None:
            sure = f"{each.diagnosis.kind} {each.diagnosis.confidence:.2f}"
            yield _mark(each.ended_at, DIAGNOSED, "fail", "diagnosis", f"{sure}: {each.diagnosis.summary}")
    for looked in found.triages:
        at = looked.ended_at if looked.ended_at is not None else looked.started_at
        yield _mark(at, glyphs.JUDGED, "wait", "triage", f"triage by {looked.agent}: {triage.outcome(looked)}")
    for asked in found.questions:
        if asked.answered_at is not None:
            yield _mark(asked.answered_at, PERSON, "you", "person", _answered(asked))
    for step in found.history:
        if step.actor.startswith(_PEOPLE) and not _is_answer(found, step):
            yield _mark(step.at, PERSON, "you", "person", f"{step.reason} ({step.actor.removeprefix(_PEOPLE)})")


def _answered(asked: Question) -> str:
    return f"{asked.answer}, by {asked.answered_by.removeprefix(_PEOPLE)}"


def _is_answer(found: TaskDetail, step: HistoryRow) -> bool:
    return any(each.answered_at == step.at for each in found.questions)


def _mark(at: int, glyph: str, token: Token, kind: str, words: str) -> dict[str, Any]:
    return {"at": moments.iso(at), "glyph": glyph, "token": token, "kind": kind, "words": words}


def _coming(explained: Explanation) -> Iterator[dict[str, Any]]:
    """The next decisions if it keeps failing the same way."""
    due = explained.task.due_at
    if due is not None and due > explained.now:
        yield {"at": moments.iso(due), "words": f"attempt {explained.task.attempts + 1}"}
    waits = explained.task.paused or (explained.task.status == "blocked" and due is None)
    for each in explained.coming if not waits else ():
        if each.step.due_at is not None:
            yield {
                "at": moments.iso(each.step.due_at),
                "words": f"attempt {each.attempt + 1}, if it fails the same way",
            }
