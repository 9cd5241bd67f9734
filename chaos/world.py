"""One store with real daemons on it: starting, feeding and killing them, and a person who acts meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import medbay
from chaos.load import Load
from medbay import app
from medbay.bay import Bay
from medbay.core.model import Task
from medbay.core.policy.presets import LADDER
from medbay.errors import MedbayError, StoreError
from medbay.store.tasks import TaskFilter

MEDBAY: Final = str(Path(sys.executable).parent / "medbay")
PATIENCE_S: Final = 120.0
ROUNDS_MAX: Final = 40
FED: Final = 60  # how many tasks are kept open
NOTE_BYTES: Final = 100  # about as long is one line of the record


class GaveUp(Exception):
    """Something that has to happen did not."""


@dataclass(slots=True)
class Daemon:
    """One `medbay up`, and when it was started."""

    process: subprocess.Popen[bytes]
    spawned_ms: int


class World:
    """A directory, a store, daemons. What was acknowledged, killed and started is written down outside the store."""

    def __init__(
        self,
        home: Path,
        *,
        seed: int,
        url: str | None = None,
        options: str = "",
        crash_budget: int = 1000,
        fed: int = FED,
    ) -> None:
        self.home = home
        self.fed = fed
        self.rng = random.Random(seed)
        self.daemons: list[Daemon] = []
        self.kills: list[tuple[int, int]] = []  # pid, wall ms
        self.spawns: dict[int, int] = {}  # pid to wall ms
        self.deaths: list[str] = []  # daemons that ended although nobody asked them to
        self.command = [MEDBAY]
        self._adders: list[subprocess.Popen[bytes]] = []
        self._added = 0
        self._paused: set[str] = set()
        (home / "acknowledged").mkdir()
        app.make_home(home, file_is_ours=True, environ=os.environ)
        (home / "medbay.toml").write_text(_config(url, options, crash_budget), encoding="utf-8")
        self.load = Load(home, self.rng)
        self.bay: Bay = medbay.open(cwd=home)

    # Daemons

    def start(self, *words: str) -> Daemon:
        """One more `medbay up`."""
        log = open(self.home / "daemons.log", "ab")
        spawned_ms = now_ms()
        process = subprocess.Popen(
            [*self.command, "up", "--no-web", *words],
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()
        daemon = Daemon(process, spawned_ms)
        self.spawns[process.pid] = spawned_ms
        self.daemons.append(daemon)
        return daemon

    def kill(self, daemon: Daemon) -> None:
        """kill -9, and wait until it is gone."""
        self.kills.append((daemon.process.pid, now_ms()))
        self.end(daemon, signal.SIGKILL)

    def end(self, daemon: Daemon, number: int) -> None:
        """Send a signal and wait for the end; a daemon that had ended by itself is written down."""
        if daemon.process.poll() is not None:
            self.deaths.append(f"a daemon ended by itself with {daemon.process.returncode}")
        else:
            daemon.process.send_signal(number)
            daemon.process.wait(PATIENCE_S)
        self.daemons.remove(daemon)

    def replace_the_dead(self) -> int:
        """What a supervisor does; how many there were."""
        dead = [each for each in self.daemons if each.process.poll() is not None]
        for each in dead:
            self.daemons.remove(each)
            self.start()
        return len(dead)

    def start_and_wait(self, daemons: int = 1) -> None:
        """So many daemons, each known to the store, with work for them."""
        self.add(self.fed, wait=True)
        for _ in range(daemons):
            self.start()
        self.wait_until_known()
        self.work_on()

    def wait_until_known(self) -> None:
        """Until every daemon has registered: before that there is nothing to stop in order."""
        pids = {each.process.pid for each in self.daemons}
        wait_for(lambda: pids <= {worker.pid for worker, _ in self.bay.workers()}, "a daemon never registered")

    def work_on(self, notes: int = 4) -> None:
        """Until a few notes more are in the record."""
        self.feed()
        least = self.notes_bytes() + notes * NOTE_BYTES
        wait_for(lambda: self.notes_bytes() >= least, "no task wrote anything")

    def at_work(self) -> frozenset[int]:
        """The pids of the daemons that the store knows as running something."""
        try:
            return frozenset(worker.pid for worker, live in self.bay.workers() if live)
        except StoreError:
            return frozenset()

    def notes_bytes(self) -> int:
        """How long the tasks' own record is by now."""
        file = self.home / "record"
        return file.stat().st_size if file.exists() else 0

    # Load

    def feed(self) -> None:
        """Keep some tasks open, through the real `medbay add`."""
        self._adders = [each for each in self._adders if each.poll() is None]
        try:
            counts = self.bay.counts()
        except StoreError:
            return
        unfinished = sum(count for status, count in counts.items() if status not in ("completed", "cancelled"))
        if unfinished < self.fed and not self._adders:
            self.add(self.fed)

    def add(self, count: int, *, wait: bool = False) -> None:
        """Add so many; what the command prints is what it has acknowledged."""
        self._added += 1
        lines = self.home / f"lines.{self._added}"
        drawn = self.load.lines(count)
        lines.write_text("".join(json.dumps(line) + "\n" for line in drawn), encoding="utf-8")
        with open(self.home / "acknowledged" / str(self._added), "wb") as answered:
            adder = subprocess.Popen(
                [MEDBAY, "add", "--file", lines.name], cwd=self.home, stdout=answered, stderr=subprocess.DEVNULL
            )
        self._adders.append(adder)
        if wait:
            adder.wait(PATIENCE_S)

    def kill_an_adder(self) -> None:
        """What it had not answered for may be there or not."""
        for each in self._adders:
            each.kill()

    def acknowledged(self) -> list[str]:
        """Every id that `add` printed in full."""
        found: list[str] = []
        for file in sorted((self.home / "acknowledged").iterdir()):
            whole, _, _ = file.read_text(encoding="utf-8").rpartition("\n")
            found += whole.split()
        return found

    # The person

    def act_as_a_person(self) -> None:
        """Pause something, resume what was paused, cancel now and then; a refusal is an answer too."""
        try:
            self._resume(self.rng.random() < 0.3)
            some = self.bay.select(TaskFilter(only_open=True, limit=20))
            if some and self.rng.random() < 0.3:
                chosen = self.rng.choice(some)
                self.bay.pause(chosen.id)
                self._paused.add(chosen.id)
            if some and self.rng.random() < 0.05:
                self.bay.cancel(self.rng.choice(some).id)
        except MedbayError:
            return

    def _resume(self, all_of_them: bool) -> None:
        for task_id in sorted(self._paused) if all_of_them else ():
            if not self.bay.get(task_id).finished:
                self.bay.resume(task_id)
            self._paused.discard(task_id)

    # The end

    def settle(self) -> None:
        """No more faults: a person answers everything, and every task has to end."""
        for adder in self._adders:
            adder.wait(PATIENCE_S)
        for daemon in list(self.daemons):
            self.end(daemon, signal.SIGTERM)
        for _ in range(ROUNDS_MAX):
            self._until(self._try_to_resume, "the paused tasks could not be resumed")
            last = self.start("--until-idle")
            try:
                last.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise GaveUp(f"not idle after {PATIENCE_S:g} s: {self.bay.counts()}") from None
            self.daemons.remove(last)
            waiting = self.unfinished()
            if not waiting:
                return
            for task in waiting:
                self._release(task)
        raise GaveUp(f"still open after {ROUNDS_MAX} answers: {[(each.id, each.status) for each in self.unfinished()]}")

    def unfinished(self) -> list[Task]:
        """What has not ended."""
        return self.bay.select(TaskFilter(only_open=True, limit=100_000))

    def _release(self, task: Task) -> None:
        """Blocked because another was cancelled cannot be helped; everything else gets more attempts."""
        if task.status == "blocked" and task.block_kind == "dependency":
            self.bay.cancel(task.id)
        elif task.status == "blocked":
            self.bay.unblock(task.id, attempts=10)

    def _try_to_resume(self) -> bool:
        try:
            self._resume(True)
        except StoreError:
            return False
        return True

    def _until(self, condition: Callable[[], bool], told: str) -> None:
        wait_for(condition, told)

    def close(self) -> None:
        """End everything that was started here."""
        for daemon in self.daemons:
            for number in (signal.SIGCONT, signal.SIGKILL):
                daemon.process.send_signal(number)
            daemon.process.wait()
        for adder in self._adders:
            adder.kill()
            adder.wait()
        self.bay.close()


def wait_for(condition: Callable[[], bool], told: str, seconds: float = 60.0) -> float:
    """Wait until something is so; how long it took."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > seconds:
            raise GaveUp(told)
        time.sleep(0.01)
    return time.monotonic() - begun


def now_ms() -> int:
    """The wall clock."""
    return time.time_ns() // 1_000_000


def new_home() -> Path:
    """A directory of its own; short, because paths of sockets and locks are in it."""
    return Path(tempfile.mkdtemp(prefix="chaos_", dir=os.environ.get("CHAOS_DIR")))


def _config(url: str | None, options: str, crash_budget: int) -> str:
    ladder = "".join(f'[policy.ladder.{name}]\ndelays = ["20ms"]\nmax_retries = 1000\n' for name in LADDER)
    store = f'[store]\nurl = "{url}"\n' if url else ""
    engine = f'[engine]\nworkers = 4\ngrace = "2s"\ncrash_budget = {crash_budget}\n{options}\n'
    return f"{store}{engine}[policy]\nmax_retries_total = 1000\n{ladder}"
