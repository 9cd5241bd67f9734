"""Statistics of a store. It begins with what agents cost."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from medbay.core.spending import UsedBy
from medbay.store import spending

if TYPE_CHECKING:
    from medbay.bay import Bay


class Statistics:
    """The figures of one store."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay

    def cost(self, *, days: int | None = None) -> list[UsedBy]:
        """What attempts used, by day, agent, model, provider and task; of the last so many days, today included."""
        budget = self._bay.place.config.budget
        with self._bay.store.read() as tx:
            today = date.fromisoformat(budget.day_of(tx.now))
            since = (today - timedelta(days=days - 1)).isoformat() if days else ""
            return spending.rows(tx, since=since)
