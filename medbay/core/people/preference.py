"""What a person chose before, offered again when the same is asked. It never answers a question by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from medbay.core.model import Option, Question
from medbay.core.people.question import ANSWER, asks_for_words

# Said once and for one case, or not to be chosen by mistake: remembered, and never put first.
NEVER_FIRST: Final = frozenset({"cancel"})
_NOT_REMEMBERED: Final = frozenset({"done", ANSWER})


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """What a person answered within a scope."""

    scope: str
    answer: str  # the effect of the option
    told_by: str
    told_at: int
    used: int = 0  # how often it was chosen again when it was offered


def scopes(question: Question) -> tuple[str, ...]:
    """Where an answer to this question belongs, the most specific first: its task, then what its tasks share."""
    own = (f"task:{question.task_ids[0]}",) if len(question.task_ids) == 1 else ()
    return (*own, f"cause:{question.scope}") if question.scope is not None else own


def best(question: Question, known: Iterable[Preference]) -> Preference | None:
    """The most specific one, then the most recent, among those that this question has an option for."""
    places = {scope: place for place, scope in enumerate(scopes(question))}
    effects = {option.effect for option in question.options}
    fitting = [each for each in known if each.scope in places and each.answer in effects]
    return min(fitting, key=lambda each: (places[each.scope], -each.told_at), default=None)


def offered(question: Question, known: Iterable[Preference]) -> Question:
    """The question with what was chosen last time marked, and put first where that does no harm."""
    chosen = best(question, known) if not asks_for_words(question) else None
    if chosen is None:
        return question
    number = next(n for n, option in enumerate(question.options, start=1) if option.effect == chosen.answer)
    default = question.default if chosen.answer in NEVER_FIRST else number
    return replace(question, default=default, remembered=number)


def to_keep(question: Question, option: Option, known: Iterable[Preference], *, by: str, now: int) -> list[Preference]:
    """What is kept of an answer: one per scope; how often it was confirmed is counted."""
    if option.effect in _NOT_REMEMBERED or len(question.options) < 2:
        return []
    before = {each.scope: each for each in known}
    kept = []
    for scope in scopes(question):
        was = before.get(scope)
        again = was.used + 1 if was is not None and was.answer == option.effect else 0
        kept.append(Preference(scope=scope, answer=option.effect, told_by=by, told_at=now, used=again))
    return kept
