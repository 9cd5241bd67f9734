"""The tasks of a list in their order with what is shown next to them, loaded in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from medbay.core.holds.breaker import Breaker
from medbay.core.holds.resources import KNOWN_FOR_MS, command_key, held_by
from medbay.core.model import Task, changed
from medbay.core.snapshot import TaskList
from medbay.service import circumstances
from medbay.store import attempts, breakers, questions, spending, tasks, workers
from medbay.store.database import Tx
from medbay.store.tasks import PageKey, TaskFilter

EVERY: Final = 1_000_000  # more tasks than one list holds
ENDED: Final = ("completed", "cancelled")
_RECENT_MS: Final = 24 * 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Which tasks a list shows, and how much is shown next to them."""

    wanted: TaskFilter
    limit: int | None = None
    everything: bool = False  # triages too, and what ended more than a day ago
    explained: bool = True  # with what is said of each task; without, the tasks and what holds each back
    costs: bool = False  # with what each task used
    footer: bool = False  # with what the last line says: questions, hidden triages, what ended earlier
    prefixes: bool = False  # with how many letters of each id are enough to name it


def load(
    tx: Tx, query: ListQuery, *, recovery_share: float, queue_slots: Mapping[str, int] = circumstances.NO_LIMITS
) -> TaskList:
    """Return what needs a person, running, waiting soonest first, held, ready, ended; no more than is asked for."""
    limit = EVERY if query.limit is None else query.limit
    parts = _parts(query, tx.now, triages=None if query.everything else False)
    kept: list[Task] = []
    for part in parts:
        kept += tasks.select(tx, replace(part, limit=limit - len(kept))) if len(kept) < limit else []
    total = len(kept) if len(kept) < limit else sum(tasks.count(tx, part) for part in parts)
    listed = TaskList(now=tx.now, tasks=_held(tx, kept), total=total, narrowed=query.wanted.narrows)
    if not query.explained:
        reasons = circumstances.first_reasons(tx, listed.tasks, recovery_share=recovery_share, queue_slots=queue_slots)
        return changed(listed, held_back=reasons)
    return _explained(tx, listed, query, recovery_share, queue_slots)


def _held(tx: Tx, kept: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks with what would hold them now: without an engine nothing parks what is ready."""
    ready = [task for task in kept if task.ready and task.hold is None]
    known = breakers.not_closed(tx) if ready else {}
    if not known:
        return tuple(kept)
    needs = breakers.uses(tx, {command_key(task) for task in ready}, since=tx.now - KNOWN_FOR_MS)
    holds = {task.id: held.key for task in ready if (held := held_by(task, known, needs.get(command_key(task), ())))}
    return tuple(changed(task, hold=holds[task.id]) if task.id in holds else task for task in kept)


def page(
    tx: Tx, wanted: TaskFilter, after: PageKey, *, recovery_share: float, queue_slots: Mapping[str, int]
) -> tuple[TaskList, PageKey]:
    """Return one page of a list with what is said beside its tasks, and from where the next one goes on."""
    found = tasks.page(tx, replace(wanted, limit=wanted.limit + 1), after)
    more, found = len(found) > wanted.limit, found[: wanted.limit]
    listed = TaskList(now=tx.now, tasks=tuple(task for task, _ in found), total=0, narrowed=wanted.narrows)
    query = ListQuery(wanted=wanted, everything=True)
    return _explained(tx, listed, query, recovery_share, queue_slots), found[-1][1] if more else ()


def _explained(
    tx: Tx, listed: TaskList, query: ListQuery, recovery_share: float, queue_slots: Mapping[str, int]
) -> TaskList:
    kept = listed.tasks
    alive = [worker for worker in workers.alive(tx) if worker.lease_until > tx.now]
    served = {queue for worker in alive for queue in worker.queues}
    hidden = _parts(query, tx.now, triages=True) if query.footer and not query.everything else ()
    return changed(
        listed,
        waits_for=_waits_for(tx, kept),
        serving=tuple(alive),
        out_of_share=frozenset(circumstances.queues_out_of_share(tx, served, recovery_share)),
        mutexes=_mutexes(tx, kept),
        full_queues={queue: slots for queue, slots in queue_slots.items() if tasks.count_live(tx, queue) >= slots},
        breakers=_breakers(tx) if any(task.hold or task.ready for task in kept) else {},
        logs={task.id: path for task in kept if task.live is not None and (path := _log(tx, task))},
        used=spending.by_task(tx, [task.id for task in kept]) if query.costs else {},
        prefixes={task.id: _letters(tx, task.id) for task in kept} if query.prefixes else {},
        questions=tuple(questions.open_questions(tx)) if query.footer else (),
        hidden_triages=sum(tasks.count(tx, part) for part in hidden),
        older=tasks.count(tx, TaskFilter(triages=False)) if query.footer and not kept else 0,
    )


def _parts(query: ListQuery, now: int, *, triages: bool | None) -> list[TaskFilter]:
    """What is open, then what ended: within the last day, unless everything is wanted."""
    asked = query.wanted
    wanted = replace(asked, order="need", only_open=False, triages=triages)
    still = tuple(each for each in asked.statuses if each not in ENDED)
    ended = tuple(each for each in asked.statuses if each in ENDED) if asked.statuses else ENDED
    parts = []
    if still or not asked.statuses:
        parts.append(replace(wanted, statuses=still, only_open=not still))
    if ended:
        since = None if query.everything or asked.statuses else now - _RECENT_MS
        parts.append(replace(wanted, statuses=ended, ended_since=since))
    return parts


def _waits_for(tx: Tx, kept: Sequence[Task]) -> dict[str, tuple[str, ...]]:
    waiting = [task.id for task in kept if task.unmet > 0 and not task.finished]
    return {
        each: tuple(other for other, status in tasks.comes_after(tx, each) if status != "completed") for each in waiting
    }


def _breakers(tx: Tx) -> dict[str, Breaker]:
    return {key: circumstances.as_of_now(tx, held) for key, held in breakers.not_closed(tx).items()}


def _mutexes(tx: Tx, kept: Sequence[Task]) -> dict[str, str]:
    """Who has the mutexes that tasks of the list wait for."""
    names = sorted({task.mutex for task in kept if task.hold is not None and task.hold == task.behind_mutex})
    holders = {name: tasks.mutex_holder(tx, name) for name in names}
    return {name: holder for name, holder in holders.items() if holder is not None}


def _log(tx: Tx, task: Task) -> str:
    newest = attempts.of_task(tx, task.id, 1)
    return newest[-1].log_path if newest else ""


def _letters(tx: Tx, task_id: str) -> int:
    """How many letters of an id are enough to name it."""
    sizes = range(1, len(task_id))
    return next((size for size in sizes if len(tasks.ids_with_prefix(tx, task_id[:size], limit=2)) == 1), len(task_id))
