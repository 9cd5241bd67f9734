"""GitHub, Linear or Jira and a store in one process, on a clock that a test moves; any request can be the last."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medbay import app
from medbay.areas.held_tracker import HeldTracker
from medbay.core.model import Task
from medbay.core.outcome import Outcome
from medbay.core.policy.policy import Policy
from medbay.core.tracker.source import TrackerSource
from medbay.engine.round import Engine
from medbay.integrations.trackers.github import GitHub
from medbay.integrations.trackers.github_repository import Repository
from medbay.integrations.trackers.jira import Jira
from medbay.integrations.trackers.labelled import IssueApi, LabelledTracker
from medbay.integrations.trackers.linear import Linear
from medbay.integrations.trackers.transport import ApiAnswer, Query
from medbay.store import tasks as task_rows
from tests.engine.test_triage import Says
from tests.trackers.imitations import PREFIXES, SERVED, Board
from tests.trackers.tracker_world import Fuse, FusedBay
from tests.worlds import ManualClock, World

PROJECTS = {"github": "acme/shop", "linear": "ENG", "jira": "APP"}
APIS: dict[str, Callable[..., IssueApi]] = {
    "github": lambda source, transport: GitHub(source, Repository(source.project, transport)),
    "linear": Linear,
    "jira": Jira,
}


@dataclass
class BoardTransport:
    """Requests to an imitation in this process; before and after each the process may end."""

    kind: str
    board: Board
    fuse: Fuse

    def send(self, method: str, path: str, *, query: Query | None = None, body: Any = None) -> ApiAnswer:
        """Send one request."""
        changes = method != "GET" and not (body and str(body.get("query", "")).lstrip().startswith("query"))
        if changes:
            self.fuse.step("before a write")
        self.board.requests.append((method, f"/{path}", body))
        fault = self.board.fault_for(f"{method} /{path}")
        if fault is not None:
            headers = {name.lower(): value for name, value in fault.headers.items()}
            return ApiAnswer(fault.status, headers, json.dumps(fault.body).encode())
        sent = json.loads(json.dumps(body))
        found = SERVED[self.kind](self.board, method, f"/{path}", dict(query or ()), sent, "https://api.test")
        if changes:
            self.fuse.step("after a write")
        data = json.dumps(found.body).encode() if found.body is not None else b""
        return ApiAnswer(found.status, {name.lower(): value for name, value in found.headers.items()}, data)


class RemoteWorld:
    """A project whose issues are in a tracker of others; its commands end as a script says."""

    def __init__(
        self,
        folder: Path,
        clock: ManualClock,
        kind: str = "github",
        *,
        url: str = "",
        verdicts: Sequence[Any] = (),
        board: Board | None = None,
    ) -> None:
        self.folder, self.clock, self.kind, self._url = folder, clock, kind, url
        self.judge = Says(*verdicts)
        self.board = board or Board(PREFIXES[kind])
        self.scripts: dict[str, list[Outcome | str | None]] = {"work": []}
        if not folder.exists():
            (folder / ".medbay").mkdir(parents=True)
            config = f'[trackers.work]\nkind = "{kind}"\nproject = "{PROJECTS[kind]}"\nrun = "work"\n'
            (folder / "medbay.toml").write_text(config, encoding="utf-8")
        self.open()

    def open(self, at: int = 0) -> None:
        """A new process on the same store and tracker, which ends at one of its steps."""
        url = self._url or f"sqlite:///{self.folder}/.medbay/medbay.db"
        place = app.find_place(self.folder, store_url=url, environ={"HOME": str(self.folder), "MEDBAY_TRUST": "1"})
        self.fuse = Fuse(at)
        self.bay = FusedBay(place, clock=self.clock, actor="person:test")
        self.bay.fuse = self.fuse
        self.world = World(self.bay.store, self.clock, policy=Policy())
        self.world.runner.scripts = self.scripts

    def close(self) -> None:
        """The process is gone."""
        self.bay.close()

    def copy(self, folder: Path) -> RemoteWorld:
        """The same store and tracker once more, for another history."""
        self.close()
        shutil.copytree(self.folder, folder)
        self.open()
        board = Board(self.board.prefix)
        board.entries, board.known_labels = copy.deepcopy(self.board.entries), dict(self.board.known_labels)
        return RemoteWorld(folder, self.clock, self.kind, board=board)

    @property
    def tracker(self) -> HeldTracker:
        """The tracker as a cycle opens it."""
        source = TrackerSource(name="work", kind=self.kind, project=PROJECTS[self.kind])
        api = APIS[self.kind](source, BoardTransport(self.kind, self.board, self.fuse))
        return HeldTracker(self.bay, LabelledTracker(api))

    def cycle(self) -> list[str]:
        """What a daemon does: triage, then dispatch; what went wrong."""
        tracker = self.tracker
        judged = self.bay.trackers.triage(tracker, judge=False)
        found = self.bay.trackers.dispatch(tracker, run=False)
        return [*filter(None, (judged.broken, found.broken)), *judged.errors, *found.errors]

    def tasks(self) -> list[Task]:
        """Every task that is no triage."""
        with self.bay.store.read() as tx:
            rows = tx.rows("SELECT id FROM task WHERE role <> 'triage' ORDER BY created_at, id")
            return [task for task in (task_rows.get(tx, row[0]) for row in rows) if task is not None]

    def engine(self) -> Engine:
        """An engine that works on issues, started."""
        made = self.world.engine(queues=("work",), runners={"triage": self.judge})
        made.start()
        return made

    def run(self, engine: Engine, ticks: int = 4) -> None:
        """Let it work off what is ready, no time passing."""
        for _ in range(ticks):
            engine.lease.beat(self.bay.store)
            engine.tick()
