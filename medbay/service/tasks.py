"""Adding tasks and everything a person does to them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple

from medbay.core import rules
from medbay.core.breaker import Limits
from medbay.core.decision import Decision
from medbay.core.lifecycles import BlockKind
from medbay.core.model import (
    CHECK_TIMEOUT_MS,
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE,
    CatchUp,
    Check,
    Event,
    Question,
    Task,
    changed,
)
from medbay.core.person import is_due
from medbay.core.question import GRANTED_BY_A_RELEASE, choose
from medbay.core.rules import Edit
from medbay.env import Ids
from medbay.errors import NotAllowed, NotFound, StaleClaim, UsageError
from medbay.service import breakers, dependencies, preferences, schedules, serving, triage
from medbay.service.free_ids import fresh_ids
from medbay.store import breakers as breaker_rows
from medbay.store import questions, tasks, workers
from medbay.store.apply import Arrival, apply, insert_tasks, write_events
from medbay.store.database import Tx

RELEASED_AT_ONCE: Final = 500
WRITTEN_AT_ONCE: Final = 500
_KEY_LOCKS: Final = 512
_ID_TRIES: Final = 100

_NEW: Final = Task(id="", title="")

OnConflict = Literal["return", "refuse", "replace"]
Action = Literal["pause", "resume", "cancel", "retry", "unblock"]  # what a person does to a task, or to many


@dataclass(frozen=True, kw_only=True)  # without slots: `alike` copies it at once
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
    cron: str = ""
    zone: str = ""
    every_ms: int | None = None
    catch_up: CatchUp = "one"
    max_iterations: int | None = None
    max_tokens: int | None = None
    max_cost: int | None = None
    key: str | None = None
    on_conflict: OnConflict = "return"
    like: NewTask | None = field(default=None, compare=False, repr=False)  # the first of many that say the same


def alike(new: NewTask, *, title: str, command: tuple[str, ...] | str) -> NewTask:
    """One more like this; both words are checked."""
    another: NewTask = object.__new__(NewTask)
    own = {"title": title, "command": command, "like": new.like or new}
    object.__setattr__(another, "__dict__", new.__dict__ | own)
    return another


_TAKEN_OVER: Final = tuple(
    each.name for each in fields(NewTask) if each.name not in ("after", "at", "on_conflict", "like")
)
_taken_over: Final = attrgetter(*_TAKEN_OVER)


class _Unwritten(NamedTuple):
    """A new task that waits to be written with others."""

    task: Task
    after: tuple[str, ...]
    alike: bool  # but for its own words it is like the one that waits before it


def add(tx: Tx, new: NewTask, *, ids: Ids, actor: str) -> Task:
    """Store a new task; an existing one with the same key follows the conflict rule."""
    return add_many(tx, (new,), ids=ids, actor=actor)[0]


def add_many(tx: Tx, wanted: Iterable[NewTask], *, ids: Ids, actor: str) -> list[Task]:
    """Store new tasks in their order. Rows are written together, but before anything could look for one of them."""
    free_ids = fresh_ids(tx, ids)
    added: list[Task] = []
    unwritten: dict[int, _Unwritten] = {}  # by its place in `added`
    keys: set[str | None] = set()
    like: tuple[NewTask, Task] | None = None  # the last one that comes after nothing
    for new in wanted:
        if unwritten and (new.after or new.key in keys or len(unwritten) >= WRITTEN_AT_ONCE):
            _write_down(tx, unwritten, added, free_ids)
            unwritten, keys = {}, set()
        known = _known(tx, new, actor=actor)
        if known is None:
            if like is not None and new.like is like[0]:
                known = changed(like[1], id=next(free_ids), title=new.title, command=new.command)
                unwritten[len(added)] = _Unwritten(known, (), alike=bool(unwritten))
            else:
                known, after = _made(tx, new, next(free_ids), actor=actor)
                unwritten[len(added)] = _Unwritten(known, after, alike=False)
            like = None if new.after else (new.like or new, known)
            keys |= {new.key} - {None}
        added.append(known)
    _write_down(tx, unwritten, added, free_ids)
    return added


def serialise_keys(tx: Tx, keys: Iterable[str]) -> None:
    """From here on nobody else adds under these keys; many of them are taken at once, so that nobody waits crosswise.

    Keys share a few locks: a server has room for so many only, whatever a file of tasks holds.
    """
    for number in sorted({zlib.crc32(key.encode("utf-8", "replace")) % _KEY_LOCKS for key in keys}):
        tx.serialise(f"key:{number:04d}")


def _write_down(tx: Tx, unwritten: Mapping[int, _Unwritten], added: list[Task], free_ids: Iterator[str]) -> None:
    """Save new tasks together; one by one, under new ids, where somebody took one of the ids at the same moment."""
    if not unwritten:
        return
    try:
        with tx.savepoint():
            saved = insert_tasks(tx, _decided(unwritten.values(), tx.now))
    except StaleClaim:
        saved = [_insert(tx, each.task, each.after, free_ids) for each in unwritten.values()]
    for place, task in zip(unwritten, saved, strict=True):
        added[place] = _handed_over(tx, task) if is_due(task) else task


def _handed_over(tx: Tx, task: Task) -> Task:
    """A person's task asks at once."""
    apply(tx, rules.on_handed_to_person(task, tx.now))
    found = tasks.get(tx, task.id)
    assert found is not None
    return found


def _decided(new: Iterable[_Unwritten], now: int) -> list[Arrival]:
    """What follows for each; what is like the one before but for its own words is decided like it."""
    decided: list[Arrival] = []
    for task, after, alike in new:
        if alike:
            before = decided[-1]
            decided.append(Arrival(*rules.on_added_alike(before.task, before.event, task), after, alike))
        else:
            decided.append(Arrival.of(rules.on_added(task, now), after))
    return decided


def _insert(tx: Tx, task: Task, after: tuple[str, ...], free_ids: Iterator[str]) -> Task:
    for _ in range(_ID_TRIES):
        try:
            return insert_tasks(tx, [Arrival.of(rules.on_added(task, tx.now), after)])[0]
        except StaleClaim:
            task = replace(task, id=next(free_ids))
    raise NotAllowed("no free task id was found", hint="try again")


def _known(tx: Tx, new: NewTask, *, actor: str) -> Task | None:
    """The task that has this key already, where the conflict rule says to give it back."""
    if new.key is None:
        return None
    serialise_keys(tx, (new.key,))
    known = tasks.by_key(tx, new.key)
    if known is None or new.on_conflict == "return":
        return known
    if new.on_conflict == "refuse":
        raise NotAllowed(f'{known.id} was added under the key "{new.key}"', hint="choose another key")
    _replace(tx, known, actor=actor)
    return None


def _made(tx: Tx, new: NewTask, task_id: str, *, actor: str) -> tuple[Task, tuple[str, ...]]:
    """The new task, and the tasks it comes after."""
    after = tuple(dict.fromkeys(_id_of(tx, each, or_key=True) for each in new.after))
    tasks.lock(tx, after)  # none of them ends between this look and the commit
    blockers = [tasks.get(tx, each) for each in after]
    unmet = sum(1 for each in blockers if each is not None and each.status != "completed")
    cancelled = next((each.id for each in blockers if each is not None and each.status == "cancelled"), None)
    if cancelled is not None:
        raise NotAllowed(f"{cancelled} is cancelled, so nothing can come after it", hint="leave --after out")
    for each in blockers:
        dependencies.refuse_recurring(each)
    task = changed(
        _NEW,
        id=task_id,
        created_at=tx.now,
        created_by=actor,
        since=tx.now,
        unmet=unmet,
        due_at=new.at,
        **dict(zip(_TAKEN_OVER, _taken_over(new), strict=True)),
    )
    return task, after


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


def release_due(tx: Tx, *, actor: str, limits: Limits = Limits()) -> int:
    """Wake what is due: retries, future tasks, blocks that time out. At most 500 a call."""
    found = tasks.due(tx, RELEASED_AT_ONCE)
    if not found:
        return 0
    breakers.notice_storm(tx, sum(task.status == "failed" for task in found), limits=limits)
    up_since = min((each.started_at for each in workers.alive(tx) if each.lease_until > tx.now), default=tx.now)
    with tx.together():
        for task in found:
            apply(tx, rules.on_due(task, tx.now, actor=actor, up_since=up_since))
    return len(found)


def pause(tx: Tx, task: Task, *, actor: str) -> None:
    """Keep it from starting until it is resumed."""
    apply(tx, decide(tx, "pause", task, actor=actor))


def resume(tx: Tx, task: Task, *, actor: str) -> None:
    """Let it go on."""
    apply(tx, decide(tx, "resume", task, actor=actor))


def cancel(tx: Tx, task: Task, *, actor: str) -> None:
    """End it for good, or ask its worker to."""
    apply(tx, decide(tx, "cancel", task, actor=actor))
    triage.abandon(tx, task)


def retry(tx: Tx, task: Task, *, actor: str, attempts: int = GRANTED_BY_A_RELEASE) -> None:
    """Once more, now."""
    apply(tx, decide(tx, "retry", task, actor=actor, attempts=attempts))


def unblock(tx: Tx, task: Task, *, actor: str, attempts: int = GRANTED_BY_A_RELEASE) -> None:
    """Release a blocked task."""
    apply(tx, decide(tx, "unblock", task, actor=actor, attempts=attempts))


def decide(tx: Tx, action: Action, task: Task, *, actor: str, attempts: int = GRANTED_BY_A_RELEASE) -> Decision:
    """What one of these would change; nothing has happened yet. What may not be done now is refused."""
    match action:
        case "pause":
            return rules.on_pause_command(task, tx.now, actor=actor)
        case "resume":
            return rules.on_resume_command(task, tx.now, actor=actor)
        case "cancel":
            after, asked = tasks.dependents(tx, task.id), questions.open_of_task(tx, task.id)
            loop, served = tasks.of_loop(tx, task.loop), serving.served_by(tx, task)
            return rules.on_cancel_command(
                task, tx.now, actor=actor, dependents=after, question=asked, loop=loop, served=served
            )
        case "retry" | "unblock":
            command = rules.on_retry_command if action == "retry" else rules.on_unblock_command
            asked, unmet = questions.open_of_task(tx, task.id), dependencies.unmet(tx, task.id)
            return command(task, tx.now, actor=actor, attempts=attempts, question=asked, unmet=unmet)


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
    clear_triage_cooldown: bool = False,
    after: Sequence[str] = (),
) -> None:
    """Change it from the next attempt on."""
    fields = schedules.edited(tx, task, fields)
    edit = Edit(fields=fields, reset_failures=reset_failures, clear_triage_cooldown=clear_triage_cooldown)
    apply(tx, rules.on_edit_command(task, tx.now, actor=actor, edit=edit))
    for other in after:
        dependencies.add(tx, task.id, resolve(tx, other).id, actor=actor)


def answer(
    tx: Tx, given: str, choice: str, *, actor: str, note: str = "", attempts: int = GRANTED_BY_A_RELEASE
) -> tuple[str, list[str]]:
    """Answer a question by its id or by any of its tasks; what was chosen, and for which tasks."""
    held = breaker_rows.not_closed(tx, changing=True)  # first: locks are taken in one order
    asked = _asked(tx, given.strip())
    option = choose(preferences.offered(tx, [asked])[0], choice)
    preferences.remember(tx, asked, option, actor=actor)
    if breakers.answer(tx, asked, option, held, actor=actor, note=note):
        return option.label, []
    if not asked.task_ids:
        apply(tx, rules.on_noted(asked, option, actor=actor, note=note))
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
            dependents=tasks.dependents(tx, task_id) if option.effect in ("cancel", "done") else (),
            served=serving.served_by(tx, task),
            loop=tasks.of_loop(tx, task.loop),
            unmet=dependencies.unmet(tx, task_id),
        )
        apply(tx, decision)
        if option.effect == "cancel":
            triage.abandon(tx, task)
    breakers.hear_answer(tx, asked, held)
    return option.label, list(asked.task_ids)


def _asked(tx: Tx, given: str) -> Question:
    """The open question that is meant, by its own id or by a task; what was asked before says what became of it."""
    asked = questions.get(tx, given)
    if asked is None:
        try:
            task_id = _id_of(tx, given)
        except NotFound:
            hint = "medbay inbox lists the questions"
            raise NotFound(f'there is no question and no task "{given}"', hint=hint) from None
        asked = questions.open_of_task(tx, task_id) or next(reversed(questions.of_task(tx, task_id)), None)
    if asked is None:
        raise NotAllowed(f"nothing was asked about {given}", hint="medbay inbox lists the questions")
    if asked.status != "open":
        how = f"answered by {asked.answered_by}: {asked.answer}" if asked.status == "answered" else "withdrawn"
        raise NotAllowed(f"{asked.id} was {how}", hint="medbay inbox lists what is open")
    return asked


def _replace(tx: Tx, known: Task, *, actor: str) -> None:
    """The old one gives its key up, and is cancelled if it had not ended."""
    if not known.finished:
        cancel(tx, known, actor=actor)
    tasks.rename_key(tx, known.id, f"{known.key} (replaced: {known.id})")
    write_events(tx, (Event(name="task:edited", task_id=known.id, data={"by": actor, "changed": ["key"]}),))
