"""What attempts used, by the day their budget belongs to."""

from __future__ import annotations

from collections.abc import Collection

from medbay.core.spending import AgentUse, UsedBy
from medbay.store.database import Tx

_DAY, _ROLE = "COALESCE(r.day, '')", "COALESCE(NULLIF(r.role, ''), NULLIF(t.role, ''), 'worker')"


def rows(tx: Tx, *, since: str = "") -> list[UsedBy]:
    """What attempts used since a day, by day, agent, role, model and task; the oldest day first."""
    sql = (
        f"SELECT {_DAY}, a.agent, a.model, t.resources, a.task_id, COUNT(*), SUM(COALESCE(a.tokens_in, a.tokens, 0)),"
        " SUM(COALESCE(a.tokens_out, 0)), SUM(COALESCE(a.cost, 0)),"
        f" SUM(CASE WHEN COALESCE(a.tokens, 0) > 0 AND COALESCE(a.cost, 0) = 0 THEN 1 ELSE 0 END), {_ROLE}"
        " FROM attempt a JOIN task t ON t.id = a.task_id"
        " LEFT JOIN reservation r ON r.task_id = a.task_id AND r.number = a.number"
        " WHERE (a.tokens IS NOT NULL OR a.cost IS NOT NULL) AND COALESCE(r.day, '') >= ?"
        f" GROUP BY {_DAY}, a.agent, {_ROLE}, a.model, t.resources, a.task_id ORDER BY 1, 2, 3, 5"
    )
    return [
        UsedBy(
            day=row[0],
            agent=row[1],
            role=row[10],
            model=row[2],
            provider=_provider(row[3]),
            task=row[4],
            attempts=int(row[5]),
            tokens_in=int(row[6]),
            tokens_out=int(row[7]),
            cost=int(row[8]),
            unpriced=int(row[9]),
        )
        for row in tx.rows(sql, (since,))
    ]


def by_agent(tx: Tx, day: str) -> dict[str, AgentUse]:
    """What each agent did on a day, and when it was used last."""
    sql = (
        "SELECT a.agent, MAX(a.started_at), SUM(CASE WHEN r.day = ? THEN 1 ELSE 0 END),"
        " SUM(CASE WHEN r.day = ? THEN COALESCE(a.tokens, 0) ELSE 0 END),"
        " SUM(CASE WHEN r.day = ? THEN COALESCE(a.cost, 0) ELSE 0 END)"
        " FROM attempt a LEFT JOIN reservation r ON r.task_id = a.task_id AND r.number = a.number"
        " WHERE a.agent <> '' GROUP BY a.agent"
    )
    return {
        row[0]: AgentUse(
            agent=row[0],
            last_used_at=row[1],
            attempts_today=int(row[2]),
            tokens_today=int(row[3]),
            cost_today=int(row[4]),
        )
        for row in tx.rows(sql, (day, day, day))
    }


def by_task(tx: Tx, task_ids: Collection[str]) -> dict[str, tuple[int, int]]:
    """Tokens and money that the attempts of each of these tasks used; only of those that used anything."""
    if not task_ids:
        return {}
    marks = ", ".join("?" * len(task_ids))
    sql = (
        "SELECT task_id, SUM(COALESCE(tokens, 0)), SUM(COALESCE(cost, 0)) FROM attempt"
        f" WHERE task_id IN ({marks}) AND (tokens IS NOT NULL OR cost IS NOT NULL) GROUP BY task_id"
    )
    return {row[0]: (int(row[1]), int(row[2])) for row in tx.rows(sql, tuple(sorted(task_ids)))}


def _provider(resources: str) -> str:
    """The first account of a task, as its column has it."""
    return resources.strip("[]").split(",")[0].strip('"').removeprefix("provider:")
