"""A decision as a value: what changes, what is recorded, what is told. The store applies it in one transaction.

`Draft` collects one while a rule thinks; it is the only place that computes `ready`, `recovery` and `since`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Final, Literal

from medbay.core.attempt.knowledge import Learned
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.holds import holding
from medbay.core.holds.breaker import Breaker, BreakerChange, CommandUse
from medbay.core.lifecycles import TASK, BlockKind, Status
from medbay.core.model import TRIAGE, CheckResult, Event, Question, Retry, RetryStatus, Task, Triage, changed
from medbay.core.outcome import Output
from medbay.core.quick import quick
from medbay.core.schedule import occurrences


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of a lifecycle, with who took it and why."""

    source: Status
    target: Status
    actor: str
    reason: str
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """A task as it was read and as it is to be; applied only if it is still as it was read."""

    before: Task
    after: Task
    transitions: tuple[Transition, ...] = ()


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """How one attempt is recorded, by the worker that still holds its fence."""

    task_id: str
    number: int
    worker_id: str
    outcome: str
    exit_code: int | None = None
    signal: int | None = None
    charged: bool = False
    diagnosis: Diagnosis | None = None
    output: Output = field(default_factory=Output)
    policy_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksPlanned:
    """The work of an attempt ended: what it left is recorded now, and these checks (or an evaluation) are to come."""

    task_id: str
    number: int
    results: tuple[CheckResult, ...]
    output: Output
    exit_code: int | None = 0
    signal: int | None = None
    failure: Mapping[str, Any] | None = None  # how it failed, where that is not settled yet


@dataclass(frozen=True, slots=True)
class ChecksEnded:
    """How the checks of an attempt ended; what is not among the results was stopped."""

    task_id: str
    number: int
    results: tuple[CheckResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rediagnosed:
    """A person corrected why an attempt failed; whether it is charged is decided again with it."""

    task_id: str
    number: int
    diagnosis: Diagnosis
    charged: bool


@dataclass(frozen=True, slots=True)
class RetryClosed:
    """The pending retry of a task is executed or cancelled."""

    task_id: str
    status: RetryStatus
    told: bool = True  # whether an event says so; not where there can hardly be one


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionClosed:
    """A task no longer waits for a question; `whole` closes the question itself."""

    question_id: str
    task_id: str
    whole: bool
    status: Literal["answered", "withdrawn"] = "answered"
    by: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSent:
    """A question that is still open is sent once more than before, and again at this time."""

    question_id: str
    before: int
    send_at: int


@dataclass(frozen=True, slots=True)
class QuestionJoined:
    """One more task waits for the answer to a question that is open already."""

    question_id: str
    task_id: str


@dataclass(frozen=True, slots=True)
class Added:
    """A new task that a rule of ours makes, as `Draft.change` left it, with the tasks it comes after."""

    change: Change
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewired:
    """A task that came after one now comes after another; `source` None adds an edge."""

    task_id: str
    source: str | None
    target: str


@dataclass(frozen=True, slots=True)
class Effect:
    """Work for an integration, done at least once and known by its key."""

    key: str
    kind: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingSet:
    """What several tasks share in one transaction; each rule sees what the ones before it did."""

    questions: Mapping[str, str] = field(default_factory=dict)  # scope -> id of the open question
    breakers: Mapping[str, Breaker] = field(default_factory=dict)  # those that are not closed, by key
    counted: Mapping[str, Breaker] = field(default_factory=dict)  # closed ones that counted a failure just now
    sightings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # fingerprint -> tasks and their commands

    @property
    def parks(self) -> bool:
        """Whether a breaker holds tasks now, so that what is ready has to be looked at before it is claimed."""
        return any(each.rule.parks for each in self.breakers.values())


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Everything one rule wants done. Nothing has happened until the store applied it."""

    changes: tuple[Change, ...] = ()
    added: tuple[Added, ...] = ()
    rewired: tuple[Rewired, ...] = ()
    triages: tuple[Triage, ...] = ()  # started or ended now; saved under their id
    attempt_end: AttemptEnd | None = None
    checks_planned: ChecksPlanned | None = None
    checks_ended: ChecksEnded | None = None
    rediagnosed: Rediagnosed | None = None
    learned: tuple[Learned, ...] = ()
    retry: Retry | None = None
    retries_closed: tuple[RetryClosed, ...] = ()
    retry_outcome: str | None = None  # how the attempt a retry led to ended
    questions: tuple[Question, ...] = ()
    question_joined: QuestionJoined | None = None
    questions_closed: tuple[QuestionClosed, ...] = ()
    questions_sent: tuple[QuestionSent, ...] = ()
    questions_enriched: tuple[Question, ...] = ()  # open ones that say more now
    events: tuple[Event, ...] = ()
    effects: tuple[Effect, ...] = ()
    breakers: tuple[BreakerChange, ...] = ()
    uses: tuple[CommandUse, ...] = ()
    work: WorkingSet = field(default_factory=WorkingSet)


NOTHING: Final = Decision()


def together(*decisions: Decision) -> Decision:
    """Decisions of one transaction as one; of what there can be only one, the first one's."""
    made = [each for each in decisions if each is not NOTHING]
    if len(made) < 2:
        return made[0] if made else NOTHING
    merged: dict[str, Any] = {}
    for each in fields(Decision):
        values = [getattr(one, each.name) for one in made]
        if isinstance(values[0], tuple):
            merged[each.name] = tuple(chain.from_iterable(values))
        else:
            merged[each.name] = next((value for value in values if value is not None), None)
    return Decision(**merged)


class Draft:
    """Collects the decision about one task. Every move is checked against the lifecycle."""

    def __init__(self, task: Task, now: int, *, actor: str) -> None:
        self.before = task
        self.now = now
        self.actor = actor
        self.events: list[Event] = []
        self._task = task
        self._set: dict[str, Any] = {}  # what is set and not in the task yet: making one takes a while
        self._transitions: list[Transition] = []

    @property
    def task(self) -> Task:
        """The task as it is to be."""
        if self._set:
            self._task = changed(self._task, **self._set)
            self._set.clear()
        return self._task

    @task.setter
    def task(self, task: Task) -> None:
        self._task = task
        self._set.clear()

    def set(self, **fields: Any) -> None:
        """Change fields that are not the status."""
        self._set.update(fields)

    def move(self, target: Status, reason: str, **context: Any) -> None:
        """Take one step of the lifecycle."""
        source = self._set.get("status", self._task.status)
        TASK.check(self.before.id, source, target)
        self._transitions.append(Transition(source, target, self.actor, reason, context))
        ended = self.now if target in TASK.terminal else None
        self._set.update(status=target, since=self.now, reason=reason, ended_at=ended)

    def block(self, kind: BlockKind, reason: str, *, until: int | None = None, **context: Any) -> None:
        """Stop until somebody or something releases it; `until` only for kinds that time out."""
        if self.task.status == "pending":  # what is planned has not run
            self.set(planned_at=occurrences.accounted_until(self.task))
        self.move("blocked", reason, kind=kind, **context)
        self.set(block_kind=kind, due_at=until, forced=False, wants_triage=False)
        if self.task.waits_for == TRIAGE:
            self.set(waits_for=None)
        self.tell("task:blocked", kind=kind, reason=reason)

    def ask(self, asked: Question) -> Question:
        """Put a question to a person about this task."""
        self.set(questions=self.task.questions + 1)
        self.tell("question:asked", question=asked.id, need=asked.need, why=asked.why)
        return asked

    def escalate(
        self, why: str, *, attempt: int, asked: Question | None = None, known: str | None = None, blocks: bool = True
    ) -> tuple[Question, ...]:
        """Leave it to a person: with a new question, or with the one that is open already (`known`)."""
        self.tell("task:recovery_action", attempt=attempt, action="escalate_to_human", why=why)
        questions = (self.ask(asked),) if asked is not None else ()
        self.tell("task:escalated", attempt=attempt, reason=why, question=asked.id if asked is not None else known)
        if blocks:
            self.block("human", why, attempt=attempt)
        return questions

    def tell(self, name: str, *, attempt: int | None = None, **data: Any) -> None:
        """Record an event about this task."""
        self.events.append(Event(name=name, task_id=self.before.id, attempt=attempt, data=data))

    def change(self) -> Change:
        """The finished change, with the derived fields computed."""
        task = self.task
        ready = holding.is_ready(task, self.now)
        derived: dict[str, Any] = {
            "recovery": task.streak > 0 or task.canary or task.role == "triage",
            "hold": task.hold if ready and not (task.forced or task.canary) else None,
            "endless": task.recurs and task.max_iterations is None,
        }
        if ready and not self.before.ready:
            derived |= {"ready": True, "ready_at": self.now if task.due_at is None else task.due_at, "due_at": None}
        elif not ready:
            derived |= {"ready": False, "ready_at": None}
        return Change(self.before, changed(task, **derived), tuple(self._transitions))
