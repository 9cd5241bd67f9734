"""The real Claude Code as a role of a story: what it is told, how it may answer, and what becomes of a wrong answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import project
from tests.agents.imitation import CACHED, GUIDANCE, INPUT, OUTPUT, Imitation
from tests.e2e.test_the_path_of_a_task import Terminal

pytestmark = [pytest.mark.timeout(400), pytest.mark.long]  # the example walks through the rest in every run
ROLES = """
[roles.pm]
agent = "claude"
"""
ASKS = '[[say Who is it for? Please let me know.]] [[say {"verdict": "PASS", "criteria": ["it greets"]}]]'
FORGETS = (
    """[[say All done.]] [[bash echo '{"verdict": "PASS", "summary": "written"}' > "$MEDBAY_RESULT"]] [[say Now.]]"""
)


def shown(terminal: Terminal, story_id: str) -> Any:
    """A story as it stands."""
    return json.loads(terminal.must("story", "show", story_id, "--json"))


def test_a_role_that_asks_goes_on_in_its_session_and_one_without_an_answer_is_told_so(
    tmp_path: Path, imitation: Imitation
) -> None:
    """A person's answer reaches it; a missing answer is malformed, asked for again, and counted."""
    terminal = project(tmp_path, imitation, ROLES)
    folder = terminal.home / "roles"
    folder.mkdir()
    (folder / "pm.md").write_text(f"# Writer\n\n{ASKS}\n", encoding="utf-8")
    terminal.must("story", "new", "R-1", "--title", "Greet people")
    terminal.must("story", "run", "R-1", "--until", "generated", code=75)
    asked = shown(terminal, "R-1")

    assert "Who is it for?" in asked["questions"][0]["need"] + asked["questions"][0]["why"]
    terminal.must("answer", "R-1", "For everybody.")
    terminal.must("story", "run", "R-1", "--until", "generated")
    done = shown(terminal, "R-1")
    (worker,) = done["phases"][0]["workers"]
    assert (done["status"], done["criteria"], worker["attempts"]) == ("generated", ["it greets"], 2)
    told = (terminal.home / ".medbay" / "logs" / worker["task"] / "2.prompt.md").read_text(encoding="utf-8")
    assert "For everybody." in told and "`verdict`: one of PASS, FAIL, ERROR." in told
    assert (worker["agent"], worker["tokens"]) == ("claude", 2 * (INPUT + CACHED + OUTPUT))
    assert worker["session"] and worker["model"] and worker["cost"] > 0

    (folder / "pm.md").write_text(f"# Writer\n\n{FORGETS}\n", encoding="utf-8")
    terminal.must("story", "new", "R-2", "--title", "Greet more people")
    terminal.must("story", "generate", "R-2")
    (worker,) = shown(terminal, "R-2")["phases"][0]["workers"]
    assert (worker["summary"], worker["attempts"], worker["tool_calls"]) == ("written", 2, 1)
    told = (terminal.home / ".medbay" / "logs" / worker["task"] / "2.prompt.md").read_text(encoding="utf-8")
    assert GUIDANCE in told and "there is no answer" in told
