"""A triage ended: its answer is read and judged, or the failing task falls to a person. One transaction for all."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from medbay.core.attempt.counting import forget_failures
from medbay.core.decision import Decision, Draft, WorkingSet, together
from medbay.core.holds.breaker import Breaker
from medbay.core.model import Task
from medbay.core.outcome import (
    Cancelled,
    Failed,
    Lost,
    Outcome,
    OverBudget,
    Requeued,
    Succeeded,
    TimedOut,
    is_handed_back,
    outcome_word,
)
from medbay.core.triage import agency, effects, incident, reading
from medbay.core.triage.case import TriageCase
from medbay.core.triage.effects import Judged
from medbay.core.triage.verdict import Unreadable

ACTOR = "triage"
FAILED_RUNS = ("triage_failed", "verdict_unreadable")  # what counts for the agency breaker


class LookedAt(Struct, frozen=True, kw_only=True):
    """What the end of a triage meets: the failing task as it is now, and the breaker of all triage."""

    case: TriageCase
    agency: Breaker | None = None  # as it is stored, closed or not
    agency_failures: int = 5


def settle(looked: LookedAt, outcome: Outcome, draft: Draft[Task], work: WorkingSet) -> Decision:
    """Everything that follows for the failing task and for triage itself; the draft ends the task that ran it."""
    judged, unreadable = _judged(looked.case, outcome, draft.now, work)
    if looked.case.triage.incident:
        work = judged.decision.work
    well = judged.action not in FAILED_RUNS and not unreadable
    if isinstance(outcome, Succeeded):
        draft.task = forget_failures(draft.task)  # it may have waited for a limit of its provider
        draft.move("completed", f"{judged.action}: {judged.detail}"[:500])
        draft.emit("task:completed", attempt=draft.task.attempts, healed=False, failures=0)
    else:
        _close(draft, judged.detail)
    if isinstance(outcome, Cancelled | Lost) or is_handed_back(outcome):  # which says nothing of the agent
        fed = agency.gone(work, looked.agency, draft.now, by=draft.task.id)
    else:
        fed = agency.ran(
            work,
            looked.agency,
            draft.now,
            well=well,
            by=draft.task.id,
            why=judged.detail,
            failures=looked.agency_failures,
        )
    return replace(together(judged.decision, fed.made), work=fed.work)


def abandoned(looked: LookedAt, now: int, work: WorkingSet, *, why: str = "the triage was cancelled") -> Decision:
    """The task of a triage was cancelled before it ran: a person is asked, and nothing waits for it."""
    judged = _fell_through(looked.case, why, now, work)
    if looked.case.triage.incident:
        work = judged.decision.work
    fed = agency.gone(work, looked.agency, now, by=looked.case.triage.id)
    return replace(together(judged.decision, fed.made), work=fed.work)


def broke(looked: LookedAt, draft: Draft[Task], work: WorkingSet, why: str) -> Decision:
    """A rule of ours broke on its verdict, which says nothing of the agent: closed, and a person is asked."""
    _close(draft, why)
    return abandoned(looked, draft.now, work, why=why)


def _close(draft: Draft[Task], why: str) -> None:
    """It did not work, and nothing else follows for the task that ran it."""
    draft.move("failed", why[:500])
    draft.move("cancelled", "a triage gets one attempt; a person was asked")
    draft.emit("task:cancelled", by=ACTOR)


def _judged(case: TriageCase, outcome: Outcome, now: int, work: WorkingSet) -> tuple[Judged, bool]:
    """What follows, and whether the answer was no verdict at all."""
    if not isinstance(outcome, Succeeded):
        return _fell_through(case, _why(outcome), now, work), False
    answer = reading.read(str((outcome.output.result or {}).get("answer", "")))
    if case.triage.incident:
        return incident.judge(case, answer, now, work), isinstance(answer, Unreadable)
    return effects.judge(case, answer, now, actor=ACTOR), isinstance(answer, Unreadable)


def _fell_through(case: TriageCase, why: str, now: int, work: WorkingSet) -> Judged:
    if case.triage.incident:
        return incident.fell_through(case, why, "triage_failed", now, work)
    return effects.fell_through(case, why, "triage_failed", now, actor=ACTOR)


def _why(outcome: Outcome) -> str:
    match outcome:
        case TimedOut():
            return f"the triage gave no answer within {outcome.limit_s:g}s"
        case Lost():
            return f"the triage was lost: {outcome.why}"
        case Cancelled() | Requeued(asked=False):
            return "the triage was cancelled"
        case OverBudget():
            return f"the triage went over its budget: {outcome.why}"
        case Failed() if outcome.spawn_error:
            return f"the triage could not be started: {outcome.spawn_error}"
        case Failed():
            last = outcome.output.tail.strip().rsplit("\n", 1)[-1][:200]
            how = f"signal {outcome.signal}" if outcome.signal else f"exit {outcome.exit_code}"
            return f"the triage failed ({how})" + (f": {last}" if last else "")
        case _:
            return f"the triage ended {outcome_word(outcome)}"
