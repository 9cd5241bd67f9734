"""Tasks added one after the other: each is what it would be alone, and little is done for it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.model import Event, Task
from medbay.env import Ids
from medbay.errors import NotAllowed, UsageError
from medbay.service import additions, requests
from medbay.service.requests import Defaults
from medbay.service.series import Series
from medbay.store import history
from medbay.store import tasks as task_rows
from medbay.store.database import Store, Tx
from tests.worlds import ManualClock

ACTOR = "person:x"
ASKED: list[dict[str, Any]] = [
    {"title": "one", "run": "make"},
    {"title": "two", "run": ["make", "two"]},
    {"title": "three", "run": None, "python": "jobs:f", "args": [1], "cwd": "/a"},
    {"title": "four", "run": None, "python": "jobs:f", "args": [2], "cwd": "/a"},
    {"title": "five", "run": None, "python": "jobs:f", "args": [3], "cwd": "/b", "priority": 1},
    {"title": "six", "run": "make", "at": "+1h"},
    {"title": "seven", "run": "make", "at": "+1h"},
    {"title": "eight", "run": "make", "every": "1h"},
    {"title": "nine", "run": "make", "every": "1h"},
    {"title": "ten", "run": "make", "key": "k"},
    {"title": "eleven", "run": "make", "key": "l"},
    {"title": "twelve", "run": "make", "after": "k"},
    {"title": "thirteen", "run": "make", "after": "k"},
    {"title": "fourteen", "person": True},
    {"title": "fifteen", "person": True},
    {"title": "sixteen", "run": "make", "spec": "Do it quickly, somehow."},
    {"title": "seventeen", "run": "make", "spec": "Do it quickly, somehow.", "assess": True},
]
# The same again with words that stay: what is remembered of a title or a directory is not what is asked for next.
AGAIN = [{**each, "title": "again"} for each in ASKED if "key" not in each]


def series(ids: Ids | None = None) -> Series:
    """One that has added nothing yet."""
    return Series(ids or Ids(), {})


def alone(tx: Tx, given: dict[str, Any], defaults: Defaults) -> Task:
    """The same task without any before it."""
    new = requests.new_task(given, now=tx.now, defaults=defaults)
    return additions.add(tx, new, ids=Ids(), actor=ACTOR)


def told_of(events: list[Event], task: Task) -> list[tuple[object, ...]]:
    """What was said of a task, but for the ids of questions."""
    return [
        (each.name, {name: value for name, value in each.data.items() if name != "question"}, each.at)
        for each in events
        if each.task_id == task.id
    ]


def test_each_is_what_it_would_be_alone(store: Store, clock: ManualClock) -> None:
    """Also where the time or the directory is another one by then; its row and its event say the same."""
    one_by_one = series()

    for number, given in enumerate([*ASKED, *AGAIN, *ASKED]):
        clock.advance(1000)
        defaults = Defaults(cwd=f"/{number // 3}")
        with store.write() as tx:
            before = history.last_event_seq(tx)
            made = one_by_one.add(tx, given, defaults=defaults, actor=ACTOR)
            wanted = alone(tx, given, defaults)
            events = history.events_since(tx, before, limit=10)
            steps = [
                [(step.source, step.target, step.actor) for step in history.of_task(tx, each.id)]
                for each in (made, wanted)
            ]

        assert steps[0] == steps[1]
        assert replace(made, id="") == replace(wanted, id="")
        with store.read() as tx:
            assert task_rows.get(tx, made.id) == made
        assert told_of(events, made) == told_of(events, wanted)


def test_tags_and_priority_are_those_of_each(store: Store) -> None:
    """Tags have rows of their own, and belong to who asked: they are others the next time."""
    one_by_one, tags = series(), ["a"]
    given: dict[str, Any] = {"title": "t", "run": "make", "tag": tags}

    with store.write() as tx:
        first = one_by_one.add(tx, given, defaults=Defaults(), actor=ACTOR)
        tags.append("b")
        second = one_by_one.add(tx, {**given}, defaults=Defaults(), actor=ACTOR)
        said = [one_by_one.add(tx, {**given, "tag": "c"}, defaults=Defaults(), actor=ACTOR) for _ in range(3)]

    assert (first.tags, second.tags, said[2].tags) == (("a",), ("a", "b"), ("c",))
    with store.read() as tx:
        assert task_rows.count(tx, task_rows.TaskFilter(tags=("c",))) == 3


def test_who_asks_is_who_added_it(store: Store) -> None:
    """One Bay may act for several people."""
    one_by_one, given = series(), {"title": "t", "run": "make"}

    with store.write() as tx:
        made = [one_by_one.add(tx, given, defaults=Defaults(), actor=each) for each in ("a", "a", "b", "b")]

    assert [each.created_by for each in made] == ["a", "a", "b", "b"]


@pytest.mark.parametrize("wrong", [{"title": ""}, {"title": "x", "run": ""}, {"title": "x", "run": 3}])
def test_what_is_wrong_is_refused_also_after_one_that_is_right(store: Store, wrong: dict[str, Any]) -> None:
    """Its own words are looked at each time, and the next one is added all the same."""
    one_by_one, good = series(), {"title": "t", "run": "make"}
    with store.write() as tx:
        one_by_one.add(tx, good, defaults=Defaults(), actor=ACTOR)

    with pytest.raises(UsageError), store.write() as tx:
        one_by_one.add(tx, {"run": "make", **wrong}, defaults=Defaults(), actor=ACTOR)

    with store.write() as tx:
        one_by_one.add(tx, good, defaults=Defaults(), actor=ACTOR)
    with store.read() as tx:
        assert len(task_rows.select(tx, task_rows.TaskFilter())) == 2


def test_what_was_undone_is_no_obstacle(store: Store) -> None:
    """The transaction of the first one failed: the second is stored in full."""
    one_by_one, given = series(), {"title": "t", "run": "make"}
    with pytest.raises(ZeroDivisionError), store.write() as tx:
        one_by_one.add(tx, given, defaults=Defaults(), actor=ACTOR)
        raise ZeroDivisionError

    with store.write() as tx:
        made = one_by_one.add(tx, given, defaults=Defaults(), actor=ACTOR)

    with store.read() as tx:
        assert [each.id for each in task_rows.select(tx, task_rows.TaskFilter())] == [made.id]


class _Drawn(Ids):
    """Draws one id again and again until longer ones are asked for, or for ever."""

    def __init__(self, *, for_ever: bool = False) -> None:
        super().__init__()
        self._left = math.inf if for_ever else 3

    def task(self, existing: int) -> str:
        """`aaaa`, so often."""
        self._left -= 1
        return "aaaa" if self._left >= 0 else super().task(existing)


def test_an_id_that_is_taken_is_drawn_again(store: Store) -> None:
    """Nothing was looked up before; the insert notices."""
    one_by_one, given = series(_Drawn()), {"title": "t", "run": "make"}

    with store.write() as tx:
        made = [one_by_one.add(tx, given, defaults=Defaults(), actor=ACTOR) for _ in range(3)]

    assert made[0].id == "aaaa"
    assert len({each.id for each in made}) == 3


def test_when_no_id_is_free_that_is_said(store: Store) -> None:
    """It ends, and says so."""
    one_by_one, given = series(_Drawn(for_ever=True)), {"title": "t", "run": "make"}

    with store.write() as tx:
        one_by_one.add(tx, given, defaults=Defaults(), actor=ACTOR)
        with pytest.raises(NotAllowed, match="no free task id"):
            one_by_one.add(tx, given, defaults=Defaults(), actor=ACTOR)


def test_ids_rise_and_how_many_there_are_is_seldom_asked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that tasks run in their order; only a long series draws many ids at once."""
    asked: list[int] = []
    counted = task_rows.how_many

    def how_many(tx: Tx, adding: int = 1) -> int:
        asked.append(adding)
        return counted(tx, adding)

    monkeypatch.setattr("medbay.service.series.tasks.how_many", how_many)
    one_by_one, given = series(), {"title": "t", "run": "make"}

    with store.write() as tx:
        ids = [one_by_one.add(tx, given, defaults=Defaults(), actor=ACTOR).id for _ in range(3000)]

    assert asked[:4] == [1, 1, 3, 7]  # the first by itself
    assert max(asked) == 1023 and len(asked) < 20
    assert len(set(ids)) == 3000
    falls = sum(one > two for one, two in itertools.pairwise(ids))
    assert falls < len(asked)
