"""What several tasks share within one transaction, loaded once."""

from __future__ import annotations

from medbay.core.decision import WorkingSet
from medbay.store import breakers, questions
from medbay.store.database import Tx


def load(tx: Tx) -> WorkingSet:
    """The open questions that tasks may join, and the breakers that hold tasks now."""
    return WorkingSet(questions=questions.open_scopes(tx), breakers=breakers.open_keys(tx))
