"""Adding tasks and everything a person does to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from medbay.core import rules
from medbay.core.lifecycles import BlockKind
from medbay.core.model import CHECK_TIMEOUT_MS, DEFAULT_PRIORITY, DEFAULT_QUEUE, Check, Event, Task
from medbay.core.question import GRANTED_BY_A_RELEASE, choose
from medbay.core.rules import Edit
from medbay.env import Ids
from medbay.errors import NotAllowed, NotFound, StaleClaim, UsageError
from medbay.service import dependencies
from medbay.store import questions, tasks
from medbay.store.apply import apply, insert_task, write_events
from medbay.store.database import Tx

RELEASED_AT_ONCE: Final = 500
_ID_TRIES: Final = 100

OnConflict = Literal["return", "refuse", "replace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task somebody wants added; checked by `service.requests` before it gets here."""

    title: str
    command: tuple[str, ...] | str
    runner: str = "shell"
    cwd: str = ""
    env: tuple[tuple[str, str], ...] = ()
    description: str = ""
    spec: str = ""
    timeout_ms: int | None = None
    memory_bytes: int | None = None
    cpu_ms: int | None = None
    priority: int = DEFAULT_PRIORITY
    queue: str = DEFAULT_QUEUE
    tags: tuple[str, ...] = ()
    policy: str = ""
    resources: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    check_timeout_ms: int = CHECK_TIMEOUT_MS
    fail_fast: bool = False
    after: tuple[str, ...] = ()
    at: int | None = None
    key: str | None = None
    on_conflict: OnConflict = "return"


def add(tx: Tx, new: NewTask, *, ids: Ids, actor: str) -> Task:
    """Store a new task; an existing one with the same key follows the conflict rule."""
    if new.key is not None and (known := _under_key(tx, new.key, new.on_conflict, actor=actor)) is not None:
        return known
    after = tuple(dict.fromkeys(_id_of(tx, each, or_key=True) for each in new.after))
    tasks.lock(tx, after)  # none of them ends between this look and the commit
    blockers = [tasks.get(tx, each) for each in after]
    unmet = sum(1 for each in blockers if each is not None and each.status != "completed")
    cancelled = next((each.id for each in blockers if each is not None and each.status == "cancelled"), None)
    if cancelled is not None:
        raise NotAllowed(f"{cancelled} is cancelled, so nothing can come after it", hint="leave --after out")
    task = Task(
        id=_new_id(tx, ids),
        title=new.title,
        runner=new.runner,
        command=new.command,
        cwd=new.cwd,
        env=new.env,
        description=new.description,
        spec=new.spec,
        timeout_ms=new.timeout_ms,
        memory_bytes=new.memory_bytes,
        cpu_ms=new.cpu_ms,
        priority=new.priority,
        queue=new.queue,
        tags=new.tags,
        policy=new.policy,
        resources=new.resources,
        checks=new.checks,
        check_timeout_ms=new.check_timeout_ms,
        fail_fast=new.fail_fast,
        key=new.key,
        created_by=actor,
        unmet=unmet,
        due_at=new.at,
    )
    return _insert(tx, task, after, ids)


def _under_key(tx: Tx, key: str, on_conflict: OnConflict, *, actor: str) -> Task | None:
    """The task that has the key already and keeps it; None when the key is free, or was freed."""
    tx.serialise(f"key:{key}")
    known = tasks.by_key(tx, key)
    if known is None or on_conflict == "return":
        return known
    if on_conflict == "refuse":
        raise NotAllowed(f'{known.id} was added under the key "{key}"', hint="choose another key")
    _replace(tx, known, actor=actor)
    return None


def resolve(tx: Tx, given: str, *, or_key: bool = False) -> Task:
    """The task a person means: its id, any unambiguous prefix, or (where allowed) its key.

    In a transaction that writes it comes with its question and what comes after it, locked in the one order.
    """
    task_id = _id_of(tx, given, or_key=or_key)
    questions.lock_of_tasks(tx, [task_id])
    tasks.lock(tx, [task_id], dependents_of=[task_id])
    task = tasks.get(tx, task_id)
    assert task is not None
    return task


def _id_of(tx: Tx, given: str, *, or_key: bool = False) -> str:
    given = given.strip()
    if or_key and (known := tasks.id_by_key(tx, given)) is not None:
        return known
    found = tasks.ids_with_prefix(tx, given) if given else []
    if found and (found[0] == given or len(found) == 1):
        return found[0]
    if found:
        names = " or ".join(found[:2]) + (" or others" if len(found) > 2 else "")
        raise UsageError(f'"{given}" could be {names}', hint="type one more letter")
    raise NotFound(f'there is no task "{given}"', hint="medbay list --all shows them")


def release_due(tx: Tx, *, actor: str) -> int:
    """Wake what is due: retries, future tasks, blocks that time out. At most 500 a call."""
    found = tasks.due(tx, RELEASED_AT_ONCE)
    for task in found:
        apply(tx, rules.on_due(task, tx.now, actor=actor))
    return len(found)


def pause(tx: Tx, task: Task, *, actor: str) -> None:
    """Keep it from starting until it is resumed."""
    apply(tx, rules.on_pause_command(task, tx.now, actor=actor))


def resume(tx: Tx, task: Task, *, actor: str) -> None:
    """Let it go on."""
    apply(tx, rules.on_resume_command(task, tx.now, actor=actor))


def cancel(tx: Tx, task: Task, *, actor: str) -> None:
    """End it for good, or ask its worker to."""
    asked = questions.open_of_task(tx, task.id)
    after = tasks.dependents(tx, task.id)
    apply(tx, rules.on_cancel_command(task, tx.now, actor=actor, dependents=after, question=asked))


def retry(tx: Tx, task: Task, *, actor: str, attempts: int = GRANTED_BY_A_RELEASE) -> None:
    """Once more, now."""
    apply(
        tx,
        rules.on_retry_command(
            task,
            tx.now,
            actor=actor,
            attempts=attempts,
            question=questions.open_of_task(tx, task.id),
            unmet=dependencies.unmet(tx, task.id),
        ),
    )


def unblock(tx: Tx, task: Task, *, actor: str, attempts: int = GRANTED_BY_A_RELEASE) -> None:
    """Release a blocked task."""
    apply(
        tx,
        rules.on_unblock_command(
            task,
            tx.now,
            actor=actor,
            attempts=attempts,
            question=questions.open_of_task(tx, task.id),
            unmet=dependencies.unmet(tx, task.id),
        ),
    )


def block(tx: Tx, task: Task, *, actor: str, kind: BlockKind, reason: str, timeout_ms: int) -> None:
    """Take it out of the way, for a person or until something outside happens."""
    if task.status == "blocked":
        raise NotAllowed(f"{task.id} is blocked already: {task.reason}")
    apply(tx, rules.on_block_command(task, tx.now, actor=actor, kind=kind, reason=reason, timeout_ms=timeout_ms))


def edit(
    tx: Tx,
    task: Task,
    *,
    actor: str,
    fields: Mapping[str, Any],
    reset_failures: bool,
    after: Sequence[str] = (),
) -> None:
    """Change it from the next attempt on."""
    apply(
        tx,
        rules.on_edit_command(task, tx.now, actor=actor, edit=Edit(fields=fields, reset_failures=reset_failures)),
    )
    for other in after:
        dependencies.add(tx, task.id, resolve(tx, other).id, actor=actor)


def answer(
    tx: Tx, given: str, choice: str, *, actor: str, note: str = "", attempts: int = GRANTED_BY_A_RELEASE
) -> tuple[str, list[str]]:
    """Answer a question by its id or by any of its tasks; what was chosen, and for which tasks."""
    asked = questions.get(tx, given.strip()) or questions.open_of_task(tx, _id_of(tx, given))
    if asked is None or asked.status != "open":
        raise NotAllowed(f"no open question waits for {given}", hint="medbay inbox lists them")
    option = choose(asked, choice)
    tasks.lock(tx, asked.task_ids, dependents_of=asked.task_ids)
    for task_id in asked.task_ids:
        task = tasks.get(tx, task_id)
        assert task is not None
        decision = rules.on_answer(
            asked,
            option,
            task,
            tx.now,
            actor=actor,
            note=note,
            attempts=attempts,
            dependents=tasks.dependents(tx, task_id) if option.effect == "cancel" else (),
            unmet=dependencies.unmet(tx, task_id),
        )
        apply(tx, decision)
    return option.label, list(asked.task_ids)


def _insert(tx: Tx, task: Task, after: tuple[str, ...], ids: Ids) -> Task:
    for _ in range(_ID_TRIES):
        try:
            return insert_task(tx, rules.on_added(task, tx.now), after=after)
        except StaleClaim:  # somebody added another task under this id at the same moment
            task = replace(task, id=_new_id(tx, ids))
    raise NotAllowed("no free task id was found", hint="try again")


def _new_id(tx: Tx, ids: Ids) -> str:
    existing = tasks.how_many(tx)
    for _ in range(_ID_TRIES):
        candidate = ids.task(existing)
        if not tasks.exists(tx, candidate):
            return candidate
        existing = existing * 10 + 1_000  # crowded: longer ids
    raise NotAllowed("no free task id was found", hint="try again")


def _replace(tx: Tx, known: Task, *, actor: str) -> None:
    """The old one gives its key up, and is cancelled if it had not ended."""
    if not known.finished:
        cancel(tx, known, actor=actor)
    tasks.rename_key(tx, known.id, f"{known.key} (replaced: {known.id})")
    write_events(tx, (Event(name="task:edited", task_id=known.id, data={"by": actor, "changed": ["key"]}),))
