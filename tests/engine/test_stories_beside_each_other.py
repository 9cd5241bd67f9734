"""Many stories at once: dependencies hold them back, slots are shared, and what waits costs nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.workflow import Phase
from medbay.service import stories as service
from medbay.store.database import Tx
from tests.engine.story_world import StoryProcess, artifacts
from tests.worlds import ManualClock

SLOTS = 4


def graph(count: int) -> dict[str, tuple[str, ...]]:
    """So many stories, with those that each depends on."""
    of = {at: (each for each in range(max(0, at - 3), at) if (at + each) % 2) for at in range(count)}
    return {f"S-{at}": tuple(f"S-{each}" for each in others) for at, others in of.items()}


TEN = graph(10)


def begun(folder: Path, clock: ManualClock, url: str = "", of: Mapping[str, Sequence[str]] = TEN) -> StoryProcess:
    """Stories of which half wait for others, all handed to the daemon."""
    made = StoryProcess(folder, clock, url=url, said={"review-lint review": [{"verdict": "FAIL", "summary": "no"}]})
    for story_id, others in of.items():
        made.bay.stories.new(story_id, title=f"Print {story_id}", criteria=["it prints"], depends_on=others)
        made.bay.stories.hand_over(story_id)
    return made


def check_order(process: StoryProcess, of: Mapping[str, Sequence[str]] = TEN) -> None:
    """Nothing past elaboration began before what it depends on was completed, and never more than the slots ran."""
    details = {each: process.bay.stories.detail(each) for each in of}
    for story_id, others in of.items():
        later = [run for run in details[story_id].runs if run.phase not in ("generate", "elaborate")]
        for other in others:
            assert details[other].story.ended_at is not None
            assert later[0].started_at >= (details[other].story.ended_at or 0), (story_id, other)
    found = artifacts(process.folder / "stories")
    assert {Path(name).parts[:2] for name in found} == {("UAT", each) for each in of}
    assert process.bay.stories.sync() == []


@pytest.mark.parametrize(("count", "slots"), [(4, 2), pytest.param(10, SLOTS, marks=pytest.mark.long)])
def test_stories_with_dependencies_share_slots_to_the_end(
    tmp_path: Path, clock: ManualClock, count: int, slots: int
) -> None:
    """`explain` names what one waits for on the way."""
    stories = graph(count)
    last = f"S-{count - 1}"
    process = begun(tmp_path / "p", clock, of=stories)
    engine, most = process.engine(slots=slots), 0
    for _ in range(200):
        process.round(engine)
        with process.bay.store.read() as tx:
            running = tx.one("SELECT COUNT(*) FROM task WHERE live IS NOT NULL")
        most = max(most, running[0] if running else 0)
        waits = process.bay.stories.detail(last)
        if waits.story.elaborated and waits.story.status == "ready-to-work" and waits.held_by:
            assert set(waits.held_by) <= set(stories[last])
        if all(each.status == "completed" and not each.files_due for each in process.stories(list(stories))):
            break

    assert 1 < most <= slots
    check_order(process, stories)
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


@pytest.mark.parametrize("refused", [False, True])
def test_a_conductor_that_comes_too_late_starts_and_blocks_nothing(
    tmp_path: Path, clock: ManualClock, refused: bool
) -> None:
    """Its lease ran out while it looked, and another started the phase: neither a second run nor a question."""
    one, two = (StoryProcess(tmp_path / "p", clock) for _ in range(2))
    one.bay.stories.new("S", title="x", criteria=["it prints"])
    one.bay.stories.hand_over("S")
    late = two.bay.stories.conductor
    look = late.missing

    def missing(case: StoryCase, wanted: Phase) -> list[str]:
        clock.advance(service.LEASE_MS + 1)
        one.bay.stories.conductor.cycle()
        return ["what was there is gone"] if refused else look(case, wanted)

    with mock.patch.object(late, "missing", missing):
        assert late.cycle() == []

    (run,) = one.runs("S")
    assert (run.status, one.stories(["S"])[0].status, one.bay.inbox()) == ("SETUP", "pending", [])
    for each in (one, two):
        each.close()


def test_sync_clears_what_a_dead_process_left_and_says_so(tmp_path: Path, clock: ManualClock) -> None:
    """In the folder of a story that nobody else is writing."""
    one = StoryProcess(tmp_path / "p", clock)
    one.bay.stories.new("S", title="x")
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = tmp_path / f"p/stories/backlog/S/.story.md.{dead.pid}.new"
    left.write_text("half", encoding="utf-8")

    said = one.bay.stories.sync()

    assert said == [f"S: {left.name}, left by a process that died, was removed"] and not left.exists()
    assert one.bay.stories.sync() == []
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
    tmp_path: Path, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """List, board and figures; the conductor passes those that only wait, and `sync` writes many at once."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
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

    said: list[list[str]] = []

    def synced() -> tuple[int, int]:
        """How many statements it takes to make every folder, and to find that they are as they should be."""
        made = counted(kind, lambda: said.append(stories.sync()))
        return made, counted(kind, lambda: said.append(stories.sync()))

    def add(count: int) -> None:
        for at in range(count):
            made, definition = stories.prepared(
                f"N-{len(stories.listed())}-{at}", title="x", criteria=["y"], driven=True
            )
            with process.bay.store.write() as tx:
                service.create(tx, made, definition, actor="person:test")
        with process.bay.store.write() as tx:
            tx.execute("UPDATE story SET waiting = 1, files_due = 0")

    add(2)
    few, few_synced = {name: counted(kind, work) for name, work in works.items()}, synced()
    clock.advance(1_000)
    add(58)
    many_synced = synced()
    add(140)
    many = {name: counted(kind, work) for name, work in works.items()}

    assert len(stories.listed()) == 200
    assert many == few
    assert [len(each) for each in said] == [2, 0, 58, 0]
    assert max(many_synced) <= max(few_synced) + 4, "four statements for each fifty folders"
    process.close()
