"""What counts as progress of a tree, and what does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from medbay.places.processes import Process
from medbay.places.progress import Progress


def process(cpu_s: float = 0.0, *, pid: int = 10) -> Process:
    """One of a tree."""
    return Process(pid=pid, start=1, parent=1, group=10, session=10, dead=False, rss_bytes=0, cpu_s=cpu_s)


class Watched:
    """A tree that is looked at once a second and may stand still for five."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / ".medbay" / "1.log"
        self.log.parent.mkdir()
        self.log.write_text("started\n", encoding="utf-8")
        self.progress = Progress(0.0, stall_s=5.0, cwd=folder)
        self.tree = [process()]
        self.now_s = 0.0
        self.look()

    def look(self) -> bool:
        """Whether it stands still a second later."""
        self.now_s += 1.0
        return self.progress.is_stalled(self.tree, self.log, self.now_s)

    def stalls(self, does: str) -> bool:
        """Whether it stands still although it does this every second."""
        for number in range(12):
            self.do(does, number)
            if self.look():
                return True
        return False

    def do(self, what: str, number: int) -> None:
        """One second of it."""
        match what:
            case "prints":
                self._print(f"line {number}")
            case "repeats" | "repeats and computes and starts":
                self._print("same")
            case "repeats with a time":
                self._print(f"2026-11-18 01:02:{number:02d} waiting")
            case "writes":
                (self.folder / "src").mkdir(exist_ok=True)
                written = self.folder / "src" / "a.txt"
                written.touch()
                os.utime(written, ns=(0, 4 * 10**18 + number))
            case "writes our own":
                (self.folder / ".medbay" / f"{number}").touch()
        if what in ("computes", "repeats and computes and starts"):
            self.tree = [process(cpu_s=0.1 * number)]
        elif what == "idles":
            self.tree = [process(cpu_s=0.01 * number)]
        if what in ("starts", "repeats and computes and starts"):
            self.tree = [process(), process(pid=100 + number)]

    def _print(self, line: str) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


@pytest.mark.parametrize("does", ["prints", "writes", "computes", "starts"])
def test_output_files_cpu_and_children_are_progress(tmp_path: Path, does: str) -> None:
    """Each alone."""
    assert not Watched(tmp_path).stalls(does)


@pytest.mark.parametrize(
    "does",
    ["nothing", "idles", "repeats", "repeats with a time", "repeats and computes and starts", "writes our own"],
)
def test_silence_repetition_and_our_own_files_are_none(tmp_path: Path, does: str) -> None:
    """Whatever it takes to print the same line again."""
    assert Watched(tmp_path).stalls(does)


def test_a_log_that_is_gone_or_shorter_and_a_tree_that_is_gone_are_taken_as_they_are(tmp_path: Path) -> None:
    """Nothing raises, and what did it last is not known."""
    watched = Watched(tmp_path)
    watched.log.write_text("", encoding="utf-8")
    watched.look()
    watched.log.unlink()
    watched.tree = []

    assert watched.stalls("nothing")
    assert watched.progress.last == ""
