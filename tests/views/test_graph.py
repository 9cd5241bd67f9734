"""The graph of tasks, from records alone."""

from __future__ import annotations

from msgspec.structs import replace

from medbay.core.snapshot import Graph
from medbay.views import graph as view
from tests.views.records import NOW, TASK

A = replace(TASK, id="a", status="blocked", block_kind="human")
B = replace(TASK, id="b", unmet=1, title='say "hi" & <go>')
C = replace(TASK, id="c", unmet=1)
GRAPH = Graph(now=NOW, tasks={"a": A, "b": B, "c": C}, after={"b": ("a",), "c": ("b",)}, more=2)


def test_everything_behind_a_blocked_task_is_a_dead_path() -> None:
    """However many steps lie between; a block that times out is none."""
    assert view.dead_paths(GRAPH) == {"b": "a", "c": "a"}
    waits = replace(A, block_kind="external", due_at=NOW)
    assert view.dead_paths(replace(GRAPH, tasks={"a": waits, "b": B, "c": C})) == {}


def test_the_json_has_nodes_edges_and_what_is_not_shown() -> None:
    """The order is that of the record."""
    made = view.as_json(GRAPH)

    assert [(each["id"], each["behind"]) for each in made["tasks"]] == [("a", None), ("b", "a"), ("c", "a")]
    assert made["edges"] == [{"task": "b", "after": "a"}, {"task": "c", "after": "b"}]
    assert made["more"] == 2


def test_a_title_cannot_leave_its_box_in_mermaid() -> None:
    """Quotes and brackets are written as entities, dead paths are dashed."""
    lines = list(view.mermaid(GRAPH))

    assert '    b["↳ b say #quot;hi#quot; #amp; #lt;go>"]:::wait' in lines
    assert "    a -.-> b" in lines
    assert view.roots(GRAPH) == ["a"]
