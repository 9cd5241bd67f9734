"""`medbay graph`: the work graph as a tree for people, as Mermaid for documents, as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from medbay.cli.completion import task_ids
from medbay.cli.output import Screen, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.views.glyphs import Token, status_phrase
from medbay.views.text import clean, cut, width

if TYPE_CHECKING:
    from medbay.service.graph import Graph

_TITLE_SHOWN = 60
# The grounds of the dashboard, light: fill and outline of each token.
_FILLS: dict[Token, tuple[str, str]] = {
    "run": ("#1457b8", "#0b5cad"),
    "wait": ("#e5b82e", "#7a5600"),
    "held": ("#8dbdea", "#35618e"),
    "you": ("#7d1d55", "#7d1d55"),
    "done": ("#1a9c7a", "#00694f"),
    "idle": ("#868d95", "#56606b"),
}
_LIGHT_TEXT = ("run", "you", "done")


@click.command()
@click.argument("task_id", required=False, metavar="[ID]", shell_complete=task_ids)
@click.option(
    "--format", "form", type=click.Choice(["text", "mermaid", "json"]), default="text", show_default=True, help="How."
)
@click.option("--all", "everything", is_flag=True, help="Also what has ended.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=500, show_default=True, metavar="N", help="At most.")
@json_option
@pass_session
def command(session: Session, /, task_id: str | None, form: str, everything: bool, limit: int) -> None:
    """Show what comes after what: everything that waits for another task, or all around one.

    What stands behind a cancelled or blocked task is marked.

    \b
    Examples:
      medbay graph
      medbay graph m2xa --format mermaid
    """
    from medbay.env import SystemClock

    graph, now = session.bay().graph(task_id, everything=everything, limit=limit), SystemClock().now_ms()
    if session.json or form == "json":
        print_json(as_data(graph))
        return
    shown = screen()
    for line in mermaid(graph, now) if form == "mermaid" else tree(graph, now, shown):
        say(line)
    if not graph.tasks:
        note("no task comes after another" if everything else "no open task waits for another (medbay graph --all)")
    if graph.more:
        note(f"{len(graph.tasks)} of {len(graph.tasks) + graph.more} shown; --limit {limit * 2} shows more")


def as_data(graph: Graph) -> dict[str, Any]:
    """Nodes, edges and how many are not shown."""
    nodes = [
        {
            "id": task.id,
            "title": task.title,
            "status": task.status,
            "block_kind": task.block_kind,
            "paused": task.paused,
            "behind": graph.behind.get(task.id),
        }
        for task in graph.tasks.values()
    ]
    edges = [{"task": task_id, "after": other} for task_id in sorted(graph.after) for other in graph.after[task_id]]
    return {"tasks": nodes, "edges": edges, "more": graph.more}


def tree(graph: Graph, now: int, shown: Screen) -> Iterator[str]:
    """Each task below one it comes after; where it comes after several, the others name it."""
    followers, told = graph.followers(), set[str]()
    waiting = [(root, "", "", "") for root in reversed(graph.roots())]
    while waiting:
        task_id, parent, lead, branch = waiting.pop()
        again = task_id in told
        told.add(task_id)
        yield _line(graph, task_id, now, shown, lead=shown.plain(lead + branch), parent=parent, again=again)
        if again:
            continue
        below = lead + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        last = followers[task_id][-1:]
        waiting += [(each, task_id, below, "└─ " if [each] == last else "├─ ") for each in reversed(followers[task_id])]


def _line(graph: Graph, task_id: str, now: int, shown: Screen, *, lead: str, parent: str, again: bool) -> str:
    task = graph.tasks[task_id]
    others = [each for each in graph.after.get(task_id, ()) if each != parent]
    phrase = status_phrase(task, now, after=graph.after.get(task_id, ()))
    parts = [f"{phrase.glyph} {task_id}", cut(clean(task.title), _TITLE_SHOWN)]
    if again:
        parts.append("(above)")
    else:
        parts.append(phrase.words)
        if others and parent:
            parts.append(f"(also after {', '.join(others)})")
        if task_id in graph.behind:
            parts.append(f"dead path: behind {graph.behind[task_id]}")
    text = clean("  ".join(parts))
    if shown.terminal:
        text = cut(text, max(20, shown.width - width(lead)))
    token: Token = "idle" if again or task_id in graph.behind else phrase.token
    return lead + shown.token(shown.plain(text), token)


def mermaid(graph: Graph, now: int) -> Iterator[str]:
    """A flowchart; dead paths have a dashed outline."""
    yield "flowchart LR"
    for task in graph.tasks.values():
        phrase = status_phrase(task, now, after=graph.after.get(task.id, ()))
        title = clean(cut(task.title, _TITLE_SHOWN)).replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")
        yield f'    {task.id}["{phrase.glyph} {task.id} {title}"]:::{phrase.token}'
    for task_id in sorted(graph.after):
        for other in graph.after[task_id]:
            yield f"    {other} {'-.->' if task_id in graph.behind else '-->'} {task_id}"
    for token, (fill, ink) in _FILLS.items():
        yield f"    classDef {token} fill:{fill},stroke:{ink},color:{'#fff' if token in _LIGHT_TEXT else '#000'}"
    if graph.behind:
        yield f"    style {','.join(sorted(graph.behind))} stroke-dasharray:5 5,stroke-width:2px"
