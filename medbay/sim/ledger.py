"""What the checkers remember from commit to commit: every task as it last was, and what really ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from medbay.core.holds.breaker import Breaker
from medbay.core.model import Attempt, Event, Question, Retry, Task
from medbay.sim.machines import SimulatedProcess


class Broken(BaseException):
    """A promise does not hold. Nothing of the engine's own may catch it."""

    def __init__(self, promise: str, told: str) -> None:
        super().__init__(f"{promise}: {told}")
        self.promise = promise
        self.told = told


@dataclass(slots=True)
class KnownTask:
    """One task, as the last commit left it, with what its row does not keep."""

    task: Task
    outcomes: dict[int, str] = field(default_factory=dict)  # how each attempt was recorded
    not_before: int = 0  # the time its last failure named
    released: bool = False  # a person let it go on since it was blocked last
    begun: int | None = None  # before the first occurrence of a cron task
    ran: dict[int, int] = field(default_factory=dict)  # planned time -> how often it ran to an end
    skipped: list[tuple[int, int, int]] = field(default_factory=list)  # first, last, number
    swept_version: int = -1
    swept_attempts: int = 0

    def kept(self) -> KnownTask:
        """As it is now, whatever is changed later."""
        return KnownTask(
            self.task,
            self.outcomes.copy(),
            self.not_before,
            self.released,
            self.begun,
            self.ran.copy(),
            self.skipped.copy(),
            self.swept_version,
            self.swept_attempts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCommit:
    """What one commit did to one task."""

    known: KnownTask
    before: Task | None
    after: Task
    events: tuple[Event, ...]
    attempts: tuple[Attempt, ...]  # the newest ones
    pending: tuple[Retry, ...] | None  # None when it was not read
    question: Question | None
    prerequisites: tuple[Task, ...]
    processes: dict[tuple[str, int], SimulatedProcess]
    now: int
    latest: int  # the latest time there ever was; less than now never, more after the clock was set back
    elapsed_ms: int
    breakers: Mapping[str, Breaker] = field(default_factory=dict)  # those that are not closed
    held_by: str | None = None  # the breaker that holds what was claimed
    probed_at: int = 0  # when the account it was sent for was tried last

    @property
    def claimed(self) -> bool:
        """Whether this commit gave it to a worker."""
        return self.after.live is not None and (self.before is None or self.before.live != self.after.live)

    def named(self, name: str) -> list[Event]:
        """The events of this name."""
        return [event for event in self.events if event.name == name]

    @property
    def forgiven(self) -> bool:
        """Whether the two things happened that may reset a streak."""
        edits = self.named("task:edited")
        well = self.named("task:completed") or self.named("task:iteration_done")
        return bool(well) or any(edit.data.get("reset_failures") for edit in edits)
