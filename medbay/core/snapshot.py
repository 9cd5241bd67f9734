"""What one read transaction saw, as frozen records. The service loads them, the views turn them into words and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from medbay.core.policy.presets import RESCUE_THRESHOLD

if TYPE_CHECKING:  # a list needs few of them, and is asked for all the time
    from medbay.core.attempt.knowledge import Advice, Known
    from medbay.core.holds.breaker import Breaker
    from medbay.core.holds.holding import Reason
    from medbay.core.intake.records import Candidate
    from medbay.core.model import Attempt, CheckResult, Guidance, HistoryRow, Question, Retry, Task, Triage, Worker
    from medbay.core.policy.forecast import Forecast
    from medbay.core.policy.presets import Recurring
    from medbay.core.triage.cycle import StartAnswer

WorkerState = Literal["alive", "expired", "stopped", "lost", "crashed"]


class TaskList(Struct, frozen=True, kw_only=True):
    """The tasks of a list in their order, and what is said beside them."""

    now: int
    tasks: tuple[Task, ...]
    total: int  # how many match, however many are listed
    narrowed: bool = False  # a filter was given
    waits_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # task -> what it comes after and is open
    serving: tuple[Worker, ...] = ()  # engines whose lease lasts
    out_of_share: frozenset[str] = frozenset()  # queues in which retries wait for fresh work
    mutexes: Mapping[str, str] = field(default_factory=dict)  # mutex -> the running task that has it
    full_queues: Mapping[str, int] = field(default_factory=dict)  # queue -> its slots, where all of them are taken
    breakers: Mapping[str, Breaker] = field(default_factory=dict)
    held_back: Mapping[str, Reason] = field(default_factory=dict)  # task -> the first reason why it does not start
    logs: Mapping[str, str] = field(default_factory=dict)  # task -> the log of its live attempt
    used: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # task -> tokens, and money in millionths
    prefixes: Mapping[str, int] = field(default_factory=dict)  # task -> letters of its id that are enough to name it
    questions: tuple[Question, ...] = ()
    hidden_triages: int = 0
    older: int = 0  # tasks that ended earlier; counted where nothing is listed

    @property
    def served(self) -> frozenset[str]:
        """The queues that an engine serves."""
        return frozenset(queue for worker in self.serving for queue in worker.queues)


class FleetRow(Struct, frozen=True):
    """A task on the timeline of a fleet, with its attempts there."""

    task: Task
    attempts: tuple[Attempt, ...] = ()


class TaskDetail(Struct, frozen=True, kw_only=True):
    """One task with everything that is recorded about it."""

    now: int
    task: Task
    rules: Recurring
    rescue_threshold: float = RESCUE_THRESHOLD
    attempts: tuple[Attempt, ...] = ()  # the newest, in their order
    checks: Mapping[int, tuple[CheckResult, ...]] = field(default_factory=dict)  # by the number of the attempt
    result: Any = None
    guidance: tuple[tuple[Guidance, Advice], ...] = ()  # what attempts are told, with the record of that advice
    retries: tuple[Retry, ...] = ()
    history: tuple[HistoryRow, ...] = ()
    after: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()  # those of `after` that are not completed
    subject: str = ""  # the task it serves; of what an incident owns, the one that is its example
    triage: Triage | None = None  # the one it runs, where it is the task of a triage
    triages: tuple[Triage, ...] = ()  # of its failures, the newest first
    question: Question | None = None
    questions: tuple[Question, ...] = ()
    held_back: Reason | None = None  # the first reason why it does not start
    candidate: Candidate | None = None  # what it was promoted from


class Explanation(Struct, frozen=True, kw_only=True):
    """Everything there is to say about where one task stands."""

    task: Task
    now: int
    reasons: tuple[Reason, ...]  # everything that holds it back, the first one first
    last_failure: Attempt | None
    known: Known | None  # of that failure
    retry: Retry | None
    question: Question | None
    chain: tuple[str, ...]  # what it waits for, and what that waits for
    coming: tuple[Forecast, ...]
    breaker: Breaker | None = None  # what holds it
    triage: Triage | None = None  # the last one of it
    triage_task: Task | None = None  # what runs that triage, while it is under way
    wanted: StartAnswer | None = None  # whether a triage that it wants may start
    agency: Breaker | None = None  # what keeps triages from starting
    newest: Attempt | None = None
    evaluation: CheckResult | None = None  # of the newest attempt
    rescue_threshold: float = RESCUE_THRESHOLD
    parts: tuple[Task, ...] = ()  # what it was split into
    engine: Worker | None = None  # what runs its live attempt
    orphaned: bool = False  # that engine is dead
    helper: Task | None = None  # what a person has to do for it first: a fix, a review, or what it comes after


class IncidentDetail(Struct, frozen=True, kw_only=True):
    """An incident with what it holds, what is asked about it, and what its triage found."""

    now: int
    breaker: Breaker
    held: int
    question: Question | None = None
    tasks: tuple[Task, ...] = ()  # some of those it holds
    triage: Triage | None = None


class Graph(Struct, frozen=True, kw_only=True):
    """Tasks and the edges between them."""

    now: int
    tasks: Mapping[str, Task]
    after: Mapping[str, tuple[str, ...]]  # task -> the shown tasks it comes after
    more: int = 0  # tasks that belong to it and are not shown


class ObservedWorker(Struct, frozen=True):
    """A worker and the attempts it is running, as the store knows them."""

    worker: Worker
    running: tuple[Attempt, ...] = ()

    def state(self, now: int) -> WorkerState:
        """Return alive while its lease lasts, expired until another engine takes over, then how it ended."""
        if self.worker.stopped_at is not None:
            return "crashed" if self.worker.how == "crashed" else "lost" if self.worker.how == "lost" else "stopped"
        return "alive" if self.worker.lease_until > now else "expired"


class Overview(Struct, frozen=True, kw_only=True):
    """What a person wants to know first."""

    now: int
    seq: int  # of the newest event it takes into account
    places: Mapping[int, int]  # how many open tasks stand where in a list
    done: int  # completed within a day
    questions: tuple[Question, ...]
    tasks: Mapping[str, Task]  # those that the questions are about
    breakers: tuple[tuple[Breaker, int], ...]  # those that are open, with how many tasks each holds
    workers: tuple[ObservedWorker, ...]
    running: TaskList
    waiting: TaskList
    next_wake: int | None = None
    empty: bool = False  # nothing was ever added


class OpenCase(Struct, frozen=True, kw_only=True):
    """What is still under way where the event log was read to, for the figures."""

    failures: int = 0  # in a row
    since: int = 0
    category: str = ""  # of the last failure
    person: bool = False  # had a hand in it


class FingerprintFigures(Struct, frozen=True, kw_only=True):
    """One kind of failure within a window."""

    fingerprint: str
    hours: tuple[tuple[int, int], ...]  # when, how often
    quiet_ms: int | None = None  # how long it was not seen before; None: never seen before
    known: Known | None = None


class Figures(Struct, frozen=True, kw_only=True):
    """What was counted within a window of whole hours."""

    since: int
    until: int
    done: Mapping[str, int]  # plain, healed, person, cancelled
    done_before: Mapping[str, int]  # in the window before it, as long
    attempts: Mapping[str, int]  # succeeded, failed, lost
    created: int
    heal: tuple[tuple[float, int], ...]  # at most so many seconds: how many
    retries: tuple[tuple[int, int], ...]  # failures before a success: how many
    retry_success: tuple[tuple[str, str, str, int, int], ...]  # category, agent, retry, how many, how many cured
    failures: tuple[tuple[int, str, int], ...]  # hour, category, how many
    cost: tuple[tuple[int, str, str, int, int], ...]  # hour, phase, agent, tokens, money in millionths
    failed_cost: int  # in millionths, of attempts that failed or were lost
    waited: tuple[tuple[str, str, int, int], ...]  # cause, of what, how many, milliseconds
    called: tuple[tuple[int, str, int], ...]  # hour, reason, how many
    fingerprints: tuple[FingerprintFigures, ...]  # the most common
    healed: Mapping[str, int]  # without anyone, by the category of the last failure
    tags: tuple[tuple[str, str, int], ...]  # tag, what became of the task or attempt, how many
    agents: tuple[tuple[str, str, int], ...]  # agent, how the attempt ended, how many


class StoreReport(Struct, frozen=True, kw_only=True):
    """What a check of the store found; empty lists mean that nothing is wrong."""

    kind: str
    damage: tuple[str, ...]
    standstills: tuple[tuple[str, str], ...]
    contradictions: tuple[tuple[str, str], ...]
    tasks: dict[str, int]
    rows: dict[str, int]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.damage or self.standstills or self.contradictions)
