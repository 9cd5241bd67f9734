"""Two connections to PostgreSQL in every order of their steps: one owner, no lost update, nothing stands still."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from medbay.core.decision import WorkingSet
from medbay.core.model import Task
from medbay.core.outcome import Outcome, Succeeded
from medbay.engine.recovery import reap as take_over
from medbay.engine.round import Engine
from medbay.engine.settlement import Settler
from medbay.errors import NotAllowed, StaleClaim
from medbay.service import additions, attempts, liveness, requests, tasks
from medbay.service.attempts import Capacity, Finished, Judgement
from medbay.store import attempts as attempt_rows
from medbay.store import history, questions
from medbay.store import tasks as task_rows
from medbay.store.postgres import PostgresStore
from tests.postgres_server import Server
from tests.stepping import Actor, interleave, orders
from tests.worlds import ManualClock, World, failed

pytestmark = pytest.mark.postgres

LONG, SHORT = 4, 3  # steps: only what settles reads what tasks share
BY_A_PERSON = "person:test"
Job = Callable[[Any], object]


@dataclass
class Scene:
    """One task, two workers of its queue, and whatever else a pair of jobs needs."""

    world: World
    engines: list[Engine]
    task: Task
    others: dict[str, Task] = field(default_factory=dict)

    def now(self, name: str = "") -> Task:
        """The task, or one of the others, as it is now."""
        return self.world.task(self.others[name].id if name else self.task.id)


def ready(world: World, queue: str) -> Scene:
    """A task that waits to be claimed."""
    engines = [world.engine(queues=(queue,), slots=1) for _ in range(2)]
    return Scene(world, engines, world.add("t", None, queue=queue))


def running(world: World, queue: str) -> Scene:
    """A task the first worker runs."""
    scene = ready(world, queue)
    assert len(scene.engines[0].claim()) == 1
    return scene


def asked(world: World, queue: str) -> Scene:
    """A task that is blocked with a question."""
    scene = ready(world, queue)
    world.act(tasks.block, scene.task.id, kind="human", reason="r", timeout_ms=0)
    return scene


def due(world: World, queue: str) -> Scene:
    """A task whose time has come and which nobody released yet."""
    engines = [world.engine(queues=(queue,), slots=1) for _ in range(2)]
    scene = Scene(world, engines, world.add("t", None, queue=queue, at="+1s"))
    world.clock.advance(2_000)
    return scene


def two_before_one(world: World, queue: str) -> Scene:
    """Two running tasks, and one that comes after both."""
    scene = running(world, queue)
    scene.others["second"] = world.add("u", None, queue=queue)
    assert len(scene.engines[1].claim()) == 1
    last = world.add("v", None, queue=queue, after=[scene.task.id, scene.others["second"].id])
    scene.others["last"] = last
    return scene


def same_cause(world: World, queue: str) -> Scene:
    """Two running tasks that will fail for the same reason, which only a person can remove."""
    scene = running(world, queue)
    scene.others["second"] = world.add("u", None, queue=queue)
    assert len(scene.engines[1].claim()) == 1
    return scene


def same_cause_asked(world: World, queue: str) -> Scene:
    """The second one's failure has its question already, when the first one fails for the same reason."""
    scene = same_cause(world, queue)
    settle(scene, scene.engines[1].worker.id, scene.others["second"].id, missing(queue))(world.store)
    return scene


def missing(queue: str) -> Outcome:
    """A failure that is not retryable, the same for all tasks of a queue."""
    return failed(f"sh: 1: tool-{queue}: not found", exit_code=127)


def claim(scene: Scene, who: int) -> Job:
    """A worker takes what it finds."""

    def job(store: Any) -> None:
        with store.write() as tx:
            attempts.claim(
                tx, scene.engines[who].worker, Capacity(slots=1, free=1), WorkingSet(), log_path=lambda *_: ""
            )

    return job


def settle(scene: Scene, worker_id: str, task_id: str, outcome: Outcome) -> Job:
    """A worker stores how an attempt ended, until it is stored."""

    def job(store: Any) -> None:
        settler = Settler(store, Judgement(policy=scene.world.policy))
        settler.take([Finished(task_id=task_id, number=1, outcome=outcome)])
        for _ in range(3):
            if settler.settle(worker_id):
                return
        raise AssertionError("never stored")

    return job


def settled(outcome: Outcome | None = None, *, who: int = 0, other: str = "") -> Callable[[Scene], Job]:
    """The same, for a scene that is made later."""

    def made(scene: Scene) -> Job:
        task = scene.others[other] if other else scene.task
        ended = outcome or missing(task.queue)
        return settle(scene, scene.engines[who].worker.id, task.id, ended)

    return made


def reap(scene: Scene, by: int = 1) -> Job:
    """Another worker gives the first one up."""
    engine = scene.engines[by]

    def job(store: Any) -> None:
        engine.store = store
        dead, mine = scene.engines[0].worker, engine.worker
        take_over(store, engine._settler, dead, mine, why="its engine died", hard=True, settings=engine.settings)

    return job


def command(act: Callable[..., Any], **options: Any) -> Callable[[Scene], Job]:
    """A person does something to the task."""

    def made(scene: Scene) -> Job:
        def job(store: Any) -> None:
            with store.write() as tx:
                act(tx, tasks.resolve(tx, scene.task.id), actor=BY_A_PERSON, **options)

        return job

    return made


def answer(scene: Scene) -> Job:
    """A person answers the question of the task, or of the second one."""
    task = scene.others.get("second", scene.task)

    def job(store: Any) -> None:
        with store.write() as tx:
            tasks.answer(tx, task.id, "1", actor=BY_A_PERSON)

    return job


def release(scene: Scene) -> Job:
    """An engine wakes what is due."""

    def job(store: Any) -> None:
        with store.write() as tx:
            tasks.release_due(tx, actor="worker:x")

    return job


def add_after(scene: Scene) -> Job:
    """A person adds a task that comes after this one."""

    def job(store: Any) -> None:
        with store.write() as tx:
            line = {"title": "after", "run": "x", "queue": scene.task.queue, "after": [scene.task.id]}
            scene.others["after"] = additions.add(
                tx, requests.new_task(line, now=tx.now), ids=scene.world.ids, actor=BY_A_PERSON
            )

    return job


cancel, pause = command(tasks.cancel), command(tasks.pause)
edit = command(tasks.edit, fields={"priority": 0}, reset_failures=False)
retry = command(tasks.retry)

PAIRS: dict[str, tuple[Callable[[World, str], Scene], Callable[[Scene], Job], Callable[[Scene], Job]]] = {
    "claim, claim": (ready, lambda scene: claim(scene, 0), lambda scene: claim(scene, 1)),
    "claim, cancel": (ready, lambda scene: claim(scene, 0), cancel),
    "claim, pause": (ready, lambda scene: claim(scene, 0), pause),
    "claim, edit": (ready, lambda scene: claim(scene, 0), edit),
    "claim, reap": (ready, lambda scene: claim(scene, 0), reap),
    "claim, add after": (ready, lambda scene: claim(scene, 0), add_after),
    "cancel, pause": (ready, cancel, pause),
    "cancel, cancel": (ready, cancel, cancel),
    "cancel, add after": (ready, cancel, add_after),
    "settle, reap": (running, settled(Succeeded()), reap),
    "settle a failure, reap": (running, settled(failed()), reap),
    "settle, cancel": (running, settled(Succeeded()), cancel),
    "settle a failure, cancel": (running, settled(failed()), cancel),
    "settle a failure, pause": (running, settled(failed()), pause),
    "settle, edit": (running, settled(Succeeded()), edit),
    "settle, add after": (running, settled(Succeeded()), add_after),
    "settle twice": (running, settled(Succeeded()), settled(failed())),
    "reap, reap": (running, reap, lambda scene: reap(scene, by=0)),
    "reap, cancel": (running, reap, cancel),
    "reap, pause": (running, reap, pause),
    "answer, retry": (asked, answer, retry),
    "answer, cancel": (asked, answer, cancel),
    "answer, answer": (asked, answer, answer),
    "release, release": (due, release, release),
    "release, cancel": (due, release, cancel),
    "release, pause": (due, release, pause),
    "settle both before one": (two_before_one, settled(Succeeded()), settled(Succeeded(), who=1, other="second")),
    "settle one before, cancel the other": (two_before_one, settled(Succeeded(), who=1, other="second"), cancel),
    "settle the same cause": (same_cause, settled(), settled(who=1, other="second")),
    "settle the same cause, answer": (same_cause_asked, settled(), answer),
}


@pytest.fixture
def actors(postgres: Server, database: str, clock: ManualClock) -> Iterator[tuple[World, list[Actor], Any]]:
    """A world, two sides with connections of their own, and somebody who watches who waits."""
    stores = [PostgresStore(postgres.url(database), clock, new_store_id="s") for _ in range(3)]
    with psycopg.connect(postgres.url(database), autocommit=True) as monitor:
        yield World(stores[0], clock), [Actor(each) for each in stores[1:]], monitor
    for each in stores:
        each.close()


@pytest.mark.parametrize("nth", [pytest.param(7, id="some"), pytest.param(1, id="all", marks=pytest.mark.long)])
@pytest.mark.parametrize("pair", PAIRS)
def test_in_every_order_there_is_one_owner_and_no_lost_update(
    actors: tuple[World, list[Actor], Any], pair: str, nth: int
) -> None:
    """Each order starts from a scene of its own; refusals are fine, anything else that is raised is not."""
    world, (a, b), monitor = actors
    make, first, second = PAIRS[pair]

    sides = pair.split(", ") if ", " in pair else [pair, pair]
    every = orders(*(LONG if name.startswith(("settle", "reap")) else SHORT for name in sides))
    for n, order in enumerate(every[::nth]):
        scene = make(world, f"q{n}")

        interleave(a, b, (first(scene), second(scene)), order=order, monitor=monitor)

        told = [side.raised for side in (a, b)]
        assert all(each is None or isinstance(each, NotAllowed) for each in told), (order, told)
        assert not any(isinstance(each, StaleClaim) for each in told), "who waits for the lock sees what changed"
        assert told.count(None) >= 1, (order, told)
        _check(scene, pair, [name for name, each in zip(sides, told, strict=True) if each is None], order)


def _check(scene: Scene, pair: str, done: list[str], order: str) -> None:
    """What must hold whoever came first."""
    world = scene.world
    everything = [scene.task, *scene.others.values()]
    with world.store.read() as tx:
        for each in everything:
            task = task_rows.get(tx, each.id)
            assert task is not None
            rows = attempt_rows.of_task(tx, each.id, 100)
            names = [event.name for event in history.events_since(tx, 0, limit=100, task_id=each.id)]
            live = [row.number for row in rows if row.ended_at is None]
            assert live == ([task.live] if task.live is not None else []), (pair, order)
            assert task.attempts == len(rows) == names.count("task:started"), (pair, order, names)
            assert task.unmet == sum(status != "completed" for _, status in task_rows.comes_after(tx, each.id)) or (
                task.status == "blocked"
            ), (pair, order)
            question = questions.open_of_task(tx, each.id)
            assert (question is not None and question.status == "open") == (task.status == "blocked"), (pair, order)
        orphans = tx.rows(
            "SELECT a.task_id FROM attempt a JOIN worker w ON w.id = a.worker_id"
            " WHERE a.ended_at IS NULL AND w.stopped_at IS NOT NULL"
        )
        assert orphans == [], (pair, order)
        mine = {each.id for each in everything}
        stuck = [each for each in liveness.standstills(tx) + liveness.contradictions(tx) if each[0] in mine]
        assert stuck == [], (pair, order, stuck)
    names = _names(scene)
    for word, event in (("pause", "task:paused"), ("edit", "task:edited"), ("cancel", "task:cancel")):
        if word in done:
            assert any(name.startswith(event) for name in names), (pair, order, names)
    if "pause" in done and not scene.now().finished:
        assert scene.now().paused, (pair, order)
    if "edit" in done:
        assert scene.now().priority == 0, (pair, order)


def _names(scene: Scene) -> list[str]:
    with scene.world.store.read() as tx:
        return [event.name for event in history.events_since(tx, 0, limit=100, task_id=scene.task.id)]
