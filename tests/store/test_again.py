"""What is written again for another task: the same statements with its id, and nothing that speaks of the first one."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core import rules
from medbay.core.decision import Change, Decision
from medbay.core.model import Event, Task, changed
from medbay.store import history, tasks
from medbay.store.again import apply_noted
from medbay.store.apply import Arrival, insert_tasks
from medbay.store.database import Store, Tx

OLD = 1_700_000_000_000


def two(tx: Tx) -> tuple[Task, Task]:
    """Two tasks that differ in their ids only."""
    new = (Task(id=id_, title="t", command="true", created_by="person:x") for id_ in ("aaaa", "bbbb"))
    first, other = (insert_tasks(tx, [Arrival.of(rules.on_added(each, OLD))])[0] for each in new)
    return first, other


def test_what_was_written_for_one_is_written_for_the_other(store: Store) -> None:
    """Row, history and event."""
    with store.write() as tx:
        first, other = two(tx)
        written = apply_noted(tx, rules.on_claimed(first, tx.now, worker_id="w-1"), first.id)
        assert written is not None
        written.again(tx, other.id)

    with store.read() as tx:
        found = [tasks.get(tx, each.id) for each in (first, other)]
        steps = [[(row.target, row.reason, row.at) for row in history.of_task(tx, each.id)] for each in (first, other)]
        told = [[(row.name, row.data) for row in history.newest_events(tx, each.id, 5)] for each in (first, other)]
    assert found[0] is not None and found[1] is not None
    assert changed(found[0], id=other.id) == found[1]
    assert found[1].status == "in_progress"
    assert steps[0] == steps[1] != []
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "own",
    [
        {"events": (Event(name="task:started", task_id="aaaa", data={"why": "for aaaa"}),)},
        {"writes": ("tags",)},
    ],
    ids=["a text names it", "something is run at once"],
)
def test_what_cannot_be_told_from_its_task_is_not_written_again(store: Store, own: dict[str, Any]) -> None:
    """A text with its id in it, and a statement that is not put to wait; both are written for the task itself."""
    with store.write() as tx:
        first, _ = two(tx)
        tagged = Change(first, changed(first, tags=("night",)))
        made = Decision(events=own.get("events", ()), writes=(tagged,) if "writes" in own else ())

        assert apply_noted(tx, made, first.id) is None
