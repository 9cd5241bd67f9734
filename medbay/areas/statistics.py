"""Figures: what healed, how often retries helped, what it cost, what people were called for."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from medbay.core.spending import UsedBy
from medbay.service import statistics
from medbay.store import spending
from medbay.views import statistics as views

if TYPE_CHECKING:
    from medbay.bay import Bay


class Statistics:
    """The figures of one store. They are rolled up by hour from the event log by whoever reads them."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay

    def catch_up(self) -> int:
        """Roll up what happened since the last time; how many events there were."""
        return statistics.catch_up(self._bay.store)

    def figures(self, since_ms: int) -> dict[str, Any]:
        """Return every figure of the last so long, and of the same time before it."""
        self.catch_up()
        with self._bay.store.read() as tx:
            found = statistics.load(tx, since=tx.now - since_ms, until=tx.now)
        return views.as_json(found, self._bay.place.config.budget)

    def failures(self, since_ms: int) -> list[dict[str, Any]]:
        """Return the failures of the last so long, by hour and category."""
        self.catch_up()
        with self._bay.store.read() as tx:
            return views.series_as_json(statistics.failures(tx, since=tx.now - since_ms))

    def cost(self, *, days: int | None = None) -> list[UsedBy]:
        """Return what attempts used by day, agent, model, provider and task; of the last days, today included."""
        budget = self._bay.place.config.budget
        with self._bay.store.read() as tx:
            today = date.fromisoformat(budget.day_of(tx.now))
            since = (today - timedelta(days=days - 1)).isoformat() if days else ""
            return spending.rows(tx, since=since)

    def recount(self) -> None:
        """Count everything again from the first event that is still there."""
        statistics.recount(self._bay.store)
