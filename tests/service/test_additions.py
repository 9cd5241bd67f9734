"""Adding many tasks: rows are written together, and nobody notices."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from medbay.env import Ids
from medbay.errors import NotAllowed, NotFound, UsageError
from medbay.service import additions, bulk, exchange, requests, tasks
from medbay.service.additions import WRITTEN_AT_ONCE, NewTask
from medbay.store import history
from medbay.store import tasks as task_rows
from medbay.store.database import Store, Tx
from medbay.store.tasks import TaskFilter
from tests.conftest import OpenStore


class OneId(Ids):
    """Draws the same few ids again and again until they are longer."""

    def task(self, existing: int) -> str:
        """`aaaa` while few exist."""
        return "aaaa" if existing < 10_000 else super().task(existing)


def new(tx: Tx, *lines: dict[str, Any]) -> Iterator[NewTask]:
    """The lines as they are asked for, one by one."""
    return (requests.new_task({"title": "t", "run": "true", **line}, now=tx.now) for line in lines)


def test_a_line_may_name_an_earlier_one(store: Store) -> None:
    """By its key, although its row may not have been written yet; and it sees what became of it."""
    with store.write() as tx:
        lines = new(tx, {"key": "a"}, {}, {"after": "a"}, {"key": "a"}, {"key": "a", "on_conflict": "replace"})
        first, _, second, same, other = additions.add_many(tx, lines, ids=Ids(), actor="person:x")

    with store.read() as tx:
        assert task_rows.comes_after(tx, second.id) == [(first.id, "cancelled")]
    assert same == first
    assert other.id != first.id and other.key == "a"


def test_every_task_has_its_event_in_order(store: Store) -> None:
    """However many are written at once."""
    number = WRITTEN_AT_ONCE * 2 + 3
    with store.write() as tx:
        added = additions.add_many(tx, new(tx, *({"tag": ["x"]} for _ in range(number))), ids=Ids(), actor="person:x")

    with store.read() as tx:
        events = history.events_since(tx, 0, limit=number + 1)
        assert [event.task_id for event in events] == [task.id for task in added]
        assert task_rows.count(tx, task_rows.TaskFilter(tags=("x",))) == number
        assert task_rows.get(tx, added[-1].id) == added[-1]


MIXED: list[dict[str, Any]] = [
    {"title": "a", "python": "m:f", "args": [1], "cwd": "/x"},
    {"title": "b", "python": "m:f", "args": [2], "cwd": "/x"},
    {"title": "c", "python": "m:g", "args": {"n": 3}, "cwd": "/x"},
    {"title": "d", "python": "m:g", "args": [4], "cwd": "/x", "isolated": True},
    {"title": "e", "python": "m:g", "args": [5], "cwd": "/x", "isolated": False},
    {"title": "f", "run": ["true"], "at": "+1h", "tag": ["x"]},
    {"title": "g", "run": ["false"], "at": "+1h", "tag": ["x"]},
    {"title": "h", "run": "true", "at": "+2h", "tag": ["x"]},
    {"title": "i", "run": "true", "priority": 1, "cron": "0 3 * * *"},
    {"title": "j", "run": "true", "priority": 1, "cron": "0 3 * * *"},
    {"title": "k", "run": "true", "key": "k"},
    {"title": "l", "run": "true", "key": "l"},
    {"title": "m", "run": None, "python": "m:f"},
    {"title": "n", "run": "true", "python": None},
]


def test_what_is_alike_is_added_as_each_would_be_alone(store: Store) -> None:
    """Nobody can tell from a task that the one before it was checked and decided about in its stead."""
    with store.write() as tx:
        wanted = requests.new_tasks(MIXED, now=tx.now, defaults=requests.Defaults(cwd="/here"))
        together = additions.add_many(tx, wanted, ids=Ids(), actor="person:x")
    with store.read() as tx:
        told = [(each.name, each.data) for each in history.events_since(tx, 0, limit=100)]
        kept = [task_rows.get(tx, task.id) for task in together]
    with store.write() as tx:
        tx.execute("DELETE FROM task_tag")
        tx.execute("DELETE FROM task")
        alone = [
            additions.add(
                tx,
                requests.new_task(line, now=tx.now, defaults=requests.Defaults(cwd="/here")),
                ids=Ids(),
                actor="person:x",
            )
            for line in MIXED
        ]

    assert kept == together
    assert [replace(task, id="") for task in together] == [replace(task, id="") for task in alone]
    with store.read() as tx:
        again = [(each.name, each.data) for each in history.events_since(tx, 0, limit=100)]
    assert again[len(told) :] == told


@pytest.mark.parametrize(
    "wrong", [{"title": " "}, {"title": 3}, {"args": "no"}, {"python": "nothing"}, {"priority": True}, {"other": 1}]
)
def test_what_is_wrong_is_refused_also_behind_one_that_is_like_it(wrong: dict[str, Any]) -> None:
    """Its own words are checked, and a number is not a truth value."""
    good = {"title": "t", "python": "m:f", "args": [1], "priority": 1}

    with pytest.raises(UsageError):
        list(requests.new_tasks([good, {**good, **wrong}], now=0))


def test_a_refused_line_leaves_nothing_behind(store: Store) -> None:
    """Neither those before it, written or not."""
    with pytest.raises(NotFound), store.write() as tx:
        additions.add_many(tx, new(tx, {}, {"key": "k"}, {"after": "zzzz"}), ids=Ids(), actor="person:x")

    with store.read() as tx:
        assert task_rows.count_by_status(tx) == {}
        assert history.last_event_seq(tx) == 0


def test_crowded_ids_grow_longer(store: Store) -> None:
    """And when none is free at all, that is said."""
    with store.write() as tx:
        first, second = additions.add_many(tx, new(tx, {}, {}), ids=OneId(), actor="person:x")

        assert (first.id, len(second.id)) == ("aaaa", 5)
        with pytest.raises(NotAllowed, match="no free task id"):
            additions.add_many(tx, new(tx, {}), ids=_Stubborn(), actor="person:x")


class _Stubborn(Ids):
    def task(self, existing: int) -> str:
        return "aaaa"


def while_it_is_open(tx_of: Store, act: Callable[[Tx], object], other: Callable[[], None]) -> None:
    """Let the other begin while a transaction has acted and not ended, then end it."""
    thread = threading.Thread(target=other)
    with tx_of.write() as tx:
        act(tx)
        thread.start()
        time.sleep(0.3)
    thread.join(20)
    assert not thread.is_alive()


def test_an_id_taken_while_many_are_added_is_drawn_anew(open_store: OpenStore) -> None:
    """The others keep theirs, each has its event once, and what is given back is what was written."""
    one, two = open_store(), open_store()
    made: list[list[str]] = []

    def add_three() -> None:
        with two.write() as tx:
            lines = new(tx, {"tag": "x"}, {"tag": "x"}, {"tag": "x"})
            made.append(
                [task.id for task in additions.add_many(tx, lines, ids=_Listed("bbbb", "aaaa"), actor="person:x")]
            )

    while_it_is_open(
        one, lambda tx: additions.add(tx, next(new(tx, {})), ids=_Listed("aaaa"), actor="person:x"), add_three
    )

    ((first, second, third),) = made
    assert first == "bbbb" and "aaaa" not in (second, third)
    with one.read() as tx:
        assert task_rows.select_ids(tx, TaskFilter(tags=("x",))) == sorted([first, second, third])
        events = history.events_since(tx, 0, limit=10)
        assert [event.task_id for event in events] == ["aaaa", first, second, third]


def test_what_changed_while_a_bulk_act_waited_is_not_meant_any_more(open_store: OpenStore) -> None:
    """The filter is read again once everything is held."""
    one, two = open_store(), open_store()
    with one.write() as tx:
        gone, stays = additions.add_many(tx, new(tx, {}, {}), ids=Ids(), actor="person:x")
    found: list[bulk.Bulk] = []

    def pause_all() -> None:
        wanted = TaskFilter(statuses=("pending",))
        with two.write() as tx:
            found.append(bulk.act(tx, "pause", wanted, actor="person:x", attempts=2, dry_run=False))

    while_it_is_open(one, lambda tx: tasks.cancel(tx, tasks.resolve(tx, gone.id), actor="person:x"), pause_all)

    assert [(each.done, each.skipped) for each in found] == [((stays.id,), ())]


class _Listed(Ids):
    """Draws these ids first."""

    def __init__(self, *listed: str) -> None:
        super().__init__()
        self._listed = list(listed)

    def task(self, existing: int) -> str:
        """The next of them."""
        return self._listed.pop(0) if self._listed else super().task(existing)


def test_as_many_as_are_expected_have_ids_in_their_order(store: Store) -> None:
    """What is ready in one moment runs in the order of its ids; more than were said to come are no mistake."""
    with store.write() as tx:
        made = additions.add_many(tx, new(tx, *({} for _ in range(300))), ids=Ids(), actor="person:x", expected=290)

    ids = [task.id for task in made]
    assert ids[:290] == sorted(ids[:290])
    assert len(set(ids)) == 300


def test_who_fills_the_same_dictionary_again_asks_for_another_task(store: Store) -> None:
    """A generator may have one for all; what is compared is what it said, not what it says by now."""
    tags: list[str] = []

    def lines() -> Iterator[dict[str, Any]]:
        line: dict[str, Any] = {"run": "true", "tag": tags}
        for number in range(4):
            line |= {"title": f"t{number}", "key": f"k{number}", "priority": number % 3, "env": {"N": str(number)}}
            tags.append(f"g{number}")
            yield line

    with store.write() as tx:
        by: dict[str, Any] = {"defaults": requests.NO_DEFAULTS, "agents": {}}
        made = exchange.add_lines(tx, lines(), (), ids=Ids(), actor="person:x", **by)

    assert [(task.title, task.key, task.priority, task.tags, task.env) for task in made] == [
        (f"t{n}", f"k{n}", n % 3, tuple(f"g{each}" for each in range(n + 1)), (("N", str(n)),)) for n in range(4)
    ]


def test_lines_with_the_same_tags_are_checked_once() -> None:
    """A list of words is compared by its words; another object or the same makes no difference."""
    tags = ["a", "b"]
    given = [{"title": "t", "run": "true", "tag": each} for each in (tags, tags, [*tags], ["a"], ["a", 1])]

    *made, last = (requests.says_the_same(requests.as_it_is(one), two) for one, two in itertools.pairwise(given))

    assert (made, last) == ([True, True, False], False)


def test_a_transaction_that_is_made_again_has_every_line_as_it_was() -> None:
    """Although their maker has one dictionary for all of them."""
    line: dict[str, Any] = {"tag": []}
    seen: list[Mapping[str, Any]] = []

    def lines() -> Iterator[dict[str, Any]]:
        for number in range(3):
            line["tag"].append(str(number))
            yield line

    unseen = lines()
    for _ in exchange.again(seen, unseen):
        pass

    assert [each["tag"] for each in exchange.again(seen, unseen)] == [["0"], ["0", "1"], ["0", "1", "2"]]


@pytest.mark.parametrize(("said", "meant"), [(1, 1000), (1.5, 1500), (0.25, 250), ("2m", 120_000)])
def test_a_number_is_a_duration_in_seconds(said: float | str, meant: int) -> None:
    """With a fraction, too."""
    made = requests.new_task({"title": "t", "run": "true", "timeout": said, "stall": said}, now=0)

    assert (made.timeout_ms, made.stall_ms) == (meant, meant)


@pytest.mark.parametrize("wrong", [0.0, -1.5, math.nan, math.inf, True])
def test_what_is_no_duration_is_refused(wrong: float) -> None:
    """Each is named."""
    with pytest.raises(UsageError):
        requests.new_task({"title": "t", "run": "true", "timeout": wrong}, now=0)
