"""A process that ends between a call of the tracker and our commit, at every step and in both orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from medbay.core.tracker import mirror
from tests.trackers.tracker_world import Crash, TrackerWorld
from tests.worlds import ManualClock, failed

BROKEN = failed('app.py:3: NameError: name "totals" is not defined')
MINE = "a person's note\nover two lines\n"
FOREIGN = "ADWS_FAILED|attempt=2|last_failure=2026-01-01T00:00:00Z|error_class=SdkCallError|step=implement|summary=x"
PARTS = [{"title": "part A", "description": "the form"}, {"title": "part B", "description": "the session"}]
SPLIT = {"verdict": "SPLIT", "why": "too big", "parts": PARTS}
HOUR = 3_600_000
CYCLES_MAX = 2  # after which everything has to be as it would have been

Told = tuple[object, ...]


@pytest.fixture
def made(tmp_path: Path, clock: ManualClock) -> Iterator[Callable[..., TrackerWorld]]:
    """A project with a store and a tracker."""
    opened: list[TrackerWorld] = []

    def make(*verdicts: object) -> TrackerWorld:
        opened.append(TrackerWorld(tmp_path / "first", clock, verdicts=verdicts))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def after_every_crash(world: TrackerWorld, tmp_path: Path, told: Callable[[TrackerWorld], Told]) -> list[str]:
    """Let a cycle end at each of its steps, then go on; what is told at the end is always the same."""
    clean = world.copy(tmp_path / "clean")
    for _ in range(CYCLES_MAX):
        clean.cycle()
    wanted = told(clean)
    clean.close()

    crashed: list[str] = []
    while True:
        each = world.copy(tmp_path / f"crash-{len(crashed)}")
        each.close()
        each.open(at=len(crashed) + 1)
        try:
            each.cycle()
        except Crash as crash:
            crashed.append(str(crash))
        else:
            each.close()
            return crashed
        each.close()
        each.open()
        for _ in range(CYCLES_MAX):
            assert each.cycle() == []
        assert told(each) == wanted, f"after a crash {crashed[-1]}, step {len(crashed)}"
        each.close()


def test_a_failure_is_recorded_once(made: Callable[..., TrackerWorld], tmp_path: Path) -> None:
    """The record of an attempt that failed: never lost, never taken for one that a person cleared."""
    world = made()
    issue = world.create("login", MINE)
    world.cycle()
    world.scripts["work"] = [BROKEN]
    world.run(world.engine())

    def told(each: TrackerWorld) -> Told:
        (task,) = each.tasks()
        return each.notes(issue), task.status, task.waits_for, task.charged

    steps = after_every_crash(world, tmp_path, told)

    assert {"before set_notes", "after set_notes", "before commit", "after commit"} <= set(steps)


def test_a_cooldown_is_cleared_once_and_its_count_is_kept(made: Callable[..., TrackerWorld], tmp_path: Path) -> None:
    """Of an issue of ours, and of one that failed elsewhere and is known by its notes alone."""
    world = made()
    ours = world.create("login", MINE)
    world.cycle()
    world.scripts["work"] = [BROKEN]
    world.run(world.engine())
    world.cycle()
    foreign = world.create("other", f"{MINE}{FOREIGN}")
    world.clock.advance(HOUR)

    def told(each: TrackerWorld) -> Told:
        counts = sorted((task.title, task.status, task.charged, task.attempts) for task in each.tasks())
        return each.notes(ours), each.notes(foreign), *counts

    steps = after_every_crash(world, tmp_path, told)

    assert len(steps) > 10
    assert steps.count("before set_notes") == 2


def test_an_escalation_asks_once_and_is_marked(made: Callable[..., TrackerWorld], tmp_path: Path) -> None:
    """What no rule knows, and what cannot be read."""
    world = made()
    unknown = world.create("login", f"{MINE}{FOREIGN.replace('SdkCallError', 'unknown')}")
    odd = world.create("odd", f"{MINE}ADWS_FAILED|attempt=many")

    def told(each: TrackerWorld) -> Told:
        asked = sorted(question.why for question in each.bay.inbox())
        return each.notes(unknown), each.notes(odd), len(each.tasks()), *asked

    after_every_crash(world, tmp_path, told)


def test_a_success_closes_its_issue(made: Callable[..., TrackerWorld], tmp_path: Path) -> None:
    """Also where its second attempt succeeded and its record is still there."""
    world = made()
    issue = world.create("login", MINE)
    world.cycle()
    world.run(world.engine())

    def told(each: TrackerWorld) -> Told:
        found = each.issue(issue)
        return found["status"], found["close_reason"], found["notes"], [task.attempts for task in each.tasks()]

    after_every_crash(world, tmp_path, told)


def test_a_split_makes_each_part_once(made: Callable[..., TrackerWorld], tmp_path: Path) -> None:
    """No second part, none that starts before the split is whole, and the original is closed with their ids."""
    world = made(SPLIT)
    issue = world.create("login", f"{MINE}{FOREIGN.replace('attempt=2', 'attempt=3')}")
    world.cycle()
    world.run(world.engine())
    assert sorted(task.title for task in world.tasks() if task.role == "part") == ["part A", "part B"]

    def told(each: TrackerWorld) -> Told:
        original, parts = each.issue(issue), [one for one in each.every() if one["id"] != issue]
        named = original["close_reason"].removeprefix(mirror.SPLIT).split(", ")
        assert sorted(named) == sorted(one["id"] for one in parts)
        states = sorted((task.title, task.status, task.waits_for, task.role) for task in each.tasks())
        return original["status"], sorted(one["title"] for one in parts), [one["labels"] for one in parts], *states

    steps = after_every_crash(world, tmp_path, told)

    assert steps.count("after create") == 2


def test_a_part_that_the_tracker_has_and_the_store_does_not_know_is_no_new_work(
    made: Callable[..., TrackerWorld],
) -> None:
    """The process ended between both, and the tracker cannot be asked for the part at once."""
    world = made(SPLIT)
    issue = world.create("login", FOREIGN.replace("attempt=2", "attempt=3"))
    world.cycle()
    world.run(world.engine())
    first = next(task.id for task in world.tasks() if task.role == "part")
    made_alone = f'--metadata={{"medbay_key": "medbay:{first}"}}'
    known = world.bd("create", "--title=part A", "-l", "implement_close", made_alone)["id"]
    world.fault(f"show {issue} exit 1")

    assert any(issue in error for error in world.cycle())
    assert len(world.tasks()) == 3
    world.fault()
    world.cycle()

    parts = [each["id"] for each in world.every() if each["id"] != issue]
    assert known in parts and len(parts) == 2 and len(world.tasks()) == 3
