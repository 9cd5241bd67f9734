"""Scores, forecasts and learned delays, from records alone."""

from __future__ import annotations

from medbay.core.policy.replay import PolicyScore
from medbay.views import policy as view

SCORE = PolicyScore(
    tasks=4, healed=3, blocked=1, open=0, wasted=5, tokens=12_000, median_ms=90_000, p95_ms=None, people=1, guessed=0
)


def test_a_score_has_a_cell_for_each_head() -> None:
    """A figure that is not known is a dash, in JSON null."""
    cells = view.score_cells(SCORE)

    assert len(cells) + 1 == len(view.SCORE_HEAD)
    assert (cells[5], cells[7]) == ("12,000", "-")
    assert view.score_as_json("ladder", SCORE)["p95_heal_s"] is None
    assert view.score_as_json("ladder", SCORE)["median_heal_s"] == 90.0
