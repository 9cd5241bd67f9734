"""The tables of the product, written here a second time from the specification and compared."""

from __future__ import annotations

import pytest

from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT, LIFECYCLES, TASK
from medbay.core.machine import Machine, draw_json, draw_mermaid, draw_text
from medbay.errors import IllegalTransition

Table = dict[str, set[str]]

TASK_TABLE: Table = {
    "pending": {"in_progress", "blocked", "cancelled"},
    "in_progress": {"pending_verification", "completed", "failed", "pending", "cancelled", "blocked"},
    "pending_verification": {"completed", "failed", "pending", "cancelled", "blocked"},
    "failed": {"pending", "blocked", "cancelled"},
    "blocked": {"pending", "cancelled", "completed"},
    "completed": set(),
    "cancelled": set(),
}

# Row by row, written a second time; every unfinished status may also be cancelled, blocked, and come back.
STORY_ROWS: Table = {
    "pending": {"generated"},
    "generated": {"in-elaboration"},
    "in-elaboration": {"ready-to-work", "needs-refinement", "needs-split"},
    "needs-refinement": {"generated"},
    "needs-split": {"generated", "superseded"},
    "ready-to-work": {"in-progress"},
    "in-progress": {"ready-for-code-review", "ready-for-qa"},
    "ready-for-code-review": {"ready-for-qa", "code-review-failed"},
    "code-review-failed": {"in-progress"},
    "ready-for-qa": {"in-qa"},
    "in-qa": {"uat", "needs-work"},
    "needs-work": {"in-progress"},
    "uat": {"completed", "in-progress"},
}
STORY_TABLE: Table = {
    **{status: targets | {"cancelled", "blocked"} for status, targets in STORY_ROWS.items()},
    "blocked": set(STORY_ROWS) | {"cancelled"},
    "completed": set(),
    "cancelled": set(),
    "superseded": set(),
}
STORY_PLACES = {
    "backlog": {"pending", "generated"},
    "elaboration": {"in-elaboration", "needs-refinement", "needs-split"},
    "ready-to-work": {"ready-to-work"},
    "in-progress": {"in-progress", "ready-for-code-review", "code-review-failed", "needs-work"},
    "ready-for-qa": {"ready-for-qa"},
    "UAT": {"in-qa", "uat", "completed"},
    "blocked": {"blocked"},
    "cancelled": {"cancelled", "superseded"},
}
HOTFIX_ROWS: Table = {
    "pending": {"in-progress"},
    "in-progress": {"ready-for-code-review"},
    "ready-for-code-review": {"uat", "code-review-failed"},
    "code-review-failed": {"in-progress"},
    "uat": {"completed", "in-progress"},
}
HOTFIX_TABLE: Table = {
    **{status: targets | {"cancelled", "blocked"} for status, targets in HOTFIX_ROWS.items()},
    "blocked": set(HOTFIX_ROWS) | {"cancelled"},
    "completed": set(),
    "cancelled": set(),
}
TABLES: dict[str, tuple[str, Table]] = {
    "task": ("pending", TASK_TABLE),
    "story": ("pending", STORY_TABLE),
    "hotfix": ("pending", HOTFIX_TABLE),
    "workorder": (
        "CREATED",
        {"CREATED": {"EXECUTED", "FAILED"}, "EXECUTED": {"PASSED", "FAILED"}, "PASSED": set(), "FAILED": set()},
    ),
    "capture": (
        "PENDING",
        {
            "PENDING": {"PROCESSED", "POISON", "DISCARDED"},
            "POISON": {"DISCARDED", "PENDING"},
            "PROCESSED": set(),
            "DISCARDED": set(),
        },
    ),
    "candidate": ("PROPOSED", {"PROPOSED": {"PROMOTED", "DISCARDED"}, "PROMOTED": set(), "DISCARDED": set()}),
}


def test_there_are_exactly_these_lifecycles() -> None:
    """A new one needs its table here."""
    assert set(LIFECYCLES) == set(TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_allows_what_the_specification_allows_and_nothing_else(name: str) -> None:
    """Every pair of statuses, one by one."""
    machine = LIFECYCLES[name]
    initial, table = TABLES[name]

    assert machine.initial == initial
    assert set(machine.states) == set(table)
    assert machine.terminal == {status for status, targets in table.items() if not targets}
    for source in table:
        assert set(machine.allowed(source)) == table[source], source
        for target in table:
            assert is_allowed(machine, source, target) == (target in table[source]), (source, target)


def test_a_story_has_seventeen_statuses_each_in_its_directory() -> None:
    """Where the files of a story lie."""
    story = LIFECYCLES["story"]

    assert len(story.states) == 17
    assert story.places == {status: place for place, those in STORY_PLACES.items() for status in those}


def test_a_completed_task_goes_nowhere() -> None:
    """Not even a person takes a success back."""
    with pytest.raises(IllegalTransition, match="t-1 is completed and may not become pending.*terminal"):
        TASK.check("t-1", "completed", "pending")


def test_an_illegal_move_of_a_task_names_all_its_allowed_moves() -> None:
    """The message is the documentation."""
    with pytest.raises(IllegalTransition) as refused:
        TASK.check("t-1", "pending", "completed")

    assert str(refused.value) == (
        "t-1 is pending and may not become completed; from pending it may become in_progress, blocked, cancelled"
    )


def test_only_spec_and_external_blocks_end_by_themselves() -> None:
    """A person's block waits for the person."""
    assert {"spec", "external"} == BLOCKS_THAT_TIME_OUT


@pytest.mark.parametrize("machine", LIFECYCLES.values(), ids=LIFECYCLES.keys())
def test_every_move_has_a_trigger_and_stands_in_every_drawing(machine: Machine) -> None:
    """Text, Mermaid and JSON are the same table."""
    text, mermaid, data = draw_text(machine), draw_mermaid(machine), draw_json(machine)

    for move in machine.moves:
        assert move.trigger
        assert move.trigger in text
        assert f'"trigger": "{move.trigger}"' in data
    assert text.count(" -> ") == mermaid.count(" --> ") - 1 - len(machine.terminal) == len(machine.moves)
    assert text.count("is terminal") == len(machine.terminal)


def is_allowed(machine: Machine, source: str, target: str) -> bool:
    """Whether the check lets a move pass."""
    try:
        machine.check("x", source, target)
    except IllegalTransition:
        return False
    return True
