"""Records as values: copied with changes, compared, made from the columns of a row."""

from __future__ import annotations

import copy
import pickle

import pytest
from msgspec.structs import astuple

from medbay.core.model import Event, Guidance, Task, changed, changed_fields

TASK = Task(id="k7f2", title="one", tags=("a",))


def test_a_changed_task_is_another_and_the_old_one_stays() -> None:
    """Only what was named differs."""
    after = changed(TASK, status="blocked", attempts=3)

    assert (after.status, after.attempts, after.tags) == ("blocked", 3, ("a",))
    assert (TASK.status, TASK.attempts) == ("pending", 0)
    assert changed_fields(TASK, after) == ("status", "attempts")
    assert changed_fields(TASK, changed(TASK, title="one", attempts=0)) == ()


def test_a_record_has_only_its_fields() -> None:
    """A name that is none is a mistake of ours."""
    with pytest.raises(TypeError, match="no field 'colour'"):
        changed(TASK, attempts=1, colour="red")
    with pytest.raises(AttributeError, match="immutable"):
        TASK.title = "two"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        TASK.colour = "red"  # type: ignore[attr-defined]


def test_a_task_can_be_made_of_its_values() -> None:
    """As the store does with a row: the fields are the columns, in their order."""
    assert Task(*astuple(TASK)) == TASK


def test_every_record_has_defaults_of_its_own() -> None:
    """What one record holds in a default is never in another one."""
    one, two = Event(name="task:created"), Event(name="task:created")

    assert one == two
    assert one.data is not two.data


def test_a_record_is_a_value() -> None:
    """Equal ones have one hash, and copies of every kind are equal."""
    assert {TASK: 1}[Task(id="k7f2", title="one", tags=("a",))] == 1
    assert copy.deepcopy(TASK) == copy.copy(TASK) == pickle.loads(pickle.dumps(TASK)) == TASK
    assert repr(Guidance(1, "a", "b")).startswith("Guidance(attempt=1, advice='a', text='b'")


def test_other_records_are_changed_and_compared_too() -> None:
    """Whatever their type."""
    before = Guidance(1, "define foo", "text")

    after = changed(before, cured=True)

    assert after == Guidance(1, "define foo", "text", cured=True)
    assert changed_fields(before, after) == ("cured",)
