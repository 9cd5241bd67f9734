"""What one cycle answers: counts that add up, every error once, one line."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import medbay
from medbay.core.triage.cycle import COUNTED_AS, COUNTS, ERRORS, Cycle, Item
from medbay.core.triage.verdict import Action


def test_the_counts_add_up_whatever_happened() -> None:
    """Every action is counted once."""
    found = Cycle(tuple(Item(f"t-{at}", 2, action) for at, action in enumerate(get_args(Action))))

    assert sum(found.counts.values()) == len(found.items)
    assert set(found.counts) == set(COUNTS)
    assert found.counts["triage_errors"] == len(
        [each for each in get_args(Action) if COUNTED_AS.get(each, ERRORS) == ERRORS]
    )


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

    assert all(name in line for name in COUNTS if name != ERRORS)
    assert "issues_found 1" in line
    assert line.endswith("errors 0")


def test_an_error_is_counted_once() -> None:
    """Where a person was asked because of it, it is an escalation; the line has one number of errors."""
    cycle = Cycle((Item("t-1", 3, "triage_failed", "exit 1"), Item("t-2", 2, "split_failed", "no room")))

    assert (cycle.counts["tier3_escalated"], cycle.counts[ERRORS]) == (1, 1)
    assert sum(cycle.counts.values()) == 2
    assert cycle.line().endswith("unreadable 0, errors 2")


def test_what_was_changed_stands_beside_the_words_of_the_agent() -> None:
    """In the data of an item that was adjusted, and of no other."""
    adjusted, other = Cycle(
        (Item("a", 2, "adjusted", "too slow", ("time limit 4s → 8s",)), Item("b", 2, "split"))
    ).as_data()["results"]

    assert (adjusted["detail"], adjusted["diff"]) == ("too slow", ["time limit 4s → 8s"])
    assert "diff" not in other


def test_every_result_is_one_that_something_produces() -> None:
    """A name in the list that no code ever gives would be waited for in vain."""
    package = Path(medbay.__file__).parent
    sources = [path.read_text("utf-8") for path in package.rglob("*.py") if path.name != "verdict.py"]
    named = {each.value for text in sources for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Constant)}

    assert {each for each in get_args(Action) if each not in named} == set()


def test_what_a_tracker_still_refuses_is_an_error_beside_the_items() -> None:
    """An issue that could not be marked for a person is an error and no escalation; one without an id is unreadable."""
    odd, unmarked = Item("", 3, "issue_unreadable", "no id"), Item("t-1", 3, "escalation_failed", "exit 1")
    cycle = Cycle((odd, unmarked), refused=("t-2: bd update: exit 1",))

    assert (cycle.counts["unreadable"], cycle.counts["tier3_escalated"], cycle.counts[ERRORS]) == (1, 0, 1)
    assert cycle.errors == ("t-1: escalation_failed: exit 1", "t-2: bd update: exit 1")
