"""The page beside an engine: a process of its own that comes up, comes back after a crash, and ends with it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from medbay.web.server import listen
from tests.cli.calling import COMMAND, Cli
from tests.waiting import wait_for

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/#token=(\w+)")


class Up:
    """A running `medbay up` and what it said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(iter(self.process.stderr.readline, ""))

    def has(self, text: str) -> bool:
        """Whether it said this."""
        return any(text in line for line in self.said)

    def link(self) -> tuple[str, str]:
        """Where its page is, and the token; waits until it says so."""
        wait_for(lambda: any(LINK.search(line) for line in self.said))
        port, token = next(found.groups() for line in self.said if (found := LINK.search(line)))
        return f"http://127.0.0.1:{port}", token


@contextmanager
def up(folder: Path, *words: str, **environ: str) -> Iterator[Up]:
    """A daemon with its page, on any free port."""
    own = {"MEDBAY_WEB_PORT": "0", "MEDBAY_ENGINE_GRACE": "2s", **environ}
    process = subprocess.Popen(
        [COMMAND, "up", *words], cwd=folder, env={**os.environ, **own}, stderr=subprocess.PIPE, text=True
    )
    try:
        yield Up(process)
    finally:
        process.terminate()
        process.wait(30)


def pages_of(engine: int) -> list[int]:
    """The processes of pages that an engine started."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = (each / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == engine and b"--child" in (each / "cmdline").read_bytes():
                found.append(int(each.name))
        except (OSError, IndexError):
            continue
    return found


def is_gone(url: str) -> bool:
    """Whether nobody listens there."""
    try:
        httpx.get(url + "/healthz", verify=False)
    except httpx.HTTPError:
        return True
    return False


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MEDBAY_STORE", raising=False)
    Cli(tmp_path).good("init")
    return tmp_path


def test_up_brings_its_page_and_a_crash_of_it_touches_nothing(home: Path) -> None:
    """The link opens it, it comes back after a kill, and it ends with a killed engine."""
    cli = Cli(home)
    with up(home) as engine:
        url, token = engine.link()
        now = httpx.get(url + "/api/now", headers={"Authorization": f"Bearer {token}"}, verify=False).json()
        assert now["engines"] == 1

        os.kill(pages_of(engine.process.pid)[0], signal.SIGKILL)
        task = cli.add("goes on")
        wait_for(lambda: cli.good("show", task, "--json").json["status"] == "completed")
        assert engine.has("the page ended")
        wait_for(lambda: len({*[line for line in engine.said if LINK.search(line)]}) == 2)
        *_, last = (found for line in engine.said if (found := LINK.search(line)))
        wait_for(lambda: not is_gone(f"http://127.0.0.1:{last[1]}"))

        engine.process.kill()
        wait_for(lambda: is_gone(f"http://127.0.0.1:{last[1]}"))


def test_a_taken_port_is_said_in_one_line_and_the_engine_goes_on(home: Path) -> None:
    """Without the page."""
    cli = Cli(home)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with up(home, MEDBAY_WEB_PORT=port) as engine:
            wait_for(lambda: engine.has(f"no page: port {port} of 127.0.0.1 is taken"))
            task = cli.add("goes on")
            wait_for(lambda: cli.good("show", task, "--json").json["status"] == "completed")


def test_a_run_to_the_end_has_no_page(home: Path) -> None:
    """Nor does `--no-web`."""
    cli = Cli(home)
    cli.add("a while", "--run", "sleep 1.5")

    assert "the page" not in cli.process("up", "--until-idle", env={"MEDBAY_WEB_PORT": "0"}).err
    with up(home, "--no-web") as engine:
        wait_for(lambda: engine.has("medbay up:"))
        assert pages_of(engine.process.pid) == []


def test_serve_alone_shows_any_store(home: Path) -> None:
    """And says when it cannot."""
    cli = Cli(home)
    cli.add("one")
    process = subprocess.Popen([COMMAND, "serve", "--port", "0"], cwd=home, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = LINK.search(process.stdout.readline())
        assert found is not None
        url = f"http://127.0.0.1:{found[1]}"
        wait_for(lambda: not is_gone(url))
        tasks = httpx.get(url + "/api/tasks", headers={"Authorization": f"Bearer {found[2]}"}, verify=False).json()
        assert tasks["total"] == 1
        refused = cli.process("serve", "--port", found[1])
        assert refused.code == 4 and "is taken" in refused.err
    finally:
        process.terminate()
        assert process.wait(20) == 0


def test_a_page_that_is_open_at_the_end_is_let_go_without_a_word(home: Path) -> None:
    """Whoever listens hears the end at once; nothing is written about it."""
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", "0"], cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    found = LINK.search(process.stdout.readline())
    assert found is not None
    wait_for(lambda: not is_gone(f"http://127.0.0.1:{found[1]}"))
    headers = {"Authorization": f"Bearer {found[2]}"}
    with connect(f"ws://127.0.0.1:{found[1]}/api/live", additional_headers=headers, proxy=None) as listening:
        assert "hello" in str(listening.recv(10))
        process.terminate()
        _, said = process.communicate(timeout=30)

    assert (process.returncode, said) == (0, "")


def test_answers_are_sent_at_once() -> None:
    """Only where a socket is named as TCP does the loop send at once; else each answer takes 40 ms more."""
    with listen("127.0.0.1", 0) as taken:
        assert taken.proto == socket.IPPROTO_TCP
