"""A project with the real Claude Code, whose only API is the imitation."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.agents.imitation import Imitation
from tests.e2e.test_the_path_of_a_task import QUICK, Terminal

QUIET = {
    "ANTHROPIC_API_KEY": "dummy",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
SETTINGS = f"{QUICK}\n[engine]\nworkers = 6\n"


def claude() -> str:
    """The Claude Code that comes with its SDK."""
    found = find_spec("claude_agent_sdk")
    program = Path(found.origin).parent / "_bundled" / "claude" if found and found.origin else None
    if program is None or not program.exists():
        pytest.skip("NO CLAUDE CODE: its tests are skipped; pip install claude-agent-sdk")
    return str(program)


def project(home: Path, imitation: Imitation, more: str = "") -> Terminal:
    """A project in which `claude` is the real one and talks to the imitation only."""
    place = home / "project"
    place.mkdir(parents=True)
    (home / "home").mkdir()
    here = at(home, imitation)
    here.must("init")
    agent = f'[agents.claude]\nprogram = "{claude()}"\n'
    (place / "medbay.toml").write_text(f"{SETTINGS}\n{agent}\n{more}", encoding="utf-8")
    return here


def at(home: Path, imitation: Imitation, *, real: bool = False) -> Terminal:
    """A person in such a project; `real`: what they type is the installed command, a process each time."""
    here = Terminal(home / "project", real=real)
    here.limit_s = 300  # the machine may be busy with other tests
    kept = {name: value for name, value in here.environ.items() if name in ("PATH", "LANG")}
    here.environ = {**kept, **QUIET, "HOME": str(home / "home"), "ANTHROPIC_BASE_URL": imitation.url}
    return here


@pytest.fixture(scope="module")
def imitation() -> Iterator[Imitation]:
    """The API of a module's tests."""
    with Imitation() as server:
        yield server
