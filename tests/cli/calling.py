"""Calling the command line from tests: in this process, as a process, and on a terminal of a given width."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import medbay
from medbay.bay import Bay
from medbay.cli.main import main
from medbay.core.policy.policy import Policy
from medbay.engine.engine import Engine
from tests.worlds import ManualClock, World

COMMAND = Path(sys.executable).parent / "medbay"
TIME_LIMIT_S = 60


@dataclass(frozen=True)
class Called:
    """What a call gave back."""

    code: int
    out: str
    err: str = ""

    @property
    def json(self) -> Any:
        """The result as data."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines of the result."""
        return self.out.splitlines()

    @property
    def cells(self) -> list[list[str]]:
        """The lines of the result between their tabs."""
        return [line.split("\t") for line in self.lines]


class Cli:
    """The command line inside one project directory."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._patch = monkeypatch
        self._capsys = capsys
        self._bays: list[Bay] = []

    def __call__(self, *args: str, stdin: str | bytes | None = None) -> Called:
        """Call it in this process."""
        data = stdin.encode() if isinstance(stdin, str) else stdin or b""
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        self._capsys.readouterr()
        code = main(list(args))
        told = self._capsys.readouterr()
        return Called(code, told.out, told.err)

    def good(self, *args: str, stdin: str | bytes | None = None) -> Called:
        """Call it; it has to succeed."""
        called = self(*args, stdin=stdin)
        assert called.code == 0, called
        return called

    def add(self, title: str, *args: str) -> str:
        """Add a task that runs `true` unless the options say otherwise; its id."""
        run = () if "--run" in args or "--" in args else ("--run", "true")
        return self.good("add", title, *run, *args).out.strip()

    def process(self, *args: str, env: dict[str, str] | None = None, stdin: str = "") -> Called:
        """Call the installed command as a process."""
        ran = subprocess.run(
            [COMMAND, *args],
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
        )
        return Called(ran.returncode, ran.stdout, ran.stderr)

    def terminal(self, *args: str, columns: int = 100, env: dict[str, str] | None = None, typed: str = "") -> Called:
        """Call the installed command on a terminal of this width; both streams in `out`."""
        with_env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", "LC_ALL": "C.UTF-8", **(env or {})}
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [COMMAND, *args], cwd=self.folder, env=with_env, stdin=child, stdout=child, stderr=child, close_fds=True
        )
        os.close(child)
        if typed:
            os.write(parent, typed.encode())
        told = b""
        while True:
            try:
                piece = os.read(parent, 65_536)
            except OSError:  # how a terminal says that its last writer is gone
                break
            if not piece:
                break
            told += piece
        os.close(parent)
        return Called(process.wait(TIME_LIMIT_S), told.decode().replace("\r\n", "\n"))

    def bay(self) -> Bay:
        """The same store through the library."""
        made = medbay.open(cwd=self.folder)
        self._bays.append(made)
        return made

    def engine(self, world: World) -> Engine:
        """A started engine that runs what the world's script says."""
        made = world.engine()
        made.start()
        return made

    def world(self) -> World:
        """The store with a scripted runner, in real time."""
        return World(self.bay().store, RealTime(), policy=Policy())

    def close(self) -> None:
        """Give the stores back."""
        for each in self._bays:
            each.close()


class RealTime(ManualClock):
    """The wall clock of this machine, for stores that commands open as well."""

    def now_ms(self) -> int:
        """The wall clock."""
        return time.time_ns() // 1_000_000
