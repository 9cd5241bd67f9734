"""Where a trial happens: a directory and a store of its own, real commands, and the process table."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medbay.core.policy.presets import LADDER
from medbay.env import SystemClock

START: Final = "from medbay.cli.main import main; raise SystemExit(main())"
MARK: Final = "MEDBAY_DRILL"  # in the environment of everything that a drill starts
COMMAND_S: Final = 60.0
LOOK_S: Final = 0.1
LEASE_S: Final = 30.0
GRACE_S: Final = 2.0
CRASH_BUDGET: Final = 2
SETTINGS: Final = "".join(
    (
        f'[engine]\nworkers = 4\ngrace = "{GRACE_S:.0f}s"\nlease = "{LEASE_S:.0f}s"\ncrash_budget = {CRASH_BUDGET}\n',
        *(f'[policy.ladder.{category}]\ndelays = ["1s"]\n' for category in LADDER),
    )
)


class TrialBroken(Exception):
    """Something that a trial needs did not happen."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


class TrialGround:
    """One directory with a store; every process that is started for it carries its mark."""

    def __init__(self, home: Path, mark: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.mark = mark
        self.inside: tuple[str, ...] = ()  # what a command is started by, to be in another namespace
        self.held = 0  # programs of the drill itself that run beside it
        self._clock = SystemClock()
        self._started: list[subprocess.Popen[str]] = []

    def settle(self) -> None:
        """Make the store, with waits that are short enough for a drill."""
        (self.home / "medbay.toml").write_text(SETTINGS, encoding="ascii")
        (self.home / ".medbay").mkdir()

    def medbay(self, *words: str, stdin: str = "") -> Done:
        """Run one of Medbay's commands to its end."""
        done = subprocess.run(
            self._words(words),
            cwd=self.home,
            env=self._env(),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_S,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def json(self, *words: str) -> Any:
        """What a command says, for programs."""
        done = self.medbay(*words, "--json")
        if done.code:
            raise TrialBroken(f"medbay {words[0]} ended with {done.code}: {done.err.strip()}")
        return json.loads(done.out)

    def add(self, title: str, run: str | Sequence[str], **options: str) -> str:
        """Add a task; its id."""
        line = {"title": title, "run": run if isinstance(run, str) else list(run), **options}
        done = self.medbay("add", "--file", "-", stdin=json.dumps(line))
        if done.code:
            raise TrialBroken(f"medbay add ended with {done.code}: {done.err.strip()}")
        return done.out.strip()

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start one of Medbay's commands beside the drill."""
        with open(self.home / "daemon.log", "ab") as log:
            process = subprocess.Popen(
                self._words(words),
                cwd=self.home,
                env=self._env(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def hold(self, words: Sequence[str]) -> subprocess.Popen[str]:
        """Start another program that says a line once it is ready."""
        process = subprocess.Popen(
            words,
            env=self._env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._started.append(process)
        self.held += 1
        return process

    def ended(self, process: subprocess.Popen[str], within_s: float = COMMAND_S) -> int:
        """The exit code of what was started, negative after a signal."""
        try:
            return process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise TrialBroken(f"a daemon did not end within {within_s:.0f} s") from None

    def until(self, condition: Callable[[], bool], what: str, within_s: float = COMMAND_S) -> float:
        """Wait for something to be true; how many seconds that took."""
        begun_s = self._clock.monotonic_s()
        while not condition():
            if self._clock.monotonic_s() - begun_s > within_s:
                raise TrialBroken(f"{what} did not happen within {within_s:.0f} s")
            time.sleep(LOOK_S)
        return round(self._clock.monotonic_s() - begun_s, 1)

    def task(self, task_id: str) -> Mapping[str, Any]:
        """Everything about one task, as `medbay show` says it."""
        found: Mapping[str, Any] = self.json("show", task_id)
        return found

    def left(self) -> int:
        """How many processes of this ground the process table has."""
        return len(marked(self.mark))

    def close(self) -> None:
        """End what is left, and take the directory away."""
        end_marked(self.mark)
        for process in self._started:
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            if process.stdout is not None:
                process.stdout.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def _words(self, words: Sequence[str]) -> list[str]:
        return [*self.inside, sys.executable, "-c", START, *words]

    def _env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEDBAY_")}
        return {**kept, MARK: self.mark, "NO_COLOR": "1", "MEDBAY_TRUST": "1"}  # its settings are the drill's own


def marked(mark: str) -> list[int]:
    """The processes that carry a mark, or one that begins with it."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for each in os.listdir("/proc"):
        if each.isdigit() and int(each) != os.getpid():
            with suppress(OSError), open(f"/proc/{each}/environ", "rb") as file:
                if any(line.startswith(wanted) for line in file.read().split(b"\0")):
                    found.append(int(each))
    return sorted(found)


def end_marked(mark: str) -> None:
    """End the processes that carry a mark."""
    for pid in marked(mark):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether a process is there and does anything; one that has ended and waits to be asked how does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(") ")[2][:1] not in ("", "Z", "X")
    except OSError:
        return False
