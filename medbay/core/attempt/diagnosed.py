"""Everything an outcome knows, handed to the diagnosis; and what a gate that did not pass says."""

from __future__ import annotations

from datetime import datetime, tzinfo

from medbay.core.agent import is_agents
from medbay.core.attempt import checks, prompt, standstill
from medbay.core.attempt.echo import without_echo
from medbay.core.diagnosis import Diagnosis, diagnose
from medbay.core.model import Attempt, Task
from medbay.core.outcome import Checked, Failed, Outcome, Stalled, TimedOut


def diagnose_outcome(outcome: Outcome, now: int, *, runner: str, zone: tzinfo, handed: str = "") -> Diagnosis:
    """Hand everything the outcome knows to the diagnosis, but not what its attempt was handed."""
    failed = outcome if isinstance(outcome, Failed) else None
    output = without_echo(outcome.output, handed) if handed else outcome.output
    found = diagnose(
        output.text(),
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
        result=output.result,
    )
    return standstill.described(found, outcome, output.tail) if isinstance(outcome, Stalled) else found


def diagnose_checked(task: Task, outcome: Checked, now: int, *, zone: tzinfo, handed: str = "") -> Diagnosis | None:
    """Of the check that failed, or of a gate that could not answer."""
    found = checks.judge(outcome.results, task.threshold)
    if found.verdict == "PASS":
        return None
    if found.verdict == "ERROR":
        return checks.diagnose_error(task.id, found)
    assert found.blamed is not None
    diagnosis = diagnose_outcome(checks.as_failure(found.blamed), now, runner="shell", zone=zone, handed=handed)
    return checks.name_check(diagnosis, found.blamed)


def handed_to(task: Task, attempt: Attempt) -> str:
    """What an attempt was handed and may print again: its guidance, of an agent its whole prompt."""
    return prompt.make(task, attempt=attempt.number, guidance=attempt.guidance) if is_agents(task) else attempt.guidance
