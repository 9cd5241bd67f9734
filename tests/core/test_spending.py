"""What agents used, added up."""

from __future__ import annotations

from medbay.core.spending import Sum, UsedBy, summed, total


def row(**given: object) -> UsedBy:
    """One row, changed by what is given."""
    values = {
        "day": "2026-11-17",
        "agent": "claude",
        "role": "worker",
        "model": "opus",
        "provider": "anthropic",
        "task": "t-1",
        "attempts": 1,
        "tokens_in": 100,
        "tokens_out": 10,
        "cost": 5,
    }
    return UsedBy(**(values | given))  # type: ignore[arg-type]


def test_rows_are_added_up_by_any_of_their_names() -> None:
    """Each group has the same total."""
    rows = [row(), row(day="2026-11-18", cost=0, unpriced=1), row(agent="codex", model="", attempts=2)]

    assert [(each.name, each.attempts, each.cost) for each in summed(rows, "day")] == [
        ("2026-11-17", 3, 10),
        ("2026-11-18", 1, 0),
    ]
    assert [each.name for each in summed(rows, "model")] == ["-", "opus"]
    assert total(rows) == Sum(name="total", attempts=4, tokens_in=300, tokens_out=30, cost=10, unpriced=1)
