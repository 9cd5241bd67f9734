"""Loading the owners of tasks, with what the rules about them need to know: of many in one look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from medbay.core.holds.breaker import Breaker
from medbay.core.model import Task
from medbay.core.owners import Owned, Served, ended_meanwhile
from medbay.core.triage.incident import FIX
from medbay.core.workflow.records import OWNER
from medbay.service import stories
from medbay.store import attempts, breakers, intake, tasks, triages
from medbay.store.apply import apply
from medbay.store.database import Tx

DEPTH_LOOKED_FOR: Final = 10  # owners above each other; two are allowed
_SERVE: Final = ("fix", "review")  # the roles whose end concerns the task that owns them


def of(tx: Tx, task: Task) -> Owned:
    """The owner of a task whose end concerns it, that of a triage excepted; None when it stands for itself."""
    if not task.owner_kind:
        return None
    found = None if task.owner_kind != "incident" else breakers.get(tx, task.owner_id)
    return of_many(tx, (task,), {found.key: found} if found is not None else {}).get(task.id)


def of_many(tx: Tx, owned: Sequence[Task], held: Mapping[str, Breaker]) -> dict[str, Owned]:
    """The owners of these tasks by the ids of the tasks, in one look; `held` are the breakers that are not closed."""
    if not owned:
        return {}
    serving = {task.id: task.owner_id for task in owned if task.owner_kind == "task" and task.role in _SERVE}
    loops = {task.id: task.owner_id for task in owned if task.owner_kind == "loop"}
    rows = tasks.owners(tx, set(serving.values()), set(loops.values()))
    found = {task.id: task for task in rows}
    subjects = {each for each in serving.values() if each in found}
    named = attempts.named_times(tx, [each for each in subjects if found[each].streak])
    made: dict[str, Owned] = {
        own: Served(found[each], named.get(each)) for own, each in serving.items() if each in subjects
    }
    for own, loop in loops.items():
        made[own] = tuple(sorted((each for each in rows if each.loop == loop), key=lambda each: each.position))
    made |= {task.id: stories.case_of(tx, task.owner_id) for task in owned if task.owner_kind == OWNER}
    made |= {task.id: intake.case_of(tx, task.owner_id) for task in owned if task.owner_kind == "workorder"}
    made |= {task.id: _waiting(task, held) for task in owned if (task.owner_kind, task.role) == ("incident", "fix")}
    return made


def as_left(owner: Owned, met: Mapping[str, Task]) -> Owned:
    """The same owner as those that were settled before left it."""
    if isinstance(owner, Served):
        return replace(owner, task=met.get(owner.task.id, owner.task))
    return tuple(met.get(each.id, each) for each in owner) if isinstance(owner, tuple) else owner


def may_have_a_fix(task: Task) -> bool:
    """Whether a fix or review may have changed what makes this task fail while it ran; its dependents have an edge."""
    return task.recurs and task.triages > 0 and task.streak > 0


def catch_up_with_fixes(tx: Tx, task: Task, since: int) -> None:
    """An attempt that began then has ended: what came of fixes of its task meanwhile is acted on now."""
    for fix in triages.fixes_ended(tx, task.id, since):
        apply(tx, ended_meanwhile(fix, of(tx, fix), tx.now))


def subject_of(tx: Tx, task: Task) -> str:
    """The id of the task that another one serves; of an incident's, that of the task which is its example."""
    if task.owner_kind != "incident":
        return task.subject
    looked = triages.get(tx, task.id if task.role == "triage" else task.created_by)
    return looked.task_id if looked is not None else ""


def depth_of(tx: Tx, task: Task) -> int:
    """How many fixes or splits lie between a task and what a person added."""
    depth, above = 0, task
    while above.role not in ("", "triage") and depth < DEPTH_LOOKED_FOR:
        depth += 1
        found = tasks.get(tx, subject_of(tx, above))
        if found is None:
            break
        above = found
    return depth


def _waiting(fix: Task, held: Mapping[str, Breaker]) -> Breaker | None:
    """The incident that waits for this fix, while it is open."""
    found = held.get(fix.owner_id)
    waits = found is not None and found.state != "closed" and found.data.get(FIX) == fix.id
    return found if waits else None
