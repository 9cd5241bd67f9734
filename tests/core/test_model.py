"""Tasks as values: copied with changes, compared, made from their fields."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from medbay.core.model import Guidance, Task, changed, changed_fields, task_of, task_values

TASK = Task(id="k7f2", title="one", tags=("a",))


def test_a_changed_task_is_another_and_the_old_one_stays() -> None:
    """Equal to what the library's own way makes."""
    after = changed(TASK, status="blocked", attempts=3)

    assert after == replace(TASK, status="blocked", attempts=3)
    assert (TASK.status, TASK.attempts) == ("pending", 0)
    assert changed_fields(TASK, after) == ("status", "attempts")
    assert changed(TASK, title="one", attempts=0) is TASK


def test_a_task_has_only_its_fields() -> None:
    """A name that is none is a mistake of ours."""
    with pytest.raises(TypeError, match="no field colour"):
        changed(TASK, attempts=1, colour="red")
    with pytest.raises(FrozenInstanceError):
        TASK.title = "two"  # type: ignore[misc]


def test_a_task_can_be_made_of_its_values() -> None:
    """As the store does with a row."""
    assert task_of(task_values(TASK)) == TASK
    with pytest.raises(ValueError):
        task_of(["k7f2", "one"])


def test_other_records_are_changed_and_compared_too() -> None:
    """Those that have slots, and no short cut."""
    before = Guidance(1, "define foo", "text")

    after = changed(before, cured=True)

    assert after == Guidance(1, "define foo", "text", cured=True)
    assert changed_fields(before, after) == ("cured",)
