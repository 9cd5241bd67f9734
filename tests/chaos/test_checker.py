"""The checker finds what it is there for: the evidence of a run that went well, bent in one place at a time."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaos.checker import check
from chaos.evidence import Evidence, gather
from chaos.record import Line, Record
from chaos.world import World
from medbay.core.model import Event, changed

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evidence]:
    """Five tasks through a daemon, one of them failing first, one naming a time, one after another."""
    world = World(tmp_path_factory.mktemp("chaos"), seed=1)
    try:
        lines: list[dict[str, Any]] = [
            {"title": "flaky", "key": "a", "run": ["bash", "job.sh", "flaky", "0"]},
            {"title": "named", "key": "b", "run": ["bash", "job.sh", "named", "0"]},
            {"title": "after", "key": "c", "run": ["bash", "job.sh", "ok", "0"], "after": ["a"]},
            {"title": "checked", "key": "d", "run": ["bash", "job.sh", "ok", "0"], "check": "bash job.sh check ok"},
            {"title": "python", "key": "e", "python": f"{world.home / 'python_job.py'}:work", "args": ["flaky", 0]},
        ]
        made = world.bay.add_many([{**line, "cwd": str(world.home)} for line in lines])
        (world.home / "acknowledged" / "1").write_text("".join(f"{task.id}\n" for task in made))
        world.settle()
        yield gather(world)
    finally:
        world.close()


def test_a_run_that_went_well_breaks_nothing(found: Evidence) -> None:
    """And it was no empty run."""
    assert check(found) == []
    assert len(found.acknowledged) == 5
    assert {line.word for line in found.record.lines} == {"start", "end", "named", "check"}


Bend = Callable[[Evidence], Evidence]


def titled(found: Evidence, title: str) -> str:
    """The id of a task."""
    return next(task.id for task in found.tasks.values() if task.title == title)


def with_lines(found: Evidence, change: Callable[[Line], Line | list[Line] | None]) -> Evidence:
    """The same with another outside record."""
    record = Record(Path("/dev/null/nowhere"))
    for line in found.record.lines:
        changed = change(line)
        for each in changed if isinstance(changed, list) else [changed] if changed else []:
            placed = replace(each, place=len(record.lines))
            record.lines.append(placed)
            record.by_task[placed.task_id].append(placed)
    return replace(found, record=record)


def with_task(found: Evidence, title: str, **changes: Any) -> Evidence:
    """The same with another row of one task."""
    task_id = titled(found, title)
    return replace(found, tasks={**found.tasks, task_id: changed(found.tasks[task_id], **changes)})


def with_event(found: Evidence, name: str, title: str, *, before: str, **values: Any) -> Evidence:
    """The same with one more event of a task, put before the first of this name."""
    task_id = titled(found, title)
    at = next(n for n, event in enumerate(found.events) if event.task_id == task_id and event.name == before)
    added = changed(found.events[at], name=name, **values)
    return replace(found, events=[*found.events[:at], added, *found.events[at:]])


def without_event(found: Evidence, name: str, title: str) -> Evidence:
    """The same without the events of this name of one task."""
    task_id = titled(found, title)
    kept: list[Event] = [event for event in found.events if (event.task_id, event.name) != (task_id, name)]
    return replace(found, events=kept)


@pytest.mark.parametrize(
    ("bend", "promise"),
    [
        (lambda found: replace(found, acknowledged=[*found.acknowledged, "gone"]), "1 no task is lost"),
        (
            lambda found: with_lines(found, lambda line: replace(line, word="double") if line.word == "end" else line),
            "2 one process tree per task",
        ),
        (
            lambda found: with_lines(found, lambda line: [line, line] if line.word == "start" else line),
            "2 no attempt number twice",
        ),
        (
            lambda found: with_lines(found, lambda line: replace(line, number=line.number + 9)),
            "2 claimed before it ran",
        ),
        (lambda found: with_lines(found, lambda line: replace(line, key=f"{line.number}")), "3 keys"),
        (
            lambda found: with_lines(found, lambda line: None if line.word == "end" else line),
            "3 a success is one, and is not repeated",
        ),
        (
            lambda found: with_lines(
                found, lambda line: [line, replace(line, word="start", number=9)] if line.word == "end" else line
            ),
            "3 a success is one, and is not repeated",
        ),
        (
            lambda found: with_lines(
                found,
                lambda line: (
                    [replace(line, task_id=titled(found, "after"), number=1), line]
                    if line.task_id == titled(found, "flaky")
                    else line
                ),
            ),
            "4 order",
        ),
        (
            lambda found: with_lines(
                found, lambda line: replace(line, at_us=line.at_us - 60_000_000) if line.number == 2 else line
            ),
            "9 nothing before the named time",
        ),
        (lambda found: replace(found, wrong_histories={"x": "no"}), "7 history gives the status"),
        (lambda found: replace(found, standstills=[("x", "no")]), "no silent standstill"),
        (lambda found: with_task(found, "named", charged=3), "rows fit"),
        (lambda found: with_task(found, "named", streak=1, recovery=True), "5 streak"),
        (lambda found: replace(found, leftovers={1: "x"}), "nothing is left running"),
        (lambda found: replace(found, damage=("page 3",)), "the store is sound"),
        (lambda found: replace(found, deaths=["it died"]), "no daemon broke"),
        (lambda found: replace(found, daemons_said="Traceback (most recent call last)"), "no daemon broke"),
        (lambda found: replace(found, kills=[(min(found.workers), 0)]), "8 working again at once"),
        (lambda found: with_event(found, "task:paused", "named", before="task:started"), "4 nothing held"),
        (lambda found: with_event(found, "task:blocked", "named", before="task:started"), "4 nothing held"),
        (lambda found: with_event(found, "task:completed", "named", before="task:failed"), "3 nothing done is done"),
        (lambda found: with_event(found, "task:lost", "named", before="task:failed"), "3 a result is recorded once"),
        (lambda found: without_event(found, "task:failed", "flaky"), "2 one live attempt"),
        (lambda found: without_event(found, "task:completed", "flaky"), "4 nothing overtakes"),
        (
            lambda found: with_event(found, "task:started", "after", before="task:started", attempt=7),
            "2 no attempt number twice",
        ),
    ],
)
def test_a_broken_promise_is_found(found: Evidence, bend: Bend, promise: str) -> None:
    """Each rule has something that only it can see; without the rule this fails."""
    assert any(each.startswith(promise) for each in check(bend(found))), check(bend(found))


def test_a_daemon_that_ends_by_itself_is_written_down(tmp_path: Path) -> None:
    """A kill that comes too late has not killed."""
    world = World(tmp_path, seed=1)
    daemon = world.start("--until-idle")
    daemon.process.wait(60)

    world.end(daemon, signal.SIGTERM)

    assert world.deaths == ["a daemon ended by itself with 0"]
    world.close()


@pytest.mark.parametrize(
    ("back_ms", "said_ms", "early"),
    [(0, 0, True), (500, HOUR_MS, True), (HOUR_MS, 0, True), (HOUR_MS, -HOUR_MS, True), (HOUR_MS, HOUR_MS, False)],
)
def test_a_wait_is_measured_by_the_clock_of_the_daemons(
    found: Evidence, back_ms: int, said_ms: int, early: bool
) -> None:
    """Named while it was set back and begun after it went forward, that is no early start; nothing else excuses one."""
    task_id = titled(found, "named")
    told = [
        changed(event, at=event.at - (back_ms if event.attempt == 1 else MINUTE_MS)) for event in found.by_task[task_id]
    ]
    jumped = Event(name="clock:jumped", data={"by_ms": said_ms})
    bent = with_lines(
        replace(found, by_task={**found.by_task, task_id: told}, events=[*found.events, jumped]),
        lambda line: replace(line, at_us=line.at_us - MINUTE_MS * 1000) if line.number == 2 else line,
    )

    assert any("9 nothing before" in each for each in check(bent)) == early


def test_a_killed_daemon_that_was_given_up_too_late_is_found(found: Evidence) -> None:
    """As when somebody had waited for its lease."""
    pid, worker = min(found.workers.items())
    ended = changed(worker, how="crashed", stopped_at=worker.started_at + 31_000)
    late = replace(found, workers={pid: ended}, kills=[(pid, worker.started_at)])

    assert check(late) == ["8 working again at once: a killed daemon was given up only after 31000 ms"]
