"""The part of a `Bay` that a person talks to: questions, answers, and what is remembered of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from medbay.core.model import Question
from medbay.core.people.preference import Preference
from medbay.core.redaction import Redaction
from medbay.service import tasks
from medbay.service import teaching as preference_service
from medbay.store import questions
from medbay.store import questions as preferences
from medbay.store.database import KeptStore, Tx

T = TypeVar("T")


class Answering:
    """What waits for a person, and what they say."""

    store: KeptStore
    actor: str
    _write: Callable[[Callable[[Tx], T]], T]
    _redaction: Callable[[], Redaction]

    def inbox(self) -> list[Question]:
        """The questions that wait for a person, oldest first, with what was chosen last time."""
        with self.store.read() as tx:
            return preference_service.offered(tx, questions.open_questions(tx))

    def answer(
        self, question_or_task: str, option: str = "default", *, note: str = "", attempts: int = 2
    ) -> tuple[str, list[str]]:
        """Answer a question; what was chosen, and the tasks it was applied to."""
        return self._write(
            lambda tx: tasks.answer(
                tx,
                question_or_task,
                option,
                actor=self.actor,
                note=note,
                attempts=attempts,
                redaction=self._redaction(),
            )
        )

    def preferences(self) -> list[Preference]:
        """What was answered before and is offered again, the newest first."""
        with self.store.read() as tx:
            return preferences.every(tx)

    def forget_preference(self, scope: str) -> Preference:
        """Forget what was answered within a scope; what was known is returned."""
        return self._write(lambda tx: preference_service.forget(tx, scope))
