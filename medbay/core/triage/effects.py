"""What a verdict does: to the failing task and to what it creates, and to nothing else. One decision for all of it.

Whatever is not a verdict within its rights falls to a person, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from medbay.core.agent import runner_of
from medbay.core.attempt import guidance
from medbay.core.attempt.counting import record_of
from medbay.core.attempt.failure import Failure, schedule_retry
from medbay.core.attempt.knowledge import Advice
from medbay.core.decision import NOTHING, Added, Decision, Draft, RetryClosed, Rewired, together
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.holds.breaker import Breaker
from medbay.core.model import TEXT_MAX, TITLE_MAX, TRACKER, TRIAGE, Event, Question, Retry, Role, Task
from medbay.core.people import question
from medbay.core.people.question import EVIDENCE_MAX
from medbay.core.policy import policy
from medbay.core.schedule import recurring
from medbay.core.tracker import tiers
from medbay.core.triage import escalation, rights
from medbay.core.triage.case import TriageCase
from medbay.core.triage.escalation import diagnosis_of
from medbay.core.triage.rights import Criterion
from medbay.core.triage.verdict import Action, Piece, Unreadable, Verdict, Word
from medbay.core.untrusted import block, line


class Judged(Struct, frozen=True):
    """What follows from the end of a triage: all that changes, and how it is called."""

    decision: Decision
    action: Action
    detail: str


class _Done(Struct, frozen=True, kw_only=True):
    """What an effect came to, in addition to the draft of the failing task."""

    action: Action
    detail: str
    made: tuple[Made, ...] = ()
    others: tuple[Draft[Task], ...] = ()  # what comes after the task and was rewired
    rewired: tuple[Rewired, ...] = ()
    questions: tuple[Question, ...] = ()
    retry: Retry | None = None
    closes_retry: bool = False
    diff: Mapping[str, Any] | None = field(default=None)


def judge(case: TriageCase, answer: Verdict | Unreadable, now: int, *, actor: str) -> Judged:
    """Apply an answer: dropped when stale, refused outside its rights, otherwise everything its verdict does."""
    late = rights.stale(case)
    if late is not None:
        return _stale(case, late, answer, now, actor=actor)
    if isinstance(answer, Unreadable):
        return fell_through(case, answer.why, "verdict_unreadable", now, actor=actor)
    refused = rights.outside(answer, case)
    if refused is not None:
        return _fell(case, refused.why, "refused", now, actor=actor, verdict=answer)
    draft = Draft(case.task, now, actor=actor)
    _emit_verdict(draft, case, answer)
    done = _EFFECTS[answer.word](draft, case, answer)
    return _judged(draft, case, done, answer)


def fell_through(case: TriageCase, why: str, action: Action, now: int, *, actor: str) -> Judged:
    """No verdict came of it: a person is asked, once; a one-off waits for the answer, a recurring task goes on."""
    return _fell(case, why, action, now, actor=actor)


def _fell(
    case: TriageCase, why: str, action: Action, now: int, *, actor: str, verdict: Verdict | None = None
) -> Judged:
    draft = Draft(case.task, now, actor=actor)
    event = "triage:refused" if action == "refused" else "triage:failed"
    word = {"verdict": verdict.word} if verdict is not None else {}
    draft.emit(event, attempt=case.triage.number, triage=case.triage.id, why=why, action=action, **word)
    done = _Done(action=action, detail=why)
    if escalation.is_due(case):
        said = PREFIX.get(action, "") + why
        asked = escalation.escalate(draft, case, said, verdict=verdict, headline=said)
        done = replace(done, questions=asked, closes_retry=not case.task.recurs)
    if not rights.overtaken(case):
        _stop_waiting(draft)
    return _judged(draft, case, done, verdict)


_PAUSED: Final = "triage paused it"
PREFIX: Final[Mapping[Action, str]] = {
    "refused": "the verdict of its triage was refused: ",
    "verdict_unreadable": "its triage cannot be read: ",
}


def _stale(case: TriageCase, why: str, answer: Verdict | Unreadable, now: int, *, actor: str) -> Judged:
    """Nothing changes, except that a one-off does not wait for ever: it gets the ladder's next delay.

    Unless it waits for the triage of a later failure, which decides about it.
    """
    draft = Draft(case.task, now, actor=actor)
    verdict = answer if isinstance(answer, Verdict) else None
    word = verdict.word if verdict is not None else None
    data = {"triage": case.triage.id, "verdict": word, "stale": why, "applied": False}
    draft.emit("triage:verdict", attempt=case.triage.number, **data)
    retry = None
    if not rights.overtaken(case):
        retry = _wait(draft, case, "its triage came too late", Advice(guidance.DIFFERENT_APPROACH))
        _stop_waiting(draft)
    done = _Done(action="stale", detail=f"{why} since the triage began", retry=retry, closes_retry=retry is not None)
    return _judged(draft, case, done, verdict)


def _stop_waiting(draft: Draft[Task]) -> None:
    if draft.task.waits_for == TRIAGE:
        draft.set(waits_for=None)


def _emit_verdict(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> None:
    changes = [*rights.shown(rights.diff(case.task, verdict.adjust))] if verdict.adjust is not None else []
    said = {**event_data(verdict), **({"changes": changes} if changes else {})}
    draft.emit("triage:verdict", attempt=case.triage.number, triage=case.triage.id, **said)


def event_data(verdict: Verdict) -> dict[str, Any]:
    """What the event of a verdict that is applied says of it."""
    return {
        "verdict": verdict.word,
        "why": verdict.why,
        "root_cause": verdict.root_cause,
        "evidence": list(verdict.evidence),
        "confidence": verdict.confidence,
        "applied": True,
        **({"warning": verdict.warning} if verdict.warning else {}),
    }


def _judged(draft: Draft[Task], case: TriageCase, done: _Done, verdict: Verdict | None) -> Judged:
    changes = (draft.change(),) if draft.task != draft.before else ()
    row = replace(
        case.triage,
        ended_at=draft.now,
        action=done.action,
        detail=done.detail,
        verdict=plain(verdict) if verdict is not None else None,
        diff=done.diff,
    )
    closed = RetryClosed(case.task.id, "cancelled") if done.closes_retry else None
    beside = (*(each.decision for each in done.made), *(each.decision() for each in done.others))
    own = NOTHING.plus(*changes, row, done.retry, closed, *done.rewired, *done.questions, events=draft.events)
    return Judged(together(own, *beside), done.action, done.detail)


def plain(verdict: Verdict) -> dict[str, Any]:
    """A verdict as it is stored and shown: what it holds, without what it leaves empty."""
    return {name: value for name, value in asdict(verdict).items() if value not in (None, "", ())}


# The effects


def _noop(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> _Done:
    """The backoff goes on; where the same again must not be tried, the next rung."""
    why = verdict.why or verdict.root_cause or "triage would change nothing"
    if _is_next_rung(case):
        return _escalated(draft, case, verdict, f"the same again cannot help: {why}")
    retry = _wait(draft, case, f"triage would change nothing: {why}")
    return _Done(action="no_action", detail=why, retry=retry, closes_retry=retry is not None)


def _recommend(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> _Done:
    """Filed for a person, blocks no task; the failing one goes on as after NOOP."""
    if _is_next_rung(case):
        return _escalated(draft, case, verdict, f"a change elsewhere is needed: {verdict.suggestion}")
    asked = escalation.recommend(draft, case, verdict)
    retry = _wait(draft, case, "triage recommends a change elsewhere")
    closes = retry is not None
    return _Done(
        action="config_recommended", detail=verdict.suggestion, questions=asked, retry=retry, closes_retry=closes
    )


def _is_next_rung(case: TriageCase) -> bool:
    task = case.task
    return task.status == "failed" and not task.recurs and rights.repetition_forbidden(task, diagnosis_of(case))


def _wait(draft: Draft[Task], case: TriageCase, why: str, advice: Advice | None = None) -> Retry | None:
    """A one-off that waited for this triage is tried again after the ladder's next delay; all others wait already."""
    task, found = draft.task, diagnosis_of(case)
    if task.recurs or task.status != "failed" or task.waits_for != TRIAGE:
        _stop_waiting(draft)
        return None
    advice = advice or Advice(found.suggested_fix)
    record = record_of(task)
    step = policy.retry_step("retry_with_guidance", why, found, record, case.policy, draft.now, advice=advice)
    if task.policy == tiers.PRESET:
        step = tiers.waiting(step, found, record, draft.now, tiers.COOLDOWNS_MS[-1])
    assert step.guidance is not None
    draft.set(due_at=step.due_at, guidance=guidance.keep(task.guidance, step.guidance))
    draft.set(waits_for=TRACKER if task.policy == tiers.PRESET else None)
    draft.emit("task:recovery_action", attempt=case.triage.number, action=step.action, why=why)
    return schedule_retry(draft, _failure(case), step)


def _failure(case: TriageCase) -> Failure:
    return Failure(attempt=case.triage.number, diagnosis=diagnosis_of(case), policy=case.policy)


def _escalate(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> _Done:
    return _escalated(draft, case, verdict, verdict.why or verdict.root_cause or "triage asks for a person")


def _escalated(draft: Draft[Task], case: TriageCase, verdict: Verdict, why: str) -> _Done:
    asked = escalation.escalate(draft, case, why, verdict=verdict)
    _stop_waiting(draft)
    return _Done(action="escalated_to_human", detail=why, questions=asked, closes_retry=not case.task.recurs)


def _pause(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> _Done:
    """Paused with every counter it has, and a person is asked."""
    why = verdict.why or verdict.root_cause or _PAUSED
    retry = _wait(draft, case, f"paused by triage: {why}")
    draft.set(paused=True)
    draft.emit("task:paused", by=draft.actor, why=why)
    said = f"triage paused it: {why}" if why != _PAUSED else why
    scope = question.paused_scope(draft.task.id)
    asked = tuple(
        replace(each, scope=scope) for each in escalation.ask(draft, case, said, verdict=verdict, headline=said)
    )
    closes = retry is not None
    return _Done(action="paused", detail=why, questions=asked, retry=retry, closes_retry=closes)


def _file_fix(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> _Done:
    """A one-off becomes pending behind its fix; a recurring task keeps its backoff until the fix is done."""
    made = fix_task(case, verdict, draft.now)
    fix = made.task.id
    if case.task.recurs:
        return _Done(action="fix_filed", detail=f"{fix} was filed; it keeps its backoff until then", made=(made,))
    _stop_waiting(draft)
    draft.set(unmet=case.task.unmet + 1)
    if case.task.status == "failed":
        draft.set(due_at=_named(case, draft.now))
        draft.move("pending", f"waits for its fix {fix}", attempt=case.triage.number)
    draft.emit("task:edited", by=draft.actor, changed=["after"], after=fix)
    edge = Rewired(case.task.id, None, fix)
    return _Done(
        action="fix_filed", detail=f"waits for its fix {fix}", made=(made,), rewired=(edge,), closes_retry=True
    )


def _named(case: TriageCase, now: int) -> int | None:
    """The time its failure named, when it is still to come: nothing is retried before."""
    due = policy.not_before(diagnosis_of(case).retry_after_ms, now, now, record_of(case.task))
    return due if due > now else None


def _spec_refresh(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> _Done:
    """Blocked until its specification is reviewed; asking twice makes one review."""
    made: tuple[Made, ...] = ()
    if case.review is None:
        made = (review_task(case, verdict.unclear, draft.now, evidence=verdict.evidence),)
    review = case.review or made[0].task
    why = f"waits for the review of its specification ({review.id})"
    number, unclear = case.triage.number, verdict.unclear
    draft.emit("task:recovery_action", attempt=number, action="retry_with_spec_refresh", why=unclear)
    draft.emit("task:spec_refresh_requested", attempt=number, review_task=review.id, why=unclear)
    _stop_waiting(draft)
    draft.block("spec", why, until=_reviewed_by(draft, case, review))
    return _Done(action="spec_refresh_requested", detail=why, made=made, closes_retry=True)


def _reviewed_by(draft: Draft[Task], case: TriageCase, review: Task) -> int | None:
    """When it goes on without its review: never while a person has it, never before a time its failure named."""
    if question.is_persons(review):
        return None
    return max(draft.now + case.means.blocked_timeout_ms, _named(case, draft.now) or 0)


def _split(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> _Done:
    """Closed with the ids of its parts; what came after it comes after all of them."""
    made = parts(case, verdict.parts, draft.now)
    ids = [each.task.id for each in made]
    why = f"Split into sub-issues: {', '.join(ids)}"
    _stop_waiting(draft)
    draft.set(due_at=None, forced=False, wants_triage=False)
    draft.move("cancelled", why, attempt=case.triage.number, split_into=ids)
    draft.emit("task:cancelled", by=draft.actor, split_into=ids)
    others, edges = _come_after(draft, case, ids, instead=True)
    return _Done(action="split", detail=why, made=made, others=others, rewired=edges, closes_retry=True)


def _come_after(
    draft: Draft[Task], case: TriageCase, ids: list[str], *, instead: bool
) -> tuple[tuple[Draft[Task], ...], tuple[Rewired, ...]]:
    """What comes after the task comes after these (as well, or instead), and is not blocked for it."""
    others: list[Draft[Task]] = []
    for task in case.dependents:
        if not task.finished:
            other = Draft(task, draft.now, actor=draft.actor)
            other.set(unmet=task.unmet + len(ids) - int(instead))
            other.emit("task:edited", by=draft.actor, changed=["after"], after=ids)
            others.append(other)
    source = case.task.id if instead else None
    edges = tuple(Rewired(other.task.id, source, target) for other in others for target in ids)
    return tuple(others), edges


def _adjust(draft: Draft[Task], case: TriageCase, verdict: Verdict) -> _Done:
    """The change is stored as a diff and applied; then the task is tried again, as soon as it says it may."""
    wanted = verdict.adjust
    assert wanted is not None
    diff = rights.diff(case.task, wanted)
    draft.set(**{name: after for name, (_, after) in diff.items() if name in _FIELDS})
    made, others, edges = _narrow(draft, case, verdict) if "criteria" in diff else ((), (), ())
    if "runner" in diff:
        draft.set(hold=None, resources=rights.accounts(case.task, wanted.profile, case.means))
    told = guidance.triage_says(
        wanted.guidance,
        next_attempt=case.task.attempts + 1,
        fingerprint=case.triage.fingerprint,
        failed=case.task.last_summary,
    )
    if "guidance" in diff:
        draft.set(guidance=guidance.keep(case.task.guidance, told))
    draft.emit("task:edited", by=draft.actor, changed=sorted(diff), diff=diff)
    retry = _clear(draft, case, _delay(case, wanted.retry_delay_ms, draft.now))
    detail = verdict.why or verdict.root_cause or line(wanted.guidance, EVIDENCE_MAX) or ", ".join(rights.shown(diff))
    closes = case.task.status == "failed"
    return _Done(
        action="adjusted",
        detail=detail,
        made=made,
        others=others,
        rewired=edges,
        retry=retry,
        closes_retry=closes,
        diff=diff,
    )


_FIELDS: Final = frozenset({"timeout_ms", "model", "runner", "fresh_session"})


def _narrow(
    draft: Draft[Task], case: TriageCase, verdict: Verdict
) -> tuple[tuple[Made, ...], tuple[Draft[Task], ...], tuple[Rewired, ...]]:
    """Fewer criteria now; the rest is a task of its own, and what comes after this one comes after that as well."""
    assert verdict.adjust is not None and verdict.adjust.keep_criteria is not None
    _, left = rights.parted(case.task.spec, verdict.adjust.keep_criteria)
    draft.set(spec=rights.without(case.task.spec, left))
    made = follow_up(case, left, draft.now)
    others, edges = _come_after(draft, case, [made.task.id], instead=False)
    return (made,), others, edges


def _delay(case: TriageCase, named_ms: int | None, now: int) -> int:
    """What the verdict says, else the ladder's next delay; a recurring task and an issue have waited already."""
    if named_ms is not None or case.task.recurs or case.task.policy == tiers.PRESET:
        return named_ms or 0
    found = diagnosis_of(case)
    advice, record = Advice(found.suggested_fix), record_of(case.task)
    return policy.retry_step("retry_with_guidance", "", found, record, case.policy, now, advice=advice).delay_ms or 0


def _clear(draft: Draft[Task], case: TriageCase, delay_ms: int) -> Retry | None:
    """Cleared for retry, never before a time its failure named; what is not `failed` waits for something else."""
    _stop_waiting(draft)
    if case.task.status != "failed":
        return None
    why, found, now = "adjusted by triage", diagnosis_of(case), draft.now
    draft.emit("task:recovery_action", attempt=case.triage.number, action="retry_with_guidance", why=why)
    due = policy.not_before(found.retry_after_ms, now + delay_ms, now, record_of(case.task))
    if due <= now:
        draft.set(due_at=None)
        if case.task.recurs:
            recurring.rerun(draft, now)
        draft.move("pending", "cleared for retry: adjusted by triage", attempt=case.triage.number)
        return None
    draft.set(due_at=due)
    told = (
        draft.task.guidance[-1] if draft.task.guidance else guidance.guide(found, next_attempt=case.task.attempts + 1)
    )
    step = policy.NextStep(action="retry_with_guidance", why=why, delay_ms=due - now, due_at=due, guidance=told)
    return schedule_retry(draft, _failure(case), step)


_Effect = Callable[[Draft[Task], TriageCase, Verdict], _Done]
_EFFECTS: Final[Mapping[Word, _Effect]] = {
    "NOOP": _noop,
    "ADJUST": _adjust,
    "SPLIT": _split,
    "SPEC_REFRESH": _spec_refresh,
    "FILE_FIX": _file_fix,
    "PAUSE": _pause,
    "RECOMMEND_CONFIG": _recommend,
    "ESCALATE": _escalate,
}


WHOLE_MAX: Final = 8_000  # of the original, quoted in its parts
GUIDANCE_SHOWN: Final = 5

# What the parts of a task have from it, and what is left of it for later.
INHERITED: Final = (
    "runner command shell advice cwd env env_file env_from timeout_ms stall_ms memory_bytes cpu_ms priority queue tags"
    " policy resources mutex checks check_timeout_ms fail_fast threshold model max_tokens max_cost"
    " worktree setup copies on_pass"
).split()


class Made(Struct, frozen=True, kw_only=True):
    """A new task with its events, and the question that a person's task is."""

    added: Added[Task]
    events: tuple[Event, ...]
    questions: tuple[Question, ...] = ()

    @property
    def task(self) -> Task:
        """The task as it is added."""
        return self.added.change.after

    @property
    def decision(self) -> Decision:
        """All of it."""
        return Decision(writes=(self.added, *self.questions), events=self.events)


def fix_task(case: TriageCase, verdict: Verdict, now: int, *, incident: Breaker | None = None) -> Made:
    """One fix for what makes the task fail; worked on by `[triage] fix_agent`, otherwise by a person.

    That of an incident is for what many tasks meet: it names one of them, and none of them waits for it by itself.
    """
    piece, named = verdict.fixes[0], f"{case.task.id} ({case.task.title})"
    why = f"It was filed because {named} keeps failing."
    if incident is not None:
        why = f"It was filed for {incident.key}: {incident.why}. {named} is one of them."
    cause = f"Root cause: {verdict.root_cause}" if verdict.root_cause else ""
    about = _sections(piece.description, why, cause, _shown(case, verdict.evidence))
    return _served(case, "fix", piece.title, about, case.means.fix_agent, now)


def review_task(case: TriageCase, unclear: str, now: int, *, evidence: Sequence[str] = ()) -> Made:
    """One review of the specification, with what the failures showed; worked on by the profile of role `spec`."""
    task = case.task
    tried = "\n".join(f"- {each.advice}" for each in task.guidance[-GUIDANCE_SHOWN:] if each.advice)
    about = _sections(
        f"What is unclear: {unclear}",
        f"{task.id} ({task.title}) failed {task.streak} times in a row.",
        _shown(case, evidence),
        f"What was advised and did not help:\n{tried}" if tried else "",
    )
    title = f"Review specification of {task.title}"
    return _served(case, "review", title, about, case.means.spec_agent, now, spec=task.spec)


def parts(case: TriageCase, pieces: Sequence[Piece], now: int) -> tuple[Made, ...]:
    """The parts of a split, one after another, each like the original with its share of the budget.

    The checks of the whole are for the last one: before it there is no whole that could pass them.
    """
    whole = block("\n\n".join(part for part in (case.task.description, case.task.spec) if part), WHOLE_MAX)
    made: list[Made] = []
    for at, piece in enumerate(pieces):
        before = (made[-1].task.id,) if made else ()
        about = _sections(
            piece.description,
            f"Only this is to be done now: part {at + 1} of {len(pieces)} of {case.task.id} ({case.task.title}).",
            f"The whole it is a part of:\n{whole}" if whole else "",
        )
        share = {
            name: max(1, limit // len(pieces))
            for name in ("max_tokens", "max_cost")
            if (limit := getattr(case.task, name)) is not None
        }
        own = {**share, "checks": case.task.checks if at == len(pieces) - 1 else ()}
        if case.task.policy == tiers.PRESET:
            own["waits_for"] = TRACKER  # until the whole split is in the tracker
        unmet = case.task.unmet + len(before)
        task = _like(case, "part", case.new_ids[at], piece.title, about, now, unmet=unmet, position=at, **own)
        made.append(_added(case, task, now, after=(*case.after, *before)))
    return tuple(made)


def follow_up(case: TriageCase, left: Sequence[Criterion], now: int) -> Made:
    """What a narrowed task leaves for later: like the original, after it, with the criteria that are left."""
    task = case.task
    wanted = "\n".join(f"- {each.text}" for each in left)
    about = _sections(task.description, f"This is what {task.id} ({task.title}) left for later.")
    title = f"Rest of {task.title}"
    spec = f"Acceptance criteria:\n{wanted}"
    made = _like(case, "follow_up", case.new_ids[0], title, about, now, unmet=1, spec=spec)
    return _added(case, made, now, after=(task.id,))


def _served(case: TriageCase, role: Role, title: str, about: str, profile: str, now: int, *, spec: str = "") -> Made:
    """A task next to the failing one: an agent's where one is configured, otherwise a person's."""
    of = case.task
    task = Task(
        id=case.new_ids[0],
        title=line(title, TITLE_MAX),
        runner=runner_of(profile) if profile else question.RUNNER,
        cwd=of.cwd,
        env=of.env if profile else (),
        description=about,
        spec=spec,
        priority=of.priority,
        queue=of.queue,
        policy=of.policy,
        resources=case.means.accounts.get(profile, ()),
        max_tokens=of.max_tokens,
        max_cost=of.max_cost,
        **_service(case, role, now),
    )
    return _added(case, task, now) if profile else _asked(case, task, now)


def _like(case: TriageCase, role: Role, task_id: str, title: str, about: str, now: int, **own: Any) -> Task:
    """A task that is worked on exactly as the original was."""
    inherited = {name: getattr(case.task, name) for name in INHERITED}
    fields = inherited | _service(case, role, now) | own
    return Task(id=task_id, title=line(title, TITLE_MAX), description=about, **fields)


def _service(case: TriageCase, role: Role, now: int) -> dict[str, Any]:
    return {
        "owner_kind": "incident" if case.triage.incident else "task",
        "owner_id": case.triage.incident or case.task.id,
        "role": role,
        "created_at": now,
        "created_by": case.triage.id,
        "since": now,
    }


def _added(case: TriageCase, task: Task, now: int, *, after: tuple[str, ...] = ()) -> Made:
    draft = _created(case, task, now)
    return Made(added=Added(draft.change(), after), events=tuple(draft.events))


def _asked(case: TriageCase, task: Task, now: int) -> Made:
    """A person's task: a question, and answering it completes the task."""
    draft = _created(case, task, now)
    asked = question.hand_over(draft)
    return Made(added=Added(draft.change()), events=tuple(draft.events), questions=(asked,))


def _created(case: TriageCase, task: Task, now: int) -> Draft[Task]:
    draft = Draft(task, now, actor=task.created_by)
    served = {"subject": case.task.id, "role": task.role}
    draft.emit("task:created", title=task.title, queue=task.queue, priority=task.priority, serves=served)
    return draft


def _sections(*parts: str) -> str:
    return block("\n\n".join(part for part in parts if part), TEXT_MAX)


def _shown(case: TriageCase, evidence: Sequence[str]) -> str:
    """What the failures themselves say: the diagnosis, its place, its words, and the lines that were quoted."""
    found = [*_diagnosed(case.diagnosis), *evidence] if case.diagnosis else [case.task.last_summary, *evidence]
    lines = [each for each in dict.fromkeys(found) if each]
    return "Evidence:\n" + "\n".join(lines) if lines else ""


def _diagnosed(found: Diagnosis) -> list[str]:
    place = f" at {found.location}" if found.location else ""
    return [f"{found.kind}{place}: {found.summary}", block(found.pattern.excerpt, EVIDENCE_MAX)]
