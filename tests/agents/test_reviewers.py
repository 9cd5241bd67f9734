"""Reviewers that are the real Claude Code, beside others that are commands: what each says, and what it adds up to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.agents.conftest import project
from tests.agents.imitation import GUIDANCE, Imitation
from tests.e2e.test_the_path_of_a_task import Terminal

pytestmark = [pytest.mark.timeout(480), pytest.mark.long]
AGENTS = ("lint", "style", "security", "typecheck")
PASSES = """[[bash echo '{"verdict": "PASS", "summary": "clean"}' > "$MEDBAY_RESULT"]] [[say Done.]]"""
FINDS = '[[say {"verdict": "FAIL", "summary": "greet() takes no name: app.py:3"}]]'
MUMBLES = "[[say It looks fine to me.]] [[say As I said, fine.]]"  # and again, when it is asked a third time
SETTLES = MUMBLES + ' [[say {"verdict": "PASS", "summary": "nothing to fear"}]]'
HANGS = "[[hang 300]]"
SETTINGS = """
[story]
fast_track = "never"
worktree = false
[roles.dev]
command = ["sh", "-c", "echo '{{\\"verdict\\": \\"PASS\\"}}' > $MEDBAY_RESULT"]
[roles.review-syntax]
command = ["true"]
[roles.review-build]
command = ["true"]
""" + "".join(f'[roles.review-{name}]\nagent = "claude"\ntimeout = "{{{name}}}"\n' for name in AGENTS)


def reviewers(terminal: Terminal, **said: str) -> None:
    """What the reviewers that are agents will say; one that hangs is not waited for long."""
    folder = terminal.home / "roles"
    folder.mkdir(exist_ok=True)
    for name in AGENTS:
        (folder / f"review-{name}.md").write_text(f"# Review: {name}\n\n{said.get(name, PASSES)}\n", encoding="utf-8")
    text = (terminal.home / "medbay.toml").read_text(encoding="utf-8").split("\n[story]")[0]
    times = {name: "3s" if said.get(name) == HANGS else "4m" for name in AGENTS}
    (terminal.home / "medbay.toml").write_text(text + SETTINGS.format(**times), encoding="utf-8")


def last_review(terminal: Terminal) -> tuple[Any, dict[str, Any], Any]:
    """The story, its last phase's workers by name, and VERIFICATION.yaml."""
    found = json.loads(terminal.must("story", "show", "R-1", "--json"))
    workers = {each["role"].removeprefix("review-"): each for each in found["phases"][-1]["workers"]}
    (path,) = (terminal.home / "stories").glob("*/R-1/_implementation/VERIFICATION.yaml")
    return found, workers, yaml.safe_load(path.read_text(encoding="utf-8"))


def test_six_reviewers_four_of_them_agents(tmp_path: Path, imitation: Imitation) -> None:
    """Findings fail it, a late one is a warning or an error, and an unreadable answer is asked for twice more."""
    terminal = project(tmp_path, imitation)
    reviewers(terminal, typecheck=FINDS)
    terminal.must("story", "new", "R-1", "--title", "Greet people", "--workflow", "hotfix")
    terminal.must("story", "implement", "R-1")

    terminal.must("story", "review", "R-1", code=1)

    found, workers, said = last_review(terminal)
    assert (found["status"], said["verdict"]) == ("code-review-failed", "FAIL")
    assert {name: each["status"] for name, each in workers.items()} == {
        **dict.fromkeys(("lint", "syntax", "style", "security", "build"), "PASS"),
        "typecheck": "FAIL",
    }
    assert "takes no name" in workers["typecheck"]["summary"]
    assert all(workers[name]["agent"] == "claude" and workers[name]["session"] for name in AGENTS)
    told = (terminal.home / ".medbay/logs" / workers["lint"]["task"] / "1.prompt.md").read_text(encoding="utf-8")
    assert "You work as review-lint in the phase review" in told and "`verdict`: one of PASS, FAIL, ERROR." in told

    reviewers(terminal, style=HANGS, security=SETTLES)
    terminal.must("story", "fix", "R-1")
    terminal.must("story", "review", "R-1")

    found, workers, said = last_review(terminal)
    assert (found["status"], said["verdict"], said["warnings"]) == ("uat", "PASS", ["style did not answer in time"])
    assert (workers["style"]["status"], workers["style"]["attempts"]) == ("TIMEOUT", 1)
    assert (workers["security"]["status"], workers["security"]["attempts"]) == ("PASS", 3)
    told = (terminal.home / ".medbay/logs" / workers["security"]["task"] / "3.prompt.md").read_text(encoding="utf-8")
    assert GUIDANCE in told and "there is no answer" in told

    reviewers(terminal, security=HANGS, lint=MUMBLES)
    terminal.must("story", "review", "R-1", code=1)

    found, workers, said = last_review(terminal)
    assert (found["status"], said["verdict"]) == ("uat", "ERROR")
    assert (workers["lint"]["status"], workers["lint"]["attempts"]) == ("ERROR", 3)
    assert (workers["security"]["status"], workers["security"]["required"]) == ("TIMEOUT", True)
    assert found["phases"][-1]["summary"].startswith("could not be checked: review-lint")
