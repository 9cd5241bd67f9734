"""A decision as a value: what is written and what is recorded of it. The store applies it in one transaction.

A write is a frozen record of any type; the store has a writer for it. `Draft` collects what happens to one record that
has a lifecycle, of whatever kind; for tasks it is the only place that computes `ready`, `recovery` and `since`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from medbay.core.diagnosis.record import Diagnosis
from medbay.core.holds import holding
from medbay.core.holds.breaker import Breaker
from medbay.core.lifecycles import LIFECYCLES, BlockKind
from medbay.core.machine import Machine
from medbay.core.model import DECIDED_ELSEWHERE, MUTEX, CheckResult, Event, Question, RetryStatus, Task, changed
from medbay.core.outcome import Output
from medbay.core.redaction import redact
from medbay.core.schedule import occurrences

TAGGED_EVENTS: Final = frozenset({"task:completed", "task:iteration_done", "task:failed", "task:cancelled"})
"""Events that carry the tags of their task, which may have others later: figures by tag are those of their time."""

Write = object  # any frozen record that `store.apply` has a writer for
W = TypeVar("W")


class Lifecycled(Protocol):
    """A record whose status changes by a table of `core.lifecycles`. A frozen Struct."""

    kind: ClassVar[str]  # names its events: `KIND:moved`
    __struct_fields__: ClassVar[tuple[str, ...]]

    @property
    def id(self) -> str:
        """What it is known by."""

    @property
    def status(self) -> Any:
        """Where it stands."""

    @property
    def lifecycle(self) -> str:
        """The name of its table."""

    @property
    def version(self) -> int:
        """How often its row was written."""


R = TypeVar("R", bound=Lifecycled)
R_co = TypeVar("R_co", bound=Lifecycled, covariant=True)


class Transition(Struct, frozen=True):
    """One step of a lifecycle, with who took it and why."""

    source: str
    target: str
    actor: str
    reason: str
    context: Mapping[str, Any] = field(default_factory=dict)


class Change(Struct, Generic[R_co], frozen=True):
    """A record as it was read and as it is to be; applied only if it is still as it was read."""

    before: R_co
    after: R_co
    transitions: tuple[Transition, ...] = ()


class AttemptEnd(Struct, frozen=True, kw_only=True):
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


class ChecksPlanned(Struct, frozen=True, kw_only=True):
    """The work of an attempt ended: what it left is recorded now, and these checks (or an evaluation) are to come."""

    task_id: str
    number: int
    results: tuple[CheckResult, ...]
    output: Output
    exit_code: int | None = 0
    signal: int | None = None
    failure: Mapping[str, Any] | None = None  # how it failed, where that is not settled yet


class ChecksEnded(Struct, frozen=True):
    """How the checks of an attempt ended; what is not among the results was stopped."""

    task_id: str
    number: int
    results: tuple[CheckResult, ...] = ()


class Rediagnosed(Struct, frozen=True, kw_only=True):
    """A person corrected why an attempt failed; whether it is charged is decided again with it."""

    task_id: str
    number: int
    diagnosis: Diagnosis
    charged: bool


class RetryClosed(Struct, frozen=True):
    """The pending retry of a task is executed or cancelled."""

    task_id: str
    status: RetryStatus
    emits: bool = True  # whether an event says so; not where there can hardly be one


class QuestionClosed(Struct, frozen=True, kw_only=True):
    """A task no longer waits for a question; `whole` closes the question itself."""

    question_id: str
    task_id: str
    whole: bool
    status: Literal["answered", "withdrawn"] = "answered"
    by: str
    answer: str


class QuestionSent(Struct, frozen=True, kw_only=True):
    """A question that is still open is sent once more than before, and again at this time."""

    question_id: str
    before: int
    send_at: int


class QuestionEnriched(Struct, frozen=True):
    """A question that is open already says more now: its need, why and evidence."""

    question: Question


class QuestionJoined(Struct, frozen=True):
    """One more task waits for the answer to a question that is open already."""

    question_id: str
    task_id: str


class Added(Struct, Generic[R_co], frozen=True):
    """A new record that a rule of ours makes, as `Draft.change` left it; a task with the tasks it comes after."""

    change: Change[R_co]
    after: tuple[str, ...] = ()


class Rewired(Struct, frozen=True):
    """A task that came after one now comes after another; `source` None adds an edge."""

    task_id: str
    source: str | None
    target: str


class Effect(Struct, frozen=True):
    """Work for an integration, done at least once and known by its key."""

    key: str
    kind: str
    payload: Mapping[str, Any]


class WorkingSet(Struct, frozen=True, kw_only=True):
    """What several tasks share in one transaction; each rule sees what the ones before it did."""

    questions: Mapping[str, str] = field(default_factory=dict)  # scope -> id of the open question
    breakers: Mapping[str, Breaker] = field(default_factory=dict)  # those that are not closed, by key
    counted: Mapping[str, Breaker] = field(default_factory=dict)  # closed ones that counted a failure just now
    sightings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # fingerprint -> tasks and their commands

    @property
    def parks(self) -> bool:
        """Whether a breaker holds tasks now, so that what is ready has to be checked before it is claimed."""
        return bool(self.breakers) and any(each.rule.parks for each in self.breakers.values())


class Decision(Struct, frozen=True, kw_only=True):
    """Everything one rule wants done. Nothing has happened until the store applied it.

    The order of writes of different types means nothing: the store has its own.
    """

    writes: tuple[Write, ...] = ()
    events: tuple[Event, ...] = ()
    work: WorkingSet = field(default_factory=WorkingSet)

    @property
    def changes(self) -> tuple[Change[Task], ...]:
        """What becomes of tasks that exist already."""
        return tuple(each for each in self.writes if isinstance(each, Change) and isinstance(each.after, Task))

    def all(self, kind: type[W]) -> tuple[W, ...]:
        """The writes of one type, in their order."""
        return tuple(each for each in self.writes if isinstance(each, kind))

    def first(self, kind: type[W]) -> W | None:
        """The first write of a type, where there is one."""
        return next((each for each in self.writes if isinstance(each, kind)), None)

    def without(self, kind: type[W]) -> Decision:
        """The same without any write of one type."""
        return replace(self, writes=tuple(each for each in self.writes if not isinstance(each, kind)))

    def plus(self, *writes: Write | None, events: Iterable[Event] = ()) -> Decision:
        """The same with more writes (None is none) and more events."""
        return replace(self, writes=(*self.writes, *filter(None, writes)), events=(*self.events, *events))


NOTHING: Final = Decision()


def together(*decisions: Decision) -> Decision:
    """Decisions of one transaction as one, with the working set of the first."""
    made = [each for each in decisions if each is not NOTHING]
    if len(made) < 2:
        return made[0] if made else NOTHING
    writes = tuple(chain.from_iterable(map(_writes_of, made)))
    events = tuple(chain.from_iterable(map(_events_of, made)))
    return Decision(writes=writes, events=events, work=made[0].work)


_writes_of: Final = attrgetter("writes")
_events_of: Final = attrgetter("events")


class Draft(Generic[R]):
    """Collects the decision about one record. Every move is checked against the lifecycle of its kind."""

    def __init__(self, record: R, now: int, *, actor: str, machine: Machine | None = None) -> None:
        """`machine` is the table it moves by, where that is a user's own; else the one its kind names."""
        self.before: R = record
        self.now = now
        self.actor = actor
        self.events: list[Event] = []
        self._machine = machine
        self._record = record
        self._set: dict[str, Any] = {}  # what is set and not in the record yet: making one takes a while
        self._transitions: list[Transition] = []
        self._told: dict[str, Any] = {}

    def tell(self, context: Mapping[str, Any]) -> None:
        """What the first move of this decision has in its context besides."""
        self._told.update(context)

    @property
    def record(self) -> R:
        """The record as it is to be."""
        if self._set:
            self._record = changed(self._record, **self._set)  # type: ignore[type-var]
            self._set.clear()
        return self._record

    @record.setter
    def record(self, record: R) -> None:
        self._record = record
        self._set.clear()

    task = record  # of a draft of a task

    def set(self, **fields: Any) -> None:
        """Change fields that are not the status."""
        self._set.update(fields)

    def move(self, target: str, reason: str, **context: Any) -> None:
        """Take one step of the lifecycle; what is no task says so in an event of its own."""
        source = self._set.get("status", self._record.status)
        lifecycle = self._machine or LIFECYCLES[self.before.lifecycle]
        if (source, target) not in lifecycle.steps:
            lifecycle.refuse(self.before.id, source, target, open_to=self._open_to(lifecycle, source))
        guard = lifecycle.guards.get((source, target)) if lifecycle.guards else None
        if guard is not None and not self.record.permits(guard, target):  # type: ignore[attr-defined]
            lifecycle.refuse(self.before.id, source, target, guard=guard, open_to=self._open_to(lifecycle, source))
        context = {**self._told, **context} if self._told else context
        self._told.clear()
        self._transitions.append(Transition(source, target, self.actor, reason, context))
        ended = self.now if target in lifecycle.terminal else None
        stamped = {"status": target, "since": self.now, "reason": reason, "ended_at": ended}
        if isinstance(self.before, Task):
            self._set.update(stamped)
            return
        self._set.update((name, value) for name, value in stamped.items() if name in self.before.__struct_fields__)
        moved = {"from": source, "to": target, "by": self.actor, "why": reason}
        self.emit(f"{self.before.kind}:moved", **moved)

    def _open_to(self, lifecycle: Machine, source: str) -> list[str]:
        """Where a status leads that the guards let this record take."""
        guards, record = lifecycle.guards, self.record
        return [
            each
            for each in lifecycle.allowed(source)
            if (source, each) not in guards or record.permits(guards[source, each], each)  # type: ignore[attr-defined]
        ]

    def block(self: Draft[Task], kind: BlockKind, reason: str, *, until: int | None = None, **context: Any) -> None:
        """Stop until a person or something else releases it; `until` only for kinds that time out."""
        if self.task.status == "pending":  # what is planned has not run
            self.set(planned_at=occurrences.accounted_until(self.task))
        self.move("blocked", reason, kind=kind, **context)
        self.set(block_kind=kind, due_at=until, forced=False, wants_triage=False)
        if self.task.waits_for in DECIDED_ELSEWHERE:
            self.set(waits_for=None)
        self.emit("task:blocked", kind=kind, reason=reason)

    def ask(self: Draft[Any], asked: Question) -> Question:
        """Put a question to a person about this record, which counts its questions."""
        self.set(questions=self.record.questions + 1)
        asked = replace(asked, need=redact(asked.need), why=redact(asked.why), evidence=redact(asked.evidence))
        self.emit("question:asked", question=asked.id, need=asked.need, why=asked.why)
        return asked

    def escalate(
        self: Draft[Task],
        why: str,
        *,
        attempt: int,
        asked: Question | None = None,
        known: str | None = None,
        blocks: bool = True,
    ) -> tuple[Question, ...]:
        """Leave it to a person: with a new question, or with the one that is open already (`known`)."""
        self.emit("task:recovery_action", attempt=attempt, action="escalate_to_human", why=why)
        questions = (self.ask(asked),) if asked is not None else ()
        self.emit("task:escalated", attempt=attempt, reason=why, question=asked.id if asked is not None else known)
        if blocks:
            self.block("human", why, attempt=attempt)
        return questions

    def emit(self, name: str, *, attempt: int | None = None, **data: Any) -> None:
        """Record an event about this record; one about anything but a task names it in its data."""
        task_id = self.before.id if isinstance(self.before, Task) else None
        about = data if task_id is not None else {self.before.kind: self.before.id, **data}
        if name in TAGGED_EVENTS and isinstance(self.before, Task) and self.before.tags:
            about["tags"] = list(self.before.tags)
        self.events.append(Event(name=name, task_id=task_id, attempt=attempt, data=about))

    def change(self) -> Change[R]:
        """The finished change; what follows from the fields of a task is computed."""
        record = self.record
        if isinstance(record, Task):
            assert isinstance(self.before, Task)
            record = changed(record, **_derived(self.before, record, self.now))
        return Change(self.before, record, tuple(self._transitions))

    def decision(self, *writes: Write | None, work: WorkingSet | None = None) -> Decision:
        """The change and its events, with other writes (None is none)."""
        mine = tuple(filter(None, (self.change(), *writes)))
        events = tuple(self.events)
        return Decision(writes=mine, events=events) if work is None else Decision(writes=mine, events=events, work=work)


def _derived(before: Task, task: Task, now: int) -> dict[str, Any]:
    """What a task's other fields say: whether it is ready and since when, and whose share of the slots it uses."""
    ready = holding.is_ready(task, now)
    derived: dict[str, Any] = {
        "recovery": task.streak > 0 or task.canary or task.role == "triage",
        "hold": _hold(task) if ready else None,
        "endless": task.recurs and task.max_iterations is None,
        "expect_at": None if task.finished else task.expect_at,
        "slow_at": None if task.live is None else task.slow_at,
    }
    if ready and not before.ready:
        derived |= {"ready": True, "ready_at": now if task.due_at is None else task.due_at, "due_at": None}
    elif not ready:
        derived |= {"ready": False, "ready_at": None}
    return derived


def _hold(task: Task) -> str | None:
    """What a ready task is parked under. Behind a mutex it always is: only a claim takes it from there."""
    parked = None if task.forced or task.canary else task.hold
    if parked is not None and not parked.startswith(MUTEX):
        return parked
    return task.behind_mutex or None
