"""The graph of tasks for people: what comes after what, and what stands behind something that will not complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT
from medbay.core.model import Task
from medbay.store import tasks
from medbay.store.database import Tx

NODES_MAX: Final = 500
_EDGES_MAX: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Tasks and the edges between them. `behind` names what keeps a task from ever starting by itself."""

    tasks: Mapping[str, Task]
    after: Mapping[str, tuple[str, ...]]  # task -> the shown tasks it comes after
    behind: Mapping[str, str] = field(default_factory=dict)
    more: int = 0  # tasks that belong to it and are not shown

    def followers(self) -> dict[str, list[str]]:
        """Task -> the shown tasks that come directly after it."""
        found: dict[str, list[str]] = {each: [] for each in self.tasks}
        for task_id in sorted(self.after):
            for other in self.after[task_id]:
                found[other].append(task_id)
        return found

    def roots(self) -> list[str]:
        """Tasks that come after nothing shown, oldest first."""
        first = [task for task in self.tasks.values() if not self.after.get(task.id)]
        return [task.id for task in sorted(first, key=lambda task: (task.created_at, task.id))]


def whole(tx: Tx, *, everything: bool = False, limit: int = NODES_MAX) -> Graph:
    """Every task that waits for another one, with what it waits for; finished ones only if everything is wanted."""
    edges = tasks.edges(tx, open_only=not everything, limit=_EDGES_MAX)
    ids = list(dict.fromkeys(each for edge in edges for each in edge))
    return _made(tx, ids, edges, limit)


def around(tx: Tx, task: Task, *, limit: int = NODES_MAX) -> Graph:
    """Everything one task comes after and everything that comes after it, by however many steps."""
    found, edges, waiting = {task.id}, set[tuple[str, str]](), [task.id]
    while waiting and len(found) <= limit:
        here = waiting.pop(0)
        near = [(here, other) for other, _ in tasks.comes_after(tx, here)]
        near += [(other, here) for other in tasks.ids_after(tx, here)]
        edges.update(near)
        new = dict.fromkeys(each for edge in near for each in edge if each not in found)
        found.update(new)
        waiting.extend(new)
    return _made(tx, [task.id, *sorted(found - {task.id})], sorted(edges), limit)


def _made(tx: Tx, ids: list[str], edges: Iterable[tuple[str, str]], limit: int) -> Graph:
    kept = {task.id: task for task in tasks.many(tx, ids[:limit])}
    after: dict[str, list[str]] = {}
    for task_id, other in edges:
        if task_id in kept and other in kept:
            after.setdefault(task_id, []).append(other)
    edged = {task_id: tuple(sorted(others)) for task_id, others in after.items()}
    return Graph(tasks=kept, after=edged, behind=_dead_paths(kept, edged), more=len(ids) - len(kept))


def _dead_paths(kept: Mapping[str, Task], after: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Each open task behind one that is cancelled, or blocked until a person comes: task -> what it is behind."""
    behind: dict[str, str] = {}
    followers: dict[str, list[str]] = {}
    for task_id, others in after.items():
        for other in others:
            followers.setdefault(other, []).append(task_id)
    for cause in (task for task in kept.values() if _stops(task)):
        waiting = [cause.id]
        while waiting:
            for each in followers.get(waiting.pop(), ()):
                if each not in behind and not kept[each].finished:
                    behind[each] = cause.id
                    waiting.append(each)
    return behind


def _stops(task: Task) -> bool:
    times_out = task.block_kind in BLOCKS_THAT_TIME_OUT and task.due_at is not None
    return task.status == "cancelled" or (task.status == "blocked" and not times_out)
