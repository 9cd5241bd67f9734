"""Stories whose process ends after any commit and any effect on their files, and goes on in another one."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest

from medbay.areas.conductor import private_queue
from medbay.store import attempts
from tests.engine.story_world import AFTER_A_CRASH_MS, WALK, StoryProcess, artifacts
from tests.worlds import ManualClock

ASKS: dict[str, Any] = {"decisions": [{"question": "Drop the table?", "options": ["yes", "no"]}]}
NO: dict[str, Any] = {"verdict": "FAIL", "summary": "a line is too long"}
SAID = {"review-lint review": [NO], "qa elaborate": [ASKS]}
SAMPLE = 101  # every so many steps, in the run of every day
SHARES = 8  # of the whole, each a test of its own


class Snapshots:
    """Copies of a project as the steps of a share left it, each with its time."""

    def __init__(self, folder: Path, kept: Path, clock: ManualClock, *, every: int, first: int) -> None:
        self.folder, self._kept, self._clock = folder, kept, clock
        self._every, self._first = every, first
        self.steps: list[tuple[str, int]] = []

    @property
    def taken(self) -> range:
        """The numbers of the steps that are kept."""
        return range(self._first, len(self.steps), self._every)

    def take(self, name: str) -> None:
        """Keep what is on the disk now."""
        self.steps.append((name, self._clock.now_ms()))
        if (number := len(self.steps) - 1) in self.taken:
            shutil.copytree(self.folder, self._kept / str(number))

    def put_back(self, at: int) -> str:
        """The disk as this step left it, long enough ago; which step it was."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept / str(at), self.folder)
        name, when = self.steps[at]
        self._clock.advance(max(0, when + AFTER_A_CRASH_MS - self._clock.now_ms()))
        return f"after {name}, step {at} of {len(self.steps)}"


def walked(tmp_path: Path, clock: ManualClock, *, every: int, first: int) -> Snapshots:
    """A walk from its first command to its end, through a failed review and a question."""
    kept = Snapshots(tmp_path / "project", tmp_path / "kept", clock, every=every, first=first)
    process = StoryProcess(kept.folder, clock, told=kept.take, said=SAID)
    process.bay.stories.new("S-1", title="Print it", criteria=["it prints"])
    process.bay.stories.hand_over("S-1")
    process.walk("S-1")
    _check(process, "without a crash")
    process.close()
    return kept


def goes_on(kept: Snapshots, clock: ManualClock, at: int) -> None:
    """Another process takes up what the step left, and ends as if nothing had happened."""
    step = kept.put_back(at)
    after = StoryProcess(kept.folder, clock, said=SAID)
    if not after.bay.stories.exists("S-1"):
        after.bay.stories.new("S-1", title="Print it", criteria=["it prints"])
    if not after.bay.stories.get("S-1").driven and not after.runs("S-1"):
        after.bay.stories.hand_over("S-1")
    after.walk("S-1")
    _check(after, step)
    after.close()


def _check(process: StoryProcess, step: str) -> None:
    """Completed; every phase ended once, one after the other; nothing lost, nothing left, the folder as the store."""
    runs = process.runs("S-1")
    assert [each.phase for each in runs] == list(WALK), step
    assert [each.status for each in runs] == ["PASS"] * 3 + ["FAIL"] + ["PASS"] * 4, step
    for before, then in itertools.pairwise(runs):
        assert before.ended_at is not None and before.ended_at <= then.started_at, step
    with process.bay.store.read() as tx:
        for part in (each for run in runs for each in run.parts):
            tried = attempts.of_task(tx, part.task_id, 10)
            assert sum(each.outcome == "succeeded" for each in tried) == 1, (step, part)
            ends = [each.ended_at or 0 for each in tried]
            assert all(end <= then.started_at for end, then in zip(ends, tried[1:], strict=False)), (step, tried)
        asked = tx.rows("SELECT status FROM question WHERE owner_kind = 'story'")
    assert [row[0] for row in asked] == ["answered"], step
    found = artifacts(process.folder / "stories")
    assert {Path(name).parts[:2] for name in found} == {("UAT", "S-1")}, step
    names = {Path(name).name for name in found}
    wanted = "story.md ELAB.yaml PROOF.md VERIFICATION.yaml EVIDENCE.yaml GATE.yaml TRACE.jsonl METRICS.yaml NOTES.txt"
    assert {*wanted.split(), "TOKEN-LOG.md"} <= names, step
    assert process.bay.stories.sync() == [], step
    assert artifacts(process.folder / "stories") == found, step


def test_a_crash_after_a_sample_of_all_steps_loses_nothing(tmp_path: Path, clock: ManualClock) -> None:
    """Evenly spread over the walk."""
    kept = walked(tmp_path, clock, every=SAMPLE, first=7)

    for at in kept.taken:
        goes_on(kept, clock, at)


@pytest.mark.long
@pytest.mark.parametrize("share", range(SHARES))
def test_a_crash_after_every_step_loses_nothing(tmp_path: Path, clock: ManualClock, share: int) -> None:
    """Every commit and every effect on a file, in shares that run side by side."""
    kept = walked(tmp_path, clock, every=SHARES, first=share)
    assert len(kept.steps) > 300

    for at in kept.taken:
        goes_on(kept, clock, at)


def test_what_a_command_that_died_left_is_taken_to_the_queue_of_the_daemon(tmp_path: Path, clock: ManualClock) -> None:
    """Its tasks waited in a queue that nobody else serves; in every state that the command may have left them in."""
    for rounds in range(1, 5):
        folder = tmp_path / str(rounds)
        command = StoryProcess(folder, clock, said=SAID)
        command.bay.stories.new("S-1", title="Print it", criteria=["it prints"])
        queue = private_queue("S-1")
        command.bay.stories._let_go("S-1", "", queue)
        engine = command.engine(queues=(queue,))
        for _ in range(rounds):
            clock.advance(1_000)
            command.bay.stories.conductor.cycle(only=("S-1",))
            if rounds % 2:
                engine.tick()
        command.close()
        clock.advance(AFTER_A_CRASH_MS)

        daemon = StoryProcess(folder, clock, said=SAID)
        daemon.bay.stories.hand_over("S-1", until="ready-to-work")
        daemon.walk("S-1", until="ready-to-work")

        runs = [(run.phase, run.status, run.agent_spawns) for run in daemon.runs("S-1")]
        assert runs == [(phase, "PASS", 1) for phase in WALK[:2]], f"{rounds} rounds"
        with daemon.bay.store.read() as tx:
            left = tx.rows("SELECT DISTINCT queue FROM task WHERE status NOT IN ('completed', 'cancelled')")
        assert left == []
        daemon.close()
