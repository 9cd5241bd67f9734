"""Rescue: the work of a failed attempt is evaluated before it counts. An evaluation that fails rescues nothing.

It is a check of its own kind: same row, number and slot as the attempt, in the place before the first check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from medbay.core.agent import never_got_to_work
from medbay.core.attempt import checks
from medbay.core.decision import ChecksPlanned, Decision, Draft, WorkingSet
from medbay.core.holds.breaker import Breaker
from medbay.core.model import CheckResult, Task
from medbay.core.outcome import Failed, Outcome, Output, Stalled, TimedOut, outcome_word
from medbay.core.redaction import redact
from medbay.core.triage.fields import share
from medbay.core.untrusted import line, parsed

POSITION: Final = 0
ANSWER_MAX: Final = 32_000
WHY_MAX: Final = 400
NEVER: Final = ("triage", "review")  # triages are not evaluated; a review is what it left, or nothing

Failure = Failed | TimedOut | Stalled
_KINDS: Final[Mapping[str, type[Failure]]] = {"failed": Failed, "timed_out": TimedOut, "stalled": Stalled}
_NO_ANSWER: Final = {
    "TIMEOUT": "did not answer in time",
    "STOPPED": "was stopped",
    "WAITING": "was never begun",
    "RUNNING": "never ended",
}
_INTERRUPTED: Final = ("STOPPED", "WAITING", "RUNNING")  # by us, before it could answer


class Evaluation(Struct, frozen=True, kw_only=True):
    """The end of an evaluation, as the service found it."""

    results: tuple[CheckResult, ...] = ()
    lost: str = ""  # why its answer is not known
    threshold: float
    agency: Breaker | None = None  # as it is stored, closed or not


class EvaluationScore(Struct, frozen=True):
    """What an evaluator said; without a score it said nothing that counts."""

    value: float | None
    why: str
    counts: bool = True  # whether that it said nothing is the evaluator's own failure


def is_due(task: Task, outcome: Outcome, ran_ms: int | None) -> bool:
    """Whether there is work to evaluate: it failed, it is no triage or review, and it got to work at all."""
    if task.role in NEVER or task.cancel_requested or not isinstance(outcome, Failure):
        return False
    return not never_got_to_work(task, outcome, ran_ms)


def plan(
    draft: Draft[Task], number: int, command: tuple[str, ...] | str, outcome: Outcome, work: WorkingSet
) -> Decision:
    """The work failed; whether that counts is for the evaluator to say. How it ended is kept until then."""
    task_id, how = draft.task.id, outcome_word(outcome)
    result = CheckResult(task_id=task_id, number=number, position=POSITION, command=command)
    draft.move("pending_verification", f"attempt {number} {how}, its work is evaluated", attempt=number)
    draft.emit("task:verifying", attempt=number, evaluation=checks.shown(command))
    planned = ChecksPlanned(
        task_id=task_id,
        number=number,
        results=(result,),
        output=outcome.output,
        exit_code=getattr(outcome, "exit_code", None),
        signal=getattr(outcome, "signal", None),
        failure=kept(outcome),
    )
    return draft.decision(planned, work=work)


def kept(outcome: Outcome) -> dict[str, Any]:
    """How the work ended, as it is stored with its attempt; its output is stored with it."""
    said = {name: getattr(outcome, name) for name in outcome.__struct_fields__ if name != "output"}
    return {"outcome": outcome_word(outcome), **said}


def restored(failure: Mapping[str, Any], output: Output) -> Failure:
    """The same outcome again."""
    said = {name: value for name, value in failure.items() if name != "outcome"}
    return _KINDS[failure["outcome"]](output=output, **said)


def score(evaluation: Evaluation) -> EvaluationScore:
    """What the evaluator said, if it ran well and can be understood."""
    if evaluation.lost or not evaluation.results:
        return EvaluationScore(None, f"the evaluation was lost: {evaluation.lost}", counts=False)
    (result,) = evaluation.results
    if result.status != "PASS":
        how = _NO_ANSWER.get(result.status) or _how(result)
        return EvaluationScore(None, f"the evaluator {how}", counts=result.status not in _INTERRUPTED)
    for said in _objects(result.tail):
        value = share(said.get("score"))
        if value is not None:
            return EvaluationScore(value, line(redact(str(said.get("why", ""))), WHY_MAX))
    return EvaluationScore(
        None, f'the evaluator printed no score from 0 to 1: "{line(redact(result.tail), WHY_MAX // 2)}"'
    )


def _how(result: CheckResult) -> str:
    if result.signal is not None:
        return f"was ended by signal {result.signal}"
    return "could not be started" if result.exit_code is None else f"ended with exit {result.exit_code}"


def _objects(answer: str) -> Iterator[dict[str, Any]]:
    """The whole answer if it is an object, else its lines that are one, the last first."""
    if len(answer) > ANSWER_MAX:
        return
    for text in (answer, *reversed(answer.splitlines())):
        try:
            said = parsed(text)
        except ValueError:
            continue
        if isinstance(said, dict):
            yield said
