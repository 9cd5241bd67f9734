"""The board, figures, schemas and the context cache of stories through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.calling import Cli

ROLE = """
import json, os, sys
phase = os.environ["MEDBAY_PHASE"]
said = {"verdict": sys.argv[1], "summary": phase, "criteria": ["works", "is tested", "is documented"]}
json.dump({**said, "learnings": ["read the guide first"]}, open(os.environ["MEDBAY_RESULT"], "w"))
"""


def roles(**verdicts: str) -> None:
    """Roles that answer with one word."""
    Path("role.py").write_text(ROLE, encoding="utf-8")
    tables = (f'[roles.{name}]\ncommand = ["python3", "role.py", "{word}"]\n' for name, word in verdicts.items())
    Path("medbay.toml").write_text("\n".join(tables), encoding="utf-8")


def test_an_empty_board_says_how_to_fill_it(cli: Cli) -> None:
    """In words and as data."""
    for name in ("board", "list", "stats"):
        said = cli.good("story", name)
        assert (said.out, "medbay story new" in said.err) == ("", True), name
    assert all(not each["stories"] for each in cli.good("story", "board", "--json").json["columns"])
    assert cli.good("story", "stats", "--json").json["stories"] == 0


@pytest.mark.parametrize("columns", [40, 80])
def test_lists_and_boards_fit_the_screen(cli: Cli, columns: int) -> None:
    """A long title is cut; markup and line breaks in it are text."""
    title = "A title with <b>markup</b>\n[red]and[/red] " + "words " * 20
    cli.good("story", "new", "LONG-STORY-1", "--title", title, "--criterion", "two\nlines", "--criterion", "two lines")
    assert cli.good("story", "show", "LONG-STORY-1", "--json").json["criteria"] == ["two lines"]

    for words in ("list", "board"):
        said = cli.screen("story", words, columns=columns).out
        plain = re.sub(r"\x1b\[[0-9;]*m", "", said)
        assert "LONG-STORY-1" in plain and all(len(line) <= columns for line in plain.splitlines()), plain


def test_the_board_and_the_figures_follow_a_story(cli: Cli) -> None:
    """A phase is run: the card moves, the figures count, what was learned is told to its role the next time."""
    roles(pm="PASS", qa="FAIL")
    cli.good("story", "new", "S-1", "--title", "Export <b>all</b>")
    cli.good("story", "new", "S-2", "--title", "Later", "--depends-on", "S-1")

    cli.good("story", "generate", "S-1")
    assert cli("story", "elaborate", "S-1").code == 1

    columns = {each["directory"]: each["stories"] for each in cli.good("story", "board", "--json").json["columns"]}
    (card,) = columns["elaboration"]
    assert (card["id"], card["status"], card["title"]) == ("S-1", "needs-refinement", "Export <b>all</b>")
    assert "generated" in [each["to"] for each in card["moves"] if each["allowed"]]
    assert "S-1" in cli.screen("story", "board", columns=80).out
    found = cli.good("story", "stats", "--json").json
    assert [(each["phase"], each["runs"], each["passed"]) for each in found["phases"]] == [
        ("generate", 1, 1),
        ("elaborate", 1, 0),
    ]
    assert {(each["role"], each["text"]) for each in found["learnings"]} >= {
        ("pm", "read the guide first"),
        ("pm", "elaborate"),
    }
    assert "learned, pm" in cli.screen("story", "stats", columns=100).out

    cli.good("story", "refine", "S-1")
    told = cli.good("cache", "show", "--json").json
    assert {each["tier"] for each in told} == {"static", "domain", "session"}
    assert any(each["name"] == "learnings pm" for each in told)


def test_the_cache_is_shown_and_cleared(cli: Cli) -> None:
    """One tier, or everything; never from inside an attempt."""
    assert "nothing is kept" in cli.good("cache", "show").err
    roles(pm="PASS")
    cli.good("story", "new", "S-1", "--title", "T")
    cli.good("story", "generate", "S-1")

    assert "role pm" in cli.screen("cache", "show", columns=120).out
    assert cli.good("cache", "clear", "static", "--json").json["removed"] >= 1
    assert all(each["tier"] != "static" for each in cli.good("cache", "show", "--json").json)
    assert "removed" in cli.good("cache", "clear").out
    assert cli.good("cache", "show", "--json").json == []


def test_the_schemas_of_artifacts_are_printed(cli: Cli) -> None:
    """By name with or without its ending; an unknown one is named."""
    assert "EVIDENCE.yaml" in cli.good("story", "schema").out.splitlines()
    assert json.loads(cli.good("story", "schema", "evidence").out)["$ref"].endswith("EvidenceList")
    assert cli("story", "schema", "nothing").code == 3
