"""Frozen records of the domain. A field here is a column of the store with the same name."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from operator import ne
from typing import Any, ClassVar, Final, Literal

from msgspec import Struct, field, structs

from medbay.core.diagnosis.record import Diagnosis
from medbay.core.lifecycles import BlockKind, Status

DEFAULT_QUEUE: Final = "default"
PRIVATE_QUEUES: Final = "run-"  # the queue of one `medbay run` begins so; no other engine serves it
DEFAULT_PRIORITY: Final = 2
PRIORITIES: Final = range(5)  # 0 is most urgent
TITLE_MAX: Final = 500
TEXT_MAX: Final = 200_000  # description and specification
CHECKS_MAX: Final = 50
CHECK_TIMEOUT_MS: Final = 300_000
FAILURE_RESTARTS: Final = 3
SHELL: Final = "shell"  # the runner of what is a command
PYTHON: Final = "python"  # the runner of what calls a function
ISOLATED: Final = "isolated"  # the last word of a call in a process of its own
PERSON: Final = "person"  # the runner of what no engine ever claims
TURN: Final = "turn"  # what a task of a loop waits for
BOOT: Final = "boot"  # what a task waits for that runs once after each start of its machine
HERE: Final = "here"  # the place of a task that names none: the machine of its engine
MUTEX: Final = "mutex:"  # what the key begins with that tasks are parked under behind a mutex
TRIAGE: Final = "triage"  # what a one-off at rung 3 waits for
TRACKER: Final = "tracker"  # what an issue waits for: its record is cleared there, or its parts are made
DECIDED_ELSEWHERE: Final = (TRIAGE, TRACKER)  # what a person's word or a block stands over

RetryStatus = Literal["pending", "executed", "cancelled"]
QuestionStatus = Literal["open", "answered", "withdrawn"]
CatchUp = Literal["none", "one", "all"]
Advised = Literal["", "takes", "none"]
Role = str  # what a task is to its owner: triage, review, fix, part, follow_up; a member of a loop has none
CheckStatus = Literal["WAITING", "RUNNING", "PASS", "FAIL", "ERROR", "TIMEOUT", "STOPPED"]


class Guidance(Struct, frozen=True):
    """What was learnt from one failure, for the attempt with this number."""

    attempt: int
    advice: str
    text: str
    fingerprint: str = ""  # of the failure it was given against
    cured: bool | None = None  # whether the attempt that got it succeeded; None: not known yet
    answer: str = ""  # to what an agent asked, in a person's own words


class Check(Struct, frozen=True):
    """A command that checks the result of an attempt; a required one may not time out."""

    command: tuple[str, ...] | str
    required: bool = False


class Owner(Struct, frozen=True):
    """What something belongs to: a record of any kind, by its id. Of an incident or a hold that is its key."""

    kind: str
    id: str


class Task(Struct, frozen=True):
    """A unit of work. Statuses change only through `store.apply`."""

    kind: ClassVar[str] = "task"
    lifecycle: ClassVar[str] = "task"

    id: str
    title: str
    runner: str = SHELL
    command: tuple[str, ...] | str = ()
    shell: str = ""  # what runs its lines and those of its checks; nothing: sh
    advice: Advised = ""  # whether its command can take any; nothing: what it runs says so itself
    cwd: str = ""
    env: tuple[tuple[str, str], ...] = ()
    description: str = ""
    spec: str = ""
    timeout_ms: int | None = None
    memory_bytes: int | None = None
    cpu_ms: int | None = None
    stall_ms: int | None = None  # without progress for so long it is ended; 0: never, None: by its runner
    priority: int = DEFAULT_PRIORITY
    queue: str = DEFAULT_QUEUE
    tags: tuple[str, ...] = ()
    policy: str = ""
    resources: tuple[str, ...] = ()
    env_file: str = ""  # a file of variables that is read when an attempt starts
    env_from: tuple[str, ...] = ()  # names of variables that come from the environment of the engine
    mutex: str = ""  # of those that name it at most one runs at a time, on all engines together
    place: str = ""  # where its attempts run, by the name of its settings; nothing: on the machine of its engine
    checks: tuple[Check, ...] = ()
    check_timeout_ms: int = CHECK_TIMEOUT_MS
    fail_fast: bool = False
    threshold: float = 1.0  # the share of checks that has to pass, among those that answered
    key: str | None = None
    cron: str = ""
    zone: str = ""
    every_ms: int | None = None  # of a loop: the delay before each round
    catch_up: CatchUp = "one"
    expect_by: str = ""  # the time of day by which it has to have succeeded, as 06:00
    max_iterations: int | None = None
    max_failure_restarts: int = FAILURE_RESTARTS
    owner_kind: str = ""  # task, incident, loop: a row of `core.owners` says what its end means there
    owner_id: str = ""  # of a task, the key of an incident, of a loop the task that began it
    role: Role = ""  # what it is to its owner
    position: int = 0  # among those with the same owner and role: its place in a loop or a split
    model: str = ""  # of an agent; empty: the one of its profile
    fresh_session: bool = False  # its next attempt begins a session of its own
    agents: tuple[tuple[str, tuple[str, ...]], ...] = ()  # those that may go on with it, each with what it needs
    takes_input: bool = False  # it is handed the results of the tasks it comes after
    max_tokens: int | None = None
    max_cost: int | None = None  # in millionths of the currency
    worktree: str = ""  # of an agent: "yes" or "no"; empty, as what follows: what its profile says
    setup: str = ""
    copies: tuple[str, ...] = ()
    on_pass: str = ""
    created_at: int = 0
    created_by: str = ""

    status: Status = "pending"
    since: int = 0
    version: int = 0
    block_kind: BlockKind | None = None
    reason: str = ""
    paused: bool = False
    cancel_requested: bool = False
    waits_for: str | None = None  # what has to come first: an owned task, by its role; its "turn" there; a "boot"
    unmet: int = 0  # how many tasks it comes after are not completed
    due_at: int | None = None
    ready: bool = False
    ready_at: int | None = None
    hold: str | None = None  # key of the breaker or incident it is parked under
    recovery: bool = False
    canary: bool = False
    forced: bool = False  # a person's retry: passes due time and holds, once

    expect_at: int | None = None  # when it is looked at next whether it ended by then
    slow_at: int | None = None  # from when on its live attempt takes much longer than it used to

    live: int | None = None  # number of the live attempt
    attempts: int = 0
    streak: int = 0
    charged: int = 0
    uncharged: int = 0
    uncharged_since: int | None = None
    failing_since: int | None = None  # when the first failure of the streak was
    granted: int = 0  # charged attempts that people granted in this streak
    asks_at: int = 0  # charged count at which the last grant is used up
    crashes: int = 0
    iteration: int = 1  # the one that runs now or next
    iterations_done: int = 0  # how many succeeded
    planned_at: int | None = None  # of the occurrence that runs now or next; after a failure, of the one that failed
    restarts: int = 0  # rounds of its loop that failed in a row, counted by the owner
    endless: bool = False  # recurs without a number of iterations
    wants_triage: bool = False  # the next cycle starts a triage of it, or says why not
    triages: int = 0  # how many were ever started
    triaged_at: int | None = None  # when the last one was started; its cooldown begins there
    questions: int = 0
    guidance: tuple[Guidance, ...] = ()

    last_category: str = ""  # category/subcategory of the newest failure
    last_fingerprint: str = ""
    last_summary: str = ""
    warning: str = ""  # what the log of its last success says against it
    ended_at: int | None = None

    @property
    def finished(self) -> bool:
        """Completed or cancelled: it goes nowhere from here."""
        return self.status in ("completed", "cancelled")

    @property
    def behind_mutex(self) -> str:
        """The key it is parked under while it is ready and waits for its mutex; empty without one."""
        return MUTEX + self.mutex if self.mutex else ""

    @property
    def recurs(self) -> bool:
        """Whether it has more than one iteration: by cron, every so often, or in a loop."""
        return bool(self.cron) or self.every_ms is not None or self.owner_kind == "loop"

    @property
    def owner(self) -> Owner | None:
        """What it belongs to."""
        return Owner(self.owner_kind, self.owner_id) if self.owner_kind else None

    @property
    def loop(self) -> str:
        """The id of the task that began the loop it belongs to, or nothing."""
        return self.owner_id if self.owner_kind == "loop" else ""

    @property
    def subject(self) -> str:
        """The id of the task that owns it, or nothing."""
        return self.owner_id if self.owner_kind == "task" else ""


TASK_FIELDS: Final = Task.__struct_fields__
changed: Final = structs.replace  # the record with these fields, every other as it was


def changed_fields(before: Struct, after: Struct) -> tuple[str, ...]:
    """The names of the fields in which two states of a record differ."""
    return tuple(compress(before.__struct_fields__, map(ne, structs.astuple(before), structs.astuple(after))))


class Attempt(Struct, frozen=True):
    """One execution of a task. (task_id, number) is also the fence of the engine that runs it."""

    task_id: str
    number: int
    worker_id: str
    host: str
    iteration: int = 1
    planned_at: int | None = None
    started_at: int = 0
    canary: bool = False
    forced: bool = False
    pid: int | None = None
    pid_start: int | None = None
    log_path: str = ""
    ended_at: int | None = None
    outcome: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    charged: bool = False
    diagnosis: Diagnosis | None = None
    guidance: str = ""
    policy_hash: str = ""
    tokens: int | None = None
    cost: int | None = None  # in millionths of the currency
    failure: Mapping[str, Any] | None = None  # how its work failed, once it is to be evaluated
    agent: str = ""  # the profile that worked on it
    model: str = ""  # as the agent named it
    session: str = ""  # of the agent, in which the work can go on
    resumes: str = ""  # the session it went on with
    tokens_in: int | None = None
    tokens_out: int | None = None
    tool_calls: int | None = None
    place: str = ""  # where it runs; nothing: on the machine of its engine


class Triage(Struct, frozen=True, kw_only=True):
    """The examination of a failing task by something smarter than a timer; its id is that of the task that runs it."""

    id: str
    task_id: str  # the failing task; of an incident, one that failed like the others
    number: int  # the attempt it judges
    fingerprint: str
    agent: str
    started_at: int
    since_seq: int = 0  # the newest event when it started: what happened to the task since makes a verdict stale
    ended_at: int | None = None
    action: str = ""  # the result, one of `core.triage.actions`
    detail: str = ""
    verdict: Mapping[str, Any] | None = None
    diff: Mapping[str, Any] | None = None  # what an ADJUST changed: name -> [before, after]
    incident: str = ""  # the key of the incident it examines, with its task as an example


class CheckResult(Struct, frozen=True):
    """One check of one attempt, in its newest round; WAITING and RUNNING until it has ended."""

    task_id: str
    number: int
    position: int  # from 1, in the order the task names them
    command: tuple[str, ...] | str
    required: bool = False
    status: CheckStatus = "WAITING"
    exit_code: int | None = None
    signal: int | None = None
    round: int = 0  # how often the checks were begun; more than once after a lost worker
    started_at: int | None = None
    ended_at: int | None = None
    head: str = ""
    tail: str = ""
    total_bytes: int = 0
    log_path: str = ""


class Retry(Struct, frozen=True):
    """A scheduled next attempt: the record of why; the engine itself reads `Task.due_at`."""

    task_id: str
    attempt: int  # the failed attempt that caused it
    category: str
    action: str
    scheduled_at: int
    due_at: int
    delay_ms: int
    error: str = ""
    guidance: str = ""
    status: RetryStatus = "pending"
    executed_at: int | None = None
    outcome: str | None = None
    policy_hash: str = ""
    learned: str = ""  # why the delay is not the schedule's, where it was learned from earlier retries


class Option(Struct, frozen=True):
    """One possible answer and what it will do."""

    label: str
    effect: str  # with the kind of the owner a row of `core.people.answer.EFFECTS`
    consequence: str


class Question(Struct, frozen=True, kw_only=True):
    """What a person is asked: one open question per task, or one for all that share a cause."""

    id: str
    need: str
    why: str
    evidence: str = ""
    options: tuple[Option, ...] = ()
    default: int = 1
    owner: Owner | None = None  # what it is about; None where a version before this one asked and did not say
    free_text: bool = False  # whether any words are an answer: they go to the default option
    scope: str | None = None  # tasks with the same scope join this question
    task_ids: tuple[str, ...] = ()
    status: QuestionStatus = "open"
    asked_at: int = 0
    answered_at: int | None = None
    answered_by: str = ""
    answer: str = ""
    send_at: int | None = None  # when it is sent again without an answer
    sent: int = 1
    remembered: int = 0  # the option a person chose last time in the same scope; of what is shown, not stored


class Worker(Struct, frozen=True):
    """An engine that claims tasks, with the one lease all its attempts live under."""

    id: str
    host: str
    machine_id: str
    boot_id: str
    pid: int
    pid_start: int
    slots: int
    queues: tuple[str, ...]
    started_at: int
    beat_at: int
    lease_until: int
    policy_hash: str = ""
    stopped_at: int | None = None
    how: str = ""  # how it ended: stopped, lost, crashed
    short_of: str = ""  # what its machine lacks, in words, while retries wait for that
    places: tuple[tuple[str, str], ...] = ()  # the places it starts attempts at, each with why it cannot be reached


class HistoryRow(Struct, frozen=True, kw_only=True):
    """One transition that happened."""

    task_id: str
    source: Status
    target: Status
    actor: str
    reason: str
    at: int
    context: dict[str, Any] = field(default_factory=dict)


class Event(Struct, frozen=True, kw_only=True):
    """An append-only record of something that happened."""

    name: str
    task_id: str | None = None
    attempt: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    seq: int = 0
    at: int = 0
