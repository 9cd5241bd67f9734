"""Figures: what healed, how often retries helped, what it cost, what people were called for."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from medbay.core import budget as rule
from medbay.core.budget import Budget, Day
from medbay.core.model import DEFAULT_QUEUE
from medbay.core.spending import UsedBy, summed
from medbay.service import idle, statistics
from medbay.store import activity, budgets, questions, spending
from medbay.store import statistics as statistic_rows
from medbay.store import stories as story_rows
from medbay.store import tasks as task_rows
from medbay.views import report as reports
from medbay.views import statistics as views
from medbay.views import task as task_views

if TYPE_CHECKING:
    from medbay.bay import Bay

_QUESTIONS_MAX: Final = 100
_PLANNED_MAX: Final = 10  # recurring tasks that are named as next
_DECIDED_MAX: Final = 100
_DAY_MS: Final = 86_400_000


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

    def summary(self, since_ms: int) -> dict[str, Any]:
        """Return the figures with what became of tasks and retries: what `medbay stats` prints."""
        self.catch_up()
        with self._bay.store.read() as tx:
            found = statistics.load(tx, since=tx.now - since_ms, until=tx.now)
            retries = statistic_rows.retries(tx, since=found.since)
            asked = questions.tasks_waiting(tx)
            still_open = sum(task_rows.count_open(tx).values())
            people = questions.count_open(tx)
        figures = views.as_json(found, self._bay.place.config.budget)
        return views.summary_as_json(figures, retries, waiting=max(0, still_open - len(asked)), need_person=people)

    def report(self, since_ms: int) -> dict[str, Any]:
        """Return what a person reads in the morning: what to do first, what healed, what it cost, what is next."""
        bay, summary = self._bay, self.summary(since_ms)
        asked, (pending, soon) = bay.inbox()[:_QUESTIONS_MAX], bay.pending_retries(1)
        with bay.store.read() as tx:
            behind = {each.id: sum(len(task_rows.dependents(tx, one)) for one in each.task_ids) for each in asked}
            titles = task_rows.titles(tx, sorted({one for each in asked for one in each.task_ids}))
            recurring = activity.recurring(tx, _PLANNED_MAX)
            unserved = idle.unserved(tx, [DEFAULT_QUEUE, *bay.place.config.queues])
            decided = story_rows.decided_alone(tx, tx.now - since_ms, _DECIDED_MAX)
        days = max(1, -(-since_ms // _DAY_MS))
        by_task = summed(self.cost(days=days), "task")
        most = max(by_task, key=lambda each: each.cost or 0, default=None)
        first = [(each, titles, behind[each.id]) for each in asked]
        return reports.as_json(
            summary,
            first=first,
            most=(most.name, most.cost or 0) if most is not None and most.cost else None,
            pending=pending,
            next_retry=(soon[0][0].id, soon[0][0].title, soon[0][1]) if soon else None,
            planned=[(each.id, each.title, at) for each in recurring if (at := task_views.next_attempt_at(each))],
            unserved=unserved,
            decided=decided,
        )

    def failures(self, since_ms: int) -> list[dict[str, Any]]:
        """Return the failures of the last so long, by hour and category."""
        self.catch_up()
        with self._bay.store.read() as tx:
            return views.series_as_json(statistics.failures(tx, since=tx.now - since_ms))

    def cost(self, *, days: int | None = None) -> list[UsedBy]:
        """Return what attempts used by day, agent, role, model, provider and task; of the last days, today included."""
        budget = self._bay.place.config.budget
        with self._bay.store.read() as tx:
            today = date.fromisoformat(budget.day_of(tx.now))
            since = (today - timedelta(days=days - 1)).isoformat() if days else ""
            return spending.rows(tx, since=since)

    def budgets(self) -> list[tuple[Day, Budget]]:
        """Return what is used of today's budget and of the share of each role, where there is a limit, with that."""
        spending_of = self._bay.place.config.spending
        with self._bay.store.read() as tx:
            today = budgets.day(tx, spending_of.day_of(tx.now))
            known = {each.role: each for each in budgets.shares(tx, today.day)}
        shares = [known.get(role, Day(day=today.day, role=role)) for role in sorted(spending_of.roles)]
        found = [(each, rule.budget_of(each, spending_of)) for each in (today, *shares)]
        return [(day, limits) for day, limits in found if (limits.daily_tokens, limits.daily_cost) != (None, None)]

    def recount(self) -> None:
        """Count everything again from the first event that is still there."""
        statistics.recount(self._bay.store)
