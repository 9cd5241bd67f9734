"""A loop over several tasks: a -> b -> c -> a. One of them has the turn; a failure gives it back to the owner.

The owner is the first that has not ended. It counts the rounds that failed in a row, and is blocked at the limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from medbay.core.decision import NOTHING, Change, Decision, Draft, RetryClosed, together
from medbay.core.model import TURN, Retry, Task
from medbay.core.people import question
from medbay.errors import NotAllowed, UsageError

LEAST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What `medbay loop` asks for."""

    delay_ms: int | None = None
    max_iterations: int | None = None
    max_failure_restarts: int


def on_loop_command(tasks: tuple[Task, ...], now: int, *, asked: Loop, actor: str) -> Decision:
    """Make these tasks recur, one after the other; the first is the owner and may start."""
    if len(tasks) < LEAST or len({task.id for task in tasks}) < len(tasks):
        raise UsageError("a loop goes over two or more different tasks", hint="medbay edit ID --every D repeats one")
    drafts = []
    for place, task in enumerate(tasks):
        if task.status != "pending" or task.recurs:
            standing = "recurs already" if task.recurs else f"is {task.status}"
            raise NotAllowed(f"{task.id} {standing}", hint="a loop is made of pending one-off tasks")
        if task.owner is not None:
            raise NotAllowed(
                f"{task.id} is the {task.role} of {task.owner_id}", hint="a loop is made of tasks of its own"
            )
        draft = Draft(task, now, actor=actor)
        draft.set(
            owner_kind="loop",
            owner_id=tasks[0].id,
            position=place,
            every_ms=asked.delay_ms,
            max_iterations=asked.max_iterations,
            max_failure_restarts=asked.max_failure_restarts,
            waits_for=TURN if place else None,
            planned_at=None if place else max(now, task.due_at or now),
            due_at=None if place else task.due_at,
        )
        draft.emit("task:edited", by=actor, changed=["loop"], loop=[each.id for each in tasks])
        drafts.append(draft)
    return _made(drafts)


def passed_on(draft: Draft[Task], members: tuple[Task, ...]) -> tuple[Change[Task], ...]:
    """A task of a loop ended its iteration well, or for good: the next one has the turn, after the last a new round."""
    task, now = draft.task, draft.now
    others = [each for each in members if each.id != task.id and not each.finished]
    after = [each for each in others if each.position > task.position]
    following = after[0] if after else others[0] if others else None
    due = now if after else now + (task.every_ms or 0)
    if not task.finished and following is None:  # no other is left
        draft.set(planned_at=due, due_at=due if due > now else None, restarts=0)
        return ()
    if not task.finished:
        draft.set(waits_for=TURN, planned_at=None, due_at=None)
    return (_turn_to(following, now, due, clean=not after),) if following is not None else ()


def began_again(
    draft: Draft[Task], members: tuple[Task, ...], followed: Decision, *, charged: bool
) -> tuple[Decision, Decision]:
    """A failure gives the turn back to the owner, after the backoff; at the limit the owner is a person's matter."""
    task, due = draft.task, draft.task.due_at
    if task.status == "blocked" or due is None:  # a person was asked: the turn stays where it is
        return followed, NOTHING
    first = next(each for each in members if not each.finished)
    mine = first.id == task.id
    owner = draft if mine else Draft(first, draft.now, actor=draft.actor)
    restarts = first.restarts + (1 if charged else 0)
    owner.set(restarts=restarts)
    if not mine:
        draft.set(waits_for=TURN, planned_at=None, due_at=None)
        draft.move("pending", f"the round begins again at {first.id}")
        draft.events[:] = [each for each in draft.events if each.name != "task:retry_scheduled"]
        followed = followed.without(Retry)
    if charged and restarts >= first.max_failure_restarts and first.status != "blocked":
        return _give_up(owner, followed, task, mine=mine)
    if not mine:
        owner.set(waits_for=None, planned_at=due, **_due(first, due))
        return followed, _made([owner])
    return followed, NOTHING


def granted(task: Task, attempts: int) -> Task:
    """A person's release of an owner: it asks again after this many more failed rounds."""
    if not task.loop or task.restarts < task.max_failure_restarts:
        return task
    return replace(task, restarts=task.max_failure_restarts - attempts)  # below 0 where more is granted than the limit


def _give_up(owner: Draft[Task], followed: Decision, failing: Task, *, mine: bool) -> tuple[Decision, Decision]:
    rounds = owner.task.restarts
    why = f"its loop failed {rounds} times in a row, last in {failing.id}: {failing.last_summary}"
    asked = owner.ask(question.ask(owner.task, kind="exhausted", why=why, now=owner.now))
    owner.set(waits_for=None)
    owner.emit("task:recovery_action", action="mark_as_blocked", why=why)
    owner.emit("task:retry_exhausted", reason=why, category=failing.last_category)
    due = owner.task.wants_triage
    owner.block("exhausted", why)
    owner.set(wants_triage=due)  # the triage that is due still starts
    if mine:
        owner.events[:] = [each for each in owner.events if each.name != "task:retry_scheduled"]
        return followed.without(Retry).plus(asked), NOTHING
    return followed, _made([owner]).plus(asked)


def _turn_to(task: Task, now: int, due: int, *, clean: bool) -> Change[Task]:
    draft = Draft(task, now, actor="engine")
    draft.set(waits_for=None, planned_at=due, **_due(task, due if due > now else None))
    if clean:
        draft.set(restarts=0)
    return draft.change()


def _due(task: Task, due: int | None) -> dict[str, Any]:
    """A blocked task keeps the time at which its block ends."""
    return {} if task.status == "blocked" else {"due_at": due}


def _made(drafts: list[Draft[Task]]) -> Decision:
    closed = (RetryClosed(draft.task.id, "cancelled") for draft in drafts if draft.task.status == "blocked")
    return together(*(draft.decision() for draft in drafts)).plus(*closed)
