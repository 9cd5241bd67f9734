"""The graph of tasks: what is stuck behind what, its JSON, and its Mermaid flowchart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from medbay.core.lifecycles import BLOCKS_THAT_TIME_OUT
from medbay.core.model import Task
from medbay.core.snapshot import Graph
from medbay.views.glyphs import Token
from medbay.views.status import status_phrase
from medbay.views.text import clean, cut

TITLE_SHOWN: Final = 60
# The grounds of the dashboard, light: fill and outline of each token.
_FILLS: Final[dict[Token, tuple[str, str]]] = {
    "run": ("#1457b8", "#0b5cad"),
    "wait": ("#e5b82e", "#7a5600"),
    "held": ("#8dbdea", "#35618e"),
    "you": ("#7d1d55", "#7d1d55"),
    "done": ("#1a9c7a", "#00694f"),
    "idle": ("#868d95", "#56606b"),
}
_LIGHT_TEXT = ("run", "you", "done")


def as_json(graph: Graph) -> dict[str, Any]:
    """Return nodes, edges and how many tasks are not shown."""
    behind = dead_paths(graph)
    nodes = [
        {
            "id": task.id,
            "title": task.title,
            "status": task.status,
            "block_kind": task.block_kind,
            "paused": task.paused,
            "behind": behind.get(task.id),
        }
        for task in graph.tasks.values()
    ]
    edges = [{"task": task_id, "after": other} for task_id in sorted(graph.after) for other in graph.after[task_id]]
    return {"tasks": nodes, "edges": edges, "more": graph.more}


def folded_as_json(graph: Graph, most: int) -> dict[str, Any]:
    """Return the same with one node for all tasks of a tag, the largest first; what has no tag is one node as well."""
    behind = dead_paths(graph)
    groups: dict[str, list[Task]] = {}
    for task in graph.tasks.values():
        groups.setdefault(_group(task), []).append(task)
    largest = sorted(groups, key=lambda name: (-len(groups[name]), name))[:most]
    edges = Counter(
        (_group(graph.tasks[task_id]), _group(graph.tasks[other]))
        for task_id, others in graph.after.items()
        for other in others
    )
    nodes = [
        {
            "tag": name or None,
            "tasks": len(groups[name]),
            "statuses": dict(sorted(Counter(each.status for each in groups[name]).items())),
            "behind": sum(each.id in behind for each in groups[name]),
        }
        for name in largest
    ]
    shown = [
        {"tag": one or None, "after": other or None, "number": number}
        for (one, other), number in edges.most_common(most)
        if one != other and one in largest and other in largest
    ]
    return {"groups": nodes, "edges": shown, "more": graph.more + sum(map(len, groups.values())) - _drawn(nodes)}


def _drawn(nodes: list[dict[str, Any]]) -> int:
    return sum(int(each["tasks"]) for each in nodes)


def _group(task: Task) -> str:
    return min(task.tags, default="")


def followers(graph: Graph) -> dict[str, list[str]]:
    """Return for each task the shown tasks that come directly after it."""
    found: dict[str, list[str]] = {each: [] for each in graph.tasks}
    for task_id in sorted(graph.after):
        for other in graph.after[task_id]:
            found[other].append(task_id)
    return found


def roots(graph: Graph) -> list[str]:
    """Return the tasks that come after nothing shown, oldest first."""
    first = [task for task in graph.tasks.values() if not graph.after.get(task.id)]
    return [task.id for task in sorted(first, key=lambda task: (task.created_at, task.id))]


def dead_paths(graph: Graph) -> dict[str, str]:
    """Return each open task behind one that is cancelled, or blocked until a person answers: task -> that one."""
    behind: dict[str, str] = {}
    after = followers(graph)
    for cause in (task for task in graph.tasks.values() if _stops(task)):
        waiting = [cause.id]
        while waiting:
            for each in after[waiting.pop()]:
                if each not in behind and not graph.tasks[each].finished:
                    behind[each] = cause.id
                    waiting.append(each)
    return behind


def mermaid(graph: Graph) -> Iterator[str]:
    """Yield the lines of a flowchart; dead paths have a dashed outline."""
    behind = dead_paths(graph)
    yield "flowchart LR"
    for task in graph.tasks.values():
        phrase = status_phrase(task, graph.now, after=graph.after.get(task.id, ()))
        title = clean(cut(task.title, TITLE_SHOWN)).replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")
        yield f'    {task.id}["{phrase.glyph} {task.id} {title}"]:::{phrase.token}'
    for task_id in sorted(graph.after):
        for other in graph.after[task_id]:
            yield f"    {other} {'-.->' if task_id in behind else '-->'} {task_id}"
    for token, (fill, ink) in _FILLS.items():
        yield f"    classDef {token} fill:{fill},stroke:{ink},color:{'#fff' if token in _LIGHT_TEXT else '#000'}"
    if behind:
        yield f"    style {','.join(sorted(behind))} stroke-dasharray:5 5,stroke-width:2px"


def _stops(task: Task) -> bool:
    times_out = task.block_kind in BLOCKS_THAT_TIME_OUT and task.due_at is not None
    return task.status == "cancelled" or (task.status == "blocked" and not times_out)
