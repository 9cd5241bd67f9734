"""What follows from a failure that is counted: a retry with guidance, or a question that a person answers.

Asked when an attempt fails, and once more when a person corrected what the failure was.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from medbay.core import agent
from medbay.core.attempt import guidance, knowledge
from medbay.core.attempt.cause import SPENT, Cause
from medbay.core.attempt.counting import excuse, record_of
from medbay.core.attempt.knowledge import Known
from medbay.core.decision import Decision, Draft, QuestionJoined, WorkingSet, together
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.durations import iso
from medbay.core.holds import incident
from medbay.core.holds.incident import FailureSurroundings, Fed
from medbay.core.holds.resources import COMMAND, account_of
from medbay.core.model import TRACKER, TRIAGE, Event, Owner, Question, Retry, Task
from medbay.core.people import question
from medbay.core.policy import policy
from medbay.core.policy.policy import NextStep, Policy
from medbay.core.schedule import recurring
from medbay.core.tracker import tiers
from medbay.core.triage.cycle import is_wanted
from medbay.core.untrusted import line

ERROR_MAX: Final = 2_000
REASON_MAX: Final = 400
FALL_OVER_MS: Final = 1_000
FAR_AWAY: Final = 12  # times as far as a person is asked after: half a day, unless that is set
DIFFERENTLY: Final = 3  # the rung at which something else is tried


class Failure(Struct, frozen=True, kw_only=True):
    """One failed attempt, diagnosed and counted."""

    attempt: int
    diagnosis: Diagnosis  # as it is acted on: a person's teaching is in it
    cause: Cause = Cause.RUNG  # of the failure itself, whatever retries are left
    policy: Policy
    known: Known | None = None
    charged: bool = True
    asks: str = ""  # why a person is asked, whatever the ladder says
    of_checks: bool = False  # what its checks said, after the attempt itself had succeeded
    question: str = ""  # what an agent asks, in its own words
    around: FailureSurroundings = field(default_factory=FailureSurroundings)


def follow(draft: Draft[Task], failure: Failure, work: WorkingSet) -> Decision:
    """Decide about the newest failure of a task; the draft gets its due time and guidance, or its block.

    The decision is what else follows: a retry or a question, and what the failure did to what tasks share.
    """
    found, cause, task = failure.diagnosis, failure.cause, draft.task
    record = record_of(task)
    if cause is Cause.RUNG and policy.retries_used_up(found, record, failure.policy):
        cause = Cause.USED_UP
    advice = knowledge.best_advice(found, failure.known, task.guidance)
    decided = recurring.decide(task, found, failure.policy, draft.now, cause=cause, advice=advice, record=record)
    if _repeats(task, found, decided):
        higher = replace(record, raised=DIFFERENTLY - record.rung)
        decided = policy.decide(found, higher, failure.policy, draft.now, cause=cause, advice=advice)
    step = policy.ask_a_person(failure.asks) if failure.asks else decided
    of_tracker = task.policy == tiers.PRESET and failure.charged and not failure.asks
    if of_tracker:
        step = tiers.decide(step, found, record, draft.now, cause=cause)
    fed = incident.feed(draft, found, cause, failure.around, work)
    if _falls_over(failure, step, fed.until, draft):
        step = _fall_over(draft, failure)
        fed = replace(fed, until=None)
    draft.emit("task:recovery_action", attempt=failure.attempt, action=step.action, why=step.why)
    if step.due_at is None:
        stopped = _stop(draft, failure, step, fed.work, shared=cause is Cause.NOT_RETRYABLE)
        return replace(together(fed.made, stopped), work=stopped.work)
    if fed.until is not None:
        step = _not_before(step, fed.until, draft.now)
        if not _is_own(task, failure):  # a limit of its own that never ends is a person's
            draft.task = excuse(draft.task, fed.until - draft.now)
    if step.action == "triage":
        # The triage of an issue is started by the next cycle over its tracker, which reads its record.
        draft.set(due_at=None, waits_for=TRACKER if of_tracker else TRIAGE, wants_triage=not of_tracker)
        return replace(fed.made, work=fed.work)
    assert step.due_at is not None and step.guidance is not None
    draft.set(due_at=step.due_at, guidance=guidance.keep(draft.task.guidance, step.guidance))
    if of_tracker:
        draft.set(waits_for=TRACKER)  # until its record is cleared there
    covered = cause in (Cause.PROVIDER_LIMIT, Cause.CRASH_LOOP, Cause.INCIDENT, Cause.UNCHARGED)
    task = draft.task
    draft.set(wants_triage=is_wanted(task, failure.policy.recurring, charged=failure.charged, covered=covered))
    if task.status == "pending" and task.recurs:
        recurring.rerun(draft, step.due_at)
    # A retry waits in `failed`; what was released from a block waits in `pending`, and its due time is enough.
    retry = (schedule_retry(draft, failure, step),) if task.status == "failed" else ()
    asked, work = _ask_beside(draft, failure, cause, fed.work) if task.recurs else ((), fed.work)
    return Decision(writes=fed.made.writes + retry + asked, events=fed.made.events, work=work)


def _is_own(task: Task, failure: Failure) -> bool:
    """Whether a limit is nobody's but the task's: its command says so, or only its checks."""
    return failure.of_checks or (account_of(task, failure.diagnosis) or "").startswith(COMMAND)


def _falls_over(failure: Failure, step: NextStep, held_until: int | None, draft: Draft[Task]) -> bool:
    """Whether another agent goes on: the present one fails persistently, or its account is held for too long."""
    task, found = draft.task, failure.diagnosis
    if agent.next_agent(task) is None or failure.asks or found.subcategory == agent.ASKED or task.recurs:
        return False
    waits_ms = max(held_until or 0, step.due_at or 0) - draft.now
    return step.due_at is None or step.action == "triage" or waits_ms > failure.policy.fallback_after_ms


def _fall_over(draft: Draft[Task], failure: Failure) -> NextStep:
    """The next agent of the task goes on, told what failed."""
    other = agent.next_agent(draft.task)
    assert other is not None
    name, needs = other
    before = agent.profile_of(draft.task.runner)
    draft.set(runner=agent.runner_of(name), resources=needs, hold=None)
    told = guidance.guide(failure.diagnosis, next_attempt=draft.task.attempts + 1)
    why = f"{before} cannot go on ({failure.diagnosis.summary}); {name} does"
    due = draft.now + FALL_OVER_MS
    return NextStep(action="retry_with_guidance", why=why, delay_ms=FALL_OVER_MS, due_at=due, guidance=told)


def _ask_beside(
    draft: Draft[Task], failure: Failure, cause: Cause, work: WorkingSet
) -> tuple[tuple[Question | QuestionJoined, ...], WorkingSet]:
    """Ask about a recurring task that does nothing but fail, once, while its schedule goes on.

    It is asked after an hour, or at once where the next run is so far away that a person would hear of it too late.
    Tasks that fail for the same cause outside of them share a question; an incident has its own, a loop stops itself.
    """
    task, last, after = draft.task, failure.around.asked, failure.policy.recurring.ask_after_ms
    shared = cause in (Cause.PROVIDER_LIMIT, Cause.INCIDENT)
    if task.loop or task.paused or shared or not after:
        return (), work
    answered_at = last.answered_at or 0 if last is not None else 0
    since = max(task.failing_since or draft.now, answered_at)
    far = (task.due_at or 0) - draft.now >= FAR_AWAY * after
    if (last is not None and last.status == "open") or (draft.now - since < after and not far):
        return (), work
    made = question.ask_failing(task, draft.now, knowledge.advised(failure.diagnosis, failure.known))
    assert made.scope is not None
    if made.scope in work.questions:
        return (QuestionJoined(work.questions[made.scope], task.id),), work
    asked = draft.ask(made)
    return (asked,), replace(work, questions={**work.questions, made.scope: asked.id})


def _repeats(task: Task, found: Diagnosis, step: NextStep) -> bool:
    """Whether a retry would repeat a failed attempt of an agent exactly: same failure, same advice, no new grant."""
    if task.charged < 2 or step.action != "retry_with_guidance" or task.recurs or not agent.needs_change(task, found):
        return False
    last = task.guidance[-1] if task.guidance and not record_of(task).under_grant else None
    told = step.guidance.advice if step.guidance else ""
    return last is not None and (last.fingerprint, last.advice) == (found.fingerprint, told)


def _not_before(step: NextStep, until: int, now: int) -> NextStep:
    """Not before the hold it waits for now is over."""
    due = max(step.due_at or 0, until)
    return replace(step, due_at=due, delay_ms=due - now)


def schedule_retry(draft: Draft[Task], failure: Failure, step: NextStep) -> Retry:
    """The row that says why a task is tried again and when, with its event."""
    assert step.due_at is not None and step.delay_ms is not None and step.guidance is not None
    retry = Retry(
        task_id=draft.before.id,
        attempt=failure.attempt,
        category=failure.diagnosis.kind,
        action=step.action,
        scheduled_at=draft.now,
        due_at=step.due_at,
        delay_ms=step.delay_ms,
        error=failure.diagnosis.summary[:ERROR_MAX],
        guidance=step.guidance.text,
        policy_hash=failure.policy.hash(),
        learned=step.learned,
    )
    data = {
        "attempt": retry.attempt,
        "category": retry.category,
        "action": retry.action,
        "due_at": iso(retry.due_at),
        "delay_s": retry.delay_ms / 1000,
    }
    draft.events.append(Event(name="task:retry_scheduled", task_id=retry.task_id, attempt=retry.attempt, data=data))
    return retry


def _ask_for_agent(draft: Draft[Task], failure: Failure, step: NextStep, work: WorkingSet) -> Decision:
    """An agent asks: blocked until its own question is answered."""
    name = agent.profile_of(draft.task.runner)
    words = failure.question or failure.diagnosis.summary
    asked = draft.ask(question.ask_for_agent(draft.task, words, draft.now, agent=name))
    draft.emit("agent:asked", attempt=failure.attempt, agent=name, question=asked.id, words=asked.evidence)
    draft.block("human", f"{name or 'it'} asks: {line(words, REASON_MAX)}", attempt=failure.attempt)
    return Decision(writes=(asked,), work=work)


def _stop(draft: Draft[Task], failure: Failure, step: NextStep, work: WorkingSet, *, shared: bool) -> Decision:
    """Nothing else can help: blocked, with a question that is shared where the cause is."""
    assert step.block_kind is not None and step.event is not None
    found, number = failure.diagnosis, failure.attempt
    if found.subcategory == agent.ASKED:
        return _ask_for_agent(draft, failure, step, work)
    account = account_of(draft.task, found) if shared else None
    scope = question.scope_of(found, account) if shared else None
    asked = work.questions.get(scope) if scope else None
    write: Question | QuestionJoined | None = QuestionJoined(asked, draft.task.id) if asked else None
    if asked is None:
        advised = knowledge.advised(found, failure.known)
        write = draft.ask(
            question.ask(
                draft.task,
                kind=step.block_kind,
                why=step.why,
                now=draft.now,
                diagnosis=advised,
                scope=scope,
                owner=Owner("hold", account) if account is not None and found.subcategory == SPENT else None,
            )
        )
        asked = write.id
        work = replace(work, questions={**work.questions, scope: asked}) if scope else work
    if step.event == "task:escalated":
        draft.emit(step.event, attempt=number, reason=step.why, question=asked)
    else:
        draft.emit(step.event, attempt=number, reason=step.why, category=found.kind)
    draft.block(step.block_kind, step.why, attempt=number)
    fed = incident.spent(draft, found, asked, work) if shared else Fed(work=work)
    return replace(fed.made.plus(write), work=fed.work)
