"""What one cycle answers: counts that add up, every error once, one line."""

from __future__ import annotations

from typing import get_args

from medbay.core.triage.cycle import COUNTED_AS, COUNTS, Cycle, Item
from medbay.core.triage.verdict import Action


def test_the_counts_add_up_whatever_happened() -> None:
    """Every action is counted once."""
    found = Cycle(tuple(Item(f"t-{at}", 2, action) for at, action in enumerate(get_args(Action))))

    assert sum(found.counts.values()) == len(found.items)
    assert set(found.counts) == set(COUNTS)
    assert found.counts["triage_errors"] == len([each for each in get_args(Action) if each not in COUNTED_AS])


def test_every_error_is_told_once() -> None:
    """With whom it concerns; a source that cannot be listed is one error and no items."""
    wrong = Item("t-1", 2, "triage_failed", "it hung")
    found = Cycle((wrong, wrong, Item("t-2", 2, "adjusted")))

    assert found.errors == ("t-1: triage_failed: it hung",)
    assert Cycle(broken="no store").errors == ("no store",)
    assert Cycle(broken="no store").as_data()["issues_found"] == 0


def test_the_shape_is_the_documented_one() -> None:
    """Item results carry id, tier, action and detail; a refusal is told as what follows from it."""
    told = Cycle((Item("t-1", 3, "refused", "two fixes"), Item("t-2", 2, "adjusted"))).as_data()

    assert told["results"][0] == {
        "issue_id": "t-1",
        "tier": 3,
        "action": "escalated_to_human",
        "detail": "two fixes",
    }
    assert (told["issues_found"], told["tier3_escalated"], told["tier2_adjusted"], told["errors"]) == (2, 1, 1, [])


def test_one_line_says_all_of_it() -> None:
    """Every count, and the errors as one number."""
    line = Cycle((Item("t-1", 2, "split"),)).line()

    assert all(name in line for name in COUNTS)
    assert "issues_found 1" in line
    assert line.endswith("errors 0")
