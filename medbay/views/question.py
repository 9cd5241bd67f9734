"""A question and a remembered answer: what is said of them, and their JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from medbay.core.model import Question
from medbay.core.people.preference import Preference
from medbay.core.people.question import asks_for_words
from medbay.core.triage.escalation import RECOMMENDED
from medbay.views import moments
from medbay.views.text import clean


def as_json(each: Question) -> dict[str, Any]:
    """Return one question as data."""
    return {
        "id": each.id,
        "status": each.status,
        "need": each.need,
        "why": each.why,
        "evidence": each.evidence,
        "options": [
            {
                "number": number,
                "label": option.label,
                "effect": option.effect,
                "consequence": option.consequence,
            }
            for number, option in enumerate(each.options, start=1)
        ],
        "default": each.default,
        "free_text": each.free_text,
        "owner": {"kind": each.owner.kind, "id": each.owner.id} if each.owner is not None else None,
        "chosen_last_time": each.remembered or None,
        "tasks": list(each.task_ids),
        "asked_at": moments.iso(each.asked_at),
        "sent": each.sent,
        "sent_again_at": moments.iso(each.send_at) if each.status == "open" else None,
        "answered_at": moments.iso(each.answered_at),
        "answered_by": each.answered_by or None,
        "answer": each.answer or None,
    }


def preference_as_json(each: Preference) -> dict[str, Any]:
    """Return a remembered answer as data."""
    return {
        "scope": each.scope,
        "answer": each.answer,
        "told_by": each.told_by,
        "told_at": moments.iso(each.told_at),
        "used": each.used,
    }


def name(each: Question) -> str:
    """Return what to type after `medbay answer`: its first task, or its own id."""
    return each.task_ids[0] if each.task_ids else each.id


def options(each: Question) -> Iterator[str]:
    """Yield the options with what follows from each: `1 retry (default): it is tried again`."""
    for number, option in enumerate(each.options, start=1):
        if asks_for_words(each):
            yield f"{answer_words(each) if number == 1 else option.effect}: {clean(option.consequence)}"
            continue
        default = " (default)" if number == each.default else ""
        default += " (you chose this last time)" if number == each.remembered else ""
        yield f"{number} {clean(option.label)}{default}: {clean(option.consequence)}"


def answer_words(each: Question) -> str:
    """Return what to type after the name of a question: the number of the default, or that words are asked for."""
    return "'YOUR WORDS'" if asks_for_words(each) else str(each.default)


def labels(each: Question) -> list[str]:
    """Return the options by their labels alone: `1 retry`."""
    if asks_for_words(each):
        return [answer_words(each), *(option.effect for option in each.options[1:])]
    return [f"{number} {option.label}" for number, option in enumerate(each.options, start=1)]


def more(each: Question) -> str:
    """Return where the rest is: in the log of an attempt, or with the task or incident it is about."""
    if each.task_ids:
        asks_to_do = each.options[0].effect == "done"  # nothing ran that would have a log
        return f"more: medbay show {name(each)}" if asks_to_do else f"evidence: medbay log {name(each)}"
    about = each.id.removeprefix("q-").rpartition("-")[0]
    recommended = (each.scope or "").startswith(RECOMMENDED)
    return f"more: medbay explain {about}" if recommended else "more: medbay incidents"
