"""What holds a story up while it is driven: the lock of a person's tool, and rounds of review that are used up."""

from __future__ import annotations

from pathlib import Path

import pytest

from medbay.core.durations import iso
from medbay.core.workflow.phase_lock import FRESH_MS
from medbay.errors import NotAllowed
from medbay.integrations.story_folder import PhaseInProgress
from tests.engine.story_world import StoryProcess
from tests.worlds import ManualClock

NO = {"verdict": "FAIL", "summary": "no"}


def of_a_tool(process: StoryProcess, *, age_ms: int = 0) -> Path:
    """The lock that another tool left in the folder of S; our process has nothing to do with it."""
    lock = process.folder / "stories/backlog/S/_implementation/.phase-lock"
    lock.parent.mkdir(exist_ok=True)
    started = iso(process.bay.now() - age_ms)
    lock.write_text(f"phase: pm\ncommand: /pm-story generate\nstartedAt: {started}\npid: 1\n", encoding="utf-8")
    return lock


@pytest.fixture
def process(tmp_path: Path, clock: ManualClock) -> StoryProcess:
    """A process with one story."""
    made = StoryProcess(tmp_path / "p", clock, said={"review-lint review": [NO, NO]}, config=CONFIG)
    made.bay.stories.new("S", title="x", criteria=["it prints"])
    return made


CONFIG = '[story]\nfast_track = "never"\nmax_review_rounds = 1\n'


def test_a_daemon_waits_for_the_phase_of_another_tool_and_asks_nobody(process: StoryProcess) -> None:
    """It says so once a cycle, starts nothing, and goes on when the lock is gone or an hour old."""
    lock = of_a_tool(process)
    process.bay.stories.hand_over("S")

    for _ in range(2):
        (said,) = process.bay.stories.conductor.cycle()
        assert said.startswith("S: Phase in progress: pm by process 1")
    assert (process.runs("S"), process.bay.inbox(), lock.exists()) == ([], [], True)

    process.clock.advance(FRESH_MS)
    assert process.bay.stories.conductor.cycle() == []
    assert [run.phase for run in process.runs("S")] == ["generate"]
    assert "run: S/1" in lock.read_text(encoding="utf-8")
    process.close()


def test_a_lock_that_is_an_hour_old_holds_nothing_up(process: StoryProcess) -> None:
    """Also of a process that still lives, as long as it does not renew it; the end of the phase leaves none."""
    lock = of_a_tool(process, age_ms=FRESH_MS)
    process.bay.stories.hand_over("S", until="generated")
    engine = process.engine()

    for _ in range(6):
        process.round(engine)

    assert [run.status for run in process.runs("S")] == ["PASS"]
    assert not lock.exists()
    process.close()


def test_a_person_who_drives_it_is_told_that_another_tool_works_on_it(process: StoryProcess) -> None:
    """With the exit status of a refusal; nothing is started, and it is driven no more."""
    lock = of_a_tool(process)

    with pytest.raises(PhaseInProgress) as refused:
        process.bay.stories.run(["S"])

    assert refused.value.exit_code == NotAllowed.exit_code == 4
    assert (process.runs("S"), process.bay.stories.get("S").driven, lock.exists()) == ([], False, True)
    process.close()


def test_forcing_it_on_grants_one_more_round(process: StoryProcess) -> None:
    """No more: it is blocked again after the next refusal, and without force it stays blocked."""
    stories = process.bay.stories
    engine = process.engine()

    def drive(*, force: bool) -> tuple[str, int]:
        stories.hand_over("S", force_continue=force)
        for _ in range(60):
            process.clock.advance(1_000)
            stories.conductor.cycle()
            engine.lease.beat(process.bay.store)
            engine.tick()
            found = stories.get("S")
            if found.status in ("blocked", "completed") and not found.files_due:
                break
        return stories.get("S").status, sum(run.phase == "review" for run in process.runs("S"))

    assert drive(force=False) == ("blocked", 1)
    assert drive(force=False) == ("blocked", 1)
    assert drive(force=True) == ("blocked", 2)
    assert stories.get("S").rounds_granted == 1
    assert drive(force=True) == ("completed", 3)
    assert process.bay.inbox() == []
    process.close()
