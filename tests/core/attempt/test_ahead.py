"""Which tasks may wait ahead of a process that is at work on another."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.attempt.ahead import COMMANDS, fed_ahead, needs_own_process
from medbay.core.model import Check, Task


def call(name: str, **given: Any) -> Task:
    """A Python call that needs nothing of its own."""
    return Task(id=name, title=name, runner="python", command=("m:f", "[]"), **{"cwd": "/a", **given})


def test_calls_are_fed_in_their_order_as_far_as_there_is_room() -> None:
    """Each directory has its own; a task that names none stands at home."""
    found = fed_ahead([call("1"), call("2", cwd=""), call("3"), call("4")], {"/a": 2, "/home": 1}, home="/home")

    assert [task.id for task in found] == ["1", "2", "3"]
    assert fed_ahead([call("1")], {"/a": 2}, home="/home") == [call("1")]


@pytest.mark.parametrize(
    "needs",
    [
        {"runner": "person"},
        {"command": ("m:f", "[]", "isolated")},
        {"env": (("PYTHONPATH", "x"),)},
        {"memory_bytes": 1},
        {"cpu_ms": 1},
        {"crashes": 1},
        {"canary": True},
        {"forced": True},
        {"checks": (Check("true"),)},
        {"cwd": "/b"},
    ],
)
def test_what_needs_something_of_its_own_waits_for_a_slot_and_what_follows_with_it(needs: dict[str, Any]) -> None:
    """Nothing overtakes it."""
    one = Task(**{"id": "1", "title": "1", "runner": "python", "command": ("m:f", "[]"), "cwd": "/a", **needs})

    assert fed_ahead([call("0"), one, call("2")], {"/a": 8}, home="/home") == [call("0")]


def test_commands_wait_in_a_place_of_their_own() -> None:
    """Whatever their directories are."""
    commands = [Task(id=str(n), title="c", runner="shell", command=("true",), cwd=f"/{n}") for n in range(3)]

    assert fed_ahead([*commands, call("3")], {COMMANDS: 2, "/a": 8}, home="/home") == commands[:2]
    assert fed_ahead([call("3"), *commands], {COMMANDS: 2, "/a": 8}, home="/home") == [call("3"), *commands[:2]]


def test_variables_of_a_task_do_not_matter_unless_they_are_read_at_the_start() -> None:
    """Those are for a process of its own."""
    assert not needs_own_process(("m:f", "[]"), {"OWN": "1"})
    assert needs_own_process(("m:f", "[]"), {"LD_PRELOAD": "x"})
