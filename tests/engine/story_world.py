"""Stories in one process, on a clock that a test moves, where every commit and every effect on files can be the last.

Roles answer at once; a phase fails or asks as often as a test says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from medbay import app
from medbay.bay import Bay
from medbay.core.outcome import Output, Succeeded
from medbay.core.policy.policy import Policy
from medbay.core.workflow.records import PhaseRun, Story
from medbay.engine.round import Engine
from medbay.integrations import story_folder
from medbay.places.protocol import Launch
from medbay.store.database import Store, Tx
from tests.worlds import ManualClock, ScriptedRunning, World

ROLES = ("pm", "qa", "dev", "gate", "review-lint", "review-syntax", "review-security")
PASS: Mapping[str, Any] = {"verdict": "PASS", "summary": "fine"}
ROUND_MS = 1_000
AFTER_A_CRASH_MS = 10 * 60_000  # claims and leases of the dead are over
ROUNDS_MAX = 120
TEMPLATE = "\n".join(f'[roles.{role}]\ncommand = ["{role}"]\n' for role in ROLES)
WALK = ("generate", "elaborate", "implement", "review", "fix", "review", "verify", "gate")


@dataclass
class RoleRunner:
    """Answers for every role at once; the first answers of a phase as a test says."""

    project: Path
    said: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)  # by role and phase, as "dev fix"
    started: list[str] = field(default_factory=list)

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """A role works: the developer writes a file and shows it."""
        role, phase = str(launch.command[0]), launch.env["MEDBAY_PHASE"]
        self.started.append(f"{role} {phase} {launch.task_id}")
        assert Path(launch.env["MEDBAY_STORY_DIR"]).is_dir(), "its folder moved while the phase runs"
        key = f"{role} {phase}"
        # How often it answered is read from the disk: what a role did outlives the engine that started it.
        told = self.project / f"told-{launch.env['MEDBAY_STORY']}-{role}-{phase}"
        seen = told.read_text(encoding="utf-8").split() if told.exists() else []
        tries = list(dict.fromkeys([*seen, launch.task_id]))
        told.write_text("\n".join(tries), encoding="utf-8")
        script = self.said.get(key, [])
        at = tries.index(launch.task_id)
        answer = {**PASS, **(script[at] if at < len(script) else {})}
        if role == "dev":
            shown = self.project / f"app-{launch.env['MEDBAY_STORY']}.txt"
            shown.write_text("it prints\n", encoding="utf-8")
            own = Path(launch.env["MEDBAY_STORY_DIR"]) / "_implementation" / "NOTES.txt"
            own.write_text("of the developer\n", encoding="utf-8")
            answer["evidence"] = [{"criterion": 1, "shows": "it prints", "path": shown.name}]
        return ScriptedRunning(launch, Succeeded(output=Output(result={"answer": json.dumps(answer)})))


class SteppedStore:
    """A store that tells of each of its commits."""

    def __init__(self, store: Store, told: Callable[[str], None]) -> None:
        self._store, self._told = store, told

    @contextmanager
    def write(self, *given: Any, **more: Any) -> Iterator[Tx]:
        """A transaction."""
        with self._store.write(*given, **more) as tx:
            yield tx
        self._told("commit")

    def __getattr__(self, name: str) -> Any:
        """Everything else is the store's."""
        return getattr(self._store, name)


@contextmanager
def stepped_files(told: Callable[[str], None]) -> Iterator[None]:
    """Tells of every effect on story folders: what is written, put in place, moved, and which lock is taken away."""

    def stepped(real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            made = real(*given, **more)
            told(name)
            return made

        return call

    files = SimpleNamespace(**vars(os))
    for name in ("rename", "replace", "link"):
        setattr(files, name, stepped(getattr(os, name), name))
    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(story_folder, "os", files))
        for owner, name in ((story_folder, "_write_new"), (story_folder.StoryFolders, "unlock")):
            patches.enter_context(mock.patch.object(owner, name, stepped(getattr(owner, name), name.strip("_"))))
        yield


class StoryProcess:
    """One process: an engine, the conductor beside it, and a person who answers what is asked."""

    def __init__(
        self,
        folder: Path,
        clock: ManualClock,
        *,
        url: str = "",
        told: Callable[[str], None] = lambda _: None,
        said: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        config: str = '[story]\nfast_track = "never"\n',
    ) -> None:
        (folder / ".medbay").mkdir(parents=True, exist_ok=True)
        (folder / "medbay.toml").write_text(config + TEMPLATE, encoding="utf-8")
        url = url or f"sqlite:///{folder}/.medbay/medbay.db"
        self.folder, self.clock, self._told = folder, clock, told
        place = app.find_place(folder, store_url=url, environ={"HOME": str(folder), "MEDBAY_TRUST": "1"})
        self.bay = Bay(place, clock=clock, actor="person:test")
        self._store = self.bay.store
        self.bay.store = SteppedStore(self._store, told)
        self.world = World(self.bay.store, clock, policy=Policy(), root=folder / ".medbay")
        self.runner = RoleRunner(folder, {name: list(each) for name, each in (said or {}).items()})

    def engine(self, *, slots: int = 4, queues: tuple[str, ...] = ("default",)) -> Engine:
        """A started engine; a process that died before it is seen nowhere."""
        made = self.world.engine(slots=slots, queues=queues, runners={"shell": self.runner})
        made.start()
        return made

    def walk(self, *story_ids: str, slots: int = 4, until: str = "completed") -> None:
        """Drive stories to a status as a daemon does, answering what is asked."""
        with stepped_files(self._told):
            engine = self.engine(slots=slots)
            for _ in range(ROUNDS_MAX):
                if all(each.status == until and not each.files_due for each in self.stories(story_ids)):
                    return
                self.round(engine)
        left = {each.id: (each.status, each.reason) for each in self.stories(story_ids)}
        raise AssertionError(f"not {until} after {ROUNDS_MAX} rounds: {left}, {self.bay.inbox()}")

    def round(self, engine: Engine) -> None:
        """One round of everything."""
        self.clock.advance(ROUND_MS)
        self.bay.stories.conductor.cycle()
        engine.lease.beat(self.bay.store)
        engine.tick()
        for asked in self.bay.inbox():
            self.bay.answer(asked.id, "1")

    def stories(self, story_ids: Sequence[str]) -> list[Story]:
        """They as they are now."""
        return [self.bay.stories.get(each) for each in story_ids]

    def runs(self, story_id: str) -> list[PhaseRun]:
        """The runs of its phases."""
        return list(self.bay.stories.detail(story_id).runs)

    def close(self) -> None:
        """The process is gone."""
        self._store.close()


def artifacts(folder: Path) -> dict[str, bytes]:
    """Every file below the story folders, by its name; nothing of ours is left half written."""
    found = {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    assert not [name for name in found if name.endswith((".new", ".phase-lock"))], found.keys()
    return found
