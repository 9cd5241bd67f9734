"""The triage cycle on our own tasks: starting triages, and loading what a verdict meets."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Final

from medbay.core import rules
from medbay.core.agent import is_agents
from medbay.core.decision import WorkingSet
from medbay.core.durations import iso
from medbay.core.holds.breaker import Breaker
from medbay.core.holds.resources import incident_key
from medbay.core.model import Attempt, Event, Question, Task, Triage
from medbay.core.policy.policy import Policy
from medbay.core.redaction import Redaction
from medbay.core.rules import Edit
from medbay.core.triage import agency, cycle, ending, incident
from medbay.core.triage.case import Means, TriageCase
from medbay.core.triage.context import FAILURES_MAX, Looked, Outage, ShownFailure, make
from medbay.core.triage.cycle import StartAnswer, StartSurroundings
from medbay.core.triage.ending import LookedAt
from medbay.env import Ids
from medbay.errors import MedbayError, NotAllowed
from medbay.service import free_ids, owners, working_set
from medbay.store import attempts, breakers, history, patterns, questions, tasks, triages, workers
from medbay.store import tasks as task_rows
from medbay.store.apply import apply
from medbay.store.database import Tx
from medbay.store.triages import Wish

AT_ONCE = 500
EVERYWHERE = 10_000
EXAMPLES = 20  # tasks that failed like an incident, to choose one from
ASKED = "question:asked"
NEW_IDS = 12  # a split makes ten tasks at most

log = logging.getLogger("medbay.engine")


@dataclass(slots=True)
class Started:
    """What one pass over the tasks that want a triage did."""

    started: list[Triage] = field(default_factory=list)
    under_way: list[Triage] = field(default_factory=list)  # another engine runs them
    waiting: list[tuple[Task, str]] = field(default_factory=list)  # another look, later
    held_back: list[Task] = field(default_factory=list)  # by the agency breaker
    to_a_person: list[tuple[Task, str]] = field(default_factory=list)
    dropped: list[tuple[Task, str]] = field(default_factory=list)
    incidents_waiting: list[tuple[Breaker, str]] = field(default_factory=list)
    incidents_held_back: list[Breaker] = field(default_factory=list)
    further: dict[str, Wish] = field(default_factory=dict)  # queue -> whom the next look begins after

    @property
    def look_again(self) -> bool:
        """Whether a task still wants one."""
        return bool(self.waiting or self.suppressed or self.incidents_waiting or self.further)

    @property
    def suppressed(self) -> int:
        """How many the agency breaker holds back."""
        return len(self.held_back) + len(self.incidents_held_back)

    @property
    def found_any(self) -> bool:
        """Whether there was any task to triage."""
        return any(getattr(self, each.name) for each in fields(self))


def start_wanted(
    tx: Tx,
    queues: Sequence[str] | None,
    work: WorkingSet,
    *,
    policy: Policy,
    means: Means,
    queue: str = "",
    dry_run: bool = False,
    past: Mapping[str, Wish] | None = None,
) -> Started:
    """Start what may start, oldest failure first; what happens to one never affects another.

    None means all queues; the triages run in the queue of their task unless another is named. `past` says, by queue,
    after whom a look begins: where many wait, those behind them get their turn as well.
    """
    found = Started()
    wanted = _wanted(tx, queues, past or {}, found)
    task_rows.lock(tx, [task.id for task in wanted])
    state = work.breakers.get(agency.KEY)
    for each in sorted(work.breakers.values(), key=lambda each: (each.opened_at, each.key)):
        if incident.wants_one(each):
            cooldown_ms = policy.recurring.triage_cooldown_ms
            looking = _Looking(queues=queues, means=means, queue=queue, dry_run=dry_run, cooldown_ms=cooldown_ms)
            state = _look_at_incident(tx, each, found, state, looking)
    for task in sorted(wanted, key=lambda each: (each.since, each.id)):
        try:
            with tx.savepoint():
                state = _start_one(
                    tx, task, found, work, state, policy=policy, means=means, dry_run=dry_run, queue=queue
                )
        except MedbayError:
            raise
        except Exception as error:
            log.warning("the triages of %s cannot be read: %s", task.id, error)
            _leave_to_a_person(tx, task, f"its earlier triages cannot be read: {error}"[:500], found, dry_run=dry_run)
    return found


def _wanted(tx: Tx, queues: Sequence[str] | None, past: Mapping[str, Wish], found: Started) -> list[Task]:
    if queues is None:
        return triages.wanted_anywhere(tx, EVERYWHERE)
    wanted = []
    for queue in queues:
        some = triages.wanted(tx, queue, AT_ONCE, past=past.get(queue, triages.FIRST))
        wanted += some
        if len(some) == AT_ONCE:
            found.further[queue] = (some[-1].since, some[-1].id)
    return wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looking:
    """How incidents are triaged now."""

    queues: Sequence[str] | None
    means: Means
    queue: str
    dry_run: bool
    cooldown_ms: int


def _look_at_incident(tx: Tx, each: Breaker, found: Started, state: Breaker | None, how: _Looking) -> Breaker | None:
    """Start the one triage of an incident, if it may start; the agency breaker as the next one meets it."""
    fingerprint = each.fingerprints[0]
    alike = [task for task_id in each.data.get("tasks", ()) if (task := task_rows.get(tx, task_id)) is not None]
    alike += task_rows.failed_alike(tx, fingerprint, EXAMPLES)
    near = tuple(task for task in alike if how.queues is None or task.queue in how.queues)
    running = triages.running_on(tx, fingerprint)
    around = incident.IncidentSurroundings(
        examples=near,
        elsewhere=len(near) < len(alike),
        running=running.id if running is not None else None,
        last=triages.last_of_incidents(tx, fingerprint),
        cooldown_ms=how.cooldown_ms,
        agency=state,
    )
    answer, example = incident.decide(tx.now, around), incident.example_of(near)
    match answer.what:
        case "start":
            assert example is not None
            seq = history.last_event_seq(tx)
            made, looked = incident.start(each, example, tx.now, means=how.means, last_seq=seq, queue=how.queue)
            found.started.append(looked)
            made, state = cycle.under_agency(made, state, looked)
        case "drop":
            made = incident.passed_over(each, answer.why)
        case "held_back":
            found.incidents_held_back.append(each)
            return state
        case _:
            found.incidents_waiting.append((each, answer.why))
            return state
    if not how.dry_run:
        apply(tx, made)
    return state


def start_asked(
    tx: Tx, task: Task, work: WorkingSet, *, policy: Policy, means: Means, queue: str, dry_run: bool = False
) -> Started:
    """A person wants this task triaged now: neither threshold nor cooldown count."""
    if task.role == "triage":
        raise NotAllowed(
            f"{task.id} is a triage itself", hint=f"medbay show {owners.subject_of(tx, task)} is what it examines"
        )
    if why := _nothing_to_look_at(task):
        raise NotAllowed(f"{task.id} {why[0]}", hint=why[1])
    last = next(iter(triages.of_task(tx, task.id, 1)), None)
    if last is not None and last.action == "adjusted" and last.number == task.attempts:
        hint = f"medbay retry {task.id} tries it now"
        raise NotAllowed(f"{task.id} was adjusted by {last.id} and has not run since", hint=hint)
    found = Started()
    state = work.breakers.get(agency.KEY)
    _start_one(tx, task, found, work, state, policy=policy, means=means, asked_for=True, dry_run=dry_run, queue=queue)
    return found


def _nothing_to_look_at(task: Task) -> tuple[str, str] | None:
    """Why a task cannot be triaged now, and what would help."""
    if task.finished:
        return f"is {task.status}: there is nothing to triage", f"medbay show {task.id} has its attempts"
    if task.live is not None:
        return f"runs (attempt {task.live}), and may say more", f"medbay log {task.id} -f, then medbay triage {task.id}"
    if not task.last_fingerprint:
        return "has not failed", f"medbay explain {task.id} says where it stands"
    return ("is paused", f"medbay resume {task.id} first") if task.paused else None


def _start_one(
    tx: Tx,
    task: Task,
    found: Started,
    work: WorkingSet,
    state: Breaker | None,
    *,
    policy: Policy,
    means: Means,
    asked_for: bool = False,
    dry_run: bool = False,
    queue: str = "",
) -> Breaker | None:
    around = _around(tx, task, work.breakers, state, asked_for=asked_for)
    answer = cycle.decide(task, policy.recurring, tx.now, around)
    match answer.what:
        case "start":
            seq = history.last_event_seq(tx)
            made, looked = cycle.start(task, tx.now, means=means, last_seq=seq, queue=queue)
            found.started.append(looked)
            made, state = cycle.under_agency(made, state, looked)
        case "wait" if around.running is not None and around.running.task_id == task.id:
            found.under_way.append(around.running)
            return state
        case "wait":
            found.waiting.append((task, answer.why))
            return state
        case "held_back":
            found.held_back.append(task)
            return state
        case "to_a_person":
            _leave_to_a_person(tx, task, answer.why, found, dry_run=dry_run)
            return state
        case "drop":
            found.dropped.append((task, answer.why))
            made = cycle.drop(task, tx.now)
    if not dry_run:
        apply(tx, made)
    return state


def _leave_to_a_person(tx: Tx, task: Task, why: str, found: Started, *, dry_run: bool) -> None:
    found.to_a_person.append((task, why))
    asked = questions.open_of_task(tx, task.id)
    if not dry_run and task.status == "blocked" and not task.recurs:  # then a person has it already
        apply(tx, cycle.drop(task, tx.now))
    elif not dry_run:
        apply(tx, cycle.to_a_person(task, tx.now, why, open_question=asked))


def _around(
    tx: Tx, task: Task, known: Mapping[str, Breaker], state: Breaker | None, *, asked_for: bool = False
) -> StartSurroundings:
    """What decides beyond the task itself; `state` is the agency breaker as the next one meets it."""
    earlier = triages.of_task(tx, task.id)
    fix = triages.open_fix(tx, task.id) if earlier else None
    return StartSurroundings(
        earlier=earlier,
        told=bool(earlier) and ASKED in triages.acts_since(tx, task.id, earlier[0].since_seq),
        fix=fix.id if fix is not None else None,
        running=triages.running_on(tx, task.last_fingerprint),
        incident=incident_key(task.last_fingerprint) in known,
        agency=state,
        asked_for=asked_for,
    )


def standing(tx: Tx, task: Task, policy: Policy) -> StartAnswer | None:
    """What the next pass would decide about a task; None where it wants no triage. Nothing is changed."""
    if not task.wants_triage:
        return None
    known = breakers.not_closed(tx)
    return cycle.decide(task, policy.recurring, tx.now, _around(tx, task, known, known.get(agency.KEY)))


def take_unserved(tx: Tx, queue: str, task_id: str | None = None) -> list[Triage]:
    """Triages that were handed back where no engine serves their queue are run in this one; of one task, or of all."""
    served = {each for worker in workers.alive(tx) if worker.lease_until > tx.now for each in worker.queues}
    taken = []
    for looked in triages.not_begun(tx):
        own = task_rows.get(tx, looked.id) if task_id in (None, looked.task_id) else None
        if own is not None and own.ready and own.queue not in served:
            edit = Edit(fields={"queue": queue})
            apply(tx, rules.on_edit_command(own, tx.now, actor="engine", edit=edit))
            taken.append(looked)
    return taken


def abandon(tx: Tx, triage_task: Task) -> None:
    """A triage that was not running was cancelled: its task is a person's matter now."""
    if triage_task.role != "triage" or triage_task.live is not None:
        return
    found = looked_at(tx, triage_task, policy=Policy(), means=Means(), ids=None, failures=0)
    if found is not None:
        apply(tx, ending.abandoned(found, tx.now, working_set.load(tx)))


def looked_at(
    tx: Tx, triage_task: Task, *, policy: Policy, means: Means, ids: Ids | None, failures: int
) -> LookedAt | None:
    """What the end of a triage meets; None where there is no such triage any more."""
    looked = triages.get(tx, triage_task.id)
    task = task_rows.get(tx, looked.task_id) if looked is not None else None
    if looked is None or looked.ended_at is not None or task is None:
        return None
    judged = attempts.get(tx, task.id, looked.number)
    case = TriageCase(
        task=task,
        triage=looked,
        diagnosis=judged.diagnosis if judged is not None else None,
        acts=triages.acts_since(tx, task.id, looked.since_seq),
        policy=policy,
        means=means,
        after=tuple(other for other, _ in task_rows.comes_after(tx, task.id)),
        dependents=task_rows.dependents(tx, task.id),
        question=_question(tx, looked),
        review=triages.open_review(tx, task.id),
        descendants=triages.count_parts(tx, task),
        depth=owners.depth_of(tx, task),
        new_ids=free_ids.some(tx, ids, NEW_IDS) if ids is not None else (),
        scopes=questions.open_scopes(tx),
    )
    return LookedAt(case=case, agency=breakers.get(tx, agency.KEY), agency_failures=failures)


def _question(tx: Tx, looked: Triage) -> Question | None:
    """What waits for a person about this already: of the task, or of the incident."""
    if not looked.incident:
        return questions.open_of_task(tx, looked.task_id)
    found = breakers.get(tx, looked.incident)
    asked = questions.get(tx, found.question_id) if found is not None and found.question_id else None
    return asked if asked is not None and asked.status == "open" else None


LOOKED_THROUGH: Final = 20  # attempts, for those that failed
EVENTS_SHOWN: Final = 20
ENGINE_EVENTS_SHOWN: Final = 8  # of them at most
AROUND_MS: Final = 60_000  # before and after an attempt
TASKS_SHOWN: Final = 12  # of an incident


def of_triage(tx: Tx, triage_task: Task, *, means: Means, redaction: Redaction) -> str:
    """The context of one triage as JSON, redacted; an empty object where its task is not there any more."""
    looked = triages.get(tx, triage_task.id)
    task = tasks.get(tx, looked.task_id) if looked is not None else None
    if looked is None or task is None:
        return "{}"
    recent = attempts.of_task(tx, task.id, LOOKED_THROUGH)
    failed = [each for each in recent if each.diagnosis is not None][-FAILURES_MAX:]
    tails = [attempts.output(tx, task.id, each.number) for each in failed]
    shown = Looked(
        task=task,
        triage=looked,
        failures=tuple(
            ShownFailure(attempt=each, tail=output.tail if output is not None else "")
            for each, output in zip(failed, tails, strict=True)
        ),
        known=patterns.get(tx, looked.fingerprint),
        earlier=tuple(each for each in reversed(triages.of_task(tx, task.id)) if each.id != looked.id),
        transcript=tails[-1].tail if is_agents(task) and tails and tails[-1] is not None else "",
        log=_engine_log(tx, task, failed),
        means=means,
        descendants=triages.count_parts(tx, task),
        depth=owners.depth_of(tx, task),
        outage=_outage(tx, looked),
    )
    return json.dumps(make(shown, redaction.knowing(dict(task.env)).text))


def _engine_log(tx: Tx, task: Task, failed: Sequence[Attempt]) -> tuple[str, ...]:
    """The events of the task, and what happened to the engine around its newest failure."""
    own = history.newest_events(tx, task.id, EVENTS_SHOWN)
    around: list[Event] = []
    if failed:
        newest = failed[-1]
        until = (newest.ended_at or tx.now) + AROUND_MS
        around = history.engine_events(tx, newest.started_at - AROUND_MS, until, ENGINE_EVENTS_SHOWN)
    merged = sorted((*own[-(EVENTS_SHOWN - len(around)) :], *around), key=lambda each: each.seq)
    return tuple(_line(each) for each in merged)


def _outage(tx: Tx, looked: Triage) -> Outage | None:
    """The incident that is triaged, where it is one."""
    found = breakers.get(tx, looked.incident) if looked.incident else None
    if found is None:
        return None
    held = [task.id for task in tasks.held(tx, found.key, TASKS_SHOWN)]
    some = tuple(dict.fromkeys((*found.data.get("tasks", ()), *held)))
    return Outage(incident=found, tasks=some, held=tasks.count_held(tx, found.key), now=tx.now)


def _line(event: Event) -> str:
    """An event as a line of the engine's log."""
    return f"{iso(event.at)} {event.name} {json.dumps(event.data, default=str)}"
