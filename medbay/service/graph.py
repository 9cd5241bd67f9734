"""The graph of tasks, loaded in one transaction: what comes after what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from medbay.core.model import Task
from medbay.core.snapshot import Graph
from medbay.store import tasks
from medbay.store.database import Tx

NODES_MAX: Final = 500
_EDGES_MAX: Final = 100_000


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
    return Graph(now=tx.now, tasks=kept, after=edged, more=len(ids) - len(kept))
