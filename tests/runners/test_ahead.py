"""Commands that wait for a slot: how many may, in which order they start, and how one ends that was never begun."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from medbay.core.attempt.ahead import BRIEF_AHEAD_MAX, COMMANDS, WAITING_S
from medbay.core.outcome import Cancelled, Failed, Requeued, Succeeded
from medbay.places.protocol import LASTING_S, Feeding, Launch
from medbay.places.tree import Trees
from medbay.runners.ahead import AheadRunner, CommandAhead
from medbay.runners.shell.runner import ShellRunner
from tests.runners.driving import finish, launch, start, wait_until

SOON_S = -1_000.0  # a time that has passed, however short a while ago the machine was started


@pytest.fixture
def runner(tmp_path: Path) -> AheadRunner:
    """One whose commands are known to be short."""
    runner = AheadRunner(ShellRunner(Trees(0.3)))
    ended(runner, tmp_path, took_s=0.001)
    return runner


def ended(runner: AheadRunner, tmp_path: Path, *, took_s: float) -> None:
    """Let it hear of a command that took so long."""
    command = start(launch(tmp_path, ["true"], log_path=f"{tmp_path}/log"))
    finish(command)
    runner.commands.pace.ended(command.tree, took_s=took_s)


def numbered(tmp_path: Path, command: Any, number: int) -> Launch:
    """An attempt with files of its own, to be begun when there is a slot."""
    logs = tmp_path / "logs" / "k7f2"
    names = {"log_path": f"{logs}/{number}.log", "result_path": f"{logs}/{number}.json"}
    return launch(tmp_path, command, number=number, ahead=True, **names)


def ahead(runner: AheadRunner, tmp_path: Path, command: Any, count: int = 1) -> list[CommandAhead]:
    """So many that wait."""
    found = [runner.start(numbered(tmp_path, command, n + 1), time.monotonic()) for n in range(count)]
    return [each for each in found if isinstance(each, CommandAhead)]


def test_nothing_waits_before_a_command_was_seen_to_be_short(tmp_path: Path) -> None:
    """Then a few behind each slot."""
    runner = AheadRunner(ShellRunner(Trees(0.3)))
    before = runner.room_ahead(2)
    ended(runner, tmp_path, took_s=0.001)

    assert isinstance(runner, Feeding)
    assert (before, runner.room_ahead(2)) == ({}, {COMMANDS: 2 * BRIEF_AHEAD_MAX})


@pytest.mark.parametrize(("took_s", "room"), [(0.002, 32), (0.01, 10), (0.04, 2), (0.06, 0), (3.0, 0)])
def test_the_longer_commands_take_the_fewer_wait(tmp_path: Path, took_s: float, room: int) -> None:
    """So that none waits for long; those that last wait for no other."""
    runner = AheadRunner(ShellRunner(Trees(0.3)))
    for _ in range(20):
        ended(runner, tmp_path, took_s=took_s)

    assert runner.room_ahead(1).get(COMMANDS, 0) == room


def test_one_long_command_is_enough_to_claim_none_ahead(tmp_path: Path, runner: AheadRunner) -> None:
    """Until a number of short ones came after it."""
    ended(runner, tmp_path, took_s=1.0)
    after_the_long_one = runner.room_ahead(1)
    for _ in range(40):
        ended(runner, tmp_path, took_s=0.001)

    assert (after_the_long_one, runner.room_ahead(1)) == ({}, {COMMANDS: BRIEF_AHEAD_MAX})


def test_nothing_waits_behind_a_command_that_lasts(tmp_path: Path, runner: AheadRunner) -> None:
    """It is seen to when it is looked at."""
    running = start(launch(tmp_path, ["sleep", "100"]), runner.commands)
    before = runner.room_ahead(0)
    running.poll(time.monotonic() + LASTING_S)

    assert (before, runner.room_ahead(0), runner.room_ahead(1)) == (
        {COMMANDS: BRIEF_AHEAD_MAX},
        {},
        {COMMANDS: BRIEF_AHEAD_MAX},
    )
    running.kill()
    finish(running)


def test_what_waits_takes_room(tmp_path: Path, runner: AheadRunner) -> None:
    """All that there is, at most."""
    waiting = ahead(runner, tmp_path, ["true"], count=3)

    assert runner.room_ahead(1) == {COMMANDS: BRIEF_AHEAD_MAX - 3}
    for each in waiting:
        each.kill()
    assert runner.room_ahead(1) == {COMMANDS: BRIEF_AHEAD_MAX}


def test_commands_that_wait_start_in_their_order_as_slots_come_free(tmp_path: Path, runner: AheadRunner) -> None:
    """And have no process before."""
    first, second, third = ahead(runner, tmp_path, 'echo "$MEDBAY_ATTEMPT" >> order', count=3)
    assert [each.identity for each in (first, second, third)] == [None, None, None]
    assert (first.fileno(), first.waiting, first.process) == (-1, True, None)

    runner.begin_waiting(2, time.monotonic())

    assert [runner.waits(each) for each in (first, second, third)] == [False, False, True]
    assert isinstance(finish(first), Succeeded)
    assert isinstance(finish(second), Succeeded)
    runner.begin_waiting(1, time.monotonic())
    assert isinstance(finish(third), Succeeded)
    assert sorted((tmp_path / "order").read_text().split()) == ["1", "2", "3"]


def test_its_time_limit_counts_from_its_start(tmp_path: Path, runner: AheadRunner) -> None:
    """However long it waited."""
    waiting = runner.start(launch(tmp_path, ["sleep", "100"], timeout_s=60, ahead=True), SOON_S)
    runner.begin_waiting(1, SOON_S + 0.9)

    assert waiting.poll(SOON_S + 60.5) is None
    waiting.poll(SOON_S + 61)
    assert type(finish(waiting)).__name__ == "TimedOut"


def test_what_waited_for_too_long_is_handed_back(tmp_path: Path, runner: AheadRunner) -> None:
    """As if it had not been claimed: nothing of it was ever there."""
    waiting = runner.start(launch(tmp_path, ["touch", "ran"], ahead=True), SOON_S)
    patient = waiting.poll(SOON_S + WAITING_S - 0.01)
    assert waiting.deadline_s() == SOON_S + WAITING_S

    outcome = waiting.poll(SOON_S + WAITING_S)
    runner.begin_waiting(1, SOON_S + WAITING_S)

    assert patient is None
    assert isinstance(outcome, Requeued)
    assert (outcome.asked, runner.left_nothing(waiting), runner.waits(waiting), waiting.deadline_s()) == (
        False,
        True,
        False,
        None,
    )
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "logs" / "k7f2" / "1.log").exists()


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (lambda each: each.cancel(SOON_S), Cancelled),
        (lambda each: each.hand_back(SOON_S, why="stopping"), Requeued),
        (lambda each: each.kill(), Requeued),
    ],
    ids=["cancel", "hand back", "kill"],
)
@pytest.mark.parametrize("begun", [False, True])
def test_it_can_be_ended_before_and_after_it_began(
    tmp_path: Path, runner: AheadRunner, end: Any, kind: type, begun: bool
) -> None:
    """Only what was begun has a process to be ended."""
    (waiting,) = ahead(runner, tmp_path, "touch ran; sleep 100")
    if begun:
        runner.begin_waiting(1, time.monotonic())
        wait_until((tmp_path / "ran").exists, waiting)
        assert waiting.process is not None

    end(waiting)
    runner.begin_waiting(1, time.monotonic())

    assert isinstance(finish(waiting), kind)
    assert (tmp_path / "ran").exists() == begun
    assert runner.left_nothing(waiting) == (not begun)


def test_a_command_that_cannot_start_says_so_when_its_turn_comes(tmp_path: Path, runner: AheadRunner) -> None:
    """Like one that was started at once."""
    (waiting,) = ahead(runner, tmp_path, ["no-such-command"])
    runner.begin_waiting(1, time.monotonic())

    outcome = waiting.poll(time.monotonic())

    assert isinstance(outcome, Failed)
    assert "command not found: no-such-command" in outcome.spawn_error


def test_one_that_is_ended_from_beside_the_loop_is_begun_or_not(tmp_path: Path, runner: AheadRunner) -> None:
    """Never both ended as not begun and started."""
    waiting = ahead(runner, tmp_path, 'touch "ran.$MEDBAY_ATTEMPT"; exec sleep 100', count=20)

    def end_all() -> None:
        for each in reversed(waiting):
            each.kill()

    beside = threading.Thread(target=end_all)
    beside.start()
    for _ in waiting:
        runner.begin_waiting(1, time.monotonic())
    beside.join()

    for each in waiting:
        each.kill()
    assert all(isinstance(finish(each), Requeued) for each in waiting)
    never = [n for n, each in enumerate(waiting, 1) if runner.left_nothing(each)]
    assert not any((tmp_path / f"ran.{n}").exists() for n in never)
