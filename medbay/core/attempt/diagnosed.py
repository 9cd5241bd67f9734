"""Everything an outcome knows, handed to the diagnosis; and what a gate that did not pass says."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from typing import Final

from msgspec.structs import replace

from medbay.core.agent import is_agents
from medbay.core.attempt import checks, prompt, standstill
from medbay.core.attempt.echo import without_echo
from medbay.core.diagnosis import Diagnosis, Pattern, diagnose
from medbay.core.diagnosis.consequences import consequence_of
from medbay.core.durations import format_duration
from medbay.core.model import PYTHON, SHELL, Attempt, Task
from medbay.core.outcome import TAIL_BYTES, Checked, Failed, Outcome, Output, OverBudget, Stalled, TimedOut
from medbay.core.untrusted import line as one_line
from medbay.core.workspace import seen

_NOTE: Final = "[medbay]"  # what the runner adds to the end of a log
_LINE_SHOWN: Final = 120
_PLAIN: Final = frozenset({SHELL, PYTHON})  # runners whose log is read as it is
_ASKS: Final = re.compile(  # the end of a line that waits for a person at a terminal
    r"(?i:[([]\s*(?:y(?:es)?)\s*/\s*n(?:o)?\b[^)\]]{0,30}[)\]]\s*[?:>]?"
    r"|\b(?:password|passphrase|username|otp|verification code|passcode)\b[^:?\n]{0,80}[:?]"
    r"|\b(?:enter|type|choose|select|provide|specify)\b[^:?>\n]{1,60}[:?>]"
    r"|\bpress (?:enter|return|any key)\b[^\n]{0,60}"
    r"|\b(?:proceed|continue|are you sure|overwrite|confirm|is this ok)\b[^?\n]{0,80}\?"
    r"(?:\s*[([][^)\]\n]{0,20}[)\]])?:?"
    r")\s*$"
)


def diagnose_outcome(outcome: Outcome, now: int, *, runner: str, zone: tzinfo, handed: str = "") -> Diagnosis:
    """Hand everything the outcome knows to the diagnosis, but not what its attempt was handed."""
    failed = outcome if isinstance(outcome, Failed) else None
    work = seen(outcome.output.result) if failed else None
    if work is not None and work.unresolved:
        return checks.diagnose_conflict(f"Conflict marks are left in {', '.join(work.unresolved)}\n{work.marks}")
    output = without_echo(outcome.output, handed) if handed else outcome.output
    result = output.result
    if isinstance(outcome, OverBudget):
        result = {**(result or {}), "category": "resource_exhaustion/budget", "summary": outcome.why}
    text = output.text()
    found = diagnose(
        text,
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
        result=result,
    )
    found = _numbered(found, text, outcome.output, plain=runner in _PLAIN)
    if isinstance(outcome, Stalled):
        return _or_input(standstill.described(found, outcome, output.tail), _last_line(output.tail))
    return _at_the_limit(found, outcome, _last_line(output.tail)) if isinstance(outcome, TimedOut) else found


def _numbered(found: Diagnosis, text: str, output: Output, *, plain: bool) -> Diagnosis:
    """The diagnosis with the number of its line in the log, which may hold more than the text that was read."""
    number = found.pattern.number
    if number is None:
        return found
    line = text.split("\n")[number - 1]
    whole, begin = output.total_bytes <= TAIL_BYTES, output.tail.rfind(line)
    before = 0 if whole else output.lines_before
    if begin < 0:
        before, number = 0, 1 + output.head.count("\n", 0, max(0, output.head.rfind(line)))
    else:
        number = 1 + output.tail.count("\n", 0, begin)
    known = before + number if plain and before is not None else None
    return replace(found, pattern=replace(found.pattern, number=known))


def _last_line(log: str) -> str:
    lines = (each.strip() for each in reversed(log.split("\n")))
    return one_line(next((each for each in lines if each and not each.startswith(_NOTE)), ""), _LINE_SHOWN)


def _at_the_limit(found: Diagnosis, outcome: TimedOut, last: str) -> Diagnosis:
    """Name the last line of output and how long ago it was."""
    limit = f"no end after {format_duration(round(outcome.limit_s * 1000))}"
    if not last:
        return replace(found, summary=f"{limit}; it printed nothing")
    earlier = round(outcome.silent_s) if outcome.silent_s is not None else 0
    silent = f", silent for {format_duration(earlier * 1000)}" if earlier else ""
    found = replace(found, summary=f'{limit}; last output: "{last}"{silent}', pattern=Pattern(found.pattern.rule, last))
    return _or_input(found, last)


def _or_input(found: Diagnosis, last: str) -> Diagnosis:
    """A prompt that waits for input is a person's at once."""
    if _ASKS.search(last) is None:
        return found
    then = consequence_of("unknown", "input")
    return replace(
        found,
        category="unknown",
        subcategory="input",
        fingerprint="unknown:input",
        summary=f'it waits for input: "{last}"',
        suggested_fix=then.advice,
        retryable=then.retryable,
        charge=then.charge,
        session=then.session,
    )


def diagnose_checked(task: Task, outcome: Checked, now: int, *, zone: tzinfo, handed: str = "") -> Diagnosis | None:
    """Of the check that failed, or of a gate that could not answer."""
    found = checks.judge(outcome.results, task.threshold)
    if found.verdict == "PASS":
        return None
    if found.verdict == "ERROR":
        return checks.diagnose_error(task.id, found)
    assert found.blamed is not None
    if found.blamed.position == checks.LANDING:
        return checks.diagnose_landing(found.blamed)
    diagnosis = diagnose_outcome(checks.as_failure(found.blamed), now, runner="shell", zone=zone, handed=handed)
    return checks.name_check(diagnosis, found.blamed)


def handed_to(task: Task, attempt: Attempt) -> str:
    """What an attempt was handed and may print again: its guidance, of an agent its whole prompt."""
    return prompt.make(task, attempt=attempt.number, guidance=attempt.guidance) if is_agents(task) else attempt.guidance
