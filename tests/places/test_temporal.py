"""Attempts on a real Temporal server: run, checked, cancelled, and found again when engine, worker or server die."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from medbay.core.cluster import Cluster
from medbay.core.outcome import Cancelled, Outcome, Requeued, Succeeded
from medbay.engine.guardian import Unguarded
from medbay.places.orders import AttemptReport, read_report
from medbay.places.temporal import TemporalPlace, probe
from medbay.places.temporal_worker import TemporalWorker
from tests.places.cluster import NEEDS_A_SERVER, Fleet, Server, free_port, runs, wait_until
from tests.runners.driving import launch
from tests.worlds import ManualClock

pytestmark = NEEDS_A_SERVER


def test_attempts_run_are_diagnosed_and_checked_elsewhere(both: Fleet) -> None:
    """A success, a failure that heals, a check that fails once, a queue with a place; one attempt is one run."""
    both.worker()
    good = both.add("echo here I am; echo $MEDBAY_ATTEMPT_KEY > key")
    flaky = both.add(
        "echo connect ECONNREFUSED 10.0.0.7:5432; n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; test $n -ge 1"
    )
    checked = both.add("echo x >> lines", "--check", "test $(wc -l < lines) -ge 2", "--takes-advice")
    queued = both.must("add", "by its queue", "--queue", "far", "--run", "echo far").strip()

    both.must("up", "--until-idle", "--queue", "default,far")

    shown = {name: both.show(task) for name, task in (("good", good), ("flaky", flaky), ("checked", checked))}
    assert {each["status"] for each in shown.values()} == {"completed"}
    assert both.show(queued)["place"] == "cluster" and both.status(queued) == "completed"
    assert both.file("key").endswith(f":{good}:1")
    assert "here I am" in both.must("log", good)
    assert shown["flaky"]["attempts_total"] == 2 and both.file("n") == "2"
    first = shown["flaky"]["attempts"][0]
    assert first["diagnosis"]["category"] == "transient"
    assert [each["status"] for each in shown["checked"]["attempts"][0]["checks"]] == ["FAIL"]
    assert [each["status"] for each in shown["checked"]["attempts"][1]["checks"]] == ["PASS"]


def test_an_attempt_outlives_its_engine_and_is_taken_up_by_the_next(both: Fleet) -> None:
    """kill -9 of the engine, then a stop in order: the same process goes on, and its result counts once."""
    both.worker()
    task = both.add("echo $$ >> pids; while [ ! -f go ]; do sleep 0.1; done; echo done")
    first = both.start("up", "--no-web")
    wait_until(lambda: both.file("pids"))

    first.kill()
    second = both.start("up", "--no-web")
    wait_until(lambda: any(each["name"] == "worker:lost" for each in both.events()))
    second.send_signal(signal.SIGTERM)
    assert second.wait(30) == 0
    (both.home / "go").touch()
    both.must("up", "--until-idle")

    shown = both.show(task)
    assert shown["status"] == "completed" and shown["attempts_total"] == 1
    assert len(both.file("pids").split()) == 1 and "task:lost" not in both.names(task)
    assert both.names(task).count("task:completed") == 1


@pytest.mark.long  # what a cancel ends is also in the suite of both places
def test_a_cancel_ends_the_tree_elsewhere_and_output_is_seen_meanwhile(fleet: Fleet) -> None:
    """The newest output comes with heartbeats; the process is gone when the task is cancelled."""
    fleet.worker()
    task = fleet.add("echo $$ > pid; echo working hard; sleep 600 & wait")
    fleet.start("up", "--no-web")
    wait_until(lambda: "working hard" in fleet.run("log", task).stdout)

    fleet.must("cancel", task)
    wait_until(lambda: fleet.status(task) == "cancelled")

    assert not runs(fleet.file("pid"))


@pytest.mark.long
def test_a_worker_that_dies_or_falls_silent_loses_its_attempts_uncharged(fleet: Fleet, server: Server) -> None:
    """kill -9, then SIGSTOP past its heartbeat: its trees end by themselves, and another worker does it again."""
    fleet.configure(server.port, heartbeat="4s")
    first = fleet.worker()
    task = fleet.add("echo $$ >> pids; while [ ! -f go ]; do sleep 0.1; done; echo done")
    fleet.start("up", "--no-web")
    wait_until(lambda: len(fleet.file("pids").split()) == 1)
    first.kill()
    second = fleet.worker()
    wait_until(lambda: len(fleet.file("pids").split()) == 2)
    second.send_signal(signal.SIGSTOP)
    fleet.worker()
    wait_until(lambda: len(fleet.file("pids").split()) == 3)
    one, two, three = fleet.file("pids").split()

    assert runs(three) and not runs(one)
    wait_until(lambda: not runs(two))
    second.send_signal(signal.SIGCONT)
    (fleet.home / "go").touch()
    wait_until(lambda: fleet.status(task) == "completed")

    shown = fleet.show(task)
    lost = [each for each in fleet.events() if each["name"] == "task:lost"]
    *before, last = (each["outcome"] for each in shown["attempts"])  # a stopped worker may take some that never begin
    assert len(before) >= 2 and set(before) == {"lost"} and last == "succeeded"
    assert not any(each["charged"] for each in shown["attempts"])
    assert len(lost) == len(before) and all("fell silent" in json.dumps(each) for each in lost)


@pytest.mark.long
def test_a_server_that_is_away_holds_its_own_tasks_alone(tmp_path: Path) -> None:
    """What runs here goes on, what is there waits and says why; when it is back everything ends, once."""
    own = Server(tmp_path)
    own.start()
    home = tmp_path / "project"
    home.mkdir()
    fleet = Fleet(home, own, tmp_path / "state")
    try:
        fleet.worker()
        running = fleet.add("echo $$ >> pids; while [ ! -f go ]; do sleep 0.1; done; echo done")
        fleet.start("up", "--no-web")
        wait_until(lambda: fleet.file("pids"))
        own.kill()
        wait_until(lambda: any(each["name"] == "place:away" for each in fleet.events()))
        waiting, here = fleet.add("echo later"), fleet.must("add", "here", "--run", "true").strip()
        wait_until(lambda: fleet.status(here) == "completed")

        assert fleet.status(waiting) == "pending" and fleet.status(running) == "in_progress"
        assert 'the place "cluster" is away' in fleet.must("explain", waiting)
        assert 'the place "cluster" is away' in fleet.must("list")
        assert "place cluster" in fleet.run("doctor").stdout

        own.start()
        (home / "go").touch()
        wait_until(lambda: fleet.status(waiting) == fleet.status(running) == "completed")
        assert any(each["name"] == "place:back" for each in fleet.events())
        assert fleet.names(running).count("task:completed") == 1
    finally:
        fleet.close()
        own.kill()


def probed(server: Server, **wrong: Any) -> str:
    """What is said of a cluster with a wrong setting."""
    fields: dict[str, Any] = {"address": f"127.0.0.1:{server.port}", **wrong}
    return probe(Cluster(name="cluster", kind="temporal", **fields))


def test_wrong_settings_are_named_with_what_to_change(fleet: Fleet, server: Server, tmp_path: Path) -> None:
    """Address, namespace, TLS, key, files, and a place nobody configured."""
    assert "[places.cluster] address" in probed(server, address=f"127.0.0.1:{free_port()}")
    assert 'namespace "nowhere" does not exist' in probed(server, namespace="nowhere")
    assert "TLS" in probed(server, tls=True)
    assert "NO_SUCH_KEY is not set" in probed(server, api_key_env="NO_SUCH_KEY")
    assert "No such file" in probed(server, server_ca=str(tmp_path / "none.pem"))
    assert "there is here, cluster" in fleet.run("add", "x", "--place", "moon", "--run", "true").stderr
    assert "no place is called moon" in fleet.run("worker", "--place", "moon").stderr
    assert fleet.run("worker", "--place", "cluster", "--queue", "a").returncode == 2


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[int]:
    """The port of a server that speaks TLS and nothing else."""
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2"]
    subprocess.run(["openssl", "req", *made, "-subj", "/CN=localhost"], cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    context.set_alpn_protocols(["h2"])

    def serve() -> None:
        while listening.fileno() >= 0:
            with suppress(OSError):
                near, _ = listening.accept()
                near.settimeout(5)
                with near, context.wrap_socket(near, server_side=True) as secure:
                    secure.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield int(listening.getsockname()[1])


@pytest.mark.skipif(not shutil.which("openssl"), reason="NO OPENSSL: a cluster that speaks TLS is not tested")
def test_a_mismatch_of_tls_is_named_from_either_side(encrypted: int, tmp_path: Path) -> None:
    """Plain to one that encrypts, a certificate that nobody vouches for, half of our own."""
    address = f"127.0.0.1:{encrypted}"

    def said(**fields: Any) -> str:
        return probe(Cluster(name="cluster", kind="temporal", address=address, **fields))

    assert "set tls = true" in said()
    assert "TLS does not match" in said(tls=True) and "tls and its files" in said(tls=True)
    assert "client_cert and client_key go together" in said(client_cert=str(tmp_path / "cert.pem"))


def test_a_worker_says_what_keeps_it_and_waits(fleet: Fleet, server: Server) -> None:
    """It serves as soon as it can, and stops when it is asked to meanwhile; `doctor` says the same."""
    fleet.configure(server.port, namespace="nowhere")
    waiting = fleet.start("worker", "--place", "cluster")

    wait_until(lambda: 'waits: namespace "nowhere" does not exist' in fleet.file("worker-0.out"))
    told = fleet.run("doctor")
    assert told.returncode != 0 and 'namespace "nowhere" does not exist' in told.stdout
    waiting.send_signal(signal.SIGTERM)

    assert waiting.wait(30) == 0


def test_the_place_of_a_task_is_named_wherever_it_is_shown(fleet: Fleet) -> None:
    """show, list -v and explain, in words and as JSON; doctor and stats of the engine beside it."""
    fleet.worker()
    task = fleet.add("echo far away")
    here = fleet.must("add", "near", "--run", "true").strip()
    before = fleet.must("explain", task)

    fleet.must("up", "--until-idle")

    assert "place\tcluster\n" in fleet.must("show", task) and "place\t" not in fleet.must("show", here)
    assert "place\tcluster\n" in before and "place\tcluster\n" in fleet.must("explain", task)
    assert json.loads(fleet.must("explain", task, "--json"))["place"] == "cluster"
    listed = {line.split("\t")[0]: line for line in fleet.must("list", "--all", "-v").splitlines()}
    assert listed[task].endswith("\tcluster") and listed[here].endswith("\t")
    assert fleet.show(task)["place"] == "cluster" and fleet.show(here)["place"] is None
    assert "place cluster" in fleet.run("doctor").stdout


def test_an_engine_that_stops_does_not_wait_for_checks_that_it_only_reads(tmp_path: Path) -> None:
    """Nothing of them runs: the next engine reads them. Work goes on there, and says nothing yet."""
    nobody = Cluster(name="cluster", kind="temporal", address=f"127.0.0.1:{free_port()}")
    place = TemporalPlace(nobody, store_id="s")
    read = place.start(launch(tmp_path, "true", part="check-1"), 0.0)
    work = place.start(launch(tmp_path, "true"), 0.0)

    for each in (read, work):
        each.hand_back(0.0, why="the worker is stopping")

    assert isinstance(read.poll(0.0), Requeued) and work.poll(0.0) is None
    place.close()


class EndsAtItsCancel:
    """An ordered attempt that had ended when its cancel came, or ends by it."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.asked = False

    def fileno(self) -> int:
        """Nothing to wait on."""
        return -1

    def deadline_s(self) -> float | None:
        """No time of its own."""
        return None

    def progress(self) -> tuple[int, str]:
        """Nothing was printed."""
        return 0, ""

    def poll(self, monotonic_s: float) -> AttemptReport | None:
        """Nobody looked before the cancel came."""
        return AttemptReport(outcome=self.outcome, host="far") if self.asked else None

    def cancel(self, monotonic_s: float) -> None:
        """It is asked."""
        self.asked = True

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """Nobody does."""

    def kill(self) -> None:
        """Nobody does."""


@pytest.mark.parametrize("outcome", [Succeeded(), Cancelled()])
def test_what_had_ended_before_its_cancel_came_is_told_as_it_ended(tmp_path: Path, outcome: Outcome) -> None:
    """A success counts as it does on this machine; what the cancel has ended is cancelled."""
    clock = ManualClock()
    clock.wall_ms, clock.seconds = 0, 0.0  # the order begins now, and the cluster was reached now
    worker = TemporalWorker(
        Cluster(name="cluster", kind="temporal"),
        read=lambda _: launch(tmp_path, "true"),
        begin=lambda _: EndsAtItsCancel(outcome),
        guard=Unguarded(),
        slots=1,
        folder=tmp_path,
        host="far",
        clock=clock,
        notice=print,
        close=lambda: None,
    )
    told: list[object] = []

    async def cancelled() -> bytes:
        from temporalio.testing import ActivityEnvironment

        at_cluster = ActivityEnvironment()
        at_cluster.on_heartbeat = lambda *_: at_cluster.cancel()
        return await at_cluster.run(worker._attempt, b"")

    with suppress(asyncio.CancelledError):
        told.append(read_report(asyncio.run(cancelled())).outcome)

    assert told == ([outcome] if isinstance(outcome, Succeeded) else [])


def test_a_worker_of_another_version_refuses_what_it_does_not_understand(fleet: Fleet) -> None:
    """The engine hears it in words; the attempt is nobody's failure."""
    code = "import medbay.places.orders as o; o.VERSION = 2; from medbay.cli.main import main; main()"
    with open(fleet.home / "worker.out", "wb") as out:
        words = [sys.executable, "-c", code, "worker", "--place", "cluster"]
        fleet.processes.append(subprocess.Popen(words, cwd=fleet.home, env=fleet.environ, stdout=out, stderr=out))
    task = fleet.add("true")
    fleet.start("up", "--no-web")

    wait_until(lambda: any(each["outcome"] for each in fleet.show(task)["attempts"]))

    shown = json.dumps(fleet.show(task)["attempts"][0])
    assert "speaks version 1 of the protocol, this worker version 2" in shown
