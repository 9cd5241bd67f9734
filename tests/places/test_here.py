"""This machine as a place: which runner starts what, what may be left, and that no attempt is ever taken up again."""

from __future__ import annotations

from pathlib import Path

import pytest

from medbay.errors import SpawnFailed
from medbay.places import here as module
from medbay.places.environment import input_path
from medbay.places.here import Here
from medbay.places.protocol import Place
from tests.engine.test_ahead import FeedingRunner
from tests.runners.driving import launch
from tests.worlds import NoLeftovers, ScriptedRunner


def test_an_attempt_is_started_by_the_runner_of_its_kind(tmp_path: Path) -> None:
    """Whatever comes after the kind is for that runner to know."""
    shell, agents = ScriptedRunner(), ScriptedRunner()
    place: Place = Here({"shell": shell, "agent": agents}, NoLeftovers())

    place.start(launch(tmp_path, ["true"]), 0.0)
    place.start(launch(tmp_path, ["true"], runner="agent:claude"), 0.0)

    assert [each.runner for each in shell.started] == ["shell"]
    assert [each.runner for each in agents.started] == ["agent:claude"]


def test_a_runner_for_later_is_made_once_and_feeds_from_then_on(tmp_path: Path) -> None:
    """Nobody pays for one that is never used."""
    made: list[FeedingRunner] = []

    def make() -> FeedingRunner:
        made.append(FeedingRunner())
        return made[-1]

    place = Here({}, NoLeftovers(), later={"python": make})
    before = (len(made), place.room_ahead(1))

    for _ in range(2):
        place.start(launch(tmp_path, ["m:f", "[]"], runner="python"), 0.0)

    assert before == (0, {})
    assert len(made) == 1
    assert place.room_ahead(1) == made[0].room_ahead(1)


def test_what_an_attempt_is_handed_is_written_as_the_machine_writes(tmp_path: Path) -> None:
    """A simulated one writes no files."""
    written: list[tuple[str, str]] = []
    place = Here({"shell": ScriptedRunner()}, NoLeftovers(), write=lambda path, text: written.append((path, text)))
    handed = launch(tmp_path, ["true"], input_text="{}")

    place.start(handed, 0.0)

    assert written == [(input_path(handed), "{}")]
    assert not Path(input_path(handed)).exists()


def test_no_attempt_on_this_machine_is_taken_up_again(tmp_path: Path) -> None:
    """The exit code of an orphan cannot be read: it is ended, and its attempt is lost."""
    place = Here({"shell": ScriptedRunner()}, NoLeftovers())
    place.start(launch(tmp_path, ["true"]), 0.0)

    assert place.still_running({("k7f2", 1): ""}) == frozenset()
    with pytest.raises(SpawnFailed):
        place.reattach(launch(tmp_path, ["true"]), 0.0)


def test_only_what_is_known_to_have_left_nothing_need_not_be_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of those only the last few are remembered."""
    monkeypatch.setattr(module, "_CLEAN_MAX", 2)
    runner = FeedingRunner()
    place = Here({"python": runner}, NoLeftovers())
    running = [place.start(launch(tmp_path, ["m:f", "[]"], runner="python"), 0.0) for _ in range(4)]
    runner.clean = list(running[1:])

    for number, each in enumerate(running):
        place.ended(("k7f2", number), each)

    assert [place.may_be_left(("k7f2", number)) for number in range(4)] == [True, True, False, False]
