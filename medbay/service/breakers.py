"""Looking after breakers: canaries, releases, storms that are over; and what a person does to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from medbay.core import rules
from medbay.core.budget import Budget
from medbay.core.decision import Decision, together
from medbay.core.holds import breaker as rule
from medbay.core.holds import resources
from medbay.core.holds.breaker import RETRY_STORM, Breaker, Kind, Limits
from medbay.core.holds.incident import changed_breaker
from medbay.core.model import Task
from medbay.core.snapshot import IncidentDetail
from medbay.core.triage.incident import LOOKED_AT
from medbay.core.workflow import story
from medbay.errors import NotAllowed, NotFound, UsageError
from medbay.service import budgets, stories
from medbay.store import activity, attempts, breakers, questions, triages, workers
from medbay.store import tasks as task_rows
from medbay.store.apply import apply
from medbay.store.database import Tx

LOOKED_AFTER_AT_ONCE: Final = 20
CANDIDATES: Final = 20
OPENED_BY_HAND: Final[tuple[Kind, ...]] = ("provider", "crash_loop", "agency")


def look(tx: Tx, *, limits: Limits, budget: Budget) -> int:
    """Do what is due for breakers: send a canary, release the next, see whether one is over.

    How many may have woken something: where an answer is still waited for, nothing has.
    """
    due = breakers.due(tx, LOOKED_AFTER_AT_ONCE)
    served = _served_queues(tx) if due else ()
    waiting = 0
    for each in due:
        if each.kind == RETRY_STORM:
            _look_at_storm(tx, each, limits, served)
        elif each.state == "closed":
            _release_some(tx, each)
        elif each.state == "half_open":
            _look_at_canary(tx, each, served)
        elif each.kind == "budget":
            budgets.look_after(tx, each, budget)
        elif each.spent:
            waiting += _look_for_answer(tx, each)
        elif each.rule.parks:
            _send_canary(tx, each, served)
        else:  # the next one that comes is let through
            apply(tx, changed_breaker(each, rule.send_canary(each, None, tx.now)))
    return len(due) - waiting


def notice_storm(tx: Tx, retries: int, *, limits: Limits) -> None:
    """Many retries fell due at once: reported once, until it is over."""
    if retries > limits.storm_retries:
        before = breakers.get(tx, RETRY_STORM)
        if before is None or before.state == "closed":
            apply(tx, changed_breaker(before, rule.open_storm(tx.now, retries)))


def open_one(tx: Tx, given: str, *, actor: str, why: str, until: int | None) -> Breaker:
    """A person holds a provider's account, a runner on a host, or triage, until they close it or until a time."""
    key, kind = _named(given)
    before = breakers.get(tx, key)
    after = rule.open_by_hand(before, key, kind, tx.now, by=actor, why=why, until=until)
    apply(tx, changed_breaker(before, after))
    return _found(tx, key)


def close_one(tx: Tx, given: str, *, actor: str) -> Breaker:
    """A person says that it is over: what it held is released, spread out, and an incident's question withdrawn."""
    before = _open_like(tx, given)
    if before.spent:
        hint = f"medbay answer {before.question_id} releases it and the tasks that wait for the answer"
        raise NotAllowed(f"{before.key} waits for an answer: {before.why}", hint=hint)
    if before.kind == "phase" and _released_story(tx, before, actor):
        return _found(tx, before.key)
    after = rule.close(before, tx.now, f"closed by {actor}")
    apply(tx, changed_breaker(before, after))
    return _found(tx, before.key)


def _released_story(tx: Tx, before: Breaker, actor: str) -> bool:
    """The story whose phase it stopped goes on, which closes it; False where that is not blocked any more."""
    story_id = before.name.rpartition(":")[0]
    found = stories.case_of(tx, story_id)
    if found is None or before.key not in {each.key for each in found.breakers}:
        return False
    said = f"{before.key} was closed"
    asked = stories.open_questions(tx, story_id)
    apply(tx, story.on_release(found, tx.now, actor=actor, asked=asked, said=said))
    return True


def count_held(tx: Tx, each: Breaker) -> int:
    """How many tasks a breaker holds: what is parked under it, of the one of triages what waits for one."""
    if each.kind == "agency":
        return triages.count_wanted(tx) if each.state != "closed" else 0
    return task_rows.count_held(tx, each.key)


def incidents(tx: Tx, *, closed: bool) -> list[IncidentDetail]:
    """Return the incidents, the newest first, with what is asked about each."""
    return [_detail(tx, each) for each in _incidents(tx, closed=closed)]


def incident(tx: Tx, given: str) -> IncidentDetail:
    """Return one incident by any beginning of its fingerprint, with some of the tasks it holds."""
    known = [each for each in _incidents(tx, closed=True) if _begins(each, given)]
    found = _detail(tx, _only(known, given, "incident"))
    return replace(found, tasks=tuple(task_rows.held(tx, found.breaker.key, CANDIDATES)))


def _incidents(tx: Tx, *, closed: bool) -> list[Breaker]:
    return [each for each in breakers.select(tx, closed=closed) if each.kind == "incident"]


def _detail(tx: Tx, found: Breaker) -> IncidentDetail:
    return IncidentDetail(
        now=tx.now,
        breaker=found,
        held=task_rows.count_held(tx, found.key),
        question=questions.get(tx, found.question_id) if found.question_id else None,
        triage=triages.get(tx, found.data.get(LOOKED_AT) or ""),
    )


def _look_at_storm(tx: Tx, storm: Breaker, limits: Limits, served: Iterable[str]) -> None:
    waiting = sum(activity.count_ready_again(tx, queue, limits.storm_retries + 1) for queue in served)
    over = waiting <= limits.storm_retries
    later = replace(storm, probe_at=tx.now + rule.STORM_LOOKED_AT_MS)
    apply(tx, changed_breaker(storm, rule.close(storm, tx.now, "the retries were worked off") if over else later))


def _release_some(tx: Tx, closed: Breaker) -> None:
    begins = "gap_ms" not in closed.data
    held = task_rows.count_held(tx, closed.key) + len(_asleep(tx, closed, rule.RELEASED_AT_ONCE)) if begins else 0
    number, after = rule.release_some(closed, held, tx.now)
    released = [rules.on_released(task, tx.now, hold=closed) for task in task_rows.held(tx, closed.key, number)]
    if len(released) < number:
        released += [rules.on_woken(task, tx.now, over=closed) for task in _asleep(tx, closed, number - len(released))]
    if len(released) < number and not task_rows.has_held(tx, closed.key):
        after = rule.all_released(closed)
        _forget(tx, closed)
    apply(tx, together(changed_breaker(closed, after), *released))


def _look_at_canary(tx: Tx, half_open: Breaker, served: Iterable[str]) -> None:
    """It runs for long enough, or it still waits for a slot, or it will never start and the next one is sent."""
    task_id, number = half_open.canary_task, half_open.canary_number
    task = task_rows.get(tx, task_id) if task_id is not None else None
    if number is not None:
        alive = task is not None and task.live == number
        apply(tx, changed_breaker(half_open, (rule.canary_lived if alive else rule.canary_gone)(half_open, tx.now)))
        return
    if task is not None and task.canary and task.ready and task.queue in served:
        later = replace(half_open, probe_at=tx.now + rule.CANARY_PATIENCE_MS)
        apply(tx, changed_breaker(half_open, later))
        return
    made = changed_breaker(half_open, rule.canary_gone(half_open, tx.now))
    dropped = rules.on_canary_dropped(task, tx.now) if task is not None and task.canary else Decision()
    apply(tx, together(made, dropped))


def _look_for_answer(tx: Tx, held: Breaker) -> bool:
    """Credits were used up: held until the question about them is closed; whether it is held on."""
    asked = questions.get(tx, held.question_id or "")
    open_still = asked is not None and asked.status == "open"
    later = replace(held, probe_at=tx.now + rule.ANSWER_LOOKED_FOR_MS)
    apply(tx, changed_breaker(held, later if open_still else rule.close(held, tx.now, "its question is closed")))
    return open_still


def _send_canary(tx: Tx, held: Breaker, served: Iterable[str]) -> None:
    """One task goes ahead: a parked one, else of those that failed the one due soonest."""
    chosen = _parked(tx, held, served) or _failed(tx, held, served)
    if chosen is not None:
        apply(tx, rules.on_canary_chosen(chosen, tx.now, breaker=held))
    elif task_rows.has_held(tx, held.key):  # by queues that no engine serves now
        apply(tx, changed_breaker(held, replace(held, probe_at=tx.now + rule.CANARY_PATIENCE_MS)))
    else:
        after = rule.nobody_to_send(held, tx.now)
        apply(tx, changed_breaker(held, after))


def _parked(tx: Tx, held: Breaker, served: Iterable[str]) -> Task | None:
    found = (task for queue in served for task in task_rows.parked(tx, held.key, queue, 1))
    return min(found, key=lambda task: (task.priority, task.ready_at or 0, task.id), default=None)


def _failed(tx: Tx, held: Breaker, served: Iterable[str]) -> Task | None:
    alike = (task for met in held.fingerprints for task in task_rows.failed_alike(tx, met, CANDIDATES))
    able = (task for task in alike if not task.paused and not task.unmet and not task.cancel_requested)
    able = (task for task in able if not task.loop)  # its turn goes back to the owner
    able = (task for task in able if task.waits_for is None and task.due_at is not None and task.queue in served)
    early = held.until is not None and held.until > tx.now  # once in six hours a probe comes before the named time
    able = (task for task in able if early or not _named_later(tx, task))
    return min(able, key=lambda task: (task.due_at or 0, task.id), default=None)


def _asleep(tx: Tx, closed: Breaker, limit: int) -> list[Task]:
    """Recurring tasks that failed by an incident that is over, and would sleep on."""
    if closed.kind != "incident":
        return []
    alike = (task for met in closed.fingerprints for task in task_rows.recurring_alike(tx, met, limit))
    return [task for task in alike if not _named_later(tx, task)][:limit]


def _named_later(tx: Tx, task: Task) -> bool:
    newest = attempts.newest_diagnosed(tx, task.id)
    named = newest.diagnosis.retry_after_ms if newest is not None and newest.diagnosis is not None else None
    return named is not None and named > tx.now


def _forget(tx: Tx, over: Breaker) -> None:
    """An incident's commands were held because of it alone."""
    if over.kind == "incident":
        breakers.forget_uses(tx, over.key)


def _served_queues(tx: Tx) -> tuple[str, ...]:
    alive = (each for each in workers.alive(tx) if each.lease_until > tx.now)
    return tuple(sorted({queue for each in alive for queue in each.queues}))


def _named(given: str) -> tuple[str, Kind]:
    given = given.strip()
    kind, _, rest = given.partition(":")
    for each in OPENED_BY_HAND:
        if kind == each and (rest or each == "agency"):
            return given, each
    if given and ":" not in given:  # the name of a provider alone
        return resources.PROVIDER + given, "provider"
    raise UsageError(f'"{given}" is nothing that can be held', hint="for example provider:anthropic/work")


def _open_like(tx: Tx, given: str) -> Breaker:
    known = [each for each in breakers.select(tx) if _begins(each, given)]
    return _only(known, given, "open breaker")


def _begins(each: Breaker, given: str) -> bool:
    given = given.strip()
    return bool(given) and any(name.startswith(given) for name in (each.key, each.name, each.name.rpartition(":")[2]))


_LISTS: Final = {"incident": "incidents"}


def _only(known: list[Breaker], given: str, what: str) -> Breaker:
    exact = [each for each in known if given.strip() in (each.key, each.name)]
    known = exact if len(exact) == 1 else known
    if len(known) > 1:
        raise UsageError(f'"{given}" could be {known[0].key} or {known[1].key}', hint="type one more letter")
    if not known:
        listed = _LISTS.get(what, "breaker list")
        raise NotFound(f'there is no {what} "{given}"', hint=f"medbay {listed} --all shows them")
    return known[0]


def _found(tx: Tx, key: str) -> Breaker:
    found = breakers.get(tx, key)
    if found is None:
        raise NotAllowed(f"{key} was not stored", hint="try again")
    return found
