"""What agents and workflows there are, on screens of every width."""

from __future__ import annotations

from pathlib import Path

import pytest

from medbay.views.text import width
from tests.cli.calling import Cli


@pytest.mark.parametrize("command", [("agents",), ("workflow", "list")])
@pytest.mark.parametrize("columns", [40, 76, 120])
def test_a_narrow_screen_has_every_word(cli: Cli, command: tuple[str, ...], columns: int) -> None:
    """Nothing is cut, no line is broken by the terminal."""
    said = cli.screen(*command, columns=columns, env={"PATH": "/nothing"})

    assert max(map(width, said.lines)) <= columns and "…" not in said.out
    words = " ".join(said.out.split())
    assert ("unused" if command == ("agents",) else "judge the result") in words
    assert ("Claude Code" in words) == (command == ("agents",) and columns > 40)


def test_agents_that_are_here_are_told_with_how_to_sign_in(cli: Cli, tmp_path: Path) -> None:
    """Their version without their name, on a narrow screen too; a check says it before it calls."""
    for name, said in (("codex", "echo codex-cli 0.169.0"), ("gemini", "echo 0.61.0; exit 41")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{said}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path), "GEMINI_API_KEY": "", "OPENAI_API_KEY": ""}

    narrow = cli.screen("agents", columns=40, env=env)
    checked = cli("agents", "check", "gemini", env=env)

    assert "codex     0.169.0, signed out  unused" in narrow.out and "to sign in to codex: codex login" in narrow.out
    assert (checked.code, "gemini is not signed in: gemini, then" in checked.err) == (1, True)


@pytest.mark.parametrize("amount", ["0", "-1", "nan", "1e99"])
def test_an_amount_that_cannot_be_is_refused_with_its_bounds(cli: Cli, amount: str) -> None:
    """One that is too large is above 0 as well."""
    said = cli("add", "x", "--agent", "claude", "--max-cost", amount)

    assert said.code == 2 and "above 0 and up to 1000000000" in said.err
