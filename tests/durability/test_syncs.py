"""Nothing is acknowledged before it is synced: to a user, to a caller, or by starting a process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.durability.tracing import WAL, Disk, Step, python, traced

pytestmark = pytest.mark.long

LIBRARY = """
import os, medbay
bay = medbay.open()
{unsafe}
for name in ("a", "b"):
    task = bay.add(name, run=["echo", "started", name])
    os.write(1, b"added\\n")
bay.cancel(bay.add("c", run="true").id)
os.write(1, b"cancelled\\n")
bay.run_until_idle()
os.write(1, b"done\\n")
"""
UNSAFE = "bay.store._connection.execute('PRAGMA synchronous = OFF')"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with room for a store."""
    (tmp_path / ".medbay").mkdir()
    return tmp_path


def acknowledged(steps: list[Step]) -> list[tuple[str, str]]:
    """Each acknowledgement, and what is wrong with it: unsynced writes, or nothing written at all since the last."""
    disk, written, found = Disk(".medbay"), False, []
    for step in steps:
        disk.take(step)
        written = written or (step.kind == "write" and step.name == WAL)
        if step.kind == "say" or (step.kind, step.name) == ("start", "echo"):
            told = step.data.decode()
            wrong = f"{len(disk.unsynced(WAL))} writes are not synced" if disk.unsynced(WAL) else ""
            found.append((told.strip(), wrong or ("" if written else "nothing was written")))
            written = written and step.kind == "start"  # one commit may claim several, started one by one
    return found


def test_add_prints_an_id_after_the_sync(home: Path) -> None:
    """`medbay add`: the last thing that happened to the log of the database before the id is a sync."""
    command = [sys.executable, "-c", "from medbay.cli.main import main; main()", "add", "a", "--run", "true"]

    told = acknowledged(traced(command, home))

    assert len(told) == 1
    assert told[0][0].isalnum()
    assert told[0][1] == ""


def test_the_library_returns_and_the_engine_starts_processes_after_the_sync(home: Path) -> None:
    """What `add`, `cancel` and a run return for, and every claim before its process begins."""
    told = acknowledged(traced(python(LIBRARY.format(unsafe="")), home))

    assert [what.split(" ")[0] for what, _ in told if "started" not in what] == ["added", "added", "cancelled", "done"]
    assert sorted(what for what, _ in told if "started" in what) == ["echo started a", "echo started b"]
    assert [each for each in told if each[1]] == []


def test_a_new_store_is_synced_with_the_folders_made_for_it(tmp_path: Path) -> None:
    """All names on the way to it are on the disk before the first id is told."""
    (tmp_path / "above").mkdir()
    script = "import os, medbay; b = medbay.open('sqlite:///above/new/.medbay/medbay.db'); b.add('a', run='true'); "

    steps = traced(python(script + "os.write(1, b'added')"), tmp_path)

    said = next(n for n, step in enumerate(steps) if step.kind == "say")
    assert {"above", "new", ".medbay"} <= {step.name for step in steps[:said] if step.kind == "sync"}


def test_a_store_that_does_not_sync_would_be_noticed(home: Path) -> None:
    """The test above can fail."""
    told = acknowledged(traced(python(LIBRARY.format(unsafe=UNSAFE)), home))

    assert any("not synced" in wrong for _, wrong in told)
