"""Many short commands through a real engine: claimed ahead, never more at once than slots, each of them once."""

from __future__ import annotations

from pathlib import Path

import pytest

import medbay
from medbay.bay import Bay

COUNT = 60
BEGINS_AND_ENDS = "echo + >> record; echo - >> record"


@pytest.fixture
def bay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bay:
    """A store in a directory of its own."""
    (tmp_path / ".medbay").mkdir()
    monkeypatch.chdir(tmp_path)
    return medbay.open()


def test_short_commands_follow_each_other_within_the_slots(bay: Bay, tmp_path: Path) -> None:
    """Each is made once."""
    tasks = [bay.add(f"t{n}", run=BEGINS_AND_ENDS) for n in range(COUNT)]

    assert bay.run_until_idle(workers=2) == 0

    marks = (tmp_path / "record").read_text().split()
    at_once = [marks[:n].count("+") - marks[:n].count("-") for n in range(len(marks) + 1)]
    assert (len(marks), max(at_once) <= 2) == (2 * COUNT, True)
    assert [bay.get(task.id).status for task in tasks] == ["completed"] * COUNT


def test_a_long_command_among_short_ones_holds_nobody_up(bay: Bay, tmp_path: Path) -> None:
    """It keeps one slot; the others go on in the other one, and it sees them done."""
    before = [bay.add(f"t{n}", run=["true"]) for n in range(20)]
    waits = "while ! [ -e done ]; do sleep 0.02; done"
    slow = bay.add("slow", run=waits, timeout="50s")
    after = [bay.add(f"t{n}", run=["true"]) for n in range(20)]
    bay.add("last", run=["touch", "done"], priority=4)

    assert bay.run_until_idle(workers=2) == 0

    assert {bay.get(task.id).status for task in (*before, slow, *after)} == {"completed"}
    assert bay.get(slow.id).attempts == 1


def test_a_short_command_that_fails_among_others_has_its_own_log(bay: Bay) -> None:
    """Exit code and output are recorded, whoever waited beside it."""
    for n in range(20):
        bay.add(f"t{n}", run=["true"])
    speaks = [bay.add(f"speaks {n}", run=f"echo this is {n}; exit 75") for n in range(5)]
    daemon = bay.daemon(workers=2)

    daemon.run(until=lambda: all(bay.get(task.id).attempts == 1 and bay.get(task.id).live is None for task in speaks))

    for n, task in enumerate(speaks):
        (attempt,) = bay.attempts(task.id)
        assert (attempt.outcome, attempt.exit_code) == ("requeued", 75)
        assert Path(attempt.log_path).read_text() == f"this is {n}\n"


def test_directories_that_are_not_there_hold_nobody_else_up(bay: Bay, tmp_path: Path) -> None:
    """That is each task's own mistake: with another directory the same runner works."""
    wrong = [bay.add(f"wrong {n}", run=["echo", str(n)], cwd=str(tmp_path / f"gone {n}")) for n in range(8)]
    daemon = bay.daemon(workers=2)

    daemon.run(until=lambda: all(bay.get(task.id).attempts == 1 and bay.get(task.id).live is None for task in wrong))
    fine = bay.add("fine", run=["true"])
    bay.daemon(workers=2).run(until=lambda: bay.get(fine.id).finished)

    assert bay.get(fine.id).status == "completed"
    assert not [each.key for each, _ in bay.breakers() if each.kind == "crash_loop"]
