"""Real faults around a real cluster, on both databases: nothing is lost, and nothing is recorded twice."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from medbay.places.temporal import connect
from tests.places.cluster import NEEDS_A_SERVER, Fleet, Network, Server, project, runs, wait_until

pytestmark = [*NEEDS_A_SERVER, pytest.mark.long]

# Writes its pid, when that process began and which attempt it is, then works until it may end.
WAITS = (
    "echo $$ $(cut -d' ' -f22 /proc/$$/stat) $MEDBAY_ATTEMPT_KEY >> began;"
    " while [ ! -f go ]; do sleep 0.1; done; echo done; echo x >> ended"
)


@pytest.fixture
def network(server: Server) -> Iterator[Network]:
    """A way to the server that can be cut."""
    made = Network(server)
    yield made
    made.close()


def began(fleet: Fleet) -> list[list[str]]:
    """Pid, start and attempt of each process that began the work."""
    return [line.split() for line in fleet.file("began").splitlines()]


def run_id(fleet: Fleet, server: Server, key: str) -> str:
    """The id that the cluster gave to the run of an attempt."""

    async def ask() -> str:
        client = await connect(fleet.cluster(server))
        return str((await client.get_activity_handle(key).describe()).activity_run_id)

    return asyncio.run(ask())


def happened(fleet: Fleet, name: str) -> Callable[[], bool]:
    """Whether an event is in the record."""
    return lambda: any(each["name"] == name for each in fleet.events())


def ended_once(fleet: Fleet, task: str) -> Any:
    """The task, which is done, and was recorded so once."""
    shown = fleet.show(task)
    assert shown["status"] == "completed", json.dumps(shown)
    assert fleet.names(task).count("task:completed") == 1
    assert not any(each["charged"] for each in shown["attempts"][:-1])
    return shown


def test_a_result_that_came_while_no_engine_was_there_is_settled_once(both: Fleet, server: Server) -> None:
    """kill -9 of the engine: the same run, the same process, the same attempt; it even ends before the next engine."""
    both.worker()
    task = both.add(WAITS)
    first = both.engine()
    wait_until(lambda: began(both))
    ((pid, start, key),) = began(both)
    (before,) = both.show(task)["attempts"]
    run = run_id(both, server, key)

    first.kill()
    first.wait()
    (both.home / "go").touch()
    wait_until(lambda: both.file("ended"))
    both.must("up", "--until-idle")

    shown = ended_once(both, task)
    assert began(both) == [[pid, start, key]] and run_id(both, server, key) == run
    (after,) = shown["attempts"]
    assert (after["number"], after["started_at"]) == (before["number"], before["started_at"])
    assert after["outcome"] == "succeeded" and "done" in both.must("log", task)
    assert "task:lost" not in both.names(task)


def test_another_engine_takes_up_what_a_silent_one_left(both: Fleet, server: Server) -> None:
    """SIGSTOP of the engine past its lease: the other has it by then, and the one that wakes changes nothing."""
    both.worker()
    task = both.add(WAITS)
    first = both.engine()
    wait_until(lambda: began(both))
    ((pid, start, key),) = began(both)
    run = run_id(both, server, key)
    owner = both.show(task)["attempts"][0]["worker"]

    first.send_signal(signal.SIGSTOP)
    both.engine()
    wait_until(lambda: both.show(task)["attempts"][0]["worker"] != owner)
    first.send_signal(signal.SIGCONT)
    assert runs(pid)
    (both.home / "go").touch()
    wait_until(lambda: both.status(task) == "completed")

    shown = ended_once(both, task)
    assert len(shown["attempts"]) == 1 and "task:lost" not in both.names(task)
    assert began(both) == [[pid, start, key]] and run_id(both, server, key) == run


def test_an_engine_that_was_suspended_before_it_sent_its_order_cannot_send_it_later(
    both: Fleet, server: Server, network: Network
) -> None:
    """Another engine took its task over: what the first still wants to start is barred at the cluster."""
    helper = both.worker()
    both.configure(network.port)
    slow = both.engine()
    ready = both.add("true")
    wait_until(lambda: both.status(ready) == "completed")
    helper.kill()
    helper.wait()
    network.swallow()  # it does not know yet: what it claims now never arrives
    task = both.add(WAITS)
    wait_until(lambda: both.show(task)["attempts"])
    slow.send_signal(signal.SIGSTOP)
    both.configure(server.port)
    both.worker()
    both.engine()
    wait_until(lambda: len(began(both)) == 1)

    network.mend()
    slow.send_signal(signal.SIGCONT)
    wait_until(lambda: "lost its lease" in (both.home / "up-1.out").read_text("utf-8"))
    time.sleep(2)  # long enough for an order to arrive and begin
    (both.home / "go").touch()
    wait_until(lambda: both.status(task) == "completed")

    shown = ended_once(both, task)
    assert [each["outcome"] for each in shown["attempts"]] == ["lost", "succeeded"]
    assert [key.rpartition(":")[2] for _, _, key in began(both)] == ["2"], "the first attempt was started after all"


@pytest.mark.parametrize("how", ["cut", "swallow"])
def test_an_engine_that_is_cut_off_reads_what_ended_meanwhile(
    tmp_path: Path, server: Server, network: Network, how: str
) -> None:
    """The attempt goes on and ends; tasks of this machine go on; then it counts, once."""
    fleet = project(tmp_path, server)
    try:
        fleet.worker()
        fleet.configure(network.port)
        fleet.engine()
        task = fleet.add(WAITS)
        wait_until(lambda: began(fleet))

        getattr(network, how)()
        wait_until(happened(fleet, "place:away"))
        (fleet.home / "go").touch()
        wait_until(lambda: fleet.file("ended"))
        here, there = fleet.must("add", "here", "--run", "true").strip(), fleet.add("echo later")
        wait_until(lambda: fleet.status(here) == "completed")
        assert fleet.status(task) == "in_progress" and fleet.status(there) == "pending"
        network.mend()
        wait_until(lambda: fleet.status(task) == fleet.status(there) == "completed")

        assert len(ended_once(fleet, task)["attempts"]) == 1 and len(began(fleet)) == 1
        wait_until(happened(fleet, "place:back"))
    finally:
        fleet.close()


@pytest.mark.parametrize("how", ["cut", "swallow"])
def test_a_worker_that_is_cut_off_ends_its_trees_before_they_begin_elsewhere(
    tmp_path: Path, server: Server, network: Network, how: str
) -> None:
    """The other worker does it again, uncharged; the first serves again when the network is back."""
    fleet = project(tmp_path, server)
    try:
        fleet.configure(network.port, heartbeat="4s")
        fleet.worker()
        fleet.configure(server.port, heartbeat="4s")
        fleet.engine()
        task = fleet.add(WAITS)
        wait_until(lambda: began(fleet))
        pid = began(fleet)[0][0]

        getattr(network, how)()
        other = fleet.worker()
        wait_until(lambda: len(began(fleet)) == 2)
        assert not runs(pid), "both run"
        network.mend()
        (fleet.home / "go").touch()
        wait_until(lambda: fleet.status(task) == "completed")
        other.kill()
        other.wait()
        again = fleet.add("true")
        wait_until(lambda: fleet.status(again) == "completed")

        # The server may hand some to a worker that it cannot reach any more: they never begin.
        *before, last = (each["outcome"] for each in ended_once(fleet, task)["attempts"])
        assert set(before) == {"lost"} and last == "succeeded"
        assert len(began(fleet)) == 2
    finally:
        fleet.close()


def test_a_worker_that_stops_in_order_hands_its_attempts_back_at_once(tmp_path: Path, server: Server) -> None:
    """They begin elsewhere without waiting for a heartbeat that does not come; nothing of it is left."""
    fleet = project(tmp_path, server)
    try:
        first = fleet.worker()
        fleet.engine()
        task = fleet.add(WAITS)
        wait_until(lambda: began(fleet))
        pid = began(fleet)[0][0]

        first.send_signal(signal.SIGTERM)
        assert first.wait(30) == 0 and not runs(pid)
        fleet.worker()
        wait_until(lambda: len(began(fleet)) == 2)
        (fleet.home / "go").touch()
        wait_until(lambda: fleet.status(task) == "completed")

        shown = ended_once(fleet, task)
        assert [each["outcome"] for each in shown["attempts"]] == ["requeued", "succeeded"]
    finally:
        fleet.close()


def test_a_storm_of_kills_loses_nothing_and_runs_no_attempt_twice(tmp_path: Path) -> None:
    """Engine, workers and server are killed again and again under forty tasks; each ends once."""
    own = Server(tmp_path)
    own.start()
    fleet = project(tmp_path, own)
    chance = random.Random(7714)
    try:
        work = "echo $MEDBAY_ATTEMPT_KEY >> keys; sleep 0.$((RANDOM % 5 + 1)); echo $MEDBAY_TASK >> done"
        tasks = [fleet.add(f"bash -c '{work}'") for _ in range(40)]
        workers = [fleet.worker(), fleet.worker()]
        engine = fleet.engine()
        wait_until(lambda: fleet.file("done"))
        for blow in ("engine", "worker", "server", "engine", "worker", "engine", "server", "worker"):
            time.sleep(chance.uniform(0.2, 1.5))
            if blow == "engine":
                engine.kill()
                engine.wait()
                engine = fleet.engine()
            elif blow == "worker":
                dead = workers.pop(0)
                dead.kill()
                dead.wait()
                workers.append(fleet.worker())
            else:
                own.kill()
                own.start()
        wait_until(lambda: all(fleet.status(task) == "completed" for task in tasks), 120)

        for task in tasks:
            ended_once(fleet, task)
        assert set(fleet.file("done").split()) == set(tasks)
        assert max(Counter(fleet.file("keys").split()).values()) == 1, "one attempt ran twice"
    finally:
        fleet.close()
        own.kill()
