"""What agents and workflows there are, on screens of every width."""

from __future__ import annotations

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
    assert ("never used" if command == ("agents",) else "judge the result") in words
    assert ("Claude Code" in words) == (command == ("agents",) and columns > 40)
