"""What several tasks share within one transaction, loaded once."""

from __future__ import annotations

from medbay.core.decision import WorkingSet
from medbay.store import breakers, foresight, questions
from medbay.store.database import Tx


def load(tx: Tx, *, changing: bool = True) -> WorkingSet:
    """The open questions that tasks may join, and the breakers that are not closed; to be changed, or only kept."""
    foresight.shared(tx, changing=changing)
    held = breakers.not_closed(tx, changing=changing)  # first: locks are taken in one order
    return WorkingSet(questions=questions.open_scopes(tx), breakers=held)
