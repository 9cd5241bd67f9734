"""The gate: what the checks of a result say together. PASS, FAIL or ERROR, by rules that stand in one order."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from medbay.core.model import Check, CheckResult, CheckStatus
from medbay.core.outcome import (
    Cancelled,
    Checked,
    Failed,
    Lost,
    Outcome,
    OverBudget,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
)

CANNOT_RUN: Final = frozenset({126, 127})  # what a shell says of a command it could not execute or find
COMMAND_SHOWN: Final = 60

Verdict = Literal["PASS", "FAIL", "ERROR"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The answer, why it is not PASS, or what a PASS has to be warned about."""

    verdict: Verdict
    why: str = ""
    warning: str = ""
    blamed: CheckResult | None = None  # the check whose output says what is wrong


def judge(results: Sequence[CheckResult], threshold: float = 1.0) -> Gate:
    """Add the checks up. Those that `fail_fast` stopped are outside of everything that is counted."""
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
    if passes < threshold * answered:
        return Gate(verdict="FAIL", why=f"{named(failures)} failed", blamed=failures[0])
    warnings = [f"{named(some)} {what}" for some, what in ((failures, "failed"), (late, "timed out")) if some]
    return Gate(verdict="PASS", warning=", ".join(warnings))


def status_of(outcome: Outcome) -> CheckStatus:
    """What the end of one check's command means: its exit code alone, whatever it says besides."""
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


def planned(checks: Iterable[Check], task_id: str, number: int) -> tuple[CheckResult, ...]:
    """The checks of an attempt before they begin."""
    return tuple(
        CheckResult(task_id=task_id, number=number, position=position, command=each.command, required=each.required)
        for position, each in enumerate(checks, start=1)
    )


def named(results: Iterable[CheckResult]) -> str:
    """Checks as a person knows them: `check 2 (make test)`."""
    return ", ".join(f"check {each.position} ({shown(each.command)})" for each in results)


def shown(command: tuple[str, ...] | str) -> str:
    """A command on one short line."""
    line = " ".join((command if isinstance(command, str) else shlex.join(command)).split())
    return line if len(line) <= COMMAND_SHOWN else line[: COMMAND_SHOWN - 1] + "…"


def _is_broken(outcome: Failed) -> bool:
    return bool(outcome.spawn_error) or outcome.signal is not None


def _by_exit(code: int | None, *, broken: bool) -> CheckStatus:
    if broken or code is None or code in CANNOT_RUN:
        return "ERROR"
    return "PASS" if code == 0 else "FAIL"
