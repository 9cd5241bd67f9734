"""Between the end of the work and the gate's answer: the checks belong to the attempt, which stays live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from medbay.core import gate
from medbay.core.decision import ChecksPlanned, Decision, Draft, WorkingSet
from medbay.core.diagnosis.ours import known
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.gate import Gate
from medbay.core.model import Check, CheckResult, Task
from medbay.core.outcome import Failed, Output, Succeeded

ROUNDS_MAX: Final = 3  # how often the checks of one attempt are begun before the attempt itself is repeated
GATE_ERROR: Final = "gate_error"
EXCERPT_MAX: Final = 300
_EVENTS: Final = {"PASS": "gate:passed", "FAIL": "gate:failed", "ERROR": "gate:error"}


def plan(draft: Draft, number: int, checks: tuple[Check, ...], outcome: Succeeded, work: WorkingSet) -> Decision:
    """The work ended well; whether its result counts is for its checks to say."""
    results = gate.planned(checks, draft.task.id, number)
    draft.move("pending_verification", f"attempt {number} ended well, its checks are to come", attempt=number)
    draft.tell("task:verifying", attempt=number, checks=[gate.shown(each.command) for each in results])
    ended = ChecksPlanned(
        task_id=draft.task.id,
        number=number,
        results=results,
        output=outcome.output,
        exit_code=outcome.exit_code,
    )
    return Decision(changes=(draft.change(),), checks_planned=ended, events=tuple(draft.events), work=work)


def on_checks_taken_over(task: Task, now: int, *, number: int, worker_id: str, why: str, crashed: bool) -> Decision:
    """Its worker is gone, its result is not: another engine of the same host repeats the checks alone."""
    draft = Draft(task, now, actor=f"worker:{worker_id}")
    draft.set(crashes=task.crashes + (1 if crashed else 0))
    draft.tell("task:verifying", attempt=number, worker=worker_id, why=why)
    return Decision(changes=(draft.change(),), events=tuple(draft.events))


def tell(draft: Draft, number: int, found: Gate, results: Sequence[CheckResult]) -> None:
    """Record what the gate said."""
    said: dict[str, Any] = {"checks": [facts(each) for each in results]}
    if found.why:
        said["why"] = found.why
    if found.warning:
        said["warning"] = found.warning
    draft.tell(_EVENTS[found.verdict], attempt=number, **said)


def facts(each: CheckResult) -> dict[str, Any]:
    """One check in an event."""
    return {
        "position": each.position,
        "command": gate.shown(each.command),
        "required": each.required,
        "status": each.status,
        "exit_code": each.exit_code,
    }


def broke_before(task: Task) -> bool:
    """Whether the failure before this one was a broken gate too, and nobody has looked at it since."""
    return task.last_category == f"unknown/{GATE_ERROR}" and task.uncharged > 0


def diagnose_error(task_id: str, found: Gate) -> Diagnosis:
    """A gate that could not answer says nothing about the work."""
    blamed = found.blamed
    where = f"medbay log {task_id} --check {blamed.position} shows why" if blamed else "look at its checks"
    return known(
        GATE_ERROR,
        rule="gate.error",
        excerpt=blamed.tail.strip()[-EXCERPT_MAX:] if blamed else "",
        summary=found.why,
        suggested_fix=f"see that its checks can be run and end in time; {where}",
    )


def as_failure(failing: CheckResult) -> Failed:
    """A failing check as the failure that is diagnosed: its text and its exit code."""
    output = Output(head=failing.head, tail=failing.tail, total_bytes=failing.total_bytes, log_path=failing.log_path)
    return Failed(output=output, exit_code=failing.exit_code)


def name_check(found: Diagnosis, failing: CheckResult) -> Diagnosis:
    """The same diagnosis, saying which check found it: summary and guidance name it."""
    return replace(found, summary=f"{gate.named([failing])} failed: {found.summary}")
