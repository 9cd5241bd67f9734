"""How risky a specification is: its sentences held against those of earlier tasks, and what became of them.

Nothing is guessed from style: a sentence is a risk when tasks with one like it failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from medbay.core.decision import Decision, Draft
from medbay.core.model import Event, Option, Owner, Question, Task
from medbay.core.people.question import CANCEL, PAUSE

RISKY: Final = 0.5
ALIKE: Final = 0.5  # the share of words that two sentences have in common
LEAST_WORDS: Final = 3
SHOWN: Final = 200
OWN_FAULT: Final = ("code_error", "test_failure", "timeout", "dependency_missing", "unknown")  # not the world's
TRIES_OF_TROUBLE: Final = 3
_SENTENCE: Final = re.compile(r"[^.!?\n]+")
_WORD: Final = re.compile(r"[a-z0-9_]{3,}")


class PastWork(Struct, frozen=True):
    """A task with a specification, and what became of it."""

    id: str
    text: str
    status: str
    attempts: int
    category: str  # of its newest failure

    @property
    def failed(self) -> bool:
        """Whether its work was the trouble: it is blocked, or took many attempts, by failures of its own."""
        own = self.category.partition("/")[0] in OWN_FAULT
        return own and (self.status == "blocked" or self.attempts >= TRIES_OF_TROUBLE)


class Assessment(Struct, frozen=True):
    """How risky a specification is, from 0 to 1, and which sentence is the risk."""

    score: float
    sentence: str = ""
    why: str = ""

    @property
    def risky(self) -> bool:
        """Whether a person should see it before it runs."""
        return self.score >= RISKY


def assess(text: str, past: Iterable[PastWork]) -> Assessment:
    """Hold each sentence against those of earlier tasks; the riskiest of them counts."""
    known = [(each, [_words(sentence) for sentence in _sentences(each.text)]) for each in past]
    found = [_of_sentence(sentence, known) for sentence in _sentences(text)]
    return max(found, key=lambda each: each.score, default=Assessment(0.0))


def on_assessed(task: Task, now: int, found: Assessment, *, asks: bool) -> Decision:
    """Record how risky it is; with `asks` a risky one waits for a person before its first attempt."""
    data: dict[str, Any] = {"score": found.score, "sentence": found.sentence, "why": found.why}
    if not (asks and found.risky) or task.status != "pending" or task.attempts:
        return Decision(events=(Event(name="task:assessed", task_id=task.id, data=data),))
    draft = Draft(task, now, actor="engine")
    draft.emit("task:assessed", **data)
    why = f'its specification is a risk: "{found.sentence}"; {found.why}'
    asked = draft.ask(_question(task, why, now))
    draft.block("human", why)
    return draft.decision(asked)


def _question(task: Task, why: str, now: int) -> Question:
    return Question(
        id=f"q-{task.id}-{task.questions + 1}",
        need=f"{task.title}: make the specification clearer, or let it run",
        why=why,
        evidence=task.spec[:SHOWN],
        options=(
            Option("run it", "retry", f"starts it; medbay edit {task.id} --spec FILE changes it first"),
            PAUSE,
            CANCEL,
        ),
        owner=Owner("task", task.id),
        task_ids=(task.id,),
        asked_at=now,
    )


def _of_sentence(sentence: str, known: Sequence[tuple[PastWork, list[frozenset[str]]]]) -> Assessment:
    words = _words(sentence)
    alike = [each for each, others in known if any(_alike(words, other) for other in others)]
    failed = [each for each in alike if each.failed]
    if not failed:
        return Assessment(0.0)
    score = round(len(failed) / (len(alike) + 1), 2)  # one more that went well: a single case is no rule
    kinds = ", ".join(dict.fromkeys(each.category for each in failed))
    counted = f"{len(failed)} of {len(alike)} earlier tasks with such a sentence"
    why = f"{counted} failed ({kinds}), the last was {failed[0].id}"
    return Assessment(score, sentence[:SHOWN], why)


def _alike(one: frozenset[str], two: frozenset[str]) -> bool:
    return len(one & two) >= LEAST_WORDS and len(one & two) / len(one | two) >= ALIKE


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE.findall(text) if len(_words(each)) >= LEAST_WORDS]


def _words(sentence: str) -> frozenset[str]:
    return frozenset(_WORD.findall(sentence.lower()))
