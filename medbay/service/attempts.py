"""Claiming attempts and ending them. The engine calls these inside its own transactions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from itertools import chain
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from medbay.core import budget as budget_rules
from medbay.core import evidence, rules
from medbay.core.agent import outwaits, profile_of
from medbay.core.attempt import ahead as feeding
from medbay.core.attempt import ending, guidance
from medbay.core.budget import Budget
from medbay.core.decision import Change, WorkingSet
from medbay.core.holds.breaker import Breaker, Limits
from medbay.core.holds.holding import waits_for_load
from medbay.core.holds.incident import FailureSurroundings
from medbay.core.holds.resources import KNOWN_FOR_MS, command_key, crash_loop_key, held_by
from medbay.core.model import Attempt, Check, Task, Worker, changed
from medbay.core.outcome import Cancelled, Checked, Outcome, Requeued, Succeeded
from medbay.core.owners import Owned, delivered
from medbay.core.people.question import FAILING_TOGETHER, failing_scope
from medbay.core.policy.policy import Policy
from medbay.core.rules import Ended
from medbay.core.schedule import expectation, occurrences
from medbay.core.triage.case import Means
from medbay.core.triage.ending import LookedAt
from medbay.core.workflow.records import OWNER as STORY
from medbay.env import Ids
from medbay.errors import StaleClaim
from medbay.service import budgets, evaluations, failures, owners, prompts, repeats, stories, triage
from medbay.service.prompts import Briefing
from medbay.store import attempts, breakers, foresight, questions, tasks, workers
from medbay.store.apply import apply
from medbay.store.database import Tx

HEAD_MAX: Final = 500


class Claim(Struct, frozen=True):
    """A task that is this worker's now, with the attempt it was claimed for."""

    task: Task
    attempt: Attempt
    again: bool = False  # it ran before: something of an earlier attempt may still run on this host
    briefing: Briefing = prompts.NOTHING  # of an agent
    inputs: Sequence[Mapping[str, Any]] | Mapping[str, Any] = ()  # what it comes after came to, or its context


class Finished(Struct, frozen=True, kw_only=True):
    """An attempt that ended, as its worker saw it."""

    task_id: str
    number: int
    outcome: Outcome
    ended_at: int = 0
    checks: tuple[Check, ...] = ()  # those the task had when the attempt was claimed
    claim: Claim | None = None  # as this worker last knew it; None when it never had it
    takes_advice: bool = True  # whether what failed can do anything with guidance


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What an engine judges ended attempts by."""

    policy: Policy
    crash_budget: int = 3
    zone: tzinfo = UTC
    limits: Limits = field(default_factory=Limits)
    budget: Budget = field(default_factory=Budget)
    means: Means = field(default_factory=Means)
    ids: Ids = field(default_factory=Ids)  # for what a verdict creates


class Capacity(Struct, frozen=True, kw_only=True):
    """What a worker can take on now."""

    slots: int
    free: int
    live_recovery: int = 0
    live_suspects: int = 0
    recovery_share: float = 0.5
    recovery_first: bool = False  # with one slot, fresh work and recovery take turns
    waiting: int = 0  # what is handed ahead and not begun, beyond the slots
    ahead: Mapping[str, int] = {}  # how many more may be handed ahead, by directory
    home: str = ""  # the directory of a task that names none
    queue_slots: Mapping[str, int] = {}  # how many tasks of a queue may run, on all engines together
    short_of: str = ""  # what this machine lacks: retries that start processes wait
    elsewhere: Mapping[str, Capacity] = {}  # the same for each other place that can be reached
    fallback_after_ms: int = 30 * 60_000  # what an agent that is held for longer has, its task's next agent takes

    @property
    def room(self) -> int:
        """How many can be claimed, in free slots and ahead."""
        return self.free + sum(self.ahead.values())

    @property
    def has_room(self) -> bool:
        """Whether anything can be claimed, here or elsewhere."""
        return bool(self.places)

    @property
    def places(self) -> tuple[str, ...]:
        """Where anything can be claimed for."""
        there = tuple(place for place, each in self.elsewhere.items() if each.room > 0)
        return ("", *there) if self.room > 0 else there


def claim(
    tx: Tx,
    worker: Worker,
    capacity: Capacity,
    work: WorkingSet,
    *,
    log_path: Callable[[str, int], str],
    budget: Budget = Budget(),
) -> list[Claim]:
    """Take what fits into the free slots, and ahead of them. Nothing when the worker's own lease has run out."""
    owner = workers.get(tx, worker.id)
    if owner is None or owner.stopped_at is not None or owner.lease_until <= tx.now:
        return []
    patience_ms = capacity.fallback_after_ms
    behind = _not_held(tx, _behind_mutexes(tx, worker, capacity.places), work, patience_ms)
    offer = _Offer(tx, worker, work, _queues_left(tx, worker, capacity), behind, capacity.short_of, patience_ms)
    chosen = _chosen(offer, capacity)
    for place, there in capacity.elsewhere.items():
        chosen += _chosen(dataclasses.replace(offer, place=place, short_of=""), there)
    sent = _sent_for(worker, chosen, work) if work.breakers else [(task, None) for task in chosen]
    may_start = {task.id for task in budgets.reserve(tx, [task for task, _ in sent], budget)}
    steps = repeats.Steps(tx, many=len(may_start) > 1)
    with tx.together():
        return [
            _claim_one(tx, worker, task, log_path, sent_for, steps) for task, sent_for in sent if task.id in may_start
        ]


def _chosen(offer: _Offer, capacity: Capacity) -> list[Task]:
    """What is claimed for one place."""
    if offer.tx.dialect.is_away and capacity.room > 0:
        _foresee_heads(offer, capacity)
    chosen = _suspects(offer, capacity)
    again = sum(task.recovery for task in chosen)
    rest = replace(capacity, free=capacity.free - len(chosen), live_recovery=capacity.live_recovery + again)
    for task in (shared := _in_shares(offer, rest)):
        offer.taken(task)
    return chosen + shared


def end(tx: Tx, finished: Finished, work: WorkingSet, *, worker_id: str, by: Judgement) -> WorkingSet | None:
    """Settle one ended attempt through the one door; None when the fence says it is not this worker's any more."""
    ended = _load_ended(tx, finished, worker_id=worker_id, by=by)
    if ended is None:
        return None
    failure = ending.diagnose_ended(ended, tx.now)
    known = failures.look_up(tx, [failure])
    decision = rules.on_attempt_ended(failures.with_what_is_known(tx, ended, failure, known, work), tx.now, work)
    apply(tx, decision)
    budgets.settle(tx, ended.task, ended.attempt, ended.outcome, by.budget)
    if owners.may_have_a_fix(ended.task):
        owners.catch_up_with_fixes(tx, ended.task, ended.attempt.started_at)
    return decision.work


def end_together(tx: Tx, finished: Sequence[Finished], work: WorkingSet, *, worker_id: str, by: Judgement) -> None:
    """Settle many from what their worker knows of them, reading next to nothing and writing in few statements.

    Raises StaleClaim when any of them is not as it was claimed: then nothing counts, and each is ended alone.
    """
    claims = [_known_claim(each, worker_id) for each in finished]
    after = tasks.dependents_of(tx, [each.task_id for each in finished if _concerns_dependents(each)])
    owned = owners.of_many(tx, [each.task for each in claims if _is_shared(each.task)], work.breakers)
    met: dict[str, Task] = {}  # what several of them concern, as the last one left it
    concerned = {other.id for others in after.values() for other in others}
    many, ends = len(finished) > 1 and not owned, repeats.Ends(tx, by.budget)
    pairs = list(zip(finished, claims, strict=True))
    alone = [_ended(each, claim.task, claim.attempt, (), by, tx.now) for each, claim in pairs]
    found = repeats.diagnosed(alone, tx.now, work)
    known = failures.look_up(tx, found)
    with tx.together():
        for (each, claim), ended, failure in zip(pairs, alone, found, strict=True):
            task = met.get(each.task_id, claim.task)
            if task is not claim.task:  # another of them has changed it
                ended = _ended(each, task, claim.attempt, (), by, tx.now)
                failure = ending.diagnose_ended(ended, tx.now)
            if task.id in after:
                ended = replace(ended, dependents=tuple(met.get(other.id, other) for other in after[task.id]))
            owner = owners.as_left(owned[task.id], met) if task.id in owned else None
            if owner is None and task.owner_kind:
                owner = _owner_in_turn(tx, ended, by)
            ended = ended if owner is None else replace(ended, owner=owner)
            alike = many and task is claim.task and task.id not in concerned
            if alike and ends.wrote(ended, work):
                continue
            known_of = failures.with_what_is_known(tx, ended, failure, known, work)
            decision = rules.on_attempt_ended(known_of, tx.now, work)
            if alike:
                ends.apply(ended, decision, work)
            else:
                apply(tx, decision)
            budgets.settle(tx, task, claim.attempt, ended.outcome, by.budget)
            work = decision.work
            shared = after or owned or ended.owner is not None
            for change in decision.changes if shared else ():  # else each is alone with its task
                if change.after != change.before:
                    met[change.after.id] = changed(change.after, version=change.before.version + 1)
            if owners.may_have_a_fix(task):
                owners.catch_up_with_fixes(tx, task, claim.attempt.started_at)


def _is_shared(task: Task) -> bool:
    """Whether its owner is read with those of all that ended; that of a triage or a story is read in its turn."""
    return bool(task.owner_kind) and task.role != "triage" and task.owner_kind != STORY


def _owner_in_turn(tx: Tx, ended: Ended, by: Judgement) -> Owned:
    """The owner as those that ended before it left it: the parts of a run meet the same story."""
    if ended.task.role == "triage":
        return _looked_at(tx, ended.task, by)
    return stories.case_at_end(tx, ended.task, ended.outcome) if ended.task.owner_kind == STORY else None


def end_broken(tx: Tx, finished: Finished, work: WorkingSet, *, worker_id: str, by: Judgement, traceback: str) -> None:
    """A rule of ours raised on this one: blocked for a person with the traceback."""
    ended = _load_ended(tx, finished, worker_id=worker_id, by=by)
    if ended is not None:
        apply(tx, rules.on_engine_error(ended, tx.now, work, traceback=traceback))
        budgets.settle(tx, ended.task, ended.attempt, ended.outcome, by.budget)


def lock(tx: Tx, finished: Sequence[Finished], work: WorkingSet) -> None:
    """Take the tasks of what ended, and what comes after those that may complete or end for good, in one order.

    Before them the questions that a success withdraws.
    """
    together = any(scope.startswith(FAILING_TOGETHER) for scope in work.questions)
    asked = [each.task_id for each in finished if together or failing_scope(each.task_id) in work.questions]
    if asked:
        questions.lock_of_tasks(tx, asked)
    final = {each.task_id for each in finished if _concerns_dependents(each)}
    tasks.lock(tx, {each.task_id for each in finished}, dependents_of=final)


def not_running(tx: Tx, worker_id: str, running: Collection[tuple[str, int]]) -> list[Finished]:
    """Attempts the store counts as this worker's although it never heard that it got them: handed back."""
    handed_back = Requeued(asked=False, why="the worker did not hear that it had claimed this")
    known = {*running, *((each.task_id, each.number) for each in attempts.verifying(tx, worker_id))}
    return [
        Finished(task_id=each.task_id, number=each.number, outcome=handed_back, ended_at=tx.now)
        for each in attempts.live_of_worker(tx, worker_id)
        if (each.task_id, each.number) not in known
    ]


def record_processes(tx: Tx, started: Iterable[tuple[str, int, int, int]]) -> None:
    """Remember (task, number, pid, start time) of what was launched since the last transaction."""
    for task_id, number, pid, pid_start in started:
        attempts.record_process(tx, task_id, number, pid=pid, pid_start=pid_start)


def _load_ended(tx: Tx, finished: Finished, *, worker_id: str, by: Judgement) -> Ended | None:
    task = tasks.get(tx, finished.task_id)
    attempt = attempts.get(tx, finished.task_id, finished.number)
    if task is None or attempt is None or attempt.ended_at is not None or attempt.worker_id != worker_id:
        return None
    if _is_recorded(finished, task):
        return None
    concerned = _can_be_final(finished.outcome) or task.cancel_requested
    ended = _ended(finished, task, attempt, tasks.dependents(tx, task.id) if concerned else (), by, tx.now)
    ended = evaluations.looked_at(tx, ended, threshold=by.means.rescue_threshold)
    if not task.owner_kind:
        return ended
    in_turn = task.role == "triage" or task.owner_kind == STORY
    return replace(ended, owner=_owner_in_turn(tx, ended, by) if in_turn else owners.of(tx, task))


def _is_recorded(finished: Finished, task: Task) -> bool:
    """Whether the end of its work is stored, by a commit whose answer was lost: only its checks are to come then."""
    claim = finished.claim
    checked = claim is not None and claim.task.status == "pending_verification"
    return task.status == "pending_verification" and claim is not None and not checked


def _looked_at(tx: Tx, task: Task, by: Judgement) -> LookedAt | None:
    failures = by.limits.agency_failures
    return triage.looked_at(tx, task, policy=by.policy, means=by.means, ids=by.ids, failures=failures)


def _ended(
    finished: Finished, task: Task, attempt: Attempt, dependents: tuple[Task, ...], by: Judgement, now: int
) -> Ended:
    return Ended(
        task=task,
        attempt=attempt,
        outcome=budget_rules.judged(task, evidence.judged(task, delivered(task, finished.outcome)), by.budget),
        checks=finished.checks,
        takes_advice=finished.takes_advice,
        evaluator=by.means.evaluate,
        dependents=dependents,
        policy=by.policy,
        crash_budget=by.crash_budget,
        zone=by.zone,
        around=FailureSurroundings(
            limits=by.limits,
            host=attempt.host,
            canary=attempt.canary,
            number=attempt.number,
            ran_ms=now - attempt.started_at,
        ),
    )


def _known_claim(finished: Finished, worker_id: str) -> Claim:
    """What this worker knows of an attempt that ended, where that is all there is to know."""
    claim = finished.claim
    if claim is None or claim.attempt.worker_id != worker_id:
        raise StaleClaim(f"attempt {finished.number} of {finished.task_id} is not known here")
    if claim.attempt.failure is not None:
        raise StaleClaim(f"how the work of {finished.task_id} ended has to be read first")
    return claim


def _can_be_final(outcome: Outcome) -> bool:
    """Whether tasks that come after this one may be concerned."""
    return isinstance(outcome, Succeeded | Checked | Cancelled)


def _concerns_dependents(finished: Finished) -> bool:
    """The same, also where its worker took it up after its cancel was requested: then every ending is one for good."""
    known = finished.claim
    return _can_be_final(finished.outcome) or (known is not None and known.task.cancel_requested)


@dataclass(frozen=True, slots=True)
class _Offer:
    """Where one claim chooses from."""

    tx: Tx
    worker: Worker
    work: WorkingSet
    left: dict[str, int]  # how many more tasks of a queue may run, where that is limited
    behind_mutexes: Sequence[Task]  # the first of those that wait behind each free mutex
    short_of: str
    patience_ms: int  # with an agent that is held
    place: str = ""

    @property
    def stopped_runners(self) -> tuple[str, ...]:
        """The runners that are not started there now: their tasks are read past, for another host or later."""
        if not self.work.breakers:
            return ()
        loops = (each for each in self.work.breakers.values() if each.kind == "crash_loop")
        ours = (each.name.rpartition("@") for each in loops if not _lets_one_through(each))
        host = self.place or self.worker.host
        return tuple(sorted(runner for runner, _, of in ours if of == host))

    def within_queues(self, ordered: Iterable[Task]) -> list[Task]:
        """Those that find room in their queues, in their order."""
        left, kept = dict(self.left), []
        for task in ordered:
            room = left.get(task.queue, 1)
            if room > 0:
                kept.append(task)
                left[task.queue] = room - 1 if task.queue in self.left else 1
        return kept

    def places(self, room: int) -> int:
        """How many can start at all, where every queue of this worker is limited; else as many as there is room for."""
        if not self.left:
            return room
        limited = all(queue in self.left for queue in self.worker.queues)
        return min(room, sum(self.left[queue] for queue in self.worker.queues)) if limited else room

    def taken(self, task: Task) -> None:
        """One of them is chosen."""
        if task.queue in self.left:
            self.left[task.queue] -= 1


def _queues_left(tx: Tx, worker: Worker, capacity: Capacity) -> dict[str, int]:
    """What is left of the slots of limited queues; counted while nobody else claims from them."""
    left = {}
    for queue in sorted(capacity.queue_slots.keys() & set(worker.queues)):
        free = tx.try_serialise(f"queue:{queue}")
        left[queue] = max(0, capacity.queue_slots[queue] - tasks.count_live(tx, queue)) if free else 0
    return left


def _behind_mutexes(tx: Tx, worker: Worker, places: Collection[str]) -> list[Task]:
    """The most urgent task behind each free mutex that one of these places has room for; it is ours from now on."""
    first: dict[str, Task] = {}
    for queue in worker.queues:
        for task_id, mutex in tasks.free_mutexes(tx, queue, HEAD_MAX, places):
            found = tasks.take_mutex(tx, task_id, mutex)
            if found is not None and (mutex not in first or _urgency(found) < _urgency(first[mutex])):
                first[mutex] = found
    return list(first.values())


def _suspects(offer: _Offer, capacity: Capacity) -> list[Task]:
    """At most one task at a time whose engine died before, so that the next death has a name."""
    if capacity.free <= 0 or capacity.live_suspects > 0:
        return []
    past = offer.stopped_runners
    heads = [each for queue in offer.worker.queues for each in tasks.suspects(offer.tx, queue, HEAD_MAX)]
    heads += [each for each in offer.behind_mutexes if each.crashes > 0]
    heads = [each for each in heads if each.place == offer.place]
    able = (each for each in heads if each.runner not in past and not (offer.short_of and waits_for_load(each)))
    ordered = sorted(offer.within_queues(able), key=lambda task: (task.crashes, *_urgency(task)))
    free = offer.places(capacity.free)
    if _share_left(capacity) <= 0 and len(_heads(offer, free, recovery=False)) >= free:
        ordered = [task for task in ordered if not task.recovery]
    chosen = _not_held(offer.tx, ordered, offer.work, offer.patience_ms)[:1]
    for task in chosen:
        offer.taken(task)
    return chosen


def _in_shares(offer: _Offer, capacity: Capacity) -> list[Task]:
    """Fresh work and recovery by urgency, recovery never above its share while fresh work is ready."""
    room = capacity.room
    if room <= 0:
        return []
    fresh, again = (_heads(offer, _limit(offer, room, recovery=each), recovery=each) for each in (False, True))
    if offer.short_of:
        again = [task for task in again if not waits_for_load(task)]
    share = _share_left(capacity)
    if capacity.slots == 1 and fresh and again:
        return (again if capacity.recovery_first else fresh)[: min(1, capacity.free)]
    places = offer.places(room)
    if len(fresh) < places:  # then no fresh work is left waiting, and recovery may have the rest
        share = max(share, places - len(fresh))
    again = again[: max(0, share)]
    candidates = sorted([*fresh, *again], key=_urgency) if fresh and again else fresh or again
    if offer.left:
        candidates = offer.within_queues(candidates)
    begun, rest = candidates[: capacity.free], candidates[capacity.free : room]
    return begun + feeding.fed_ahead(rest, capacity.ahead, home=capacity.home)


def _limit(offer: _Offer, room: int, *, recovery: bool) -> int:
    """How many to look at: more than there is room for where some may not start."""
    return HEAD_MAX if offer.work.parks or (recovery and offer.short_of) else min(HEAD_MAX, room)


def _most(offer: _Offer, queue: str, limit: int) -> int:
    return limit if offer.work.parks else min(limit, offer.left.get(queue, limit))


def _foresee_heads(offer: _Offer, capacity: Capacity) -> None:
    """What will be looked at for one place, if there is no suspect."""
    tx, queues = offer.tx, offer.worker.queues
    heads = []
    for recovery in (False, True):
        limit = _limit(offer, capacity.room, recovery=recovery)
        open_queues = [queue for queue in queues if offer.left.get(queue, 1) > 0]
        heads += [(queue, recovery, _most(offer, queue, limit)) for queue in open_queues]
    suspects = [(queue, HEAD_MAX) for queue in queues if capacity.free > 0]
    foresight.heads(tx, suspects, heads, past=offer.stopped_runners, place=offer.place)


def _share_left(capacity: Capacity) -> int:
    places = capacity.slots + capacity.waiting + sum(capacity.ahead.values())
    return math.ceil(places * capacity.recovery_share) - capacity.live_recovery


def _heads(offer: _Offer, limit: int, *, recovery: bool) -> list[Task]:
    past = offer.stopped_runners
    heads = []
    for queue in offer.worker.queues:
        if offer.left.get(queue, 1) > 0:
            most = _most(offer, queue, limit)
            heads.append(tasks.claim_head(offer.tx, queue, recovery=recovery, limit=most, past=past, place=offer.place))
    fitting = (each for each in offer.behind_mutexes if each.recovery == recovery and each.place == offer.place)
    waiting = [each for each in fitting if each.crashes == 0]
    if waiting:
        heads.append([each for each in waiting if each.runner not in past and offer.left.get(each.queue, 1) > 0])
    # What one queue has is in this order already.
    found = heads[0] if len(heads) == 1 else sorted(chain.from_iterable(heads), key=_urgency)
    found = _not_held(offer.tx, found, offer.work, offer.patience_ms)
    return offer.within_queues(found) if offer.left else found


def _not_held(tx: Tx, candidates: list[Task], work: WorkingSet, patience_ms: int) -> list[Task]:
    """Park what needs something that is held now; it is not considered again until that is released.

    What another agent may take over is that one's from the next claim on.
    """
    if not candidates or not work.parks:
        return candidates
    needs = breakers.uses(tx, [command_key(task) for task in candidates], since=tx.now - KNOWN_FOR_MS)
    free = []
    with tx.together():
        for task in candidates:
            held = held_by(task, work.breakers, needs.get(command_key(task), ()))
            if held is None or task.forced or (task.canary and _canary_of(task, work)):
                free.append(task)
            elif outwaits(task, held, tx.now, patience_ms):
                apply(tx, rules.on_agent_held(task, tx.now, hold=held))
            else:
                apply(tx, rules.on_parked(task, tx.now, hold=held.key))
    return free


def _canary_of(task: Task, work: WorkingSet) -> Breaker | None:
    """The breaker this task was chosen to go ahead for."""
    return next((each for each in work.breakers.values() if each.canary_task == task.id), None)


def _lets_one_through(loop: Breaker) -> bool:
    return loop.state == "half_open" and loop.canary_task is None


def _sent_for(worker: Worker, chosen: Sequence[Task], work: WorkingSet) -> list[tuple[Task, Breaker | None]]:
    """What was chosen, canaries with their breaker; of a runner that lets one through, one."""
    sent: dict[str, tuple[Task, Breaker | None]] = {}
    loops: set[str] = set()
    for task in chosen:
        loop = work.breakers.get(crash_loop_key(task.runner, task.place or worker.host))
        if loop is not None and loop.key in loops:
            continue
        if loop is not None:
            loops.add(loop.key)
        sent[task.id] = task, _canary_of(task, work) if task.canary else loop
    return list(sent.values())


def _claim_one(
    tx: Tx,
    worker: Worker,
    task: Task,
    log_path: Callable[[str, int], str],
    sent_for: Breaker | None,
    steps: repeats.Steps,
) -> Claim:
    slow_at = _slow_at(tx, task) if task.iterations_done >= expectation.SUCCESSES_NEEDED else None
    after = _claimed(task, tx.now, worker, sent_for, slow_at, steps)
    agent = profile_of(task.runner)
    host = task.place or worker.host  # elsewhere it is known only once it runs
    known = prompts.brief(tx, task, host=host) if agent else prompts.NOTHING
    attempt = Attempt(
        task_id=task.id,
        number=after.attempts,
        worker_id=worker.id,
        host=host,
        iteration=task.iteration,
        planned_at=occurrences.planned_for(changed(task, planned_at=after.planned_at), tx.now),
        started_at=tx.now,
        canary=sent_for is not None,
        forced=task.forced,
        log_path=log_path(task.id, after.attempts),
        guidance=guidance.render(task.guidance, attempt=after.attempts),
        agent=agent,
        resumes="" if task.place else known.resumes,
        place=task.place,
    )
    attempts.insert(tx, attempt)
    inputs = prompts.inputs(tx, task) if task.takes_input else ()
    return Claim(changed(after, version=task.version + 1), attempt, task.attempts > 0, known, inputs)


def _claimed(
    task: Task, now: int, worker: Worker, sent_for: Breaker | None, slow_at: int | None, steps: repeats.Steps
) -> Task:
    """The task as its claim leaves it, which is written."""
    alone = sent_for is None and slow_at is None
    if alone and (after := steps.after(task)) is not None:
        return after
    decision = rules.on_claimed(task, now, worker_id=worker.id, sent_for=sent_for, slow_at=slow_at)
    change = decision.writes[0]
    assert isinstance(change, Change)
    steps.apply(task, decision, repeats=alone)
    claimed: Task = change.after
    return claimed


def _slow_at(tx: Tx, task: Task) -> int | None:
    return expectation.slow_at(task, attempts.success_durations(tx, task.id, expectation.LOOKED_AT), tx.now)


def _urgency(task: Task) -> tuple[int, int, str]:
    return (task.priority, task.ready_at or 0, task.id)
