"""What the tests of trackers share: a project with a store, a workspace of Beads, a judge that says what it is told."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Cli
from tests.cli.conftest import bare  # noqa: F401 - a fixture

DOUBLE = Path(__file__).with_name("bd_double.py")
CONFIG = """
[beads]
run = "./work.sh"
checks = ["test -e checked || { echo 'FAILED tests/test_x.py::test_a - AssertionError: 1 != 2'; exit 1; }"]
[triage]
agent = "command"
command = ["./judge.sh"]
timeout = "20s"
"""
WORK = """#!/bin/sh
echo "$MEDBAY_ISSUE $MEDBAY_ATTEMPT" >> worked
cp "$MEDBAY_INPUT" input.json
[ -e ok ] && exit 0
echo 'app.py:3: NameError: name "totals" is not defined'
exit 1
"""
JUDGE = """#!/bin/sh
cat > context.json
echo x >> asked
cat verdict
"""
OLD = "2026-01-01T00:00:00Z"


class Workspace:
    """A project with Beads, and the command line in it."""

    def __init__(self, cli: Cli) -> None:
        self.cli = cli
        self.folder = cli.folder

    def bd(self, *words: str) -> str:
        """Call bd; what it printed."""
        ran = subprocess.run(["bd", *words], cwd=self.folder, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran
        return ran.stdout

    def create(self, title: str, notes: str = "", *labels: str, untagged: bool = False) -> str:
        """A new issue with the tag of a workflow; its id."""
        tags = [] if untagged else ["-l", ",".join(labels or ("implement_close",))]
        issue = self.bd("create", f"--title={title}", *tags, "--silent").strip()
        if notes:
            self.bd("update", issue, f"--notes={notes}")
        return issue

    def issue(self, issue_id: str) -> dict[str, Any]:
        """An issue as bd has it."""
        found: dict[str, Any] = json.loads(self.bd("show", issue_id, "--json"))[0]
        return found

    def notes(self, issue_id: str) -> str:
        """The notes of an issue."""
        return str(self.issue(issue_id).get("notes", ""))

    def age(self, issue_id: str) -> None:
        """Let the failure of an issue be long ago."""
        aged = re.sub(r"last_failure=[^|]*", f"last_failure={OLD}", self.notes(issue_id))
        self.bd("update", issue_id, f"--notes={aged}")

    def says(self, verdict: str) -> None:
        """What the judge answers from now on."""
        (self.folder / "verdict").write_text(verdict, encoding="utf-8")

    def asked(self) -> int:
        """How often the judge was asked."""
        path = self.folder / "asked"
        return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0

    def triage(self, *options: str, code: int = 0) -> dict[str, Any]:
        """One cycle over the issues; its result, whose counts add up."""
        called = self.cli("triage", "--once", "--source", "beads", "--json", *options)
        assert called.code == code, called
        found: dict[str, Any] = called.json
        counts = [value for name, value in found.items() if isinstance(value, int) and name != "issues_found"]
        assert sum(counts) == found["issues_found"] == len(found["results"])
        return found

    def dispatch(self) -> dict[str, Any]:
        """One dispatch; its result."""
        found: dict[str, Any] = self.cli.good("beads", "dispatch", "--once", "--json").json
        return found

    def calls(self, command: str) -> list[list[str]]:
        """What bd was called with, by command."""
        path = self.folder / ".beads" / "calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [words for words in map(json.loads, lines) if words and words[0] == command]

    def fault(self, *rows: str) -> None:
        """Plant what bd does wrong from now on."""
        (self.folder / ".beads" / "faults").write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture
def bd(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bd` on the PATH: the real one where there is one, else its double."""
    if shutil.which("bd") is None:
        programs = tmp_path_factory.mktemp("bin")
        words = shlex.join([sys.executable, "-I", "-S", str(DOUBLE)])  # it needs no package, and is called often
        (programs / "bd").write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
        (programs / "bd").chmod(0o755)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")


@pytest.fixture
def space(bare: Cli, bd: None) -> Workspace:  # noqa: F811
    """A project with a store, a workspace and a judge."""
    return workspace(bare)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def any_space(
    bare: Cli,  # noqa: F811
    bd: None,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Workspace:
    """The same, on every kind of database there is."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").url(request.getfixturevalue("own_database"))
        monkeypatch.setenv("MEDBAY_STORE", url)
    return workspace(bare)


def workspace(bare: Cli) -> Workspace:  # noqa: F811
    """Make one in an empty directory."""
    bare.good("init")
    (bare.folder / "medbay.toml").write_text(CONFIG, encoding="utf-8")
    for name, text in (("work.sh", WORK), ("judge.sh", JUDGE)):
        (bare.folder / name).write_text(text, encoding="utf-8")
        (bare.folder / name).chmod(0o755)
    made = Workspace(bare)
    made.bd("init", "--prefix", "demo", "--non-interactive", "--skip-agents", "--skip-hooks", "--stealth")
    return made
