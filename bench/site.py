"""A project made for one run: its folder, its store, its tasks, and the real `medbay up` on it."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import medbay
from bench import jobs, processes
from medbay import app
from medbay.core.diagnosis import CATEGORIES
from medbay.store.tasks import TaskFilter

LOOK_S = 0.02
STALL_S = 90.0
MEDBAY = str(Path(sys.executable).parent / "medbay")
# Everything that holds work back; the notice of a retry storm is no hold.
TROUBLE = ("breaker:opened", "incident:opened", "hold:placed")
STORM = "retry_storm"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the outside record."""

    kind: str
    number: int
    attempt: int
    at: float

    @classmethod
    def read(cls, text: str) -> Line:
        """From `KIND NUMBER ATTEMPT TIME`."""
        kind, number, attempt, at = text.split()
        return cls(kind, int(number), int(attempt), float(at))


class Site:
    """One store with its own folder. `start` runs the shipped daemon; everything else uses the library."""

    def __init__(self, folder: Path, *, url: str = "", no_delays: bool = False, workers: int = 2) -> None:
        self.folder = folder
        self.record = folder / "record" / "lines"
        self.workers = workers
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._read_bytes = 0
        self._counts: Counter[str] = Counter()
        self.record.parent.mkdir(parents=True)
        app.make_home(folder, file_is_ours=True, environ=os.environ)
        shutil.copy(jobs.__file__, folder / "jobs.py")
        (folder / "medbay.toml").write_text(_configuration(url, no_delays=no_delays))
        self.bay = medbay.open(cwd=folder)
        sys.path.insert(0, str(folder))
        sys.modules.pop("jobs", None)
        self._jobs = importlib.import_module("jobs")

    def __enter__(self) -> Site:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.bay.close()
        sys.path.remove(str(self.folder))

    # Work

    def add(self, kind: str, numbers: Iterable[int]) -> None:
        """Add calls one by one, each durable before the next."""
        function = getattr(self._jobs, kind).using(cwd=str(self.folder))
        for number in numbers:
            function.add(self.bay, number)

    def lines(self, kind: str, numbers: Iterable[int], **options: Any) -> list[dict[str, Any]]:
        """The same calls as `add_many` takes them."""
        same = {"title": kind, "python": f"jobs:{kind}", "cwd": str(self.folder), **options}
        return [{**same, "args": [number]} for number in numbers]

    def add_commands(self, command: list[str], count: int) -> None:
        """Add commands one by one."""
        for _ in range(count):
            self.bay.add(command[0], run=command, cwd=str(self.folder))

    # The daemon

    def start(self, daemons: int = 1) -> float:
        """Start the daemon as a user does; the time it was started at."""
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environ[jobs.RECORD] = str(self.record)
        began = time.time()
        with open(self.folder / "daemon.log", "ab") as log:
            for _ in range(daemons):
                command = [MEDBAY, "up", "--no-web", "--workers", str(self.workers)]
                started = subprocess.Popen(
                    command, cwd=self.folder, env=environ, stdout=log, stderr=log, start_new_session=True
                )
                self._daemons.append(started)
        return began

    def kill(self) -> float:
        """End every process of the daemons' groups at once; when."""
        for daemon in self._daemons:
            os.killpg(daemon.pid, signal.SIGKILL)
            daemon.wait()
        self._daemons.clear()
        return time.time()

    def stop(self) -> None:
        """End the daemons in order."""
        for daemon in self._daemons:
            daemon.terminate()
        for daemon in self._daemons:
            try:
                daemon.wait(15)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self._daemons.clear()

    def pids(self) -> list[int]:
        """Every process of the daemons."""
        return [pid for daemon in self._daemons for pid in processes.tree(daemon.pid)]

    def engines(self) -> list[int]:
        """The daemons alone, without what they started."""
        return [daemon.pid for daemon in self._daemons]

    # Evidence

    def read_record(self) -> list[Line]:
        """What the tasks themselves wrote down."""
        return [Line.read(text) for text in self.record.read_text().splitlines()] if self.record.exists() else []

    def recorded(self, kind: str = "E") -> int:
        """How many lines of a kind there are; only what is new since the last look is read."""
        if self.record.exists():
            with open(self.record, "rb") as record:
                record.seek(self._read_bytes)
                new = record.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._read_bytes += len(whole)
            self._counts.update(line[:1].decode() for line in whole.splitlines())
        return self._counts[kind]

    def completed(self) -> int:
        """How many tasks the store has as completed."""
        return self.bay.count(TaskFilter(statuses=("completed",), ended_since=1))

    def wait(self, count: Callable[[], int], wanted: int, *, seconds: float = 240.0, look_s: float = LOOK_S) -> bool:
        """Look until there are so many; False when time is up, nothing moves any more, or a daemon ended."""
        deadline, seen, moved = time.monotonic() + seconds, -1, time.monotonic()
        while (found := count()) < wanted:
            now = time.monotonic()
            if found != seen:
                seen, moved = found, now
            if now > deadline or now - moved > STALL_S or any(each.poll() is not None for each in self._daemons):
                return False
            time.sleep(look_s)
        return True

    def span(self) -> tuple[float, float, int]:
        """When the first attempt began and the last result was stored, in seconds, and how many attempts there were."""
        with self.bay.store.read() as tx:
            row = tx.one("SELECT min(started_at), max(ended_at), count(*) FROM attempt")
        assert row is not None
        return row[0] / 1000, row[1] / 1000, int(row[2])

    def last_words(self) -> str:
        """The end of what the daemon said."""
        return (self.folder / "daemon.log").read_text(errors="replace")[-500:]

    def trouble(self) -> list[str]:
        """Breakers, incidents and holds that opened, and tasks that wait for a person: there may be none."""
        found, last = [], 0
        while events := self.bay.events(last, limit=10_000):
            last = events[-1].seq
            held = [each for each in events if each.name in TROUBLE and STORM not in str(each.data)]
            found += [f"{each.name} {dict(each.data)}" for each in held]
        asked = [f"question: {each.need}" for each in self.bay.inbox()]
        blocked = self.bay.count(TaskFilter(statuses=("blocked",)))
        return found + asked[:3] + ([f"{blocked} tasks are blocked"] if blocked else [])


def _configuration(url: str, *, no_delays: bool) -> str:
    """The shipped configuration; the store, and for retries at once every delay, are all that is set."""
    text = f'[store]\nurl = "{url}"\n' if url else ""
    if no_delays:
        text += "".join(f'[policy.ladder.{category}]\ndelays = ["0s"]\n' for category in CATEGORIES)
    return text
