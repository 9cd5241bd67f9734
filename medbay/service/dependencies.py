"""The graph of tasks: what comes after what. A cycle is refused when it is made."""

from __future__ import annotations

from typing import Final

from medbay.core import rules
from medbay.core.model import Task
from medbay.errors import NotAllowed
from medbay.store import tasks
from medbay.store.apply import apply
from medbay.store.database import Tx

_VISITED_MAX: Final = 100_000


def unmet(tx: Tx, task_id: str) -> int:
    """How many tasks it comes after can still complete and have not."""
    return sum(1 for _, status in tasks.comes_after(tx, task_id) if status not in ("completed", "cancelled"))


def wait_for_a_person(tx: Tx, task_id: str) -> bool:
    """Whether everything it comes after that is not completed is blocked."""
    waiting = [status for _, status in tasks.comes_after(tx, task_id) if status != "completed"]
    return bool(waiting) and all(status == "blocked" for status in waiting)


def refuse_recurring(task: Task | None) -> None:
    """Nothing can come after a task that recurs: it does not complete between its iterations."""
    if task is not None and task.recurs and not task.finished:
        raise NotAllowed(f"{task.id} recurs, so nothing can come after it", hint="medbay loop runs several in turn")


def add(tx: Tx, task_id: str, after_id: str, *, actor: str) -> None:
    """Let a task come after another; refused when that closes a circle, naming it, or can never happen."""
    tx.serialise("dependencies")  # two edges that close a circle together are not added side by side
    other = tasks.get(tx, after_id)
    if other is not None and other.status == "cancelled":
        raise NotAllowed(f"{after_id} is cancelled, so nothing can come after it", hint="leave --after out")
    refuse_recurring(other)
    circle = _path(tx, after_id, task_id)
    if circle:
        way = " -> ".join([task_id, *circle])
        raise NotAllowed(f"{task_id} cannot come after {after_id}: {way} is a circle")
    if tasks.add_dependency(tx, task_id, after_id):
        task = tasks.get(tx, task_id)
        assert task is not None
        apply(tx, rules.on_dependency_added(task, tx.now, unmet=unmet(tx, task_id), after=after_id, actor=actor))


def _path(tx: Tx, start: str, goal: str) -> list[str]:
    """How `start` comes, by however many steps, after `goal`; empty when it does not."""
    reached_from: dict[str, str] = {start: ""}
    waiting = [start]
    while waiting and len(reached_from) < _VISITED_MAX:
        here = waiting.pop()
        if here == goal:
            way = [here]
            while reached_from[way[-1]]:
                way.append(reached_from[way[-1]])
            return way[::-1]
        for other, _ in tasks.comes_after(tx, here):
            if other not in reached_from:
                reached_from[other] = here
                waiting.append(other)
    return []
