"""`medbay graph`: the tree, dead paths, Mermaid, JSON, and its limit."""

from __future__ import annotations

from tests.cli.calling import Cli


def chain(cli: Cli) -> dict[str, str]:
    """build -> test -> ship, docs -> ship; and one task alone."""
    build = cli.add("build")
    docs = cli.add("docs")
    test = cli.add("test", "--after", build)
    ship = cli.add("ship", "--after", test, "--after", docs)
    cli.add("alone")
    return {"build": build, "docs": docs, "test": test, "ship": ship}


def test_the_tree_shows_each_task_once_in_full(cli: Cli) -> None:
    """Below the first one it comes after; elsewhere it is only named."""
    ids = chain(cli)

    lines = cli.good("graph").lines

    assert lines[0] == f"○ {ids['build']}  build  pending · ready"
    assert lines[1] == f"└─ ↳ {ids['test']}  test  pending · after {ids['build']}"
    assert lines[2].startswith(f"   └─ ↳ {ids['ship']}  ship  pending · after ")
    assert lines[2].endswith(f"(also after {ids['docs']})")
    assert lines[3:] == [f"○ {ids['docs']}  docs  pending · ready", f"└─ ↳ {ids['ship']}  ship  (above)"]


def test_what_stands_behind_a_blocked_or_cancelled_task_is_marked(cli: Cli) -> None:
    """All the way down; a block that times out by itself is no dead end."""
    ids = chain(cli)
    cli.good("block", ids["build"], "--reason", "vendor")
    assert "dead path" not in cli.good("graph").out
    cli.good("unblock", ids["build"])
    cli.good("block", ids["build"], "--reason", "x", "--kind", "human")

    told = cli.good("graph").out
    assert told.count(f"waits for a person: medbay answer {ids['build']}") == 2
    assert "dead path" not in told
    cli.good("cancel", ids["build"])
    assert f"dead path: {ids['build']} is cancelled" in cli.good("graph", ids["test"]).out
    found = {node["id"]: node["behind"] for node in cli.good("graph", "--json").json["tasks"]}
    assert found[ids["ship"]] in (ids["build"], ids["test"])
    assert found[ids["docs"]] is None
    assert "stroke-dasharray" in cli.good("graph", "--format", "mermaid").out


def test_around_one_task_and_with_what_ended(cli: Cli) -> None:
    """Both directions, whatever has ended; the whole graph leaves it out unless asked."""
    ids = chain(cli)
    bay = cli.bay()
    bay.daemon(workers=1).run(until=lambda: bay.get(ids["test"]).finished)

    assert {node["id"] for node in cli.good("graph", ids["build"], "--format", "json").json["tasks"]} == set(
        ids.values()
    )
    assert ids["build"] not in cli.good("graph").out
    assert ids["build"] in cli.good("graph", "--all").out
    assert cli("graph", "0000").code == 3


def test_mermaid_is_a_flowchart_whatever_the_title(cli: Cli) -> None:
    """No title breaks out of its box."""
    first = cli.add('a"]; click x "<b>')
    second = cli.add("b", "--after", first)

    lines = cli.good("graph", "--format", "mermaid").lines

    assert lines[0] == "flowchart LR"
    assert f"    {first} --> {second}" in lines
    assert f'    {first}["○ {first} a#quot;]; click x #quot;#lt;b>"]:::idle' in lines


def test_the_graph_is_bounded(cli: Cli) -> None:
    """What is not shown is counted."""
    root = cli.add("root", "--key", "root")
    cli.good("add", "--file", "-", stdin='{"title": "a", "run": "true", "after": "root"}\n' * 30)

    told = cli.good("graph", root, "--limit", "10")

    assert len(told.lines) == 10
    assert told.err == "10 of 31 shown; --limit 20 shows more\n"
    assert cli.good("graph", "--limit", "10", "--json").json["more"] == 21


def test_nothing_that_waits_is_said(cli: Cli) -> None:
    """And on a terminal a line fits, in letters where there are no glyphs."""
    cli.add("alone")
    assert "no open task waits for another" in cli.good("graph").err
    chain(cli)

    told = cli.screen("graph", columns=60, env={"LC_ALL": "C", "NO_COLOR": "1"})

    assert told.out.isascii()
    assert all(len(line) <= 60 for line in told.lines)
