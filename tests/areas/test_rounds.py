"""What a daemon does beside its loop: traces of what ended, the report of the day, clearing away."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml

from medbay import app
from medbay.areas import keeping
from medbay.areas.keeping import Keeping
from medbay.areas.rounds import DaemonRounds, MorningReport
from medbay.areas.traces import Traces
from medbay.bay import Bay
from medbay.config.fields import KeepConfig, ReportConfig
from medbay.core.delivery import channel
from medbay.service import upkeep
from medbay.store import effects
from tests.worlds import ManualClock

DAY_MS = 86_400_000
HEALS = ["sh", "-c", "test -e done || { touch done; echo 'connect: Connection refused'; exit 1; }"]
SINKS = {name: channel(name=name, url=f"https://{name}.example.org") for name in ("mail", "wall")}

Opened = Callable[..., Bay]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """A store, by settings; the same one each time."""
    made: list[Bay] = []

    def open_it(clock: ManualClock | None = None, **config: Any) -> Bay:
        (tmp_path / ".medbay").mkdir(exist_ok=True)
        url = f"sqlite:///{tmp_path}/.medbay/medbay.db"
        place = app.find_place(tmp_path, store_url=url, environ={"HOME": str(tmp_path)})
        made.append(Bay(replace(place, config=replace(place.config, **config)), clock=clock, actor="person:test"))
        return made[-1]

    return open_it


def logs_of(bay: Bay, task_id: str, text: str = "x\n") -> Path:
    """The folder of a task's logs, with one log of an attempt."""
    folder = bay.place.folder / "logs" / task_id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "1.log").write_text(text, encoding="utf-8")
    return folder


def test_a_trace_is_written_when_an_attempt_has_ended(opened: Opened, tmp_path: Path) -> None:
    """Beside its logs, in the shapes that `export` prints; once more after the next attempt."""
    (tmp_path / "medbay.toml").write_text('[policy.ladder.transient]\ndelays = ["50ms"]\n', encoding="utf-8")
    bay = opened()
    traces = Traces(bay)
    traces.cycle()  # reads from now on
    task = bay.add("heals", run=HEALS, cwd=str(tmp_path))
    bay.run_until_idle()

    assert traces.cycle() == 1
    assert traces.cycle() == 0

    folder = bay.place.folder / "logs" / task.id
    lines = [json.loads(line) for line in (folder / "TRACE.jsonl").read_text().splitlines()]
    metrics = yaml.safe_load((folder / "METRICS.yaml").read_text())
    names = [each["event"] for each in lines]
    assert names == ["phase_start", *["agent_spawn", "agent_complete"] * 2, "phase_complete"]
    assert metrics["totals"]["agent_spawns"] == 2 and metrics["status"] == "completed"
    assert (folder / "TRACE.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_daemon_that_was_away_writes_the_traces_it_owes(opened: Opened, tmp_path: Path) -> None:
    """It reads on where it was; a link that a job left in the place of a trace is replaced, not followed."""
    bay = opened()
    Traces(bay).cycle()
    task = bay.add("fine", run=["true"])
    bay.run_until_idle()
    folder = logs_of(bay, task.id)
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    (folder / "TRACE.jsonl").symlink_to(tmp_path / "precious")

    assert Traces(bay).cycle() == 1

    assert (tmp_path / "precious").read_text() == "mine"
    assert not (folder / "TRACE.jsonl").is_symlink()


def finished(bay: Bay, title: str = "fine") -> str:
    """The id of a task that has ended."""
    task = bay.add(title, run=["true"])
    bay.cancel(task.id)
    return task.id


def test_old_logs_of_what_is_finished_go_and_those_of_open_tasks_stay(opened: Opened) -> None:
    """By the time that [keep] says; whatever else lies there is left alone."""
    clock = ManualClock()
    bay = opened(clock, keep=KeepConfig(history_ms=0, logs_ms=30 * DAY_MS, logs_mb=0))
    old, task = finished(bay), bay.add("open", run=["true"])
    clock.advance(31 * DAY_MS)
    new = finished(bay)
    folders = {each: logs_of(bay, each) for each in (old, task.id, new, "not-ours")}

    assert Keeping(bay).cycle() == (0, 1)

    assert {name for name, folder in folders.items() if folder.exists()} == {task.id, new, "not-ours"}


def test_what_belongs_to_an_open_task_stays(opened: Opened) -> None:
    """The triage of a task that is still open, for example."""
    clock = ManualClock()
    bay = opened(clock, keep=KeepConfig(history_ms=0, logs_ms=DAY_MS, logs_mb=0))
    task, part = bay.add("open", run=["true"]), finished(bay)
    with bay.store.write() as tx:
        tx.execute("UPDATE task SET owner_kind = 'task', owner_id = ? WHERE id = ?", (task.id, part))
    folder = logs_of(bay, part)
    clock.advance(2 * DAY_MS)

    assert Keeping(bay).cycle() == (0, 0) and folder.exists()

    bay.cancel(task.id)
    assert Keeping(bay).cycle() == (0, 1) and not folder.exists()


def test_logs_above_the_size_go_by_what_finished_first(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round examines so many folders and no more; the size is known when all were seen."""
    monkeypatch.setattr(keeping, "FOLDERS", 2)
    clock = ManualClock()
    bay = opened(clock, keep=KeepConfig(history_ms=0, logs_ms=0, logs_mb=1))
    folders = []
    for number in range(5):
        folders.append(logs_of(bay, finished(bay, f"task {number}"), "x" * 300_000))
        clock.advance(60_000)
    rounds = Keeping(bay)

    deleted = [rounds.cycle()[1] for _ in range(3)]

    assert deleted == [0, 0, 2]
    assert [each.exists() for each in folders] == [False, False, True, True, True]


def test_old_runs_of_a_recurring_task_go_and_its_newest_stay(opened: Opened) -> None:
    """It never ends, so its logs would grow for ever."""
    clock = ManualClock()
    bay = opened(clock, keep=KeepConfig(history_ms=0, logs_ms=DAY_MS, logs_mb=0))
    task = bay.add("nightly", run=["true"], cron="0 3 * * *")
    with bay.store.write() as tx:
        tx.execute("UPDATE task SET attempts = 50 WHERE id = ?", (task.id,))
    folder = logs_of(bay, task.id)
    for number in range(1, 51):
        path = folder / f"{number}.log"
        path.write_text("x", encoding="utf-8")
        os.utime(path, (clock.wall_ms / 1000,) * 2)
    clock.advance(2 * DAY_MS)

    Keeping(bay).cycle()

    assert sorted(int(each.stem) for each in folder.iterdir()) == list(range(31, 51))


def test_history_goes_to_the_archive_in_bounded_rounds(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Round by round until nothing is left, and the store stays sound."""
    monkeypatch.setattr(keeping, "PIECES", 1)
    monkeypatch.setattr(upkeep, "ROWS_AT_ONCE", 1)
    clock = ManualClock()
    bay = opened(clock, keep=KeepConfig(history_ms=DAY_MS, logs_ms=0, logs_mb=0))
    finished(bay)
    open_one = bay.add("open", run=["true"])
    clock.advance(2 * DAY_MS)
    rounds = Keeping(bay)

    moved: list[int] = []
    while not moved or moved[-1]:
        moved.append(rounds.cycle()[0])
        clock.advance(1_000)

    assert len(moved) > 2
    assert bay.check().sound and bay.events(task_id=open_one.id)
    assert list((bay.place.folder / "archive").glob("*.jsonl"))


def test_the_report_of_the_day_is_one_message_for_each_channel(opened: Opened) -> None:
    """Made by whichever engine comes first, once, also after a restart."""
    clock = ManualClock()
    minute = clock.wall_ms // 60_000 % 1440
    report = ReportConfig(at=minute, zone=ZoneInfo("UTC"))
    one, two = (opened(clock, report=report, notify=SINKS) for _ in range(2))

    made = [MorningReport(each).cycle() for each in (one, two, one)]

    with one.store.read() as tx:
        found = effects.next_ones(tx, ["mail", "wall"], 10)
    assert made == [2, 0, 0]
    assert [each.channel for each in found] == ["mail", "wall"]
    assert found[0].event.data["title"] == "Medbay: 0 done (0 healed), 0 need you."
    assert MorningReport(opened(clock, report=replace(report, at=(minute + 1) % 1440))).cycle() == 0
    assert MorningReport(opened(clock, notify=SINKS)).cycle() == 0


def test_the_report_goes_to_the_channel_that_is_named(opened: Opened) -> None:
    """And to no other."""
    clock = ManualClock()
    at = clock.wall_ms // 60_000 % 1440
    bay = opened(clock, report=ReportConfig(at=at, zone=ZoneInfo("UTC"), channel="wall"), notify=SINKS)

    assert DaemonRounds(clock).cycle(bay) == []

    with bay.store.read() as tx:
        assert [each.channel for each in effects.next_ones(tx, ["mail", "wall"], 10)] == ["wall"]
