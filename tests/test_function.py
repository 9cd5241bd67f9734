"""`@medbay.task`: the function stays what it is, and what cannot be found by name is refused with a hint."""

from __future__ import annotations

import pickle
from types import FunctionType
from typing import Any

import pytest

import medbay
from medbay.core.model import Task
from medbay.errors import UsageError
from medbay.function import TaskFunction, target_of


class Book:
    """Stands in for a Bay and writes down what is added."""

    def __init__(self) -> None:
        self.added: list[dict[str, Any]] = []

    def add(self, title: str, **options: Any) -> Task:
        """Write it down."""
        self.added.append({"title": title, **options})
        return Task(id="k7f2", title=title, command=())


@medbay.task
def plain(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


@medbay.task(title="named", timeout="10m", queue="night")
def named(*, word: str) -> str:
    """Repeat."""
    return word


def undecorated() -> None:
    """Nothing."""


def test_the_function_stays_callable_and_known_by_its_name() -> None:
    """With its documentation, and to pickle."""
    assert plain(1) == 3
    assert named(word="x") == "x"
    assert (getattr(plain, "__name__", ""), plain.__doc__) == ("plain", "Add.")
    assert pickle.loads(pickle.dumps(plain)) is plain
    assert repr(plain) == "<medbay.task tests.test_function:plain>"


def test_adding_it_keeps_arguments_and_options() -> None:
    """Positional and by name; `using` overrides for one add."""
    book = Book()

    plain.add(book, 1, b=5)
    named.using(queue="day", key="k").add(book, word="x")

    assert [(each["title"], each["python"], each["args"]) for each in book.added] == [
        ("plain", "tests.test_function:plain", {"args": [1], "kwargs": {"b": 5}}),
        ("named", "tests.test_function:named", {"args": [], "kwargs": {"word": "x"}}),
    ]
    assert (book.added[1]["timeout"], book.added[1]["queue"], book.added[1]["key"]) == ("10m", "day", "k")


def test_arguments_that_do_not_fit_are_refused() -> None:
    """Before anything is stored."""
    with pytest.raises(UsageError, match="missing a required argument: 'a'"):
        plain.add(Book())  # type: ignore[call-arg]


def test_what_cannot_be_found_by_name_is_refused() -> None:
    """Nested, without a name, or replaced."""

    def nested() -> None: ...

    with pytest.raises(UsageError, match="top level of a module"):
        TaskFunction(nested, {}).add(Book())
    with pytest.raises(UsageError, match="cannot be found by its name"):
        TaskFunction(lambda: None, {}).add(Book())
    replaced = FunctionType(undecorated.__code__, {"__name__": __name__}, "plain")
    with pytest.raises(UsageError, match="something else by now"):
        target_of(replaced, "/")


def test_an_undecorated_function_has_a_target_too() -> None:
    """For `bay.add(python=...)`."""
    assert target_of(undecorated, "/") == "tests.test_function:undecorated"


def test_try_again_says_why_and_when() -> None:
    """Both may be left out."""
    assert str(medbay.TryAgain("busy", after=60)) == "busy"
    assert medbay.TryAgain("busy", after="10m").after == "10m"
    assert str(medbay.TryAgain()) == "asked to be tried again"
