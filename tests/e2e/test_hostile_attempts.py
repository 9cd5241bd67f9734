"""What an attempt leaves behind, or a runner breaks on, is the end of that attempt: the engine goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import medbay
from medbay.bay import Bay
from medbay.core.outcome import Outcome
from medbay.core.policy.presets import LADDER
from medbay.places.protocol import Launch
from medbay.runners.shell.runner import ShellRunner, ShellRunning
from medbay.store.database import Store
from tests.worlds import ManualClock, World

LEAVES = {
    "a number without end": """printf '{"retry_after": %0400d}' 0 | tr 0 9 > $MEDBAY_RESULT""",
    "a pipe": "mkfifo $MEDBAY_RESULT",
    "a link": "ln -s /etc/passwd $MEDBAY_RESULT",
    "a directory": "mkdir $MEDBAY_RESULT",
    "no end": "head -c 3000000 /dev/zero > $MEDBAY_RESULT",
    "a pipe as its log": 'log=$(readlink /proc/self/fd/1); rm "$log"; mkfifo "$log"',
}
ANSWERS_BY_PIPE = "import os; p = os.readlink('/proc/self/fd/1'); os.unlink(p); os.mkfifo(p)"
ONCE = "".join(f'[policy.ladder.{name}]\ndelays = ["10ms"]\nmax_retries = 3\n' for name in LADDER)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def bay(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bay:
    """A project on either database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEDBAY_TRUST", "1")
    (tmp_path / ".medbay").mkdir()
    command = f'[triage]\nagent = "command"\ncommand = ["{sys.executable}", "-c", "{ANSWERS_BY_PIPE}"]\n'
    (tmp_path / "medbay.toml").write_text(ONCE + command, encoding="utf-8")
    if request.param == "postgres":
        monkeypatch.setenv(
            "MEDBAY_STORE", request.getfixturevalue("postgres").url(request.getfixturevalue("own_database"))
        )
    return medbay.open()


def test_whatever_an_attempt_leaves_the_engine_goes_on(bay: Bay) -> None:
    """Results of every kind, and a triage that answers with a pipe: one engine sees to all, and none is lost."""
    hostile = [bay.add(name, run=f"{line}; exit 1") for name, line in LEAVES.items()]
    good = bay.add("good", run="sleep 0.3", after=[])

    assert bay.run_until_idle(workers=2) in (1, 75)

    assert bay.get(good.id).status == "completed"
    assert {bay.get(each.id).status for each in hostile} == {"blocked"}
    ends = [attempt.outcome for each in hostile for attempt in bay.attempts(each.id)]
    assert set(ends) == {"failed"}
    assert "triage:failed" in {each.name for each in bay.events(limit=1_000)}


def test_a_runner_that_breaks_ends_its_attempt_and_nothing_else(bay: Bay, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its start or while it is asked: the task fails with what happened, its process is ended."""
    start, poll = ShellRunner.start, ShellRunning.poll

    def breaks(runner: ShellRunner, launch: Launch, monotonic_s: float) -> ShellRunning:
        if "start" in str(launch.command):
            raise OverflowError("cannot start that")
        return start(runner, launch, monotonic_s)

    def breaks_later(running: ShellRunning, monotonic_s: float) -> Outcome | None:
        if "sleep 77" in str(running._launch.command):
            raise AttributeError("cannot read that")
        return poll(running, monotonic_s)

    monkeypatch.setattr(ShellRunner, "start", breaks)
    monkeypatch.setattr(ShellRunning, "poll", breaks_later)
    tasks = [bay.add(line, run=line) for line in ("echo start", "echo begun; sleep 77", "echo fine")]

    bay.run_until_idle(workers=2)

    assert [bay.get(each.id).status for each in tasks] == ["blocked", "blocked", "completed"]
    for task, said in zip(
        tasks, ("OverflowError: cannot start that", "AttributeError: cannot read that"), strict=False
    ):
        kept = bay.output(task.id, 1)
        assert kept is not None
        assert f"its runner broke: {said}" in kept.text()


def test_the_same_on_a_clock_that_stands(store: Store, clock: ManualClock) -> None:
    """The engine ticks on, and the broken attempt is a failure like any other."""
    world = World(store, clock)
    engine = world.engine()
    engine.start()
    broken, fine = world.add("broken", None), world.add("fine", None, None)
    world.run(engine)

    def poll(monotonic_s: float) -> Outcome | None:
        raise ZeroDivisionError

    broke = next(each for each in world.runner.running if each.launch.task_id == broken.id)
    broke.poll = poll  # type: ignore[method-assign]
    world.run(engine)

    assert world.task(broken.id).status == "failed"
    assert broke.killed
    assert world.task(fine.id).status == "in_progress"
