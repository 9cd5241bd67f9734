"""Incidents: the same failure on many tasks at once, where the cause is one they share. Treated once, asked once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from medbay.core.agent import never_got_to_work
from medbay.core.attempt.cause import SPENT, Cause, FailureCase
from medbay.core.decision import NOTHING, AttemptEnd, Decision, Draft, QuestionClosed, WorkingSet, together
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.durations import iso
from medbay.core.holds import breaker, resources
from medbay.core.holds.breaker import ENGINE, Breaker, BreakerChange, CommandUse, Limits, open_incident
from medbay.core.holds.resources import incident_key
from medbay.core.model import Event, Option, Owner, Question, Task
from medbay.core.outcome import Outcome
from medbay.core.people.question import EVIDENCE_MAX
from medbay.core.policy import phases
from medbay.core.redaction import redact

NEW_CANARY = ("lost", "cancelled", "requeued")  # these ends say nothing of what the canary was sent for


class FailureSurroundings(Struct, frozen=True, kw_only=True):
    """What the record knows around a failure, beyond its task."""

    limits: Limits = field(default_factory=Limits)
    host: str = ""  # where it ran
    canary: bool = False
    number: int = 0
    ran_ms: int | None = None  # how long it ran
    others: Mapping[str, str] = field(default_factory=dict)  # tasks that met the same lately -> key of their command
    crash_loop: Breaker | None = None  # of its runner on that host, open or closed
    asked: Question | None = None  # the newest question about a task that recurs


class Fed(Struct, frozen=True, kw_only=True):
    """What a failure did to what tasks share; `until` is the named end of a hold it waits for now."""

    made: Decision = NOTHING
    work: WorkingSet
    until: int | None = None


def case_of(
    task: Task, outcome: Outcome, found: Diagnosis, around: FailureSurroundings, work: WorkingSet
) -> FailureCase:
    """The failure with what is known around it, for its one cause."""
    return FailureCase(
        outcome=outcome,
        diagnosis=found,
        account=resources.account_of(task, found),
        never_worked=never_got_to_work(task, outcome, around.ran_ms),
        in_phase=task.policy == phases.PRESET,
        open_incidents=_open_incidents(work) if work.breakers else frozenset(),
        opens_incident=is_shared(found) and len(_alike(task, found, around, work)) >= around.limits.incident_tasks,
    )


def _open_incidents(work: WorkingSet) -> frozenset[str]:
    incidents = (each for each in work.breakers.values() if each.kind == "incident")
    return frozenset(fingerprint for each in incidents for fingerprint in each.fingerprints)


def feed(draft: Draft[Task], found: Diagnosis, cause: Cause, around: FailureSurroundings, work: WorkingSet) -> Fed:
    """Let the failure have its effect on the one thing it feeds."""
    task, now = draft.task, draft.now
    work = _seen(task, found, work)
    account = resources.account_of(task, found)
    known = account is not None and (found.provider is not None or resources.is_commands(account))
    uses = (CommandUse(resources.command_key(task), account),) if account and known else ()
    match cause:
        case Cause.PROVIDER_LIMIT:
            assert account is not None
            before = work.breakers.get(account)
            after = _hold(before, account, found, now, met_by_canary=_is_canary(before, task, around))
            fed = save(work, before, after)
            return replace(fed, made=fed.made.plus(*uses), until=after.until)
        case Cause.CRASH_LOOP:
            return _crash(task, found, around, now, work)
        case Cause.INCIDENT:
            fed = _incident(task, found, around, now, work)
            return replace(fed, made=together(Decision(writes=uses), fed.made))
        case _:
            return Fed(made=Decision(writes=uses) if uses else NOTHING, work=work)


def spent(draft: Draft[Task], found: Diagnosis, question_id: str, work: WorkingSet) -> Fed:
    """Credits are used up: the account is held until the question is answered."""
    account = resources.account_of(draft.task, found)
    if account is None or found.subcategory != SPENT:
        return Fed(work=work)
    before = work.breakers.get(account)
    after = breaker.hold_for_answer(before, account, draft.now, why=found.summary, question_id=question_id)
    return save(work, before, after)


def settle_canary(made: Decision, task: Task, number: int, now: int, before: WorkingSet) -> Decision:
    """A canary ended: what it says of the breaker it was sent for, unless its failure was the breaker's own."""
    sent_for = next(
        (each for each in before.breakers.values() if (each.canary_task, each.canary_number) == (task.id, number)), None
    )
    if sent_for is None or any(change.after.key == sent_for.key for change in made.all(BreakerChange)):
        return made
    end = made.first(AttemptEnd)
    assert end is not None
    gone = end.outcome in NEW_CANARY
    after = breaker.canary_gone(sent_for, now) if gone else breaker.canary_lived(sent_for, now)
    fed = save(made.work, sent_for, after)
    return replace(together(made, fed.made), work=fed.work)


def save(work: WorkingSet, before: Breaker | None, after: Breaker) -> Fed:
    """A changed breaker, and the working set that the next rule sees."""
    made = changed_breaker(before, after)
    if made is NOTHING:
        return Fed(work=work)
    stored = replace(after, version=(before.version if before else 0) + 1)
    breakers = {key: each for key, each in work.breakers.items() if key != after.key}
    if after.state != "closed":
        breakers[after.key] = stored
    return Fed(made=made, work=replace(work, breakers=breakers))


def _hold(before: Breaker | None, account: str, found: Diagnosis, now: int, *, met_by_canary: bool) -> Breaker:
    if met_by_canary:
        assert before is not None
        return breaker.canary_met_it(before, now, named=found.retry_after_ms, why=found.summary)
    return breaker.place_hold(
        before, account, now, named=found.retry_after_ms, why=found.summary, met=found.fingerprint
    )


def _crash(task: Task, found: Diagnosis, around: FailureSurroundings, now: int, work: WorkingSet) -> Fed:
    key = resources.crash_loop_key(task.runner, around.host)
    before = work.breakers.get(key) or work.counted.get(key) or around.crash_loop
    if _is_canary(before, task, around):
        assert before is not None
        return save(work, before, breaker.canary_met_it(before, now, named=None, why=found.summary))
    limits = around.limits
    after = breaker.strike(
        before,
        key,
        "crash_loop",
        now,
        why=found.summary,
        failures=limits.crash_failures,
        window_ms=limits.crash_window_ms,
    )
    fed = save(work, before, after)
    counted = {**work.counted, key: replace(after, version=(before.version if before else 0) + 1)}
    return replace(fed, work=replace(fed.work, counted=counted)) if fed.made is not NOTHING else fed


def _incident(task: Task, found: Diagnosis, around: FailureSurroundings, now: int, work: WorkingSet) -> Fed:
    key = resources.incident_key(found.fingerprint)
    own = CommandUse(resources.command_key(task), key)
    before = work.breakers.get(key)
    if before is None:
        alike = _alike(task, found, around, work)
        after, asked = opened(found, alike, now)
        fed = save(work, None, after)
        event = Event(name="question:asked", data={"question": asked.id, "need": asked.need, "why": asked.why})
        uses = (CommandUse(command, key) for command in sorted(set(alike.values())))
        return replace(fed, made=fed.made.plus(asked, *uses, events=(event,)))
    met = _is_canary(before, task, around)
    after = breaker.canary_met_it(before, now, named=found.retry_after_ms, why=before.why) if met else before
    fed = save(work, before, after)
    return replace(fed, made=fed.made.plus(own))


def _is_canary(before: Breaker | None, task: Task, around: FailureSurroundings) -> bool:
    return (
        before is not None and around.canary and (before.canary_task, before.canary_number) == (task.id, around.number)
    )


def _alike(task: Task, found: Diagnosis, around: FailureSurroundings, work: WorkingSet) -> Mapping[str, str]:
    """The tasks that met this failure lately, this one among them, with the keys of their commands."""
    return {**around.others, **work.sightings.get(found.fingerprint, {}), task.id: resources.command_key(task)}


def _seen(task: Task, found: Diagnosis, work: WorkingSet) -> WorkingSet:
    if not is_shared(found):
        return work
    alike = {**work.sightings.get(found.fingerprint, {}), task.id: resources.command_key(task)}
    return replace(work, sightings={**work.sightings, found.fingerprint: alike})


CONFIDENT_FROM: Final = 0.8
SHARED: Final = frozenset({"transient", "dependency_missing", "resource_exhaustion"})

TRY_NOW: Final = Option("fixed, try one task now", "retry", "sends one task ahead; if it succeeds the rest follow")
WAIT: Final = Option("keep waiting", "wait", "Medbay goes on sending one task ahead from time to time")


def is_shared(found: Diagnosis) -> bool:
    """Whether a failure speaks of something that tasks have in common, surely enough and with words to show."""
    said = found.pattern.excerpt.strip()
    return found.category in SHARED and found.confidence >= CONFIDENT_FROM and bool(said)


def opened(found: Diagnosis, tasks: Collection[str], now: int) -> tuple[Breaker, Question]:
    """The incident, and its question, which blocks no task."""
    question = asked(
        found.fingerprint,
        now,
        need=f"{len(tasks)} tasks fail the same way: {found.summary}. {found.suggested_fix}".strip(),
        why=f"{found.kind} on {', '.join(sorted(tasks))}; they hold until one of them gets through",
        evidence=found.pattern.evidence[:EVIDENCE_MAX],
    )
    facts = {"category": found.kind, "excerpt": found.pattern.excerpt[:EVIDENCE_MAX], "tasks": sorted(tasks)}
    key = incident_key(found.fingerprint)
    why = f"{len(tasks)} tasks fail the same way: {found.summary}"
    made = open_incident(key, now, why=why, fingerprint=found.fingerprint, question_id=question.id, facts=facts)
    return made, question


def asked(fingerprint: str, now: int, *, need: str, why: str, evidence: str, again: int = 0) -> Question:
    """The question of an incident: it blocks no task, and is withdrawn when the incident closes.

    `again` is a number of its own for a second one within the same second.
    """
    number = fingerprint.rpartition(":")[2]
    return Question(
        id=f"q-{number}-{again or now // 1000:x}",
        need=redact(need),
        why=redact(why),
        evidence=redact(evidence),
        options=(TRY_NOW, WAIT),
        owner=Owner("incident", incident_key(fingerprint)),
        asked_at=now,
    )


_WORDS: Final = {"open": "breaker:opened", "half_open": "breaker:half_open", "closed": "breaker:closed"}


def changed_breaker(before: Breaker | None, after: Breaker) -> Decision:
    """Save it with the events of what happened, and withdraw its question when it closes."""
    if after == before:
        return NOTHING
    events = [*_events(before, after)]
    closed: QuestionClosed | None = None
    asked = before.question_id if before is not None and before.kind == "incident" else None
    if after.state == "closed" and asked is not None:
        answer = "it is over"
        events.append(Event(name="question:withdrawn", data={"question": asked, "why": answer}))
        closed = QuestionClosed(question_id=asked, task_id="", whole=True, status="withdrawn", by=ENGINE, answer=answer)
    return NOTHING.plus(BreakerChange(before, after), closed, events=events)


def _events(before: Breaker | None, after: Breaker) -> list[Event]:
    was = before.state if before is not None else "closed"
    data = _facts(after)
    if after.kind == "provider":
        longer = before is not None and was != "closed" and after.until != before.until
        if after.state == "open" and (was != "open" or longer):
            return [Event(name="hold:placed", data={**data, "extended": was != "closed"})]
        over = after.state == "closed" and was != "closed"
        return [Event(name="hold:released", data=data)] if over else []
    if after.state == was:
        return []
    if after.kind == "budget":
        return [Event(name="budget:exceeded", data={**data, **after.data})] if after.state == "open" else []
    events = [Event(name=_WORDS[after.state], data=data)]
    if after.kind == "incident" and (was == "closed" or after.state == "closed"):
        name = "incident:closed" if after.state == "closed" else "incident:opened"
        events.append(Event(name=name, data={**data, "question": after.question_id}))
    return events


def _facts(breaker: Breaker) -> dict[str, Any]:
    return {
        "key": breaker.key,
        "kind": breaker.kind,
        "why": breaker.why,
        "by": breaker.opened_by,
        "until": iso(breaker.until) if breaker.until is not None else None,
        "probe_at": iso(breaker.probe_at) if breaker.probe_at is not None and breaker.state == "open" else None,
        "canary": breaker.canary_task,
    }
