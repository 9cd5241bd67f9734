"""The gate: what the checks of a result say together. PASS, FAIL or ERROR, by rules that stand in one order."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from medbay.core import untrusted
from medbay.core.decision import ChecksPlanned, Decision, Draft, WorkingSet
from medbay.core.diagnosis.record import Diagnosis, known
from medbay.core.model import CHECKS_MAX, Check, CheckResult, CheckStatus, Task
from medbay.core.outcome import (
    Cancelled,
    Checked,
    Failed,
    Lost,
    Outcome,
    Output,
    OverBudget,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
)
from medbay.core.workspace import CONFLICT, PULL_REQUEST, PullRequestMade, made_by, to_land

LANDING: Final = CHECKS_MAX + 1  # the position of what merges the work: it begins when all checks have passed
PR_REFUSED: Final = 10  # the exit code of a landing whose pull request came back, and of one that did so too often
PR_GIVEN_UP: Final = 11
KEPT: Final = "kept on "  # how it says that the work was not merged, and why
ASKED: Final = "pull request "  # how it says that there is one, with its address
CANNOT_RUN: Final = frozenset({126, 127})  # what a shell says of a command it could not execute or find
COMMAND_SHOWN: Final = 60

Verdict = Literal["PASS", "FAIL", "ERROR"]


class Gate(Struct, frozen=True, kw_only=True):
    """The answer, why it is not PASS, or what a PASS has to be warned about."""

    verdict: Verdict
    why: str = ""
    warning: str = ""
    blamed: CheckResult | None = None  # the check whose output says what is wrong


def judge(results: Sequence[CheckResult], threshold: float = 1.0) -> Gate:
    """Add the checks up, then look at the landing. What `fail_fast` stopped is outside of everything counted."""
    landing = next((each for each in results if each.position == LANDING), None)
    if landing is None:
        return _added_up(results, threshold)
    checked = [each for each in results if each is not landing]
    found = _added_up(checked, threshold) if checked else Gate(verdict="PASS")
    return _landed(found, landing) if found.verdict == "PASS" else found


def _landed(found: Gate, landing: CheckResult) -> Gate:
    """A result that passed, with what became of it."""
    if landing.status == "PASS":
        kept = landing.tail.strip() if landing.tail.startswith(KEPT) else ""
        return replace(found, warning=", ".join(filter(None, (found.warning, kept))))
    if landing.status == "FAIL":
        came_back = landing.exit_code in (PR_REFUSED, PR_GIVEN_UP)
        why = "its pull request came back" if came_back else "it conflicts with what was merged before it"
        return Gate(verdict="FAIL", why=why, blamed=landing)
    said = untrusted.line(landing.tail.strip().partition("\n")[0], EXCERPT_MAX)
    why = f"{shown(landing.command)} could not be done" + (f": {said}" if said else "")
    return Gate(verdict="ERROR", why=why, blamed=landing)


def _added_up(results: Sequence[CheckResult], threshold: float) -> Gate:
    errors = [each for each in results if each.status == "ERROR"]
    late = [each for each in results if each.status == "TIMEOUT"]
    failures = [each for each in results if each.status == "FAIL"]
    passes = sum(each.status == "PASS" for each in results)
    answered = passes + len(failures)
    if errors:
        return Gate(verdict="ERROR", why=f"{named(errors)} could not be run", blamed=errors[0])
    if required := [each for each in late if each.required]:
        return Gate(verdict="ERROR", why=f"{named(required)} is required and timed out", blamed=required[0])
    if answered == 0 or answered * 2 < answered + len(late):
        why = f"only {answered} of {answered + len(late)} checks answered"
        return Gate(verdict="ERROR", why=why, blamed=late[0] if late else None)
    if passes / answered < threshold:
        return Gate(verdict="FAIL", why=f"{named(failures)} failed", blamed=failures[0])
    warnings = [f"{named(some)} {what}" for some, what in ((failures, "failed"), (late, "timed out")) if some]
    return Gate(verdict="PASS", warning=", ".join(warnings))


def status_of(outcome: Outcome) -> CheckStatus:
    """What the end of one check's command means: its exit code alone, whatever else it says."""
    match outcome:
        case Succeeded():
            return "PASS"
        case TimedOut():
            return "TIMEOUT"
        case Cancelled():
            return "STOPPED"
        case Failed() | Requeued():
            return _by_exit(outcome.exit_code, broken=isinstance(outcome, Failed) and _is_broken(outcome))
        case Lost() | Stalled() | OverBudget() | Checked():
            return "ERROR"
        case _:
            assert_never(outcome)


def outcome_of(result: CheckResult) -> Outcome:
    """How a check ended that was run elsewhere, as its runner would have said; the inverse of `status_of`."""
    output = Output(head=result.head, tail=result.tail, total_bytes=result.total_bytes, log_path=result.log_path)
    ran_s = ((result.ended_at or 0) - (result.started_at or 0)) / 1000
    match result.status:
        case "PASS":
            return Succeeded(output=output)
        case "TIMEOUT":
            return TimedOut(output=output, limit_s=ran_s)
        case "STOPPED":
            return Cancelled(output=output)
        case "FAIL":
            return Failed(output=output, exit_code=result.exit_code)
        case _:  # an error, or one that was never begun
            broken = _broken_by(result)
            return Failed(output=output, exit_code=result.exit_code, signal=result.signal, spawn_error=broken)


def _broken_by(result: CheckResult) -> str:
    """Why a check could not answer, where neither its exit code nor a signal says so."""
    said = result.exit_code is not None or result.signal is not None
    return "" if said else f"it was not run there ({result.status})"


def planned(checks: Iterable[Check], task_id: str, number: int) -> tuple[CheckResult, ...]:
    """The checks of an attempt before they begin."""
    return tuple(
        CheckResult(task_id=task_id, number=number, position=position, command=each.command, required=each.required)
        for position, each in enumerate(checks, start=1)
    )


def named(results: Iterable[CheckResult]) -> str:
    """Checks as a person knows them: `check 2 (make test)`."""
    return ", ".join(f"check {each.position} ({shown(each.command)})" for each in results)


def line(command: tuple[str, ...] | str) -> str:
    """Return a whole command as a shell takes it."""
    return command if isinstance(command, str) else shlex.join(command)


def shown(command: tuple[str, ...] | str) -> str:
    """Return a command on one short line."""
    words = " ".join(line(command).split())
    return words if len(words) <= COMMAND_SHOWN else words[: COMMAND_SHOWN - 1] + "…"


def _is_broken(outcome: Failed) -> bool:
    return bool(outcome.spawn_error) or outcome.signal is not None


def _by_exit(code: int | None, *, broken: bool) -> CheckStatus:
    if broken or code is None or code in CANNOT_RUN:
        return "ERROR"
    return "PASS" if code == 0 else "FAIL"


ROUNDS_MAX: Final = 3  # how often the checks of one attempt are begun before the attempt itself is repeated
GATE_ERROR: Final = "gate_error"
EXCERPT_MAX: Final = 300
CONFLICT_MAX: Final = 2_000
_EVENTS: Final = {"PASS": "gate:passed", "FAIL": "gate:failed", "ERROR": "gate:error"}


def plan(draft: Draft[Task], number: int, checks: tuple[Check, ...], outcome: Succeeded, work: WorkingSet) -> Decision:
    """The work succeeded; whether its result counts is for its checks to say."""
    results = planned(checks, draft.task.id, number)
    if to_land(outcome) is not None:
        command = ("medbay", "merge", draft.task.id)
        results += (CheckResult(task_id=draft.task.id, number=number, position=LANDING, command=command),)
    draft.move("pending_verification", f"attempt {number} succeeded, its checks are to come", attempt=number)
    draft.emit("task:verifying", attempt=number, checks=[shown(each.command) for each in results])
    ended = ChecksPlanned(
        task_id=draft.task.id,
        number=number,
        results=results,
        output=outcome.output,
        exit_code=outcome.exit_code,
    )
    return draft.decision(ended, work=work)


def on_checks_taken_over(task: Task, now: int, *, number: int, worker_id: str, why: str, crashed: bool) -> Decision:
    """Its worker is gone, its result is not: another engine of the same host repeats the checks alone."""
    draft = Draft(task, now, actor=f"worker:{worker_id}")
    draft.set(crashes=task.crashes + (1 if crashed else 0))
    draft.emit("task:verifying", attempt=number, worker=worker_id, why=why)
    return draft.decision()


def emit(draft: Draft[Task], number: int, found: Gate, results: Sequence[CheckResult]) -> None:
    """Record what the gate said."""
    said: dict[str, Any] = {"checks": [facts(each) for each in results]}
    if found.why:
        said["why"] = found.why
    if found.warning:
        said["warning"] = found.warning
    landing = next((each for each in results if each.position == LANDING and each.status == "PASS"), None)
    if landing is not None and not landing.tail.startswith(KEPT):
        said["landed"] = landing.tail.strip()
    draft.emit(_EVENTS[found.verdict], attempt=number, **said)


def pull_request_made(task: Task, results: Sequence[CheckResult], *, host: str) -> PullRequestMade | None:
    """The pull request that a landing made: one for each round of a task that recurs."""
    landing = next((each for each in results if each.position == LANDING and each.status == "PASS"), None)
    if landing is None or not landing.tail.startswith(ASKED):
        return None
    task_id, name = made_by(task)
    return PullRequestMade(name=name, task_id=task_id, url=landing.tail.split()[-1], host=host)


def facts(each: CheckResult) -> dict[str, Any]:
    """One check in an event."""
    return {
        "position": each.position,
        "command": shown(each.command),
        "required": each.required,
        "status": each.status,
        "exit_code": each.exit_code,
    }


def broke_before(task: Task) -> bool:
    """Whether the failure before this one was a broken gate too, and no person has dealt with it since."""
    return task.last_category == f"unknown/{GATE_ERROR}" and task.uncharged > 0


def diagnose_error(task_id: str, found: Gate) -> Diagnosis:
    """A gate that could not answer says nothing about the work."""
    blamed = found.blamed
    where = f"medbay log {task_id} --check {blamed.position} shows why" if blamed else "medbay show lists its checks"
    return known(
        GATE_ERROR,
        rule="gate.error",
        excerpt=blamed.tail.strip()[-EXCERPT_MAX:] if blamed else "",
        summary=found.why,
        suggested_fix=f"see that its checks can be run and end in time; {where}",
    )


def diagnose_landing(landing: CheckResult) -> Diagnosis:
    """Why work that passed could not be merged."""
    said = landing.tail.strip()
    if landing.exit_code not in (PR_REFUSED, PR_GIVEN_UP):
        return diagnose_conflict(said)
    found = known(
        PULL_REQUEST,
        rule="gate.pull_request",
        excerpt=said[:CONFLICT_MAX],
        summary=said.partition("\n")[0],
        suggested_fix=f"change what the checks and reviewers of the pull request ask for: {said[:CONFLICT_MAX]}",
    )
    return replace(found, retryable=landing.exit_code == PR_REFUSED)


def diagnose_conflict(said: str) -> Diagnosis:
    """Work that passed and cannot be merged says nothing bad of itself: the other changes came first."""
    return known(
        CONFLICT,
        rule="gate.conflict",
        excerpt=said[:CONFLICT_MAX],
        summary=said.partition("\n")[0] or "it conflicts with what was merged before it",
        suggested_fix=(
            "the other changes are merged into your worktree and conflict marks stand where both changed the same"
            " lines: keep what both are for, and leave no mark"
        ),
    )


def as_failure(failing: CheckResult) -> Failed:
    """A failing check as the failure that is diagnosed: its text and its exit code."""
    output = Output(head=failing.head, tail=failing.tail, total_bytes=failing.total_bytes, log_path=failing.log_path)
    return Failed(output=output, exit_code=failing.exit_code)


def name_check(found: Diagnosis, failing: CheckResult) -> Diagnosis:
    """The same diagnosis, saying which check found it: summary and guidance name it."""
    return replace(found, summary=f"{named([failing])} failed: {found.summary}")
