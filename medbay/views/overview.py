"""The first page: what needs a person, what is held, what runs, what waits; as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medbay.core.holds.breaker import Breaker
from medbay.core.model import Question
from medbay.core.snapshot import Overview
from medbay.views import breaker, moments, question
from medbay.views import task as tasks
from medbay.views.status import phrase_as_json, status_phrase
from medbay.views.task import LogSeen

PLACES: Final = {0: "you", 1: "run", 2: "wait", 3: "held", 4: "ready", 6: "done"}
QUESTIONS_SHOWN: Final = 8


def as_json(found: Overview, seen: Mapping[str, LogSeen], output: Mapping[str, str]) -> dict[str, Any]:
    """Return the first page; `output` is the last line that each running attempt wrote."""
    alive = [each for each in found.workers if each.state(found.now) == "alive"]
    running = [
        {**tasks.row_as_json(row), "output": output.get(row.task.id), "output_at": _written(seen.get(row.task.id))}
        for row in tasks.rows(found.running, seen)
    ]
    counts = {name: found.places.get(place, 0) for place, name in PLACES.items() if name != "done"}
    return {
        "now": moments.iso(found.now),
        "seq": found.seq,
        "counts": {**counts, "asked": len(found.questions), "done": found.done},
        "next_wake": moments.iso(found.next_wake),
        "questions": [asked_as_json(each, found) for each in found.questions[:QUESTIONS_SHOWN]],
        "breakers": [breaker_as_json(each, held) for each, held in found.breakers],
        "slots": {"busy": sum(len(each.running) for each in alive), "total": sum(each.worker.slots for each in alive)},
        "engines": len(alive),
        "running": running,
        "waiting": [tasks.row_as_json(row) for row in tasks.rows(found.waiting, {})],
        "empty": found.empty,
    }


def asked_as_json(each: Question, found: Overview) -> dict[str, Any]:
    """Return a question with what is known of the tasks that wait for it."""
    about = [found.tasks[task_id] for task_id in each.task_ids if task_id in found.tasks]
    return {
        **question.as_json(each),
        "name": question.name(each),
        "about": [
            {
                "id": task.id,
                "title": task.title,
                "phrase": phrase_as_json(status_phrase(task, found.now)),
                "category": task.last_category or None,
                "attempts": task.attempts,
            }
            for task in about[:QUESTIONS_SHOWN]
        ],
    }


def breaker_as_json(each: Breaker, held: int) -> dict[str, Any]:
    """Return a breaker with its look."""
    glyph, token = breaker.LOOKS[each.state]
    return {**breaker.as_json(each, held), "glyph": glyph, "token": token}


def _written(seen: LogSeen | None) -> str | None:
    return moments.iso(seen.at) if seen is not None and seen.size else None
