"""What an attempt may cost in calls, and the walk of a failed one as the architecture page tells it.

The ceilings only fall. Calls are those of Python functions of the package between the end of attempts and the start of
the next, counted by a profiler, so that a noisy machine changes nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import medbay
from medbay.core.outcome import Outcome, Succeeded
from medbay.engine.round import Engine
from medbay.store.database import Store
from tests.worlds import ManualClock, ScriptedRunning, World, failed, quick_policy

PACKAGE = str(Path(medbay.__file__).parent) + "/"
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "architecture.md"
BATCH = 32
HOPS_MAX = 25
STEP = re.compile(r"^\d+\. `([a-z_/]+\.py)` `([A-Za-z_.]+)`", re.MULTILINE)


@pytest.fixture
def world(store: Store, clock: ManualClock) -> World:
    """A store with engines on it; whatever fails is tried again at once."""
    return World(store, clock, policy=quick_policy(0))


@contextmanager
def traced() -> Iterator[list[tuple[str, str]]]:
    """Every call of a function of the package, in order, as long as this lasts."""
    seen: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            seen.append((code.co_filename.removeprefix(PACKAGE), code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(before)


def end_all(engine: Engine, outcome: Outcome) -> None:
    """Let everything that runs end."""
    for each in engine.live.values():
        assert isinstance(each.running, ScriptedRunning)
        each.running.outcome = outcome


def calls_of(world: World, many: int, outcome: Outcome) -> float:
    """How many calls one of so many attempts takes that end together, once everything was called before."""
    engine = world.engine(slots=many)
    for round_ in range(2):
        if not engine.live:
            for number in range(many):
                world.add(f"{round_} {number}", None, None, None)
            world.run(engine, step_ms=300)
        assert len(engine.live) == many
        end_all(engine, outcome)
        world.clock.advance(1)
        with traced() as seen:
            engine.tick()
    return len(seen) / many


@pytest.mark.parametrize(
    ("many", "outcome", "ceiling"),
    [
        (1, failed("x.py:3: AssertionError: row 77"), 720),
        (BATCH, failed("x.py:3: AssertionError: row 77"), 150),
        (BATCH, Succeeded(), 60),
    ],
    ids=["a failure alone", "a failure in a batch", "a success in a batch"],
)
def test_an_attempt_costs_no_more_than_its_ceiling(
    world: World, many: int, outcome: Outcome, ceiling: int, request: pytest.FixtureRequest
) -> None:
    """From its end to the start of what comes next, a retry included."""
    if "postgres" in request.node.name:
        pytest.skip("the calls are those of SQLite; PostgreSQL is bounded by its round trips")

    assert calls_of(world, many, outcome) <= ceiling


def test_the_walk_of_a_failed_attempt_is_as_the_page_tells_it(world: World) -> None:
    """Every step that the architecture page names is called, in that order, and there are few of them."""
    told = STEP.findall(PAGE.read_text(encoding="utf-8"))
    engine = world.engine(slots=1)
    world.add("walks", None, None)
    world.run(engine)
    end_all(engine, failed("x.py:3: AssertionError: row 77"))
    world.clock.advance(1)

    with traced() as seen:
        engine.tick()

    assert 10 <= len(told) <= HOPS_MAX
    rest = iter(seen)
    for file, function in told:
        assert any(step == (file, function) for step in rest), f"{file} {function} is not called at that place"
