"""A tracker and a store in one process, on a clock that a test moves, where every step can be the last one."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

from medbay import app
from medbay.bay import Bay
from medbay.core.model import Task
from medbay.core.outcome import Outcome
from medbay.core.policy.policy import Policy
from medbay.core.tracker.issue import Issue, Listing
from medbay.engine.round import Engine
from medbay.integrations.trackers.beads import Beads, _complaint, _said
from medbay.integrations.trackers.protocol import TrackerError
from medbay.store import tasks as task_rows
from medbay.store.database import Tx
from tests.engine.test_triage import Says
from tests.trackers import bd_double
from tests.worlds import ManualClock, World

T = TypeVar("T")
CONFIG = '[beads]\nrun = "work"\n'
INIT = ("init", "--prefix", "demo", "--non-interactive", "--skip-agents", "--skip-hooks", "--stealth")


class Crash(BaseException):
    """The process ends here, between two steps."""


@dataclass
class Fuse:
    """Counts the steps of a run and ends it at one of them; never, unless a test says where."""

    at: int = 0
    steps: list[str] = field(default_factory=list)

    def step(self, name: str) -> None:
        """One more step."""
        self.steps.append(name)
        if len(self.steps) == self.at:
            raise Crash(name)


class DoubledBeads(Beads):
    """Beads through the double in this process: the same words in, the same JSON out."""

    __slots__ = ()

    def _run(self, *words: str) -> str:
        out, err = io.StringIO(), io.StringIO()
        try:
            with (
                mock.patch.dict(os.environ, {"BEADS_DIR": str(self.folder)}),
                mock.patch("tests.trackers.bd_double.time.sleep", _never_ends),
                redirect_stdout(out),
                redirect_stderr(err),
            ):
                code = bd_double.main([*words, "--json"])
        except SystemExit as ended:
            code = int(ended.code or 0)
        except TimeoutError:
            raise TrackerError("timeout", f"{_said(words)}: no answer after {self.timeout_s:g}s") from None
        if code != 0:
            raise _complaint(words, code, out.getvalue(), err.getvalue())
        return out.getvalue()


def _never_ends(_: float) -> None:
    raise TimeoutError


@dataclass
class FusedTracker:
    """A tracker whose process may end before and after each call."""

    tracker: Beads
    fuse: Fuse

    @property
    def name(self) -> str:
        """The name of the system."""
        return self.tracker.name

    def open_issues(self) -> Listing:
        """Every open issue."""
        return self._call("open_issues", self.tracker.open_issues)

    def read(self, issue_id: str) -> Issue:
        """One issue."""
        return self._call("read", lambda: self.tracker.read(issue_id))

    def create(self, title: str, description: str, *, like: Issue, labels: Sequence[str], key: str) -> str:
        """Make an issue."""
        return self._call("create", lambda: self.tracker.create(title, description, like=like, labels=labels, key=key))

    def set_notes(self, issue_id: str, notes: str) -> None:
        """Replace the notes."""
        self._call("set_notes", lambda: self.tracker.set_notes(issue_id, notes))

    def close(self, issue_id: str, reason: str) -> None:
        """Close an issue."""
        self._call("close", lambda: self.tracker.close(issue_id, reason))

    def pause(self, issue_id: str) -> None:
        """Defer an issue."""
        self._call("pause", lambda: self.tracker.pause(issue_id))

    def __getattr__(self, name: str) -> Any:
        """What trackers say of themselves beside these."""
        return getattr(self.tracker, name)

    def _call(self, name: str, call: Callable[[], T]) -> T:
        self.fuse.step(f"before {name}")
        made = call()
        self.fuse.step(f"after {name}")
        return made


class FusedBay(Bay):
    """A store whose process may end before and after each commit."""

    fuse = Fuse()

    def write(self, act: Callable[[Tx], T]) -> T:
        """One transaction."""
        self.fuse.step("before commit")
        made = super().write(act)
        self.fuse.step("after commit")
        return made


class TrackerWorld:
    """A project with a store and a workspace of Beads; its commands end as a script says."""

    def __init__(self, folder: Path, clock: ManualClock, url: str = "", verdicts: Sequence[Any] = ()) -> None:
        self.folder, self.clock = folder, clock
        self.judge = Says(*verdicts)
        self.scripts: dict[str, list[Outcome | str | None]] = {"work": []}
        self._url = url
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "medbay.toml").exists():
            (folder / "medbay.toml").write_text(CONFIG, encoding="utf-8")
            (folder / ".medbay").mkdir()
        if not (folder / ".beads").exists():
            with mock.patch.dict(os.environ), _inside(folder), redirect_stdout(io.StringIO()):
                os.environ.pop("BEADS_DIR", None)
                assert bd_double.main(list(INIT)) == 0
        self.open()

    def open(self, at: int = 0) -> None:
        """A new process on the same store and tracker, which ends at one of its steps."""
        url = self._url or f"sqlite:///{self.folder}/.medbay/medbay.db"
        place = app.find_place(self.folder, store_url=url, environ={"HOME": str(self.folder), "MEDBAY_TRUST": "1"})
        self.fuse = Fuse(at)
        self.bay = FusedBay(place, clock=self.clock, actor="person:test")
        self.bay.fuse = self.fuse
        self.tracker = FusedTracker(DoubledBeads("bd", self.folder / ".beads"), self.fuse)
        self.world = World(self.bay.store, self.clock, policy=Policy())
        self.world.runner.scripts = self.scripts

    def close(self) -> None:
        """The process is gone."""
        self.bay.close()

    def copy(self, folder: Path) -> TrackerWorld:
        """The same store and tracker once more, for another history."""
        self.close()
        shutil.copytree(self.folder, folder)
        self.open()
        made = TrackerWorld(folder, self.clock)
        made.scripts, made.world.runner.scripts = self.scripts, self.scripts
        return made

    # The tracker

    def bd(self, *words: str) -> Any:
        """Call bd; what it printed, as data."""
        printed = DoubledBeads("bd", self.folder / ".beads")._run(*words)
        return json.loads(printed) if printed.strip() else None

    def create(self, title: str, notes: str = "", *labels: str) -> str:
        """A new issue with the tag of a workflow; its id."""
        tags = ",".join(labels or ("implement_close",))
        made: str = self.bd("create", f"--title={title}", "-l", tags, *([f"--notes={notes}"] if notes else []))["id"]
        return made

    def issue(self, issue_id: str) -> dict[str, Any]:
        """An issue as bd has it."""
        found: dict[str, Any] = self.bd("show", issue_id)[0]
        return found

    def notes(self, issue_id: str) -> str:
        """The notes of an issue."""
        return str(self.issue(issue_id).get("notes", ""))

    def every(self) -> list[dict[str, Any]]:
        """Every issue, whatever its status."""
        found: list[dict[str, Any]] = self.bd("list", "--all", "--limit", "0")
        return sorted(found, key=lambda each: str(each["created_at"]) + str(each["id"]))

    def fault(self, *rows: str) -> None:
        """Plant what bd does wrong from now on."""
        (self.folder / ".beads" / "faults").write_text("\n".join(rows) + "\n", encoding="utf-8")

    # The store

    def tasks(self) -> list[Task]:
        """Every task that is no triage."""
        with self.bay.store.read() as tx:
            rows = tx.rows("SELECT id FROM task WHERE role <> 'triage' ORDER BY created_at, id")
            return [task for task in (task_rows.get(tx, row[0]) for row in rows) if task is not None]

    def cycle(self) -> list[str]:
        """What a daemon does: triage, then dispatch; what went wrong."""
        judged = self.bay.trackers.triage(self.tracker, judge=False)
        found = self.bay.trackers.dispatch(self.tracker, run=False)
        return [*judged.errors, *found.errors]

    def engine(self) -> Engine:
        """An engine that works on issues, started."""
        made = self.world.engine(queues=("beads",), runners={"triage": self.judge})
        made.start()
        return made

    def run(self, engine: Engine, ticks: int = 4) -> None:
        """Let it work off what is ready, no time passing."""
        for _ in range(ticks):
            engine.lease.beat(self.bay.store)
            engine.tick()


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
