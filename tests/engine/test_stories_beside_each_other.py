"""Many stories at once: dependencies hold them back, slots are shared, and what waits costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from medbay.service import stories as service
from medbay.store.database import Tx
from tests.engine.story_world import StoryProcess, artifacts
from tests.worlds import ManualClock

TEN = {f"S-{at}": tuple(f"S-{each}" for each in range(max(0, at - 3), at) if (at + each) % 2) for at in range(10)}
SLOTS = 4


def begun(folder: Path, clock: ManualClock, url: str = "") -> StoryProcess:
    """Ten stories, half of which wait for others, all handed to the daemon."""
    made = StoryProcess(folder, clock, url=url, said={"review-lint review": [{"verdict": "FAIL", "summary": "no"}]})
    for story_id, others in TEN.items():
        made.bay.stories.new(story_id, title=f"Print {story_id}", criteria=["it prints"], depends_on=others)
        made.bay.stories.hand_over(story_id)
    return made


def check_order(process: StoryProcess) -> None:
    """Nothing past elaboration began before what it depends on was completed, and never more than the slots ran."""
    details = {each: process.bay.stories.detail(each) for each in TEN}
    for story_id, others in TEN.items():
        later = [run for run in details[story_id].runs if run.phase not in ("generate", "elaborate")]
        for other in others:
            assert details[other].story.ended_at is not None
            assert later[0].started_at >= (details[other].story.ended_at or 0), (story_id, other)
    found = artifacts(process.folder / "stories")
    assert {Path(name).parts[:2] for name in found} == {("UAT", each) for each in TEN}
    assert process.bay.stories.sync() == []


def test_ten_stories_on_four_slots_run_to_the_end(tmp_path: Path, clock: ManualClock) -> None:
    """`explain` names what one waits for on the way."""
    process = begun(tmp_path / "p", clock)
    engine, most = process.engine(slots=SLOTS), 0
    for _ in range(200):
        process.round(engine)
        with process.bay.store.read() as tx:
            running = tx.one("SELECT COUNT(*) FROM task WHERE live IS NOT NULL")
        most = max(most, running[0] if running else 0)
        waits = process.bay.stories.detail("S-9")
        if waits.story.elaborated and waits.story.status == "ready-to-work" and waits.held_by:
            assert set(waits.held_by) <= set(TEN["S-9"])
        if all(each.status == "completed" and not each.files_due for each in process.stories(list(TEN))):
            break

    assert 1 < most <= SLOTS
    check_order(process)
    process.close()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_two_daemons_on_one_store_bring_them_to_the_end(
    tmp_path: Path, clock: ManualClock, kind: str, request: pytest.FixtureRequest
) -> None:
    """Each with a conductor of its own; no phase is run by both."""
    url = ""
    if kind == "postgres":
        url = request.getfixturevalue("postgres").url(request.getfixturevalue("own_database"))
    one = begun(tmp_path / "p", clock, url)
    two = StoryProcess(tmp_path / "p", clock, url=url, said=one.runner.said)
    two.world._pids = iter(range(20_000, 30_000))
    one.world.sightings = two.world.sightings  # each sees the other's process
    engines = [(one, one.engine(slots=2)), (two, two.engine(slots=2))]
    for _ in range(200):
        for process, engine in engines:
            process.round(engine)
        if all(each.status == "completed" and not each.files_due for each in one.stories(list(TEN))):
            break

    started = [*one.runner.started, *two.runner.started]
    assert len(started) == len(set(started))
    assert one.runner.started and two.runner.started
    check_order(one)
    two.close()
    one.close()


def counted(tx: type[Tx], work: Callable[[], object]) -> int:
    """How many statements something takes."""
    seen: list[str] = []

    def stepped(name: str) -> Any:
        real = getattr(tx, name)

        def call(self: Any, sql: str, *given: Any, **more: Any) -> Any:
            seen.append(sql)
            return real(self, sql, *given, **more)

        return mock.patch.object(tx, name, call)

    with stepped("rows"), stepped("one"), stepped("execute"):
        work()
    return len(seen)


def test_what_is_read_of_two_hundred_stories_takes_as_many_statements_as_of_two(
    tmp_path: Path, clock: ManualClock
) -> None:
    """List, board and figures; and the conductor passes those that only wait."""
    process = StoryProcess(tmp_path / "p", clock)
    stories, board = process.bay.stories, process.bay.board
    with process.bay.store.read() as tx:
        kind = type(tx)
    works: dict[str, Callable[[], object]] = {
        "list": stories.listed,
        "board": board.overview,
        "stats": lambda: board.figures(10**10),
        "cycle": stories.conductor.cycle,
    }

    def add(count: int) -> None:
        for at in range(count):
            made, definition = stories.prepared(f"N-{clock.wall_ms}-{at}", title="x", criteria=["y"], driven=True)
            with process.bay.store.write() as tx:
                service.create(tx, made, definition, actor="person:test")
        with process.bay.store.write() as tx:
            tx.execute("UPDATE story SET waiting = 1, files_due = 0")

    add(2)
    few = {name: counted(kind, work) for name, work in works.items()}
    clock.advance(1_000)
    add(198)
    many = {name: counted(kind, work) for name, work in works.items()}

    assert len(stories.listed()) == 200
    assert many == few
    process.close()
