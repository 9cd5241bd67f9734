"""Evidence: an agent that says it is done has to show it by something that was not there before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec.structs import replace

from medbay.core.model import Task
from medbay.core.outcome import Failed, Outcome, Succeeded
from medbay.core.untrusted import line
from medbay.core.workflow.records import OWNER
from medbay.core.workspace import CONFLICT, EXEMPT, SETUP, WorkSeen, seen

Kind = Literal["diff", "artifact", "check", "nothing_to_change"]

SAID_LAST: Final = 4_000  # of its output, where it may say why nothing has to change
WHY_MAX: Final = 500
_NOTHING: Final = re.compile(
    r"nothing (?:has |needs |is )?to (?:be )?change[d]?,? because (?P<why>[^\n]{3,})", re.IGNORECASE
)


def judged(task: Task, outcome: Outcome) -> Outcome:
    """How an attempt ended, with what was seen of its work: without evidence it did not succeed."""
    work = seen(outcome.output.result)
    if work is None:
        return outcome
    if work.problem and isinstance(outcome, Failed):
        return _failed(outcome, SETUP, f"The worktree could not be prepared: {work.problem}")
    if not isinstance(outcome, Succeeded):
        return outcome
    if work.unresolved:
        return _failed(outcome, CONFLICT, f"Conflict marks are left in {_named(work.unresolved)}")
    if not work.evidence or task.role in EXEMPT or task.owner_kind == OWNER:  # a role's is judged at the gate
        return outcome
    kind = _shown(task, work, outcome)
    if kind is None:
        return _failed(outcome, "no_evidence", _missing(task))
    said = {**(outcome.output.result or {}), "evidence": kind}
    return replace(outcome, output=replace(outcome.output, result=said))


def _shown(task: Task, work: WorkSeen, outcome: Succeeded) -> Kind | None:
    """What shows that it is done. What a check has to confirm counts only if there is one: it decides next."""
    if work.changed:
        return "diff"
    if work.artifacts:
        return "artifact"
    if task.checks and work.failing:
        return "check"
    return "nothing_to_change" if task.checks and _reason(outcome) else None


def _reason(outcome: Succeeded) -> str:
    """Why nothing has to change, in its own words."""
    result: Mapping[str, Any] = outcome.output.result or {}
    for text in (str(result.get("summary", "")), outcome.output.tail[-SAID_LAST:]):
        if found := _NOTHING.search(text):
            return found["why"]
    return ""


def _missing(task: Task) -> str:
    already = ", and its checks passed before it began" if task.checks else ""
    confirm = "for its checks to confirm" if task.checks else "which needs a check that confirms it"
    return (
        f"It said it was done and nothing shows it: no change, no artifact{already}."
        f' If nothing has to change, it has to say "nothing to change, because ...", {confirm}'
    )


def _named(names: tuple[str, ...]) -> str:
    return line(", ".join(names), WHY_MAX)


def _failed(outcome: Succeeded | Failed, subcategory: str, summary: str) -> Failed:
    said = {**(outcome.output.result or {}), "category": f"unknown/{subcategory}", "summary": line(summary, WHY_MAX)}
    return Failed(output=replace(outcome.output, result=said), exit_code=outcome.exit_code)
