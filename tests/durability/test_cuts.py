"""The power goes at every sync: the store opens, is whole, and has everything that was acknowledged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from medbay.env import SystemClock
from medbay.service import liveness
from medbay.store import tasks as task_rows
from medbay.store.database import Tx
from medbay.store.sqlite import SqliteStore
from tests.durability.tracing import STORE, WAL, Disk, Step, changed, python, traced

pytestmark = pytest.mark.long

# A small log, so that it is brought into the database and begun anew again and again while the program runs.
WORKLOAD = """
import os, medbay
bay = medbay.open()
bay.store._connection.execute("PRAGMA wal_autocheckpoint = 12")
{unsafe}
def say(*words):
    os.write(1, (" ".join(words) + chr(10)).encode())
for n in range(4):
    say("added", bay.add(f"task {{n}}", run=["echo", "started", f"task {{n}}"], description="x" * 3000).id)
for task in bay.add_many([{{"title": f"later {{n}}", "run": "true", "queue": "later"}} for n in range(20)]):
    say("added", task.id)
say("cancelled", bay.cancel(bay.add("unwanted", run="true").id).id)
bay.run_until_idle(workers=2)
for task in bay.select():
    if task.status == "completed":
        say("completed", task.id)
"""
UNSAFE = "bay.store._connection.execute('PRAGMA synchronous = OFF')"
EXPECTED = {"added": None, "cancelled": "cancelled", "completed": "completed"}


class Cut:
    """The disk right after a sync, with what was acknowledged until the next one."""

    def __init__(self, files: dict[str, bytes], after: list[Step], told: list[str]) -> None:
        self.files = files
        self.after = after
        self.told = told

    def disks(self) -> Iterator[tuple[str, dict[str, bytes]]]:
        """What may be on the disk: nothing of what came after, half of a page of it, or its last part first."""
        yield "all lost", self.files
        writes = [step for step in self.after if step.kind == "write"]
        if writes:
            torn = replace(writes[0], data=writes[0].data[: max(1, len(writes[0].data) // 2)])
            yield "torn", changed(self.files, [torn])
            yield "out of order", changed(self.files, writes[len(writes) // 2 :])
            last = replace(writes[-1], data=writes[-1].data[: max(1, len(writes[-1].data) // 2)])
            yield "torn at the end", changed(self.files, [*writes[:-1], last])


def cuts(steps: list[Step]) -> Iterator[Cut]:
    """One for each sync that changed what is on the disk."""
    disk = Disk(".medbay")
    files: dict[str, bytes] = {}
    told: list[str] = []
    for step in steps:
        if step.kind == "sync":
            yield Cut(files, list(disk.pending), list(told))
        disk.take(step)
        files = disk.files
        if step.kind == "say":
            told += step.data.decode().splitlines()
        elif (step.kind, step.name) == ("start", "echo"):
            told.append(step.data.decode().removeprefix("echo "))
    yield Cut(files, list(disk.pending), list(told))


def wrong_with(files: dict[str, bytes], told: list[str], home: Path) -> list[str]:
    """What a person would find after the power came back."""
    home.mkdir()
    for name, content in files.items():
        (home / name).write_bytes(content)
    store = SqliteStore(home / STORE, SystemClock(), new_store_id="made-anew", machine_id="")
    try:
        found = store.check()
        with store.read() as tx:
            found += [f"{task_id}: {why}" for task_id, why in liveness.contradictions(tx)]
            found += [f"{line!r} is lost" for line in told if not _is_there(tx, line)]
    finally:
        store.close()
    return found


def _is_there(tx: Tx, line: str) -> bool:
    what, _, name = line.partition(" ")
    if what == "started":
        return any(task.title == name and task.attempts > 0 for task in task_rows.select(tx, task_rows.TaskFilter()))
    task = task_rows.get(tx, name)
    return task is not None and EXPECTED[what] in (None, task.status)


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """What the workload did, system call by system call."""
    return recorded(tmp_path_factory.mktemp("workload"), unsafe="")


def recorded(home: Path, *, unsafe: str) -> list[Step]:
    """Run the workload in a new store."""
    (home / ".medbay").mkdir(parents=True)
    return traced(python(WORKLOAD.format(unsafe=unsafe)), home)


def test_whatever_sync_the_power_goes_after_everything_acknowledged_is_there(steps: list[Step], tmp_path: Path) -> None:
    """It opens, it is whole, nothing is missing, and its history explains every status."""
    tried = 0
    for at, cut in enumerate(cuts(steps)):
        for how, files in cut.disks():
            wrong = wrong_with(files, cut.told, tmp_path / f"{at}-{how}")
            assert wrong == [], f"{how} after sync {at}: {wrong[:3]}"
            tried += 1
    assert tried > 100
    checkpoints = [step for step in steps if step.kind == "sync" and step.name == STORE]
    assert len(checkpoints) > 3, "the log was never brought into the database"


def test_a_store_that_does_not_sync_would_lose_something(tmp_path: Path) -> None:
    """The test above can fail."""
    lost = [
        wrong
        for at, cut in enumerate(cuts(recorded(tmp_path / "workload", unsafe=UNSAFE)))
        for how, files in cut.disks()
        if how == "all lost"  # without syncs the other ways may leave a file that cannot even be opened
        for wrong in wrong_with(files, cut.told, tmp_path / f"{at}-{how}")
    ]

    assert any("is lost" in wrong for wrong in lost)


def test_the_recorded_files_are_those_of_the_real_run(tmp_path: Path) -> None:
    """All steps together give the store that the program left behind."""
    home = tmp_path / "workload"
    home.mkdir()
    made = recorded(home, unsafe="")
    files = changed({}, [step for step in made if step.kind in ("write", "truncate", "make", "remove")])

    assert files[STORE] == (home / ".medbay" / STORE).read_bytes()
    assert WAL not in files
