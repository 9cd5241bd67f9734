"""The example of a story whose roles are the real Claude Code: what it says, runs through and leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.conftest import claude

EXAMPLE = Path(__file__).parents[2] / "examples" / "story" / "agents.sh"
pytestmark = pytest.mark.timeout(400)


def test_claude_code_walks_a_story_to_its_end(tmp_path: Path) -> None:
    """A question to a person, one answered by a preference, a review that fails and is mended, and what it cost."""
    claude()  # skips loudly where it is not installed
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("MEDBAY_", "ANTHROPIC_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        ["sh", str(EXAMPLE)],
        cwd=tmp_path,
        env={**mine, "PATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
    assert "Which name should the module have? -> greeting (person:" in done.stdout
    assert "Which name should the module have? -> greeting (preference)" in done.stdout
    trace = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"event"')]
    ends = [(each["phase"], each["status"]) for each in trace if each["event"] == "phase_complete"]
    assert [name for name, _ in ends] == "generate elaborate implement review fix review verify gate".split()
    assert [status for _, status in ends] == ["PASS", "PASS", "PASS", "FAIL", "PASS", "PASS", "PASS", "PASS"]
    fixed = [(each["tool"], each["path"]) for each in trace if each["event"] == "tool_call" and each["tool"] != "Bash"]
    assert [tool for tool, _ in fixed] == ["Write", "Write", "Read", "Edit"]
    assert all(set(each) == {"event", "timestamp", "tool", "path"} for each in trace if each["event"] == "tool_call")
    spent = [each for each in trace if each["event"] == "agent_complete" and each["agent"] == "dev"]
    assert [(each["tokensInput"], each["tokensOutput"]) for each in spent] == [(3_600, 240), (3_600, 240)]
    assert "| 3 | implement |" in done.stdout and "| 0.0096 |" in done.stdout
