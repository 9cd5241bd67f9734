"""`medbay top` in a real terminal: it fits 80 and 200 columns, keys act, and the screen is given back after any end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import medbay
from tests.cli.calling import call
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")


class Pane:
    """A terminal of a given size with a shell in it."""

    def __init__(self, folder: Path, columns: int) -> None:
        self._socket = f"{tempfile.mkdtemp(prefix='medbay-')}/tmux"  # the kernel takes 107 bytes
        self._columns = columns
        home = {"HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        self._environ = {**home, "XDG_DATA_HOME": os.environ.get("XDG_DATA_HOME", "")}
        size = ("-x", str(columns), "-y", "24")
        self.tmux("new-session", "-d", *size, "-c", str(folder), "sh")
        wait_for(lambda: bool(self.text().strip()), 20)  # its prompt

    def tmux(self, *words: str) -> str:
        """One command of tmux."""
        command = ["tmux", "-f", os.devnull, "-S", self._socket, *words]
        done = subprocess.run(command, env=self._environ, capture_output=True, text=True, timeout=30, check=False)
        return done.stdout

    def close(self) -> None:
        """End it and all that runs in it."""
        self.tmux("kill-server")
        shutil.rmtree(Path(self._socket).parent, ignore_errors=True)

    def keys(self, *keys: str) -> None:
        """Press keys; words are typed."""
        self.tmux("send-keys", *keys)

    def text(self) -> str:
        """What is on the screen."""
        return self.tmux("capture-pane", "-p")

    def shows(self, *words: str) -> None:
        """Wait until all of these are on the screen."""
        wait_for(lambda: all(each in self.text() for each in words), 20)

    def gone(self, words: str) -> None:
        """Wait until this is not on the screen any more."""
        wait_for(lambda: words not in self.text())

    def pid_of_top(self) -> int:
        """The process that runs in the foreground of the shell."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        wait_for(lambda: bool(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()))
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])


@pytest.fixture(params=[80, 200])
def pane(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pane]:
    """A terminal in a project with some tasks, in which `top` runs."""
    (tmp_path / ".medbay").mkdir()
    with medbay.open(cwd=tmp_path) as bay:
        asks = bay.add("deploy docs", run=["true"])
        bay.block(asks.id, "the token lacks the scope workflow", kind="human")
        for number in range(30):
            bay.add(f"pull rates {number:02}", run=["true"])
    made = Pane(tmp_path, request.param)
    try:
        made.keys("echo before; medbay top", "Enter")
        made.shows("deploy docs", "q quit")
        yield made
    finally:
        made.close()


def test_it_fits_and_keys_act_on_the_selected_task(pane: Pane, tmp_path: Path) -> None:
    """What needs a person is first; the selection stays with its task while lists change under it."""
    lines = pane.text().splitlines()
    assert lines[0].startswith("medbay top") and "! " in lines[1] and "deploy docs" in lines[1]
    assert lines[-1].startswith("j k move") and len(lines) == 24

    pane.keys("j")
    wait_for(lambda: pane.text().splitlines()[2].startswith(">"))
    pane.keys("p")
    pane.shows("is paused")
    with medbay.open(cwd=tmp_path) as bay:
        (paused,) = [each.id for each in bay.select() if each.paused]
    wait_for(lambda: any(line.startswith(">") and paused in line for line in pane.text().splitlines()))

    pane.keys("/")
    pane.shows("filter:")
    pane.keys("deploy", "Enter")
    pane.gone("pull rates")
    pane.keys("a")
    pane.shows("answer:")
    pane.keys("1", "Enter")
    with medbay.open(cwd=tmp_path) as bay:
        wait_for(lambda: bay.inbox() == [], 20)
    pane.keys("o")
    pane.shows("any key goes back")
    pane.keys("x")
    pane.shows("q quit")


@pytest.mark.parametrize("pane", [80, pytest.param(200, marks=pytest.mark.long)], indirect=True)
@pytest.mark.parametrize("end", ["q", "TERM", *(pytest.param(each, marks=pytest.mark.long) for each in ("C-c", "HUP"))])
def test_the_screen_is_given_back_after_any_end(pane: Pane, end: str) -> None:
    """What was there before is there again, and what is typed is seen."""
    if len(end) > 2 and end.isupper():
        os.kill(pane.pid_of_top(), signal.Signals[f"SIG{end}"])
    else:
        pane.keys(end)

    pane.shows("before")
    pane.gone("q quit")
    pane.keys("echo typed-and-seen", "Enter")
    wait_for(lambda: pane.text().count("typed-and-seen") == 2)
    assert pane.tmux("display-message", "-p", "#{alternate_on}#{cursor_flag}").strip() == "01"


def test_without_a_terminal_it_names_what_prints_the_same(tmp_path: Path) -> None:
    """For screen readers and programs."""
    done = call(("top",))

    assert done.code == 2 and "medbay list" in done.err
