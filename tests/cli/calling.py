"""Calling the command line from tests: in this process, on a screen of a given width, or as the installed command."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from unittest import mock

import medbay
from medbay.bay import Bay
from medbay.cli.main import main
from medbay.core.policy.policy import Policy
from medbay.engine.round import Engine
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


def call(
    args: tuple[str, ...],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | bytes | None = None,
    terminal: bool = False,
) -> Called:
    """Go through the entry point in this process; on a terminal both streams are in `out`.

    The streams are files, because `run` writes to the descriptor of stdout. Working directory and environment are
    given back as they were, whatever the command does to them. `env` is all of the environment.
    """
    data = stdin.encode() if isinstance(stdin, str) else stdin or b""
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        chdir(cwd or Path.cwd()),
        mock.patch.object(logging.getLogger(), "handlers", []),  # those of pytest would keep warnings from stderr
        mock.patch.dict(os.environ, os.environ.copy() if env is None else env, clear=True),
        mock.patch.object(sys, "stdin", _Stream(io.BytesIO(data), terminal=terminal)),
        redirect_stdout(_Stream(_same_file(out), terminal=terminal)) as said,
        redirect_stderr(_Stream(_same_file(out if terminal else err), terminal=terminal)) as beside,
    ):
        try:
            code = main(args)
        except SystemExit as ended:  # as a shell asks for completions
            code = int(ended.code or 0)
        for stream in (said, beside):
            stream.close()
        return Called(code, _all_of(out), _all_of(err))


class Cli:
    """The command line inside one project directory, which is the working directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bays: list[Bay] = []

    def __call__(self, *args: str, env: dict[str, str] | None = None, stdin: str | bytes | None = None) -> Called:
        """Call it in this process, its streams being pipes."""
        return call(args, env={**os.environ, **(env or {})}, stdin=stdin)

    def good(self, *args: str, stdin: str | bytes | None = None) -> Called:
        """Call it; it has to succeed."""
        called = self(*args, stdin=stdin)
        assert called.code == 0, called
        return called

    def screen(self, *args: str, columns: int = 100, env: dict[str, str] | None = None, typed: str = "") -> Called:
        """Call it in this process on a screen of this width; both streams in `out`."""
        return call(args, env={**os.environ, **_on_a_screen(columns), **(env or {})}, stdin=typed, terminal=True)

    def add(self, title: str, *args: str) -> str:
        """Add a task that runs `true` unless the options say otherwise; its id."""
        run = () if "--run" in args or "--" in args else ("--run", "true")
        return self.good("add", title, *run, *args).out.strip()

    def process(self, *args: str, env: dict[str, str] | None = None, stdin: str = "") -> Called:
        """Start the installed command and wait for its end; for what only a process of its own can show."""
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
        """Start the installed command on a real terminal of this width; both streams in `out`."""
        parent, child = pty.openpty()
        process = subprocess.Popen(
            [COMMAND, *args],
            cwd=self.folder,
            env={**os.environ, **_on_a_screen(columns), **(env or {})},
            stdin=child,
            stdout=child,
            stderr=child,
            close_fds=True,
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


class _Stream(io.TextIOWrapper):
    """A standard stream as Python makes it: UTF-8, written line by line on a terminal."""

    def __init__(self, raw: IO[bytes], *, terminal: bool) -> None:
        super().__init__(raw, encoding="utf-8", line_buffering=terminal)
        self._terminal = terminal

    def isatty(self) -> bool:
        """Whether it stands for a terminal."""
        return self._terminal


def _same_file(file: IO[bytes]) -> IO[bytes]:
    """Another handle that appends to it, so that two streams do not write over each other."""
    return open(f"/proc/self/fd/{file.fileno()}", "ab")


def _all_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "surrogateescape")


def _on_a_screen(columns: int) -> dict[str, str]:
    return {"COLUMNS": str(columns), "TERM": "xterm", "LC_ALL": "C.UTF-8"}
