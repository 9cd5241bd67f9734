"""Everything the checker looks at, read once: the store's rows, the tasks' own record, what was acknowledged."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chaos.record import Record
from chaos.world import World
from medbay.bay import Bay
from medbay.core.model import Attempt, Event, Question, Retry, Task, Worker
from medbay.places.processes import marks
from medbay.service import liveness
from medbay.store import attempts, history, questions, retries, tasks, workers
from medbay.store.tasks import TaskFilter

ALL: Final = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A run after its end."""

    now: int
    store_id: str
    acknowledged: list[str]
    record: Record
    tasks: dict[str, Task]
    attempts: dict[str, list[Attempt]]
    pending: dict[str, tuple[Retry, ...]]
    questions: dict[str, Question]
    after: dict[str, list[str]]
    events: list[Event]
    workers: dict[int, Worker]  # by pid
    wrong_histories: dict[str, str]
    standstills: list[tuple[str, str]]
    damage: tuple[str, ...]
    leftovers: dict[int, str]
    daemons_said: str
    deaths: list[str]
    kills: list[tuple[int, int]]
    spawns: dict[int, int]
    by_task: dict[str, list[Event]] = field(default_factory=dict)


def gather(world: World) -> Evidence:
    """Read it all."""
    bay = world.bay
    report = bay.check()
    found = _rows(bay, world)
    return Evidence(
        store_id=bay.store.store_id,
        acknowledged=world.acknowledged(),
        record=Record(world.home / "record"),
        standstills=[*report.standstills, *report.contradictions],
        damage=report.damage,
        leftovers=marks(f"{bay.store.store_id}:"),
        daemons_said=_text(world.home / "daemons.log"),
        deaths=list(world.deaths),
        kills=list(world.kills),
        spawns=dict(world.spawns),
        **found,
    )


def _rows(bay: Bay, world: World) -> dict[str, Any]:
    with bay.store.read() as tx:
        everything = {task.id: task for task in tasks.select(tx, TaskFilter(limit=ALL, order="oldest"))}
        events = history.events_since(tx, 0, limit=ALL)
        by_task: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            if event.task_id is not None:
                by_task[event.task_id].append(event)
        asked = {task_id: questions.open_of_task(tx, task_id) for task_id in everything}
        wrong = {task_id: liveness.replayed(tx, task) for task_id, task in everything.items()}
        known = [*workers.alive(tx), *workers.ended(tx, ALL)]
        return {
            "now": tx.now,
            "tasks": everything,
            "attempts": {task_id: attempts.of_task(tx, task_id, ALL) for task_id in everything},
            "pending": {
                task_id: tuple(each for each in retries.of_task(tx, task_id) if each.status == "pending")
                for task_id in everything
            },
            "questions": {task_id: each for task_id, each in asked.items() if each is not None},
            "after": {task_id: [each for each, _ in tasks.comes_after(tx, task_id)] for task_id in everything},
            "events": events,
            "by_task": by_task,
            "workers": {worker.pid: worker for worker in known if worker.pid in world.spawns},
            "wrong_histories": {task_id: why for task_id, why in wrong.items() if why is not None},
        }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
