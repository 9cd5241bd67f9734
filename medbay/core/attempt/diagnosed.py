"""Everything an outcome knows, handed to the diagnosis; and what a gate that did not pass says."""

from __future__ import annotations

from datetime import datetime, tzinfo

from medbay.core.attempt import checks
from medbay.core.diagnosis import Diagnosis, diagnose
from medbay.core.model import Task
from medbay.core.outcome import Checked, Failed, Outcome, Stalled, TimedOut
from medbay.core.workspace import seen


def diagnose_outcome(outcome: Outcome, now: int, *, runner: str, zone: tzinfo) -> Diagnosis:
    """Hand everything the outcome knows to the diagnosis."""
    failed = outcome if isinstance(outcome, Failed) else None
    work = seen(outcome.output.result) if failed else None
    if work is not None and work.unresolved:
        return checks.diagnose_conflict(f"Conflict marks are left in {', '.join(work.unresolved)}\n{work.marks}")
    return diagnose(
        outcome.output.text(),
        now=datetime.fromtimestamp(now / 1000, tz=zone),
        exit_code=getattr(outcome, "exit_code", None),
        signal=getattr(outcome, "signal", None),
        timed_out=isinstance(outcome, TimedOut),
        stalled=isinstance(outcome, Stalled),
        memory_limit_hit=failed is not None and failed.memory_limit_hit,
        cpu_limit_hit=failed is not None and failed.cpu_limit_hit,
        log_limit_hit=failed is not None and failed.log_limit_hit,
        spawn_error=failed.spawn_error if failed else "",
        runner=runner,
        result=outcome.output.result,
    )


def diagnose_checked(task: Task, outcome: Checked, now: int, *, zone: tzinfo) -> Diagnosis | None:
    """Of the check that failed, or of a gate that could not answer."""
    found = checks.judge(outcome.results, task.threshold)
    if found.verdict == "PASS":
        return None
    if found.verdict == "ERROR":
        return checks.diagnose_error(task.id, found)
    assert found.blamed is not None
    if found.blamed.position == checks.LANDING:
        return checks.diagnose_conflict(found.blamed.tail.strip())
    diagnosis = diagnose_outcome(checks.as_failure(found.blamed), now, runner="shell", zone=zone)
    return checks.name_check(diagnosis, found.blamed)
