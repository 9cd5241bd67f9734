"""The part of a `Bay` that studies what was recorded: what could be learned from it."""

from __future__ import annotations

from medbay.core.learning import Learned
from medbay.service import learning
from medbay.store.database import KeptStore


class Studies:
    """Questions about the past; nothing is changed by asking."""

    store: KeptStore

    def learned(self) -> list[Learned]:
        """What the recorded retries say about how long to wait, by class of failure."""
        with self.store.read() as tx:
            return learning.all_learned(tx)
