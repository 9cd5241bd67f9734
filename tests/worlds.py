"""Small worlds for tests: a clock that is moved by hand, runners that do as they are told, engines on top."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from medbay.core.model import Task, Worker
from medbay.core.outcome import Cancelled, Failed, Outcome, Output, Requeued, Succeeded
from medbay.core.policy.policy import Policy
from medbay.core.policy.presets import LADDER, Rungs
from medbay.core.triage import rules_agent
from medbay.engine.round import Engine
from medbay.engine.settings import Host, Settings
from medbay.env import Ids
from medbay.errors import SpawnFailed, StoreUnavailable
from medbay.places.here import Here
from medbay.places.protocol import Identity, Launch, Leftovers, LiveAttempts, Place, Runner
from medbay.service import additions, requests, tasks
from medbay.service.workers import Sighting
from medbay.store import tasks as task_rows
from medbay.store.database import Store

START_MS = 1_800_000_000_000


class ManualClock:
    """Wall and monotonic time, moved by hand."""

    def __init__(self) -> None:
        self.wall_ms = START_MS
        self.seconds = 1_000.0
        self.suspended_s = 0.0

    def now_ms(self) -> int:
        """The wall clock."""
        return self.wall_ms

    def monotonic_s(self) -> float:
        """The clock that never goes back."""
        return self.seconds

    def boottime_s(self) -> float:
        """The clock that goes on while the machine is suspended."""
        return self.seconds + self.suspended_s

    def advance(self, ms: int) -> None:
        """Let time pass on both."""
        self.wall_ms += ms
        self.seconds += ms / 1000

    def suspend(self, ms: int) -> None:
        """Let time pass while the machine sleeps."""
        self.wall_ms += ms
        self.suspended_s += ms / 1000


def failed(text: str = "something odd happened", exit_code: int = 1) -> Failed:
    """A failure with this output."""
    return Failed(output=Output(tail=text, total_bytes=len(text)), exit_code=exit_code)


class ScriptedRunning:
    """An attempt that ends when the test says so, or with the next outcome of its script."""

    def __init__(self, launch: Launch, outcome: Outcome | None) -> None:
        self.launch = launch
        self.outcome = outcome
        self.killed = False
        self.identity: Identity | None = Identity(pid=4242, pid_start=1, group=4242)

    def fileno(self) -> int:
        """Nothing to wait on."""
        return -1

    def poll(self, monotonic_s: float) -> Outcome | None:
        """How it ended, if it did."""
        return self.outcome

    def deadline_s(self) -> float | None:
        """No time of its own."""
        return None

    def cancel(self, monotonic_s: float) -> None:
        """It ends as cancelled."""
        self.outcome = Cancelled()

    def hand_back(self, monotonic_s: float, *, why: str) -> None:
        """It ends as handed back."""
        self.outcome = Requeued(asked=False, why=why)

    def kill(self) -> None:
        """It is gone."""
        self.killed = True
        self.outcome = Requeued(asked=False, why="killed by the worker")


@dataclass
class ScriptedRunner:
    """Ends each attempt of a title with the next entry of its script; without one it succeeds."""

    scripts: dict[str, list[Outcome | str | None]] = field(default_factory=dict)
    started: list[Launch] = field(default_factory=list)
    running: list[ScriptedRunning] = field(default_factory=list)

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """A script entry: an outcome, None to go on running, or a text to fail at the start with."""
        self.started.append(launch)
        script = self.scripts.get(str(launch.command), [])
        outcome = script.pop(0) if script else Succeeded()
        if isinstance(outcome, str):
            raise SpawnFailed(outcome)
        running = ScriptedRunning(launch, outcome)
        self.running.append(running)
        return running


class RulesRunner:
    """Runs triages: the agent that is always there, without a process."""

    def __init__(self, started: list[Launch]) -> None:
        self._started = started

    def start(self, launch: Launch, monotonic_s: float) -> ScriptedRunning:
        """It answers at once."""
        self._started.append(launch)
        answer = json.dumps(rules_agent.judge(json.loads(launch.stdin_text)))
        return ScriptedRunning(launch, Succeeded(output=Output(result={"answer": answer})))


class NoLeftovers:
    """A host on which nothing is left behind; remembers that it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def end(self, *, store_id: str, live: LiveAttempts, task_id: str | None = None) -> int:
        """Nothing to end."""
        self.asked += 1
        return 0


def quick_policy(delay_ms: int = 1_000) -> Policy:
    """The ladder with the same short delay everywhere."""
    rungs = {name: Rungs(delays_ms=(delay_ms,), max_retries=each.max_retries) for name, each in LADDER.items()}
    return Policy(rungs=rungs)


class World:
    """A store, a clock and as many engines as a test wants."""

    def __init__(
        self, store: Store, clock: ManualClock, *, policy: Policy | None = None, root: Path = Path("/dev/null/nowhere")
    ) -> None:
        self.root = root  # where runners that are real write; there is nothing unless a test says where
        self.store = store
        self.clock = clock
        self.ids = Ids()
        self.runner = ScriptedRunner()
        self.triages: list[Launch] = []
        self.leftovers = NoLeftovers()
        self.policy = policy or quick_policy()
        self.sightings: dict[int, Sighting] = {}
        self._pids = iter(range(100, 10_000))

    def engine(
        self,
        *,
        slots: int = 4,
        queues: tuple[str, ...] = ("default",),
        host: str = "here",
        boot: str = "boot",
        runners: Mapping[str, Runner] | None = None,
        place: Callable[[Mapping[str, Runner], Leftovers], Place] = Here,
        **settings: Any,
    ) -> Engine:
        """A new engine on this store; its process counts as alive until a test says otherwise."""
        pid = next(self._pids)
        self.sightings[pid] = "alive"
        return Engine(
            store=self.store,
            clock=self.clock,
            ids=self.ids,
            place=place({"shell": self.runner, "triage": RulesRunner(self.triages), **(runners or {})}, self.leftovers),
            see=self._see,
            settings=Settings(root=self.root, slots=slots, queues=queues, policy=self.policy, **settings),
            host=Host(name=host, machine_id=f"machine-{host}", boot_id=boot, pid=pid, pid_start=1),
        )

    def add(self, title: str, *script: Outcome | str | None, **options: Any) -> Task:
        """Add a task whose attempts end as the script says."""
        self.runner.scripts[title] = list(script)
        with self.store.write() as tx:
            new = requests.new_task({"title": title, "run": title, **options}, now=tx.now)
            return additions.add(tx, new, ids=self.ids, actor="person:test")

    def task(self, task_id: str) -> Task:
        """The task as it is now."""
        with self.store.read() as tx:
            found = task_rows.get(tx, task_id)
        assert found is not None
        return found

    def act(self, command: Callable[..., Any], task_id: str, **options: Any) -> Task:
        """Do what a person would."""
        with self.store.write() as tx:
            command(tx, tasks.resolve(tx, task_id), actor="person:test", **options)
        return self.task(task_id)

    def run(self, engine: Engine, *, ticks: int = 1, step_ms: int = 2_000) -> None:
        """Let an engine tick, with time passing before each tick."""
        for _ in range(ticks):
            self.clock.advance(step_ms)
            engine.lease.beat(self.store)
            engine.tick()

    def _see(self, worker: Worker) -> Sighting:
        return self.sightings.get(worker.pid, "dead")


@contextmanager
def deaf(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commits happen, and nobody hears that they did."""
    write = store.write

    @contextmanager
    def written() -> Iterator[Any]:
        with write() as tx:
            yield tx
        raise StoreUnavailable("the connection is gone")

    with monkeypatch.context() as patched:
        patched.setattr(store, "write", written)
        yield
