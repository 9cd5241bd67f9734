"""The links that answer: the key they are signed with, and the question that one opens."""

from __future__ import annotations

from typing import Final

from medbay.core.model import Question
from medbay.core.people import link as rules
from medbay.core.people.link import VALID_MS, AnswerLink
from medbay.errors import NotAllowed
from medbay.store import meta, questions
from medbay.store.database import Tx

_KEY: Final = "link_key"  # of the store: every engine signs with it, and the page reads by it


def keep_key(tx: Tx, made: str) -> None:
    """Keep this key, unless the store has one."""
    tx.serialise(_KEY)
    if meta.value(tx, _KEY) is None:
        meta.put(tx, _KEY, made)


def signed(tx: Tx, question_id: str, channel: str) -> str:
    """A new link to a question, for the readers of a channel; empty in a store without a key."""
    key = meta.value(tx, _KEY)
    return rules.sign(AnswerLink(question_id, channel, tx.now + VALID_MS), key) if key else ""


def opened(tx: Tx, text: str) -> tuple[AnswerLink, Question]:
    """What a link stands for, and its question; raises NotFound or NotAllowed where it answers nothing any more."""
    link = rules.read(text, meta.value(tx, _KEY) or "", tx.now)
    asked = questions.get(tx, link.question_id)
    if asked is None:
        raise NotAllowed("this question is gone", hint="its task was finished and archived")
    if asked.status != "open":
        answered = f"{asked.answer or asked.status} ({asked.answered_by})" if asked.answered_by else asked.status
        raise NotAllowed(f"this link was used: the question is closed, {answered}", hint="medbay inbox has what waits")
    return link, asked
