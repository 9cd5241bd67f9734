"""Every example runs as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted(
    each
    for each in (*FOLDER.iterdir(), FOLDER / "cron-night" / "night.py", FOLDER / "story" / "walk.sh")
    if each.suffix in (".py", ".sh")
)
TIME_LIMIT_S = 300  # the night of the cron person takes ten seconds where nothing else runs


def test_there_are_examples() -> None:
    """An empty folder would make the next test pass for nothing."""
    assert EXAMPLES


def test_the_how_to_shows_the_example_of_triage() -> None:
    """What is copied from the page is what runs here."""
    home = Path(__file__).parent.parent
    example = (home / "examples" / "triage.sh").read_text("utf-8").split("medbay init 2>/dev/null\n", 1)[1]
    shown = (home / "docs" / "how-to" / "triage.md").read_text("utf-8")

    assert "\n".join(f"    {line}" if line else "" for line in example.strip("\n").split("\n")) in shown


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_example_runs(example: Path, tmp_path: Path) -> None:
    """From any directory, with nothing set up."""
    program = sys.executable if example.suffix == ".py" else "sh"
    mine = {name: value for name, value in os.environ.items() if not name.startswith("MEDBAY_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = subprocess.run(
        [program, str(example)],
        cwd=tmp_path,
        env={**mine, "PATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout
