"""Adding tasks: one, or many whose rows are written together."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from medbay.core import rules
from medbay.core.model import (
    CHECK_TIMEOUT_MS,
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE,
    Advised,
    CatchUp,
    Check,
    Event,
    Task,
    changed,
)
from medbay.core.people import assessment
from medbay.core.people.question import is_due
from medbay.env import Ids
from medbay.errors import NotAllowed, StaleClaim
from medbay.service import dependencies
from medbay.service.free_ids import ID_TRIES, hopeful_ids, rising_ids
from medbay.service.tasks import cancel, id_of
from medbay.store import tasks
from medbay.store.apply import Arrival, apply, insert_tasks, write_events
from medbay.store.database import Tx

WRITTEN_AT_ONCE: Final = 500
_KEY_LOCKS: Final = 512

Assess = Literal["off", "warn", "ask"]
ASSESSED_AGAINST: Final = 1_000  # earlier tasks
OnConflict = Literal["return", "refuse", "replace"]


class NewTask(Struct, frozen=True, kw_only=True):
    """A task to be added; checked by `service.requests` before it gets here."""

    title: str
    command: tuple[str, ...] | str
    runner: str = "shell"
    shell: str = ""
    advice: Advised = ""
    cwd: str = ""
    env: tuple[tuple[str, str], ...] = ()
    description: str = ""
    spec: str = ""
    timeout_ms: int | None = None
    memory_bytes: int | None = None
    cpu_ms: int | None = None
    stall_ms: int | None = None
    priority: int = DEFAULT_PRIORITY
    queue: str = DEFAULT_QUEUE
    tags: tuple[str, ...] = ()
    policy: str = ""
    resources: tuple[str, ...] = ()
    env_file: str = ""
    env_from: tuple[str, ...] = ()
    mutex: str = ""
    place: str = ""
    checks: tuple[Check, ...] = ()
    check_timeout_ms: int = CHECK_TIMEOUT_MS
    fail_fast: bool = False
    threshold: float = 1.0
    after: tuple[str, ...] = ()
    at: int | None = None
    cron: str = ""
    zone: str = ""
    every_ms: int | None = None
    catch_up: CatchUp = "one"
    max_iterations: int | None = None
    model: str = ""
    agents: tuple[tuple[str, tuple[str, ...]], ...] = ()
    expect_by: str = ""
    worktree: str = ""
    setup: str = ""
    copies: tuple[str, ...] = ()
    on_pass: str = ""
    max_tokens: int | None = None
    max_cost: int | None = None
    key: str | None = None
    on_conflict: OnConflict = "return"
    assess: bool = False  # its specification is held against what failed before
    like: NewTask | None = None  # the first of many that say the same


def alike(new: NewTask, *, title: str, command: tuple[str, ...] | str) -> NewTask:
    """One more like this; both words are checked."""
    return replace(new, title=title, command=command, like=new.like or new)


_NOT_TAKEN_OVER: Final = ("after", "at", "on_conflict", "assess", "like")  # all else a task has by the same name


class _Unwritten(NamedTuple):
    """A new task that waits to be written with others."""

    task: Task
    after: tuple[str, ...]
    alike: bool  # but for its own words it is like the one that waits before it


def add(tx: Tx, new: NewTask, *, ids: Ids, actor: str, assess: Assess = "off") -> Task:
    """Store a new task; an existing one with the same key follows the conflict rule."""
    known = None if new.key is None else _known(tx, new, new.key, actor=actor)
    if known is not None:
        return known
    return _assessed(tx, _arrived(tx, arrive(tx, new, ids=ids, actor=actor).task), new, assess)


def arrive(tx: Tx, new: NewTask, *, ids: Ids, actor: str) -> Arrival:
    """Store a new task, and nothing else that may follow from it; how it was saved."""
    free_ids = hopeful_ids(tx, ids)
    task, after = _made(tx, new, next(free_ids), actor=actor)
    return _insert(tx, task, after, free_ids)


def add_many(
    tx: Tx, wanted: Iterable[NewTask], *, ids: Ids, actor: str, assess: Assess = "off", expected: int = 0
) -> list[Task]:
    """Store new tasks in their order. Rows are written together, but before anything could look for one of them.

    As many as are expected also run in that order, and lie side by side in the store.
    """
    free_ids = rising_ids(tx, ids, expected)
    added: list[Task] = []
    unwritten: dict[int, _Unwritten] = {}  # by its place in `added`
    keys: set[str] = set()
    like: tuple[NewTask, Task] | None = None  # the last one that comes after nothing
    enumerated: dict[int, NewTask] = {}  # those with a specification, by their place in `added`
    for new in wanted:
        if unwritten and (new.after or new.key in keys or len(unwritten) >= WRITTEN_AT_ONCE):
            _write_down(tx, unwritten, added, free_ids)
            unwritten, keys = {}, set()
        known = None if new.key is None else _known(tx, new, new.key, actor=actor)
        if known is None and new.spec:
            enumerated[len(added)] = new
        if known is None:
            if like is not None and new.like is like[0]:
                known = changed(like[1], id=next(free_ids), title=new.title, command=new.command)
                unwritten[len(added)] = _Unwritten(known, (), alike=bool(unwritten))
            else:
                known, after = _made(tx, new, next(free_ids), actor=actor)
                unwritten[len(added)] = _Unwritten(known, after, alike=False)
            like = None if new.after else (new.like or new, known)
            if new.key is not None:
                keys.add(new.key)
        added.append(known)
    _write_down(tx, unwritten, added, free_ids)
    for place, new in enumerated.items():
        added[place] = _assessed(tx, added[place], new, assess)
    return added


def serialise_keys(tx: Tx, keys: Iterable[str]) -> None:
    """From here on no other transaction adds under these keys; many are locked in one order, to avoid deadlocks.

    Keys share a few locks: a server has room for so many only, whatever a file of tasks holds.
    """
    for number in sorted({zlib.crc32(key.encode("utf-8", "replace")) % _KEY_LOCKS for key in keys}):
        tx.serialise(f"key:{number:04d}")


def _write_down(tx: Tx, unwritten: Mapping[int, _Unwritten], added: list[Task], free_ids: Iterator[str]) -> None:
    """Save new tasks together; one by one, under new ids, where one of the ids was taken at the same moment."""
    if not unwritten:
        return
    try:
        with tx.savepoint():
            saved = insert_tasks(tx, _decided(unwritten.values(), tx.now))
    except StaleClaim:
        saved = [_insert(tx, each.task, each.after, free_ids).task for each in unwritten.values()]
    for place, task in zip(unwritten, saved, strict=True):
        added[place] = _arrived(tx, task)


def _arrived(tx: Tx, task: Task) -> Task:
    """A new task as it stands now: a person's task asks at once."""
    if not is_due(task):
        return task
    apply(tx, rules.on_handed_to_person(task, tx.now))
    found = tasks.get(tx, task.id)
    assert found is not None
    return found


def _assessed(tx: Tx, task: Task, new: NewTask, mode: Assess) -> Task:
    """The new task, with how risky its specification is on record where that was asked for."""
    if not task.spec or (mode == "off" and not new.assess):
        return task
    past = (assessment.PastWork(*row) for row in tasks.with_specification(tx, task.id, ASSESSED_AGAINST))
    apply(tx, assessment.on_assessed(task, tx.now, assessment.assess(task.spec, past), asks=mode == "ask"))
    return tasks.get(tx, task.id) or task


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


def _insert(tx: Tx, task: Task, after: tuple[str, ...], free_ids: Iterator[str]) -> Arrival:
    for _ in range(ID_TRIES):
        try:
            insert_tasks(tx, [arrival := Arrival.of(rules.on_added(task, tx.now), after)])
            return arrival
        except StaleClaim:
            task = replace(task, id=next(free_ids))
    raise NotAllowed("no free task id was found", hint="try again")


def _known(tx: Tx, new: NewTask, key: str, *, actor: str) -> Task | None:
    """The task that has this key already, where the conflict rule says to give it back."""
    serialise_keys(tx, (key,))
    known = tasks.by_key(tx, key)
    if known is None or new.on_conflict == "return":
        return known
    if new.on_conflict == "refuse":
        raise NotAllowed(f'{known.id} was added under the key "{key}"', hint="choose another key")
    _replace(tx, known, actor=actor)
    return None


def _made(tx: Tx, new: NewTask, task_id: str, *, actor: str) -> tuple[Task, tuple[str, ...]]:
    """The new task, and the tasks it comes after."""
    after = tuple(dict.fromkeys(id_of(tx, each, or_key=True) for each in new.after))
    if after:
        tasks.lock(tx, after)  # none of them ends between this read and the commit
    blockers = [tasks.get(tx, each) for each in after]
    unmet = sum(1 for each in blockers if each is not None and each.status != "completed")
    cancelled = next((each.id for each in blockers if each is not None and each.status == "cancelled"), None)
    if cancelled is not None:
        raise NotAllowed(f"{cancelled} is cancelled, so nothing can come after it", hint="leave --after out")
    for each in blockers:
        dependencies.refuse_recurring(each)
    words = asdict(new)
    for name in _NOT_TAKEN_OVER:
        del words[name]
    return Task(
        id=task_id,
        created_at=tx.now,
        created_by=actor,
        since=tx.now,
        unmet=unmet,
        takes_input=bool(after),
        due_at=new.at,
        **words,
    ), after


def _replace(tx: Tx, known: Task, *, actor: str) -> None:
    """The old one gives its key up, and is cancelled if it had not ended."""
    if not known.finished:
        cancel(tx, known, actor=actor)
    tasks.rename_key(tx, known.id, f"{known.key} (replaced: {known.id})")
    write_events(tx, (Event(name="task:edited", task_id=known.id, data={"by": actor, "changed": ["key"]}),))
