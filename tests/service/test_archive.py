"""What leaves the store, what stays, and that nothing is deleted unwritten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from medbay.core.outcome import Output, Succeeded
from medbay.errors import StoreError
from medbay.service import liveness, upkeep
from medbay.store import archive as archive_rows
from medbay.store import attempts, history
from medbay.store.archive import ArchiveFile, Leaving
from medbay.store.database import Store
from tests.worlds import ManualClock, World

DAY_MS = 86_400_000


def transitions(world: World, task_id: str) -> list[str]:
    """Where its history leads, step by step."""
    with world.store.read() as tx:
        return [row.target for row in history.of_task(tx, task_id)]


def replayed(world: World, task_id: str) -> str | None:
    """What is wrong with its history."""
    task = world.task(task_id)
    with world.store.read() as tx:
        return liveness.replayed(tx, task)


def write_steps(world: World, task_id: str, steps: Sequence[str]) -> None:
    """Transitions, as if it had gone that way; it begins and ends pending."""
    with world.store.write() as tx:
        for source, target in zip(["pending", *steps], steps, strict=False):
            tx.execute(
                "INSERT INTO history (task_id, source, target, actor, reason, context, at)"
                " VALUES (?, ?, ?, 'x', 'x', '{}', ?)",
                (task_id, source, target, tx.now),
            )


def test_a_task_that_goes_on_keeps_its_last_thousand_transitions(store: Store, clock: ManualClock) -> None:
    """A checkpoint stands for the rest, which is in the file; history counts from it, also when more leaves later."""
    world = World(store, clock)
    task = world.add("long")
    steps = ["in_progress", "failed", "pending"] * 400
    write_steps(world, task.id, steps)
    clock.advance(31 * DAY_MS)
    moved: list[Leaving] = []

    counted = upkeep.leaving(store, clock.now_ms() - 30 * DAY_MS)
    done = upkeep.move(store, clock.now_ms() - 30 * DAY_MS, lambda table, rows: moved.extend(rows))

    assert counted["history"] == done["history"] == len(moved) - done["event"] == 200
    assert transitions(world, task.id) == steps[199:]
    with store.read() as tx:
        checkpoint = history.of_task(tx, task.id)[0]
        assert liveness.contradictions(tx) == []
    assert (checkpoint.actor, checkpoint.source, checkpoint.context) == ("archive", steps[199], {"archived": 200})
    assert replayed(world, task.id) is None
    assert upkeep.move(store, clock.now_ms() - 30 * DAY_MS, lambda table, rows: None)["history"] == 0

    write_steps(world, task.id, steps[:9])
    clock.advance(31 * DAY_MS)
    assert upkeep.move(store, clock.now_ms() - 30 * DAY_MS, lambda table, rows: None)["history"] == 9
    assert len(transitions(world, task.id)) == 1_001
    with store.read() as tx:
        checkpoint = history.of_task(tx, task.id)[0]
    assert checkpoint.context == {"archived": 209}
    assert replayed(world, task.id) is None


def test_nothing_is_deleted_that_could_not_be_written(store: Store, clock: ManualClock) -> None:
    """A full disk stops it; the next run goes on."""
    world = World(store, clock)
    engine = world.engine()
    task = world.add("done")
    world.run(engine, ticks=2)
    engine.stop()
    before = transitions(world, task.id)
    clock.advance(31 * DAY_MS)

    def full(table: str, rows: Sequence[Leaving]) -> None:
        raise StoreError("no space left")

    with pytest.raises(StoreError):
        upkeep.move(store, clock.now_ms() - 30 * DAY_MS, full)
    assert transitions(world, task.id) == before

    upkeep.move(store, clock.now_ms() - 30 * DAY_MS, lambda table, rows: None)
    assert transitions(world, task.id) == ["completed"]
    assert set(upkeep.leaving(store, clock.now_ms() - 30 * DAY_MS).values()) == {0}


def test_pieces_are_bounded(store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """No transaction moves more than a piece."""
    monkeypatch.setattr(upkeep, "ROWS_AT_ONCE", 2)
    world = World(store, clock)
    engine = world.engine(slots=9)
    for number in range(5):
        world.add(f"t{number}")
    world.run(engine, ticks=3)
    engine.stop()
    sizes: list[int] = []

    upkeep.move(store, clock.now_ms() + 1, lambda table, rows: sizes.append(len(rows)))

    assert max(sizes) == 2
    assert len({part.table for part in archive_rows.PARTS}) < len(sizes)


def test_a_file_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """In one line, as an error of the store."""
    (tmp_path / "archive").write_text("in the way")

    with pytest.raises(StoreError, match="cannot write"):
        ArchiveFile(tmp_path / "archive" / "x.jsonl").write("event", [{"seq": 1}])


def test_what_a_task_gave_back_stays(store: Store, clock: ManualClock) -> None:
    """A result is asked for long after its log is of interest."""
    world = World(store, clock)
    engine = world.engine()
    text = "printed"
    gave = world.add("gave", Succeeded(output=Output(tail=text, total_bytes=len(text), result={"value": 7})))
    said = world.add("said", Succeeded(output=Output(tail=text, total_bytes=len(text))))
    world.run(engine, ticks=2)
    engine.stop()

    upkeep.move(store, clock.now_ms() + 1, lambda table, rows: None)

    with store.read() as tx:
        assert attempts.last_result(tx, gave.id) == {"value": 7}
        assert attempts.output(tx, said.id, 1) is None
