"""An attempt ended: counted, diagnosed, given its one cause, decided. Every way to end comes through here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import Any, assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from medbay.core import agent, owners
from medbay.core.attempt import checks as gate
from medbay.core.attempt import checks as verifying
from medbay.core.attempt import deaf, knowledge, rescue
from medbay.core.attempt.cause import cause_of, is_charged, is_providers
from medbay.core.attempt.counting import count_ended, count_uncharged, counters, forget_failures, record_of
from medbay.core.attempt.diagnosed import diagnose_checked, diagnose_outcome, handed_to
from medbay.core.attempt.echo import without_echo
from medbay.core.attempt.failure import ERROR_MAX, Failure, follow
from medbay.core.attempt.knowledge import Known, Learned, Seen
from medbay.core.attempt.rescue import Evaluation
from medbay.core.decision import (
    NOTHING,
    AttemptEnd,
    ChecksEnded,
    Decision,
    Draft,
    QuestionClosed,
    RetryClosed,
    WorkingSet,
    Write,
    together,
)
from medbay.core.diagnosis import Diagnosis
from medbay.core.diagnosis.record import facts
from medbay.core.diagnosis.record import known as known_by_us
from medbay.core.holds import incident
from medbay.core.holds.breaker import BreakerChange
from medbay.core.holds.incident import FailureSurroundings, Fed
from medbay.core.model import SHELL, Attempt, Check, Task
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
    is_handed_back,
    outcome_word,
)
from medbay.core.owners import Owned
from medbay.core.people import question
from medbay.core.policy import policy
from medbay.core.policy.policy import Policy
from medbay.core.schedule import occurrences, recurring
from medbay.core.shell import strong_failure
from medbay.core.triage import agency
from medbay.core.workspace import CONFLICT, SETUP, to_land

Settles = Callable[[Any, Outcome, Draft[Task], WorkingSet], Decision]

__all__ = [
    "Ended",
    "diagnose_ended",
    "diagnose_outcome",
    "facts",
    "on_attempt_ended",
    "on_engine_error",
    "outcome_word",
]


class Ended(Struct, frozen=True, kw_only=True):
    """One ended attempt and what the rules need to judge it."""

    task: Task
    attempt: Attempt
    outcome: Outcome
    checks: tuple[Check, ...] = ()  # those the attempt was started with
    takes_advice: bool = True  # whether what ran can do anything with guidance
    evaluator: tuple[str, ...] | str | None = None  # what evaluates its work, if it failed
    evaluation: Evaluation | None = None  # how that ended; the outcome is the failure it evaluated
    dependents: tuple[Task, ...] = ()  # loaded only where the outcome can concern them
    owner: Owned = None  # as the service found it
    policy: Policy
    crash_budget: int = 3
    zone: tzinfo = UTC  # what a time of day without a zone means
    diagnosis: Diagnosis | None = None  # of `diagnose_ended`, made before to look up what is known of it
    known: Known | None = None
    around: FailureSurroundings = field(default_factory=FailureSurroundings)


def on_attempt_ended(ended: Ended, now: int, work: WorkingSet) -> Decision:
    """What follows from the end of an attempt, for its task and for the breaker it was sent ahead for."""
    made = _on_ended(ended, now, work)
    if not ended.attempt.canary or made.first(AttemptEnd) is None:
        return made
    return incident.settle_canary(made, ended.task, ended.attempt.number, now, work)


def _on_ended(ended: Ended, now: int, work: WorkingSet) -> Decision:
    draft = Draft(ended.task, now, actor=f"worker:{ended.attempt.worker_id}")
    if agent.is_agents(ended.task):
        draft.tell(agent.history_of(ended.task, ended.outcome))
    to_check = ended.checks or to_land(ended.outcome)
    if isinstance(ended.outcome, Succeeded) and to_check and not ended.task.cancel_requested:
        draft.set(warning=_warning(ended))
        return verifying.plan(draft, ended.attempt.number, ended.checks, ended.outcome, work)
    looks = agency.lets(work.breakers.get(agency.KEY)) != "none"  # the breaker of triages stops evaluations too
    if ended.evaluator and looks and rescue.is_due(ended.task, ended.outcome, ended.around.ran_ms):
        return rescue.plan(draft, ended.attempt.number, ended.evaluator, ended.outcome, work)
    draft.set(live=None)
    settles = owners.rule_of(ended.task).settles
    at_once = ended.task.cancel_requested or not is_handed_back(ended.outcome)
    if settles is not None and ended.owner is not None and at_once:
        return _settled(ended, settles, draft, work)
    if ended.task.cancel_requested and not _is_good(ended):
        return _cancelled(ended, draft, work)
    match ended.outcome:
        case Cancelled():
            return _cancelled(ended, draft, work)
        case Requeued():
            return _requeued(ended, ended.outcome, draft, work)
        case Succeeded():
            return _succeeded(ended, draft, work)
        case Checked():
            return _checked(ended, ended.outcome, draft, work)
        case Lost():
            return _lost(ended, ended.outcome, draft, work)
        case Failed() | TimedOut() | Stalled() | OverBudget():
            return _evaluated(ended, draft, work) if ended.evaluation else _failed(ended, draft, work)
        case _:
            assert_never(ended.outcome)


def _settled(ended: Ended, settles: Settles, draft: Draft[Task], work: WorkingSet) -> Decision:
    """One attempt and no ladder, as its owner has it; only a failure of its provider lets it wait and try again."""
    found = ended.diagnosis or diagnose_ended(ended, draft.now)
    if found is not None and _is_held(ended, found, draft.now, work):
        return _failed(ended, draft, work)
    draft.set(cancel_requested=False)
    settled = settles(ended.owner, ended.outcome, draft, work)
    return together(_decision(ended, draft, settled.work, diagnosis=found), settled)


def _is_held(ended: Ended, found: Diagnosis, now: int, work: WorkingSet) -> bool:
    """Whether its provider failed it; but who waits for it does not wait longer than for any free retries."""
    case = incident.case_of(ended.task, ended.outcome, found, ended.around, work)
    cause = cause_of(case)
    counted = count_ended(ended.task, charge=is_charged(case, cause), canary=ended.attempt.canary, now=now)
    return is_providers(case, cause) and not policy.uncharged_run_is_over(record_of(counted), now)


def on_engine_error(ended: Ended, now: int, work: WorkingSet, *, traceback: str) -> Decision:
    """A rule of ours broke on this task: a person is asked, the rest goes on."""
    draft = Draft(ended.task, now, actor="engine")
    draft.set(live=None, cancel_requested=False)
    why = "the engine met an error of its own; please report it: " + traceback.strip().rsplit("\n", 1)[-1]
    found = known_by_us(
        "engine_error",
        rule="engine.error",
        excerpt=traceback[-ERROR_MAX:],
        summary=why,
        suggested_fix="report the traceback, then retry",
    )
    number = ended.attempt.number
    draft.emit("task:failed", attempt=number, outcome="failed", charged=False, diagnosis=facts(found))
    breaks = owners.rule_of(ended.task).breaks
    if breaks is not None and ended.owner is not None:  # who waits for it must not wait for ever
        settled = breaks(ended.owner, draft, work, why)
        return together(_decision(ended, draft, settled.work, word="failed", diagnosis=found), settled)
    new = question.ask(draft.task, kind="human", why=why, now=now, diagnosis=found)
    asked = draft.escalate(why, attempt=number, asked=new)
    made = _decision(ended, draft, work, *asked, Seen(found, ended.task.id), word="failed", diagnosis=found)
    return incident.settle_canary(made, ended.task, number, now, work)


def diagnose_ended(ended: Ended, now: int) -> Diagnosis | None:
    """Why it failed, where the end of the attempt is a failure of the work; as the rules see it, untaught."""
    if ended.task.cancel_requested:
        return None
    match ended.outcome:
        case Checked():
            handed = handed_to(ended.task, ended.attempt)
            return diagnose_checked(ended.task, ended.outcome, now, zone=ended.zone, handed=handed)
        case Failed() | TimedOut() | Stalled() | OverBudget():
            handed = handed_to(ended.task, ended.attempt)
            return diagnose_outcome(ended.outcome, now, runner=ended.task.runner, zone=ended.zone, handed=handed)
        case _:
            return None


def _cancelled(ended: Ended, draft: Draft[Task], work: WorkingSet) -> Decision:
    draft.set(cancel_requested=False, due_at=None)
    draft.move("cancelled", "cancelled by a person")
    draft.emit("task:cancelled", attempt=ended.attempt.number)
    others = owners.cancelled(draft, ended.owner, ended.dependents)
    return _decision(ended, draft, work, word="cancelled", others=others)


def _requeued(ended: Ended, outcome: Requeued, draft: Draft[Task], work: WorkingSet) -> Decision:
    """Exit 75 waits and adds to the uncharged run; what a stopping worker hands back is ready at once."""
    number = ended.attempt.number
    draft.emit("task:requeued", attempt=number, asked=outcome.asked, why=outcome.why)
    if not outcome.asked:
        _start_over(draft, outcome.why, number)
        return _decision(ended, draft, work)
    draft.task = count_uncharged(draft.task, now=draft.now)
    record = record_of(draft.task)
    if policy.uncharged_run_is_over(record, draft.now) and not draft.task.recurs:
        why = f"asked to be tried again {record.uncharged} times: {outcome.why}"
        draft.move("failed", why)
        asked = draft.ask(question.ask(draft.task, kind="exhausted", why=why, now=draft.now))
        draft.emit("task:recovery_action", attempt=number, action="mark_as_blocked", why=why)
        draft.emit("task:retry_exhausted", attempt=number, reason=why, category="unknown")
        draft.block("exhausted", why)
        return _decision(ended, draft, work, asked)
    handed = handed_to(ended.task, ended.attempt)
    found = diagnose_outcome(outcome, draft.now, runner=ended.task.runner, zone=ended.zone, handed=handed)
    named = found.retry_after_ms
    due = policy.not_before(named, draft.now, draft.now, record)
    if due == draft.now:
        due += policy.requeue_delay(record)
    draft.set(due_at=due)
    draft.move("pending", outcome.why, attempt=number)
    return _decision(ended, draft, work)


def _evaluated(ended: Ended, draft: Draft[Task], work: WorkingSet) -> Decision:
    """Rescued, or the failure it was; an evaluation that failed is reported and counts for the breaker of them all."""
    assert ended.evaluation is not None
    number, said = ended.attempt.number, rescue.score(ended.evaluation)
    well, known = said.value is not None, ended.evaluation.agency
    failures = ended.around.limits.agency_failures
    fed = Fed(work=work)
    if said.counts:
        fed = agency.ran(work, known, draft.now, well=well, by=ended.task.id, why=said.why, failures=failures)
    if not well:
        draft.emit("triage:failed", attempt=number, role="evaluation", why=said.why)
    if said.value is not None and said.value >= ended.evaluation.threshold:
        draft.emit("task:rescued", attempt=number, score=said.value, why=said.why, outcome=outcome_word(ended.outcome))
        return together(_succeeded(ended, draft, fed.work, word="rescued"), fed.made)
    return together(_failed(ended, draft, fed.work), fed.made)


def _succeeded(ended: Ended, draft: Draft[Task], work: WorkingSet, *, word: str = "succeeded") -> Decision:
    """The only reset of a streak except a person's `--reset-failures`."""
    failures = ended.task.streak
    draft.task = forget_failures(draft.task)
    draft.set(crashes=0, cancel_requested=False, wants_triage=False, fresh_session=False)
    if isinstance(ended.outcome, Succeeded):  # else its checks have ended, and it was read before they began
        draft.set(warning=_warning(ended))
    learned = _judge(draft, ended.attempt.number, cured=True)
    again = draft.task.recurs and recurring.iterated(draft, ended.attempt.number)
    draft.move(
        "pending" if again else "completed", f"attempt {ended.attempt.number} succeeded", attempt=ended.attempt.number
    )
    if not again:
        said = {"warning": draft.task.warning} if draft.task.warning else {}
        draft.emit("task:completed", attempt=ended.attempt.number, healed=failures > 0, failures=failures, **said)
    others = owners.succeeded(draft, ended.owner, ended.dependents, spec=owners.spec_in(ended.outcome))
    for change in others.all(BreakerChange):  # the incident that it was a fix for
        work = incident.save(work, change.before, change.after).work
    withdrawn, work = _withdraw(draft, work)
    return _decision(ended, draft, work, *withdrawn, *learned, word=word, others=others)


def _warning(ended: Ended) -> str:
    """What the log of a command that succeeded says against it; what an agent or a function prints is its own words."""
    if ended.task.runner != SHELL:
        return ""
    return strong_failure(without_echo(ended.outcome.output, ended.attempt.guidance).tail)


def _withdraw(draft: Draft[Task], work: WorkingSet) -> tuple[tuple[QuestionClosed, ...], WorkingSet]:
    """What was asked because a recurring task did nothing but fail needs no answer any more."""
    task, scopes = draft.before, [question.failing_scope(draft.before.id)]
    if task.failing_since is not None:
        scopes.append(question.together_scope(task.last_category, task.last_fingerprint or "") or "")
    scope = next((each for each in scopes if each in work.questions), None)
    if scope is None:
        return (), work
    asked = work.questions[scope]
    why = "it succeeded"
    draft.emit("question:withdrawn", question=asked, why=why)
    closed = QuestionClosed(
        question_id=asked, task_id=draft.before.id, whole=True, status="withdrawn", by="engine", answer=why
    )
    return (closed,), replace(work, questions={each: id_ for each, id_ in work.questions.items() if each != scope})


def _is_good(ended: Ended) -> bool:
    """Whether it had succeeded before a cancel could reach it."""
    match ended.outcome:
        case Succeeded():
            return not ended.checks
        case Checked():
            return gate.judge(ended.outcome.results, ended.task.threshold).verdict == "PASS"
        case _:
            return False


def _checked(ended: Ended, outcome: Checked, draft: Draft[Task], work: WorkingSet) -> Decision:
    """The gate's answer is how the attempt ended; a gate that broke twice in a row is a person's matter."""
    found = gate.judge(outcome.results, ended.task.threshold)
    verifying.emit(draft, ended.attempt.number, found, outcome.results)
    if found.verdict == "PASS":
        made = verifying.pull_request_made(ended.task, outcome.results, host=ended.attempt.host)
        return _succeeded(ended, draft, work).plus(made)
    again = found.verdict == "ERROR" and verifying.broke_before(ended.task)
    return _failed(ended, draft, work, asks=f"its gate broke twice in a row: {found.why}" if again else "")


def _lost(ended: Ended, outcome: Lost, draft: Draft[Task], work: WorkingSet) -> Decision:
    """No failure of the work; but a task whose engine dies again and again is a person's question."""
    crashes = ended.task.crashes + (1 if outcome.hard_crash else 0)
    draft.set(crashes=crashes)
    draft.emit("task:lost", attempt=ended.attempt.number, why=outcome.why, crashes=crashes)
    if not outcome.hard_crash or crashes < ended.crash_budget:
        _start_over(draft, outcome.why, ended.attempt.number)
        return _decision(ended, draft, work)
    draft.set(planned_at=occurrences.before_planned(draft.task))
    why = f"its engine died {crashes} times while it ran"
    new = question.ask(draft.task, kind="human", why=why, now=draft.now)
    return _decision(ended, draft, work, *draft.escalate(why, attempt=ended.attempt.number, asked=new))


def _start_over(draft: Draft[Task], why: str, number: int) -> None:
    """The attempt is repeated; from its checks a task goes back by way of `failed`, with nothing counted."""
    if draft.task.status == "pending_verification":
        draft.move("failed", why, attempt=number)
    draft.move("pending", why, attempt=number)


def _failed(ended: Ended, draft: Draft[Task], work: WorkingSet, *, asks: str = "") -> Decision:
    seen = ended.diagnosis or diagnose_ended(ended, draft.now)
    assert seen is not None
    found = knowledge.apply_teaching(seen, ended.known)
    case = incident.case_of(ended.task, ended.outcome, found, ended.around, work)
    cause, canary, task, kind = cause_of(case), ended.attempt.canary, draft.task, found.kind
    charge = is_charged(case, cause)
    charged = charge and not canary
    draft.task = count_ended(task, charge=charge, canary=canary, now=draft.now)
    draft.set(
        iteration=task.iteration + (1 if task.recurs else 0),
        fresh_session=False,
        last_category=kind,
        last_fingerprint=found.fingerprint,
        last_summary=found.summary,
    )
    number, asks = ended.attempt.number, asks or _asks_at_once(task, found)
    draft.move("failed", found.summary, attempt=number, category=kind, before=counters(task))
    how = {"outcome": outcome_word(ended.outcome), "charged": charged, "diagnosis": facts(found)}
    draft.emit("task:failed", attempt=number, **how)
    learned = (Seen(seen, ended.task.id), *_judge(draft, number, cured=False))
    asks = asks or deaf.why_ask(ended.task, found, takes_advice=ended.takes_advice, charged=charged)
    failure = Failure(
        attempt=number,
        diagnosis=found,
        cause=cause,
        policy=ended.policy,
        known=ended.known,
        charged=charged,
        asks=asks or agent.asks_a_person(ended.task, ended.outcome, found),
        of_checks=isinstance(ended.outcome, Checked),
        question=str((ended.outcome.output.result or {}).get("question") or ""),
        around=ended.around,
    )
    others = owners.failed(draft, ended.owner, follow(draft, failure, work), charged=charged)
    return _decision(ended, draft, others.work, *learned, diagnosis=found, charged=charged, others=others)


def _asks_at_once(task: Task, found: Diagnosis) -> str:
    """Why a person has to look: what an agent was given one try at failed the same way again."""
    if found.kind != task.last_category or task.streak == 0:
        return ""
    why = {CONFLICT: "it still conflicts after it was brought together once", SETUP: "it cannot be set up"}
    said = why.get(found.subcategory or "")
    return f"{said}: {found.summary}" if said else ""


def _judge(draft: Draft[Task], number: int, *, cured: bool) -> tuple[Learned, ...]:
    """The guidance of the attempt has a result now."""
    judged, learned = knowledge.judge(draft.task.guidance, number, cured=cured)
    draft.set(guidance=judged)
    return learned


def _decision(
    ended: Ended,
    draft: Draft[Task],
    work: WorkingSet,
    *writes: Write,
    word: str | None = None,
    diagnosis: Diagnosis | None = None,
    charged: bool = False,
    others: Decision = NOTHING,
) -> Decision:
    """The end of the attempt and its task's change with what else is written; `others` is what follows elsewhere."""
    word = word or outcome_word(ended.outcome)
    verified = ended.task.status == "pending_verification"
    end = AttemptEnd(
        task_id=ended.task.id,
        number=ended.attempt.number,
        worker_id=ended.attempt.worker_id,
        outcome=word,
        exit_code=getattr(ended.outcome, "exit_code", None),
        signal=getattr(ended.outcome, "signal", None),
        charged=charged,
        diagnosis=diagnosis,
        output=Output() if verified else ended.outcome.output,  # that of the work is stored then
        policy_hash=ended.policy.hash() if diagnosis else "",
    )
    # The first attempt has no retry behind it, and that of a later one was executed when it was claimed.
    finished = ended.attempt.number > 1 and draft.task.status in ("completed", "cancelled", "blocked")
    closed = RetryClosed(ended.task.id, "cancelled", emits=False) if finished else None
    results = ended.outcome.results if isinstance(ended.outcome, Checked) else ()
    results = ended.evaluation.results if ended.evaluation else results
    checked = ChecksEnded(ended.task.id, ended.attempt.number, results) if verified else None
    return together(draft.decision(end, checked, closed, *writes, work=work), others)
