"""What an engine is configured with when it is made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path

from msgspec.structs import replace

from medbay.core.attempt import rescue
from medbay.core.budget import FREE, Budget
from medbay.core.holds.breaker import Limits
from medbay.core.model import DEFAULT_QUEUE, Task
from medbay.core.policy.policy import Policy
from medbay.core.redaction import Redaction
from medbay.core.tracker.source import TrackerSource
from medbay.core.triage.case import Means
from medbay.core.triage.cycle import RUNNER as TRIAGE
from medbay.service.attempts import Judgement


def _takes_any(task: Task, home: Path) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of one engine."""

    root: Path  # where relative working directories and logs start
    slots: int = 4
    queues: tuple[str, ...] = (DEFAULT_QUEUE,)
    lease_ms: int = 30_000
    grace_ms: int = 10_000
    crash_budget: int = 3
    recovery_share: float = 0.5
    queue_slots: Mapping[str, int] = field(default_factory=dict)  # of a queue, on all engines together
    place_slots: Mapping[str, int] = field(default_factory=dict)  # how many attempts of this engine run at each place
    load_aware: bool = False  # retries that start processes wait while the machine is short of something
    policy: Policy = field(default_factory=Policy)
    limits: Limits = field(default_factory=Limits)
    budget: Budget = field(default_factory=Budget)
    means: Means = field(default_factory=Means)
    redaction: Redaction = field(default_factory=Redaction)  # of whatever leaves a log
    zone: tzinfo = UTC  # what a time of day in a log means when it names no zone
    stall_ms: int = 0  # without progress for so long a command is ended; 0: never
    agent_stall_ms: int = 0
    trackers: Collection[TrackerSource] = ()  # which may have the pull requests of what agents did
    takes_advice: Callable[[Task, Path], bool] = _takes_any
    home: Path = field(init=False)  # the directory of a task that names none
    logs: str = field(init=False)  # as text: every attempt has several files there, and parsing a path takes a while

    def __post_init__(self) -> None:
        object.__setattr__(self, "home", self.root.parent)
        object.__setattr__(self, "logs", f"{self.root}/logs")

    @property
    def judgement(self) -> Judgement:
        """What ended attempts are judged by."""
        return Judgement(
            policy=self.policy,
            crash_budget=self.crash_budget,
            zone=self.zone,
            limits=self.limits,
            budget=self.spending,
            means=self.means,
        )

    @property
    def spending(self) -> Budget:
        """The budget, and what costs nothing of it: of the agents of triage the one without a model."""
        return replace(self.budget, free=FREE | {TRIAGE}) if self.means.free else self.budget

    def log_path(self, task_id: str, number: int) -> str:
        """Where an attempt's output goes; ids are made by us, so the path cannot leave the directory."""
        return f"{self.logs}/{task_id}/{number}.log"

    def check_log_path(self, task_id: str, number: int, position: int) -> Path:
        """Where the output of one check of an attempt goes."""
        name = f"check-{position}" if position != rescue.POSITION else "evaluation"
        return self._path(f"{task_id}/{number}.{name}.log")

    def result_path(self, task_id: str, number: int) -> str:
        """Where an attempt may leave its result."""
        return f"{self.logs}/{task_id}/{number}.result.json"

    def context_path(self, task_id: str, number: int) -> Path:
        """What a triage or an evaluation is shown."""
        return self._path(f"{task_id}/{number}.context.json")

    def answer_path(self, task_id: str, number: int) -> Path:
        """What it answers."""
        return self._path(f"{task_id}/{number}.answer")

    def _path(self, name: str) -> Path:
        return Path(f"{self.logs}/{name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Which process of which machine this engine is."""

    name: str
    machine_id: str
    boot_id: str
    pid: int
    pid_start: int
