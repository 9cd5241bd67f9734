"""`medbay graph`: the work graph as a tree for people, as Mermaid for documents, as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from medbay.cli.completion import task_ids
from medbay.cli.output import Screen, note, print_json, say, screen
from medbay.cli.session import Session, json_option, pass_session
from medbay.views import graph as view
from medbay.views.glyphs import Token
from medbay.views.status import status_phrase
from medbay.views.text import clean, cut, width

if TYPE_CHECKING:
    from medbay.core.snapshot import Graph


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
    """Show dependencies: every task that waits for another, or everything around one task.

    What waits behind a cancelled task, or behind one that needs a person, is marked.

    \b
    Examples:
      medbay graph
      medbay graph m2xa --format mermaid
    """
    graph = session.bay().graph(task_id, everything=everything, limit=limit)
    if session.json or form == "json":
        print_json(view.as_json(graph))
        return
    for line in view.mermaid(graph) if form == "mermaid" else tree(graph, screen()):
        say(line)
    if not graph.tasks:
        note("no task comes after another" if everything else "no open task waits for another (medbay graph --all)")
    if graph.more:
        note(f"{len(graph.tasks)} of {len(graph.tasks) + graph.more} shown; --limit {limit * 2} shows more")


def tree(graph: Graph, shown: Screen) -> Iterator[str]:
    """Yield each task below one it comes after; where it comes after several, the others name it."""
    followers, behind, drawn = view.followers(graph), view.dead_paths(graph), set[str]()
    waiting = [(root, "", "", "") for root in reversed(view.roots(graph))]
    while waiting:
        task_id, parent, lead, branch = waiting.pop()
        again = task_id in drawn
        drawn.add(task_id)
        before, stuck = shown.plain(lead + branch), "" if again else behind.get(task_id, "")
        room = max(20, shown.width - width(before)) if shown.terminal else None
        yield before + _line(graph, task_id, shown, room, parent=parent, behind=stuck, again=again)
        if again:
            continue
        below = lead + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        last = followers[task_id][-1:]
        waiting += [(each, task_id, below, "└─ " if [each] == last else "├─ ") for each in reversed(followers[task_id])]


def _line(graph: Graph, task_id: str, shown: Screen, room: int | None, *, parent: str, behind: str, again: bool) -> str:
    task = graph.tasks[task_id]
    others = [each for each in graph.after.get(task_id, ()) if each != parent]
    phrase = status_phrase(task, graph.now, after=graph.after.get(task_id, ()))
    parts = [f"{phrase.glyph} {task_id}", cut(clean(task.title), view.TITLE_SHOWN)]
    if again:
        parts.append("(above)")
    else:
        parts.append(phrase.words)
        if others and parent:
            parts.append(f"(also after {', '.join(others)})")
        if behind:
            gone = graph.tasks[behind].status == "cancelled"
            parts.append(f"dead path: {behind} is cancelled" if gone else f"waits for a person: medbay answer {behind}")
    text = clean("  ".join(parts))
    if room is not None:
        text = cut(text, room)
    token: Token = "idle" if again or behind else phrase.token
    return shown.token(shown.plain(text), token)
