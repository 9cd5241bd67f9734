"""Trackers of others over time: the walk of an issue, holds that end, and a process that ends at every request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from medbay.core.tracker import mirror, record
from medbay.store import breakers
from tests.postgres_server import Server
from tests.trackers.remote_world import RemoteWorld
from tests.trackers.tracker_world import Crash
from tests.worlds import ManualClock, failed

BROKEN = failed('app.py:3: NameError: name "totals" is not defined')
ESCALATE = {"verdict": "ESCALATE", "why": "cannot say"}
PARTS = [{"title": "part A", "description": "the form"}, {"title": "part B", "description": "the session"}]
SPLIT = {"verdict": "SPLIT", "why": "too big", "parts": PARTS}
MINUTE = 60_000
CYCLES_MAX = 2  # after which everything has to be as it would have been

Told = tuple[object, ...]
long = pytest.mark.long
every_kind = pytest.mark.parametrize(
    "kind", ["github", pytest.param("linear", marks=long), pytest.param("jira", marks=long)]
)


@pytest.fixture
def made(tmp_path: Path, clock: ManualClock) -> Iterator[Callable[..., RemoteWorld]]:
    """A project with a store and a tracker."""
    opened: list[RemoteWorld] = []

    def make(kind: str = "github", *verdicts: object, url: str = "") -> RemoteWorld:
        opened.append(RemoteWorld(tmp_path / "first", clock, kind, url=url, verdicts=verdicts))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_the_walk_of_an_issue(made: Callable[..., RemoteWorld], request: pytest.FixtureRequest, database: str) -> None:
    """Fail, 30m, fail, 2h, fail, triage, a label for a person, its removal, success: one comment all the time."""
    url = ""
    if database == "postgres":
        server: Server = request.getfixturevalue("postgres")
        url = server.url(request.getfixturevalue("database"))
    world = made("github", ESCALATE, url=url)
    issue = world.board.add("login", "implement_close")
    world.scripts["work"] = [BROKEN] * 3
    world.cycle()
    engine = world.engine()

    for attempt, wait in ((1, 30 * MINUTE), (2, 120 * MINUTE)):
        world.run(engine)
        world.cycle()
        assert f"ADWS_FAILED|attempt={attempt}|" in world.board.said(issue)[0]
        world.clock.advance(wait - 1)
        engine.lease.beat(world.bay.store)
        assert world.bay.trackers.triage(world.tracker).counts["tier1_pending"] == 1
        world.clock.advance(1)
        assert world.cycle() == []
    for _ in range(2):
        world.run(engine)
        world.cycle()
    assert world.board.labels(issue) == ["implement_close", "needs_human"]
    assert len(world.bay.inbox()) == 1

    world.board.labels(issue).remove("needs_human")
    world.cycle()
    world.run(engine)
    assert world.cycle() == []

    assert (world.board.is_open(issue), world.bay.inbox()) == (False, [])
    assert (len(world.board.said(issue)), world.tasks()[0].attempts) == (1, 4)


def test_a_hold_ends_by_itself_and_doubles_while_it_is_met(made: Callable[..., RemoteWorld]) -> None:
    """Nothing is asked while it is held; the first answer closes it, and the next one begins anew after an hour."""
    world = made()
    engine = world.engine()
    world.board.fail(".", 502, body={"message": "Bad Gateway"})
    waits = []
    for _ in range(3):
        asked, now = len(world.board.requests), world.clock.now_ms()
        assert "left alone until" in world.cycle()[0]
        assert len(world.board.requests) == asked + 1
        with world.bay.store.read() as tx:
            held = breakers.get(tx, "provider:tracker/work")
        assert held is not None
        assert held.until is not None
        waits.append((held.until - now) / MINUTE)
        world.clock.advance(held.until - now - 1)
        engine.lease.beat(world.bay.store)
        world.cycle()
        assert len(world.board.requests) == asked + 1
        world.clock.advance(1_000)
        world.run(engine)

    assert 1 <= waits[0] < 2 <= waits[1] < 4 <= waits[2] < 8
    world.board.faults.clear()
    assert world.cycle() == []
    with world.bay.store.read() as tx:
        held = breakers.get(tx, "provider:tracker/work")
    assert held is not None
    assert held.state == "closed"


def after_every_crash(world: RemoteWorld, tmp_path: Path, told: Callable[[RemoteWorld], Told]) -> list[str]:
    """Let a cycle end at each of its steps, then go on; what is told at the end is always the same."""
    clean = world.copy(tmp_path / "clean")
    for _ in range(CYCLES_MAX):
        clean.cycle()
    wanted = told(clean)
    clean.close()

    crashed: list[str] = []
    while True:
        each = world.copy(tmp_path / f"crash-{len(crashed)}")
        each.close()
        each.open(at=len(crashed) + 1)
        try:
            each.cycle()
        except Crash as crash:
            crashed.append(str(crash))
        else:
            each.close()
            return crashed
        each.close()
        each.open()
        for _ in range(CYCLES_MAX):
            assert each.cycle() == []
        assert told(each) == wanted, f"after a crash {crashed[-1]}, step {len(crashed)}"
        each.close()


@every_kind
def test_a_failure_is_recorded_once(made: Callable[..., RemoteWorld], tmp_path: Path, kind: str) -> None:
    """In one comment, never lost, never taken for one that a person cleared."""
    world = made(kind)
    issue = world.board.add("login", "implement_close")
    world.scripts["work"] = [BROKEN]
    world.cycle()
    world.run(world.engine())

    def told(each: RemoteWorld) -> Told:
        (task,) = each.tasks()
        return each.board.said(issue), task.status, task.waits_for, task.charged

    steps = after_every_crash(world, tmp_path, told)

    assert {"before a write", "after a write", "before commit", "after commit"} <= set(steps)


@every_kind
def test_a_person_is_asked_once_and_never_released_by_a_crash(
    made: Callable[..., RemoteWorld], tmp_path: Path, kind: str
) -> None:
    """Between label and comment the issue is a person's already."""
    world = made(kind)
    issue = world.board.add("login", "implement_close")
    world.scripts["work"] = [failed("it broke", exit_code=7)]
    world.cycle()
    world.run(world.engine())

    def told(each: RemoteWorld) -> Told:
        return (
            each.board.said(issue),
            each.board.labels(issue),
            [task.status for task in each.tasks()],
            len(each.bay.inbox()),
        )

    after_every_crash(world, tmp_path, told)
    world.cycle()
    assert world.board.labels(issue) == ["implement_close", "needs_human"]


@every_kind
def test_a_success_closes_its_issue_once(made: Callable[..., RemoteWorld], tmp_path: Path, kind: str) -> None:
    """With its reason; never worked on again."""
    world = made(kind)
    issue = world.board.add("login", "implement_close")
    world.cycle()
    world.run(world.engine())

    def told(each: RemoteWorld) -> Told:
        return each.board.said(issue), each.board.entry(issue).closed, [task.status for task in each.tasks()]

    after_every_crash(world, tmp_path, told)


@every_kind
def test_a_split_makes_each_part_once(made: Callable[..., RemoteWorld], tmp_path: Path, kind: str) -> None:
    """No second part, none that starts before the split is whole, and the original names them."""
    world = made(kind, SPLIT)
    issue = world.board.add("login", "implement_close")
    world.cycle()
    engine = world.engine()
    world.scripts["work"] = [BROKEN] * 3
    for wait in (30 * MINUTE, 120 * MINUTE, 0):
        world.run(engine)
        world.cycle()
        world.clock.advance(wait)
        engine.lease.beat(world.bay.store)
        world.cycle()
    world.run(engine)
    assert sorted(task.title for task in world.tasks() if task.role == "part") == ["part A", "part B"]

    def told(each: RemoteWorld) -> Told:
        parts = [one for one in each.board.entries if f"{each.board.prefix}{one.number}" != issue]
        named = each.board.said(issue)[0].partition(mirror.SPLIT)[2].split(", ")
        assert sorted(named) == sorted(f"{each.board.prefix}{one.number}" for one in parts)
        states = sorted((task.title, task.status, task.waits_for, task.role) for task in each.tasks())
        return each.board.is_open(issue), sorted(one.title for one in parts), *states

    after_every_crash(world, tmp_path, told)


def test_a_mark_of_a_person_is_no_record_of_ours(made: Callable[..., RemoteWorld]) -> None:
    """A label that a person set before we ever saw the issue keeps us out."""
    world = made()
    world.board.add("login", "implement_close", "needs_human")

    world.cycle()

    assert (world.tasks(), world.board.asked("^(POST|PATCH)")) == ([], [])
    assert record.read(world.tracker.read("1").notes).human is not None
