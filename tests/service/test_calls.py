"""Python calls as people write them: targets, arguments, and every way to get them wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from medbay.errors import UsageError
from medbay.service.requests import edited_fields, new_task


def made(**given: Any) -> Any:
    """The new task of a request."""
    return new_task({"title": "t", **given}, now=0)


@pytest.mark.parametrize(
    "target", ["jobs:pull", "pkg.jobs:Class.method", "jobs.py:pull", "a/b c.py:pull", "/x/y-z.py:pull", "été:naïve"]
)
def test_a_target_is_a_module_or_a_file_and_a_function(target: str) -> None:
    """Stored as it was written."""
    task = made(python=target)

    assert (task.runner, task.command) == ("python", (target, "[]"))


@pytest.mark.parametrize(
    "target", ["", "jobs", "jobs:", ":pull", "a b:pull", "jobs:pull()", "a-b:pull", "1:f", 5, "a\n:f"]
)
def test_anything_else_names_no_function(target: object) -> None:
    """Said with a hint."""
    with pytest.raises(UsageError, match="names no function"):
        made(python=target)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([1, "two", None], [1, "two", None]),
        ((1, 2), [1, 2]),
        ('[1, {"a": []}]', [1, {"a": []}]),
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
    ],
)
def test_arguments_are_a_list_or_an_object(given: object, kept: object) -> None:
    """As Python values, or as text of JSON."""
    assert json.loads(made(python="m:f", args=given).command[1]) == kept


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (5, "args is a list"),
        ("5", "args is a list"),
        ("[1", "args is not JSON"),
        ("[NaN]", "NaN is not JSON"),
        ([float("inf")], "cannot be written as JSON"),
        ([{1}], "cannot be written as JSON"),
        ([{1: 2}], "the key 1 is not text"),
        (["x" * 1_000_001], "longer than"),
    ],
)
def test_other_arguments_are_refused(given: object, said: str) -> None:
    """Before anything is stored."""
    with pytest.raises(UsageError, match=said):
        made(python="m:f", args=given)


def test_isolated_is_part_of_the_command() -> None:
    """It needs no column."""
    assert made(python="m:f", isolated=True).command == ("m:f", "[]", "isolated")
    with pytest.raises(UsageError, match="isolated is true or false"):
        made(python="m:f", isolated="yes")


def test_there_is_one_thing_to_do() -> None:
    """A command or a function."""
    with pytest.raises(UsageError, match="both given"):
        made(python="m:f", run="true")
    with pytest.raises(UsageError, match="args goes with python"):
        made(args=[1])
    with pytest.raises(UsageError, match="something to run"):
        made()


def test_editing_what_is_to_be_done_changes_its_runner_too() -> None:
    """From a function to a command and back."""
    assert edited_fields({"run": "true"}) == {"command": "true", "runner": "shell"}
    assert edited_fields({"python": "m:f", "args": [1]}) == {"command": ("m:f", "[1]"), "runner": "python"}
    with pytest.raises(UsageError, match="goes with python"):
        edited_fields({"isolated": True})
