"""What a verdict on an incident does: to its question, its canaries and one fix; never to the tasks it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from medbay.core import breaker, incident, question, sharing
from medbay.core.breaker import Breaker
from medbay.core.decision import Decision, QuestionSent, WorkingSet
from medbay.core.model import Event, Question, Triage
from medbay.core.plain import block, line
from medbay.core.question import EVIDENCE_MAX
from medbay.core.resources import incident_key
from medbay.core.triage import effects, making, rights
from medbay.core.triage.asking import NEED_MAX
from medbay.core.triage.case import Case
from medbay.core.triage.effects import PREFIX, Judged, plain
from medbay.core.triage.incident import FIX, LOOKED_AT
from medbay.core.triage.making import Made
from medbay.core.triage.verdict import Action, Unreadable, Verdict, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """What an effect came to: the incident as it is to be, and what is asked or filed."""

    action: Action
    detail: str
    after: Breaker
    asked: Question | None = None  # its question is new
    enriched: Question | None = None  # its question is open, and says more now
    sent: tuple[QuestionSent, ...] = ()
    made: tuple[Made, ...] = ()
    events: tuple[Event, ...] = ()


def judge(case: Case, answer: Verdict | Unreadable, now: int, work: WorkingSet) -> Judged:
    """Apply an answer: dropped when the incident is over, refused outside its rights, otherwise what it does."""
    verdict = answer if isinstance(answer, Verdict) else None
    open_still = _open_still(case, work)
    if open_still is None:
        late = {"verdict": verdict.word if verdict else None, "stale": "the incident is over", "applied": False}
        return _nothing(case, "stale", "the incident closed since the triage began", now, work, late, verdict)
    if isinstance(answer, Unreadable):
        return fell_through(case, answer.why, "verdict_unreadable", now, work)
    refused = rights.outside(answer, case)
    if refused is not None:
        return fell_through(case, refused.why, "refused", now, work, verdict=answer)
    done = _EFFECTS[answer.word](case, open_still, answer, now)
    told = _event("triage:verdict", case, effects.told_of(answer))
    return _judged(case, open_still, done, now, work, told, answer)


def fell_through(
    case: Case, why: str, action: Action, now: int, work: WorkingSet, *, verdict: Verdict | None = None
) -> Judged:
    """No verdict came of it: its one question says so while it is open, its canaries go on, no second triage starts."""
    said = {"verdict": verdict.word} if verdict is not None else {}
    name = "triage:refused" if action == "refused" else "triage:failed"
    told = _event(name, case, {"why": why, "action": action, **said})
    open_still = _open_still(case, work)
    if open_still is None:
        return _nothing(case, action, why, now, work, told.data, verdict, name=name)
    done = _Done(action=action, detail=why, after=open_still)
    if case.question is not None:
        done = _asks(case, done, PREFIX.get(action, "") + why, verdict, now)
    return _judged(case, open_still, done, now, work, told, verdict)


def _open_still(case: Case, work: WorkingSet) -> Breaker | None:
    """The incident it was started for, unless that is over; another one on the same failure is not meant."""
    found = work.breakers.get(incident_key(case.triage.fingerprint))
    return found if found is not None and found.data.get(LOOKED_AT) == case.triage.id else None


def _event(name: str, case: Case, told: Mapping[str, Any]) -> Event:
    data = {"triage": case.triage.id, "incident": incident_key(case.triage.fingerprint), **told}
    return Event(name=name, task_id=case.task.id, attempt=case.triage.number, data=data)


def _nothing(
    case: Case,
    action: Action,
    why: str,
    now: int,
    work: WorkingSet,
    told: Mapping[str, Any],
    verdict: Verdict | None,
    *,
    name: str = "triage:verdict",
) -> Judged:
    ended = _ended(case, action, why, now, verdict)
    return Judged(Decision(triages=(ended,), events=(_event(name, case, told),), work=work), action, why)


def _judged(
    case: Case, before: Breaker, done: _Done, now: int, work: WorkingSet, told: Event, verdict: Verdict | None
) -> Judged:
    fed = sharing.save(work, before, done.after)
    decision = replace(
        fed.made,
        added=tuple(each.added for each in done.made),
        triages=(_ended(case, done.action, done.detail, now, verdict),),
        questions=(*((done.asked,) if done.asked else ()), *(asked for each in done.made for asked in each.questions)),
        questions_enriched=(done.enriched,) if done.enriched else (),
        questions_sent=done.sent,
        events=(told, *fed.made.events, *done.events, *(event for each in done.made for event in each.events)),
        work=fed.work,
    )
    return Judged(decision, done.action, done.detail)


def _ended(case: Case, action: Action, detail: str, now: int, verdict: Verdict | None) -> Triage:
    said = plain(verdict) if verdict is not None else None
    return replace(case.triage, ended_at=now, action=action, detail=detail, verdict=said)


def _asks(case: Case, done: _Done, why: str, verdict: Verdict | None, now: int) -> _Done:
    """Its one question says what triage found; where it was answered already, it is asked anew."""
    meant = (verdict.look_at or verdict.suggestion or verdict.root_cause) if verdict is not None else ""
    shown = verdict.evidence if verdict is not None else ()
    need = line(f"{done.after.why}. {meant}" if meant else case.question.need if case.question else why, NEED_MAX)
    if case.question is not None:
        evidence = block("\n".join(dict.fromkeys((*shown, *case.question.evidence.split("\n")))), EVIDENCE_MAX)
        more = replace(case.question, need=need, why=f"{case.question.why}; {why}", evidence=evidence)
        return replace(done, enriched=more)
    evidence = block("\n".join(shown), EVIDENCE_MAX)
    asked = incident.asked(case.triage.fingerprint, now, need=need, why=why, evidence=evidence, again=now)
    told = Event(name="question:asked", data={"question": asked.id, "need": asked.need, "why": asked.why})
    return replace(done, asked=asked, after=replace(done.after, question_id=asked.id), events=(*done.events, told))


# The effects


def _noop(case: Case, open_still: Breaker, verdict: Verdict, now: int) -> _Done:
    """The canaries go on as they would."""
    why = verdict.why or verdict.root_cause or "triage would change nothing"
    return _Done(action="no_action", detail=why, after=open_still)


def _recommend(case: Case, open_still: Breaker, verdict: Verdict, now: int) -> _Done:
    """A change elsewhere is a person's: the question names it, and nobody is called a second time for it."""
    done = _Done(action="config_recommended", detail=verdict.suggestion, after=open_still)
    return _asks(case, done, f"triage recommends: {verdict.suggestion}", verdict, now)


def _escalate(case: Case, open_still: Breaker, verdict: Verdict, now: int) -> _Done:
    """A person is needed: the question says for what, and is sent again at once."""
    why = verdict.why or verdict.root_cause or "triage asks for a person"
    done = _asks(case, _Done(action="escalated_to_human", detail=why, after=open_still), why, verdict, now)
    if done.enriched is None:
        return done
    again = question.on_unanswered(done.enriched, now)
    return replace(done, sent=again.questions_sent, events=again.events)


def _pause(case: Case, open_still: Breaker, verdict: Verdict, now: int) -> _Done:
    """No task is sent ahead any more until a person has answered."""
    why = verdict.why or verdict.root_cause or "triage paused it"
    done = _Done(action="paused", detail=why, after=breaker.wait_for_answer(open_still))
    return _asks(case, done, f"triage stopped the canaries: {why}", verdict, now)


def _file_fix(case: Case, open_still: Breaker, verdict: Verdict, now: int) -> _Done:
    """One fix for what all of them meet; when it is done, one task goes ahead at once."""
    made = making.fix_task(case, verdict, now, incident=open_still)
    after = replace(open_still, data={**open_still.data, FIX: made.task.id})
    detail = f"{made.task.id} was filed; when it is done, one task goes ahead at once"
    return _Done(action="fix_filed", detail=detail, after=after, made=(made,))


_Effect = Callable[[Case, Breaker, Verdict, int], _Done]
_EFFECTS: Final[Mapping[Word, _Effect]] = {
    "NOOP": _noop,
    "FILE_FIX": _file_fix,
    "PAUSE": _pause,
    "RECOMMEND_CONFIG": _recommend,
    "ESCALATE": _escalate,
}
