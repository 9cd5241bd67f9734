"""The drill itself: the real commands on this machine, and trials that cannot pass."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from medbay.drill import course, ground, trials
from medbay.drill.ground import marked
from medbay.errors import UsageError
from tests.cli.calling import COMMAND, Cli

LIMIT_S = 400  # two minutes on a quiet machine


@pytest.mark.long
def test_every_promise_holds_on_this_machine(tmp_path: Path) -> None:
    """All of it, as a user runs it; nothing but a full disk may be skipped."""
    ran = subprocess.run([COMMAND, "drill", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S)

    found = {each["name"]: each for each in json.loads(ran.stdout)["lines"]}
    assert {name: each["why"] for name, each in found.items() if each["result"] == "FAIL"} == {}
    assert [name for name, each in found.items() if each["result"] == "SKIP"] in ([], ["full disk"])
    assert ran.returncode == 0
    assert len(found) == 11


@pytest.mark.long
def test_a_full_disk_is_tried_without_a_small_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no namespace can be had, files may not grow."""
    monkeypatch.setattr(trials, "_small_disk", lambda ground: None)

    disk, left = course.run(["full disk"])

    assert (disk.result, disk.why, left.result) == ("PASS", "", "PASS")
    assert "files that may not grow" in disk.seen


def test_a_program_that_does_nothing_fails_the_trial_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The trials ask the real commands: without them nothing passes."""
    monkeypatch.setattr(ground, "START", "raise SystemExit(3)")

    port, left = course.run(["refused port"])

    assert (port.result, left.result) == ("FAIL", "PASS")
    assert "medbay add ended with 3" in port.why


def test_the_process_table_names_what_carries_the_mark() -> None:
    """Else nothing would ever be left behind."""
    here = ground.TrialGround.__new__(ground.TrialGround)
    here.mark, here.held, here._started = "course-test", 0, []
    holder = here.hold(["sleep", "60"])
    try:
        assert marked("course-") == [holder.pid]
    finally:
        ground.end_marked("course-test")
        holder.wait()
    assert marked("course-test") == []
    assert holder.stdout is not None
    holder.stdout.close()


def test_an_unknown_trial_is_refused(cli: Cli) -> None:
    """With those there are."""
    with pytest.raises(UsageError, match="there is no trial"):
        list(course.run(["earthquake"]))
    assert cli("drill", "--only", "earthquake").code == 2
