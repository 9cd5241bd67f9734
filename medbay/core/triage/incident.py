"""The one triage of an incident: whether it may start, with whom as an example, and the task that runs it.

It looks at what many tasks have in common. Nothing here changes any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from medbay.core.decision import Added, Decision, Draft, QuestionEnriched, WorkingSet, Write, together
from medbay.core.durations import format_duration
from medbay.core.holds import breaker, incident
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.incident import changed_breaker
from medbay.core.holds.resources import incident_key
from medbay.core.model import Event, Task, Triage
from medbay.core.people import question
from medbay.core.people.question import EVIDENCE_MAX
from medbay.core.triage import agency, effects, rights
from medbay.core.triage.case import Means, TriageCase
from medbay.core.triage.cycle import OPTED_OUT, StartAnswer, own_task
from medbay.core.triage.effects import PREFIX, Judged, Made, plain
from medbay.core.triage.escalation import NEED_MAX
from medbay.core.triage.verdict import Action, Unreadable, Verdict, Word
from medbay.core.untrusted import block, line

LOOKED_AT = "triage"  # in the data of an incident: the triage it has; empty where it gets none
FIX = "fix"  # the fix that was filed for it


class IncidentSurroundings(Struct, frozen=True, kw_only=True):
    """What decides beyond the incident itself."""

    examples: tuple[Task, ...] = ()  # tasks that failed like this, in the queues that are looked after
    elsewhere: bool = False  # others are in queues that another engine serves
    running: str | None = None  # the running triage of the same fingerprint
    last: Triage | None = None  # the last one of an incident on this fingerprint
    cooldown_ms: int = 0
    agency: Breaker | None = None


def wants_one(breaker: Breaker) -> bool:
    """Whether it is an open incident without a decision about a triage."""
    return breaker.kind == "incident" and breaker.state != "closed" and LOOKED_AT not in breaker.data


def example_of(tasks: Iterable[Task]) -> Task | None:
    """The task that is shown to the agent; one that wants no triage is never shown."""
    return next((task for task in tasks if OPTED_OUT not in task.tags and task.role != "triage"), None)


def decide(now: int, around: IncidentSurroundings) -> StartAnswer:
    """Whether the triage of an incident may start now."""
    if around.running is not None:
        return StartAnswer("wait", f"{around.running} examines the same failure")
    last = around.last
    if last is not None and now - last.started_at < around.cooldown_ms:
        ago = format_duration(now - last.started_at)
        return StartAnswer("drop", f"{last.id} examined the same failure {ago} ago")
    if example_of(around.examples) is None:
        known = "its tasks want no triage" if around.examples else "none of its tasks is left"
        return StartAnswer("wait", "its tasks are elsewhere") if around.elsewhere else StartAnswer("drop", known)
    if agency.lets(around.agency) == "none":
        return StartAnswer("held_back", "the agency breaker is open")
    return StartAnswer("start")


def start(
    incident: Breaker, example: Task, now: int, *, means: Means, last_seq: int, queue: str = ""
) -> tuple[Decision, Triage]:
    """Begin it: the task that runs it, its row, and the incident that remembers it."""
    fingerprint = incident.fingerprints[0]
    looked = Triage(
        id=f".triage-incident-{fingerprint.rpartition(':')[2]}-{incident.opened_at:x}",
        task_id=example.id,
        number=example.attempts,
        fingerprint=fingerprint,
        agent=means.agent,
        started_at=now,
        since_seq=last_seq,
        incident=incident.key,
    )
    task = replace(own_task(example, looked, means, now, queue), title=f"Triage of {incident.key}", tags=(OPTED_OUT,))
    own = Draft(task, now, actor="triage")
    own.emit("task:created", title=task.title, queue=task.queue, priority=task.priority)
    noted = changed_breaker(incident, _with(incident, looked.id))
    data: dict[str, Any] = {"triage": looked.id, "agent": means.agent, "incident": incident.key}
    begun = Event(name="triage:started", task_id=example.id, attempt=example.attempts, data=data)
    return noted.plus(Added(own.change()), looked, events=(begun, *own.events)), looked


def passed_over(incident: Breaker, why: str) -> Decision:
    """It gets none, and that is final."""
    return changed_breaker(incident, _with(incident, "", why))


def in_words(incident: Breaker, looked: Triage | None) -> str:
    """What came of it so far, for people; empty while nothing is decided."""
    if LOOKED_AT not in incident.data:
        return ""
    if looked is None:
        return f"no triage: {incident.data.get('triage_why', '')}"
    if looked.ended_at is None:
        return f"{looked.id} examines it"
    return f"triage: {looked.action.replace('_', ' ')}: {looked.detail}"


def _with(incident: Breaker, triage_id: str, why: str = "") -> Breaker:
    return replace(incident, data={**incident.data, LOOKED_AT: triage_id, "triage_why": why})


class _IncidentDone(Struct, frozen=True, kw_only=True):
    """What an effect came to: the incident as it is to be, and what is asked or filed."""

    action: Action
    detail: str
    after: Breaker
    writes: tuple[Write, ...] = ()  # its question: a new one, or an open one that says more now
    made: tuple[Made, ...] = ()
    events: tuple[Event, ...] = ()


def judge(case: TriageCase, answer: Verdict | Unreadable, now: int, work: WorkingSet) -> Judged:
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
    event = _event("triage:verdict", case, effects.event_data(answer))
    return _judged(case, open_still, done, now, work, event, answer)


def fell_through(
    case: TriageCase, why: str, action: Action, now: int, work: WorkingSet, *, verdict: Verdict | None = None
) -> Judged:
    """No verdict came of it: its one question says so while it is open, its canaries go on, no second triage starts."""
    said = {"verdict": verdict.word} if verdict is not None else {}
    name = "triage:refused" if action == "refused" else "triage:failed"
    event = _event(name, case, {"why": why, "action": action, **said})
    open_still = _open_still(case, work)
    if open_still is None:
        return _nothing(case, action, why, now, work, event.data, verdict, name=name)
    done = _IncidentDone(action=action, detail=why, after=open_still)
    if case.question is not None:
        done = _asks(case, done, PREFIX.get(action, "") + why, verdict, now)
    return _judged(case, open_still, done, now, work, event, verdict)


def _open_still(case: TriageCase, work: WorkingSet) -> Breaker | None:
    """The incident it was started for, unless that is over; another one on the same failure is not meant."""
    found = work.breakers.get(incident_key(case.triage.fingerprint))
    return found if found is not None and found.data.get(LOOKED_AT) == case.triage.id else None


def _event(name: str, case: TriageCase, said: Mapping[str, Any]) -> Event:
    data = {"triage": case.triage.id, "incident": incident_key(case.triage.fingerprint), **said}
    return Event(name=name, task_id=case.task.id, attempt=case.triage.number, data=data)


def _nothing(
    case: TriageCase,
    action: Action,
    why: str,
    now: int,
    work: WorkingSet,
    data: Mapping[str, Any],
    verdict: Verdict | None,
    *,
    name: str = "triage:verdict",
) -> Judged:
    ended = _ended(case, action, why, now, verdict)
    return Judged(Decision(writes=(ended,), events=(_event(name, case, data),), work=work), action, why)


def _judged(
    case: TriageCase,
    before: Breaker,
    done: _IncidentDone,
    now: int,
    work: WorkingSet,
    event: Event,
    verdict: Verdict | None,
) -> Judged:
    fed = incident.save(work, before, done.after)
    ended = _ended(case, done.action, done.detail, now, verdict)
    filed = together(*(each.decision for each in done.made))
    own = Decision(writes=(ended,), events=(event,), work=fed.work)
    beside = Decision(writes=done.writes, events=done.events)
    return Judged(together(own, fed.made, beside, filed), done.action, done.detail)


def _ended(case: TriageCase, action: Action, detail: str, now: int, verdict: Verdict | None) -> Triage:
    said = plain(verdict) if verdict is not None else None
    return replace(case.triage, ended_at=now, action=action, detail=detail, verdict=said)


def _asks(case: TriageCase, done: _IncidentDone, why: str, verdict: Verdict | None, now: int) -> _IncidentDone:
    """Its one question says what triage found; where it was answered already, it is asked again."""
    meant = (verdict.look_at or verdict.suggestion or verdict.root_cause) if verdict is not None else ""
    shown = verdict.evidence if verdict is not None else ()
    need = line(f"{done.after.why}. {meant}" if meant else case.question.need if case.question else why, NEED_MAX)
    if case.question is not None:
        evidence = block("\n".join(dict.fromkeys((*shown, *case.question.evidence.split("\n")))), EVIDENCE_MAX)
        more = replace(case.question, need=need, why=f"{case.question.why}; {why}", evidence=evidence)
        return replace(done, writes=(QuestionEnriched(more),))
    evidence = block("\n".join(shown), EVIDENCE_MAX)
    asked = incident.asked(case.triage.fingerprint, now, need=need, why=why, evidence=evidence, again=now)
    event = Event(name="question:asked", data={"question": asked.id, "need": asked.need, "why": asked.why})
    after = replace(done.after, question_id=asked.id)
    return replace(done, writes=(asked,), after=after, events=(*done.events, event))


# The effects


def _noop(case: TriageCase, open_still: Breaker, verdict: Verdict, now: int) -> _IncidentDone:
    """The canaries go on as they would."""
    why = verdict.why or verdict.root_cause or "triage would change nothing"
    return _IncidentDone(action="no_action", detail=why, after=open_still)


def _recommend(case: TriageCase, open_still: Breaker, verdict: Verdict, now: int) -> _IncidentDone:
    """A change elsewhere is a person's: the question names it, and no person is called a second time for it."""
    done = _IncidentDone(action="config_recommended", detail=verdict.suggestion, after=open_still)
    return _asks(case, done, f"triage recommends: {verdict.suggestion}", verdict, now)


def _escalate(case: TriageCase, open_still: Breaker, verdict: Verdict, now: int) -> _IncidentDone:
    """A person is needed: the question says for what, and is sent again at once."""
    why = verdict.why or verdict.root_cause or "triage asks for a person"
    done = _asks(case, _IncidentDone(action="escalated_to_human", detail=why, after=open_still), why, verdict, now)
    enriched = next((each for each in done.writes if isinstance(each, QuestionEnriched)), None)
    if enriched is None:
        return done
    again = question.on_unanswered(enriched.question, now)
    return replace(done, writes=done.writes + again.writes, events=again.events)


def _pause(case: TriageCase, open_still: Breaker, verdict: Verdict, now: int) -> _IncidentDone:
    """No task is sent ahead any more until a person has answered."""
    why = verdict.why or verdict.root_cause or "triage paused it"
    done = _IncidentDone(action="paused", detail=why, after=breaker.wait_for_answer(open_still))
    return _asks(case, done, f"triage stopped the canaries: {why}", verdict, now)


def _file_fix(case: TriageCase, open_still: Breaker, verdict: Verdict, now: int) -> _IncidentDone:
    """One fix for what all of them meet; when it is done, one task goes ahead at once."""
    made = effects.fix_task(case, verdict, now, incident=open_still)
    after = replace(open_still, data={**open_still.data, FIX: made.task.id})
    detail = f"{made.task.id} was filed; when it is done, one task goes ahead at once"
    return _IncidentDone(action="fix_filed", detail=detail, after=after, made=(made,))


_Effect = Callable[[TriageCase, Breaker, Verdict, int], _IncidentDone]
_EFFECTS: Final[Mapping[Word, _Effect]] = {
    "NOOP": _noop,
    "FILE_FIX": _file_fix,
    "PAUSE": _pause,
    "RECOMMEND_CONFIG": _recommend,
    "ESCALATE": _escalate,
}
