"""What is done to the daemons, one function per scenario. Each ends when every task has; then the checker looks."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from chaos.disks import fill, mounted
from chaos.evidence import Evidence
from chaos.world import NOTE_BYTES, Daemon, GaveUp, World, wait_for
from medbay.errors import StoreError
from tests.postgres_server import Server

DAEMONS: Final = 3
SUSPENDED_S: Final = 12.0  # well beyond lease, grace, and the second in which another looks
HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a scenario is told."""

    size: int  # how many faults
    server: Server | None  # None on SQLite


Play = Callable[[World, Setting], str]
Expect = Callable[[Evidence], Iterator[str]]


def _felt(words: str) -> Expect:
    """A fault that no daemon noticed has shown nothing."""

    def expect(found: Evidence) -> Iterator[str]:
        if words not in found.daemons_said:
            yield f"the fault was not felt: no daemon said {words!r}"

    return expect


def _work_was_lost(found: Evidence) -> Iterator[str]:
    if found.kills and not any(event.name == "task:lost" for event in found.events):
        yield "the kills were not felt: nothing was running at any of them"


def _they_shared_the_work(found: Evidence) -> Iterator[str]:
    if len({event.data["worker"] for event in found.events if event.name == "task:started"}) < 2:
        yield "one daemon did everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario: what is done, what its store is told, and what has to hold beside the promises."""

    name: str
    play: Play
    share: float = 1.0  # of the number of faults that was asked for
    options: str = ""  # lines of [engine]
    crash_budget: int = 1000
    expect: Expect
    databases: tuple[str, ...] = ("sqlite", "postgres")
    small_disk: bool = False  # the store and its logs get a small file system of their own


def kills(world: World, setting: Setting) -> str:
    """kill -9 at random moments: while a daemon starts, works, takes over from others; adders are killed too."""
    for _ in range(DAEMONS):
        world.start()
    while len(world.kills) < setting.size:
        world.feed()
        world.act_as_a_person()
        _let_some_work_be_done(world)
        if world.rng.random() < 0.02:
            world.kill_an_adder()
        for victim in _victims(world):
            world.kill(victim)
            world.start()
    world.settle()
    return f"{len(world.kills)} kills"


def _let_some_work_be_done(world: World) -> None:
    """Until a few notes more are in the record, and then to a moment between two of them."""
    notes = world.notes_bytes() + NOTE_BYTES * world.rng.randrange(8)
    with contextlib.suppress(GaveUp):  # they may all be starting
        wait_for(lambda: world.notes_bytes() >= notes, "", 10.0)
    time.sleep(world.rng.uniform(0.0, 0.1))


def _victims(world: World) -> list[Daemon]:
    """Mostly one that is at work by now, sometimes one that may still be starting, sometimes all at once."""
    draw = world.rng.random()
    if draw < 0.05:
        return list(world.daemons)
    at_work = [each for each in world.daemons if each.process.pid in world.at_work()]
    return [world.rng.choice(at_work if at_work and draw < 0.75 else world.daemons)]


def suspended(world: World, setting: Setting) -> str:
    """One of two daemons is stopped for longer than its lease and its grace, and goes on afterwards."""
    world.start_and_wait(2)
    given_up = 0
    for _ in range(setting.size):
        world.work_on()
        victim = world.rng.choice(world.daemons)
        victim.process.send_signal(signal.SIGSTOP)
        lost = _events(world, "worker:lost")
        with contextlib.suppress(GaveUp):  # stopped while it has SQLite's lock, it holds up all the others too
            wait_for(lambda seen=lost: _events(world, "worker:lost") > seen, "", SUSPENDED_S)  # type: ignore[misc]
            given_up += 1
        victim.process.send_signal(signal.SIGCONT)
        world.work_on()
    world.settle()
    return f"{setting.size} suspended beyond their lease, {given_up} given up by another"


def server_killed(world: World, setting: Setting) -> str:
    """The server dies hard, or is shut down at once, and comes back; the daemons stay."""
    assert setting.server is not None
    world.start_and_wait(2)
    for number in range(setting.size):
        world.work_on(world.rng.randrange(1, 8))
        if number % 2:
            setting.server.stop_at_once()
        else:
            setting.server.kill()
        time.sleep(world.rng.uniform(0.0, 1.0))
        setting.server.start()
        wait_for(lambda: _answers(world), "the store never answered again", 30)
        if dead := world.replace_the_dead():
            world.deaths.append(f"{dead} daemons ended because the server was away")
    world.settle()
    return f"{setting.size} times the server died and came back"


def disk_full(world: World, setting: Setting) -> str:
    """The disk of the store and its logs fills up under load, and is freed again."""
    world.start_and_wait()
    for _ in range(setting.size):
        world.work_on(world.rng.randrange(1, 8))
        with fill(world.home / ".medbay"):
            world.feed()
            time.sleep(2.0)
        if dead := world.replace_the_dead():
            world.deaths.append(f"{dead} daemons ended because the disk was full")
    world.settle()
    return f"{setting.size} times the disk was full"


def logs_unwritable(world: World, setting: Setting) -> str:
    """The directory of the logs cannot be written for a while."""
    logs = world.home / ".medbay" / "logs"
    logs.mkdir(exist_ok=True)
    world.start_and_wait()
    for _ in range(setting.size):
        world.work_on(world.rng.randrange(1, 8))
        with mounted(logs, "ro"):
            world.feed()
            time.sleep(1.5)
        if dead := world.replace_the_dead():
            world.deaths.append(f"{dead} daemons ended because the logs could not be written")
    world.settle()
    return f"{setting.size} times the logs could not be written"


def two_daemons(world: World, setting: Setting) -> str:
    """Several daemons on one store, with nothing else wrong."""
    world.add(20 * setting.size, wait=True)
    for _ in range(3):
        world.start()
    wait_for(lambda: not world.bay.counts().get("pending"), "the work was never done", 240)
    world.settle()
    return "three daemons at once"


def poison(world: World, setting: Setting) -> str:
    """A task that kills its daemon every time, beside innocents; a supervisor starts the daemon again."""
    world.bay.add("poison", run=["bash", "job.sh", "kills", "0.05"], cwd=str(world.home), priority=0)
    world.add(world.fed, wait=True)
    deaths = 0
    for _ in range(50):
        daemon = world.start("--until-idle")
        code = daemon.process.wait(60)
        world.daemons.remove(daemon)
        if code >= 0:
            break
        deaths += 1
    if code not in (0, 75):  # 0 where the last daemon gave the poison up without running it
        raise GaveUp(f"the last daemon ended with {code} after {deaths} deaths")
    return f"{deaths} daemons died of one task"


def _asked_about_the_poison(found: Evidence) -> Iterator[str]:
    for task_id, task in found.tasks.items():
        if task.title == "poison":
            if (task.status, task.block_kind, task.crashes) != (
                "blocked",
                "human",
                3,
            ) or task_id not in found.questions:
                yield f"the poison is {task.status} ({task.block_kind}) after {task.crashes} crashes"
        elif task.status != "completed":
            yield f"{task_id}, which is innocent, is {task.status} after {task.crashes} crashes"


def clock_set_back(world: World, setting: Setting) -> str:
    """The wall clock of the daemons goes back by an hour, and later forward again."""
    offset = world.home / "offset"
    offset.write_text("0", encoding="ascii")
    world.command = [sys.executable, "-m", "chaos.shifted", str(offset)]
    world.start_and_wait()
    for _ in range(setting.size):
        world.work_on()
        for shift in (-HOUR_MS, 0):
            jumped = _events(world, "clock:jumped")
            offset.write_text(str(shift), encoding="ascii")
            wait_for(lambda seen=jumped: _events(world, "clock:jumped") > seen, "nobody saw the clock jump", 30)  # type: ignore[misc]
            world.feed()
            time.sleep(world.rng.uniform(0.3, 1.0))
    world.settle()
    return f"{setting.size} times the clock went back by an hour"


def redeploys(world: World, setting: Setting) -> str:
    """A new version every second: SIGTERM, and the next daemon at once."""
    world.add(world.fed, wait=True)
    for _ in range(setting.size):
        world.feed()
        daemon = world.start()
        world.wait_until_known()
        world.work_on(1)
        time.sleep(1.0)
        world.end(daemon, signal.SIGTERM)
    world.settle()
    return f"{setting.size} redeploys"


def _nothing_was_lost_by_a_stop(found: Evidence) -> Iterator[str]:
    yield from _they_shared_the_work(found)
    for event in found.events:
        if event.name in ("task:lost", "worker:lost"):
            yield f"{event.name} {event.task_id or ''} although every daemon was stopped in order"
    yield from (f"{task.id} has {task.crashes} crashes" for task in found.tasks.values() if task.crashes)


SCENARIOS: Final[tuple[Scenario, ...]] = (
    Scenario(name="kills", play=kills, expect=_work_was_lost),
    Scenario(name="suspended", play=suspended, share=0.02, options='lease = "3s"', expect=_felt("lost its lease")),
    Scenario(
        name="server_killed", play=server_killed, share=0.05, databases=("postgres",), expect=_felt("the store is away")
    ),
    Scenario(
        name="disk_full",
        play=disk_full,
        share=0.02,
        small_disk=True,
        databases=("sqlite",),  # a server's disk is the server's business, and empty logs need no room
        expect=_felt("no space is left"),
    ),
    Scenario(name="logs_unwritable", play=logs_unwritable, share=0.02, expect=_felt("cannot create the log file")),
    Scenario(name="two_daemons", play=two_daemons, share=0.02, expect=_they_shared_the_work),
    Scenario(name="poison", play=poison, share=0.0, crash_budget=3, expect=_asked_about_the_poison),
    Scenario(name="clock_set_back", play=clock_set_back, share=0.02, expect=_felt("the clock jumped")),
    Scenario(name="redeploys", play=redeploys, share=0.1, expect=_nothing_was_lost_by_a_stop),
)


def _events(world: World, name: str) -> int:
    try:
        return sum(event.name == name for event in world.bay.events(limit=1_000_000))
    except StoreError:
        return 0


def _answers(world: World) -> bool:
    try:
        world.bay.counts()
    except Exception:
        return False
    return True
