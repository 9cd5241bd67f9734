"""Adding many tasks: rows are written together, and nobody notices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from medbay.env import Ids
from medbay.errors import NotAllowed, NotFound
from medbay.service import requests, tasks
from medbay.service.tasks import WRITTEN_AT_ONCE, NewTask
from medbay.store import history
from medbay.store import tasks as task_rows
from medbay.store.database import Store, Tx


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
        first, _, second, same, other = tasks.add_many(tx, lines, ids=Ids(), actor="person:x")

    with store.read() as tx:
        assert task_rows.comes_after(tx, second.id) == [(first.id, "cancelled")]
    assert same == first
    assert other.id != first.id and other.key == "a"


def test_every_task_has_its_event_in_order(store: Store) -> None:
    """However many are written at once."""
    number = WRITTEN_AT_ONCE * 2 + 3
    with store.write() as tx:
        added = tasks.add_many(tx, new(tx, *({"tag": ["x"]} for _ in range(number))), ids=Ids(), actor="person:x")

    with store.read() as tx:
        events = history.events_since(tx, 0, limit=number + 1)
        assert [event.task_id for event in events] == [task.id for task in added]
        assert task_rows.count(tx, task_rows.TaskFilter(tags=("x",))) == number
        assert task_rows.get(tx, added[-1].id) == added[-1]


def test_a_refused_line_leaves_nothing_behind(store: Store) -> None:
    """Neither those before it, written or not."""
    with pytest.raises(NotFound), store.write() as tx:
        tasks.add_many(tx, new(tx, {}, {"key": "k"}, {"after": "zzzz"}), ids=Ids(), actor="person:x")

    with store.read() as tx:
        assert task_rows.count_by_status(tx) == {}
        assert history.last_event_seq(tx) == 0


def test_crowded_ids_grow_longer(store: Store) -> None:
    """And when none is free at all, that is said."""
    with store.write() as tx:
        first, second = tasks.add_many(tx, new(tx, {}, {}), ids=OneId(), actor="person:x")

        assert (first.id, len(second.id)) == ("aaaa", 5)
        with pytest.raises(NotAllowed, match="no free task id"):
            tasks.add_many(tx, new(tx, {}), ids=_Stubborn(), actor="person:x")


class _Stubborn(Ids):
    def task(self, existing: int) -> str:
        return "aaaa"
