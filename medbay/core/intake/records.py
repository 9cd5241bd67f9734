"""What intake keeps: captures, events, snapshots, workorders, run records, candidates; and what is written of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal

from msgspec import Struct

RUNNER: Final = "intake"  # of the task that runs a workorder, and its role
QUEUE: Final = "intake"  # of a workorder that a person runs with `medbay intake`
OBJECTIVE: Final = "intake"  # the standing objective that every snapshot belongs to
TRIAGE: Final = "TRIAGE"
SCHEDULED: Final = "SCHEDULED"
NO_PENDING_CAPTURES: Final = "NO_PENDING_CAPTURES"
CAPTURE_MAX: Final = 20_000  # characters
GateResult = Literal["PASS", "FAIL"]


class Capture(Struct, frozen=True, kw_only=True):
    """A thought as it was written down; nobody had to structure it."""

    kind: ClassVar[str] = "capture"
    lifecycle: ClassVar[str] = "capture"

    id: str
    text: str
    created_at: int = 0
    created_by: str = ""
    tries: int = 0  # workorders that failed on it
    workorder: str = ""  # the open one it belongs to; of a processed one, the one that passed
    status: str = "PENDING"
    since: int = 0
    reason: str = ""
    version: int = 0


class Workorder(Struct, frozen=True, kw_only=True):
    """One request to a triage agent: what it is shown is its snapshot, how long it may take its budget."""

    kind: ClassVar[str] = "workorder"
    lifecycle: ClassVar[str] = "workorder"

    id: str
    event_id: int
    snapshot_id: str
    type: str = TRIAGE
    agent: str = "rules"
    branch_name: str | None = None
    budget_ms: int = 300_000
    max_tries: int = 3
    promote_above: float = 0.0  # 0: never
    task_id: str = ""  # the task that runs it
    bundle: Mapping[str, Any] | None = None
    questions: int = 0
    created_at: int = 0
    status: str = "CREATED"
    since: int = 0
    reason: str = ""
    version: int = 0


class Candidate(Struct, frozen=True, kw_only=True):
    """A candidate objective that a person may promote."""

    kind: ClassVar[str] = "candidate"
    lifecycle: ClassVar[str] = "candidate"

    id: str
    workorder: str
    title: str
    description: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    captures: tuple[str, ...] = ()
    confidence: float = 0.0
    task_id: str = ""  # what it was promoted to
    created_at: int = 0
    status: str = "PROPOSED"
    since: int = 0
    reason: str = ""
    version: int = 0


class ContextSnapshot(Struct, frozen=True, kw_only=True):
    """What an agent is shown; the database refuses to change it."""

    id: str
    objective_id: str
    repo_commit_sha: str | None
    full_prompt_text: str
    related_refs: tuple[str, ...] = ()
    created_at: int = 0


class RunRecord(Struct, frozen=True, kw_only=True):
    """What the gate said of a workorder: one for each, however often it is written."""

    workorder_id: str
    gate_result: GateResult
    gate_reason: str
    at: int


class CaptureEvent(Struct, frozen=True, kw_only=True):
    """A `capture:ready` event: claimed by one worker at a time, processed once."""

    id: int
    at: int
    due_at: int
    claimed_by: str = ""
    claimed_until: int | None = None
    processed_at: int | None = None
    reason: str = ""
    workorder_id: str = ""


class CaptureReady(Struct, frozen=True, kw_only=True):
    """A new `capture:ready` event is written, for now or for later."""

    due_at: int


class CaptureEventProcessed(Struct, frozen=True, kw_only=True):
    """An event is processed and its claim released, by the worker that has it."""

    event_id: int
    by: str
    reason: str
    workorder_id: str = ""


class CapturesTaken(Struct, frozen=True, kw_only=True):
    """These captures belong to an open workorder; the database lets each belong to one."""

    workorder_id: str
    capture_ids: tuple[str, ...]


class CapturesFreed(Struct, frozen=True, kw_only=True):
    """A workorder ended: its captures belong to no open one any more."""

    workorder_id: str
