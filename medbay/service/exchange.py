"""Tasks as lines of text under the names of `medbay add`: loaded for an export, and added again from such lines.

A line may carry `id` and `status` of the task it was written from; `after` may name such an id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from medbay.core.agent import Profile
from medbay.core.durations import parse_duration
from medbay.core.model import FAILURE_RESTARTS, Task
from medbay.core.rules import Loop
from medbay.core.schedule.loops import LEAST
from medbay.env import Ids
from medbay.errors import MedbayError, UsageError
from medbay.service import additions, requests, schedules
from medbay.service.additions import NewTask
from medbay.store import tasks as task_rows
from medbay.store.database import Tx
from medbay.store.tasks import TaskFilter

EXTRA: Final = ("id", "status", "loop")  # what else a line may have; of these only its loop is taken over
_LOOP_NAMES: Final = frozenset({"of", "place", "delay", "max_iterations", "max_failure_restarts"})
_ENDED: Final = ("completed", "cancelled")

Line = tuple[int, Mapping[str, Any]]  # its number in the file, and what it says


def export(tx: Tx, wanted: TaskFilter) -> list[tuple[Task, tuple[str, ...]]]:
    """Return the tasks that are wanted, oldest first, each with what it still waits for."""
    chosen = replace(wanted, order="oldest", triages=False)
    return [
        (task, tuple(other for other, status in task_rows.comes_after(tx, task.id) if status != "completed"))
        for task in task_rows.select(tx, chosen)
    ]


def add_lines(
    tx: Tx,
    lines: Iterable[Mapping[str, Any]],
    known: Sequence[Mapping[str, Any]],
    *,
    ids: Ids,
    actor: str,
    defaults: requests.Defaults,
    agents: Mapping[str, Profile],
    assess: additions.Assess = "off",
) -> list[Task]:
    """Add what each line says, all or none; a bad one is named by its number. `known` are those seen before."""
    number = 0

    def counted() -> Iterator[Mapping[str, Any]]:
        nonlocal number
        for line in lines:
            number += 1
            yield line

    additions.serialise_keys(tx, (line["key"] for line in known if isinstance(line.get("key"), str)))
    try:
        wanted = requests.new_tasks(counted(), now=tx.now, defaults=defaults, agents=agents)
        return additions.add_many(tx, wanted, ids=ids, actor=actor, assess=assess, expected=len(known))
    except MedbayError as error:
        error.line_number = number
        raise


def bring_in(
    tx: Tx,
    lines: Sequence[Line],
    *,
    ids: Ids,
    actor: str,
    cwd: str,
    agents: Mapping[str, Profile],
    key: str = "",
    everything: bool = False,
) -> tuple[list[Task], int]:
    """Add what the lines say, all or none; the tasks in the order of the lines, and how many had ended before.

    Those that had ended are left out, unless everything is wanted. With a key a second time adds nothing.
    """
    ended = {str(line["id"]): line["status"] for _, line in lines if line.get("status") in _ENDED and "id" in line}
    kept = [(number, line) for number, line in lines if everything or line.get("status") not in _ENDED]
    left_out = {} if everything else ended
    new_ids: dict[str, str] = {}
    added: dict[int, Task] = {}
    additions.serialise_keys(tx, (str(_key(line, number, key)) for number, line in kept if _key(line, number, key)))
    for wave in _waves(kept):
        numbers: list[int] = []

        def checked(wave: Sequence[Line] = wave, numbers: list[int] = numbers) -> Iterator[NewTask]:
            for number, line in wave:
                numbers.append(number)
                said = _readable(line, number, key=key, new_ids=new_ids, left_out=left_out)
                yield requests.new_task(said, now=tx.now, defaults=requests.Defaults(cwd=cwd), agents=agents)

        try:
            made = additions.add_many(tx, checked(), ids=ids, actor=actor, expected=len(wave))
        except MedbayError as error:
            error.line_number = numbers[-1] if numbers else None
            raise
        for (number, line), task in zip(wave, made, strict=True):
            added[number] = task
            new_ids[str(line.get("id", ""))] = task.id
    for numbers, asked in _loops(kept):
        members = [added[number] for number in numbers]
        if not any(each.recurs for each in members):  # else they were added before, under their keys
            for number, made_one in zip(numbers, schedules.make_loop(tx, members, asked, actor=actor), strict=True):
                added[number] = made_one
    return [added[number] for number, _ in kept], len(lines) - len(kept)


def _loops(lines: Sequence[Line]) -> list[tuple[list[int], Loop]]:
    """The loops among the lines: their numbers in the order of their places, and how each goes round.

    What is left of a loop when the others had ended goes on alone, as a task that runs once.
    """
    found: dict[str, list[tuple[int, int, Loop]]] = {}
    for number, line in lines:
        if "loop" in line:
            name, place, asked = _loop_of(number, line["loop"])
            found.setdefault(name, []).append((place, number, asked))
    ordered = [sorted(each, key=lambda one: one[:2]) for each in found.values()]
    return [([number for _, number, _ in each], each[0][2]) for each in ordered if len(each) >= LEAST]


def _loop_of(number: int, said: object) -> tuple[str, int, Loop]:
    """What a line says of its loop: `of`, `place`, and how it goes round."""
    if not isinstance(said, Mapping) or said.keys() - _LOOP_NAMES or not isinstance(said.get("of"), str):
        hint = "an object with of and place, and perhaps delay, max_iterations, max_failure_restarts"
        raise _at(number, UsageError("loop is not readable", hint=hint))
    whole = [said.get("place", 0), said.get("max_iterations", 1), said.get("max_failure_restarts", FAILURE_RESTARTS)]
    if any(not isinstance(each, int) or isinstance(each, bool) or each < 0 for each in whole) or whole[1] < 1:
        raise _at(number, UsageError("place and numbers of a loop are whole numbers", hint="max_iterations from 1 on"))
    try:
        delay_ms = parse_duration(str(said["delay"])) if "delay" in said else None
    except UsageError as error:
        raise _at(number, error) from None
    asked = Loop(delay_ms=delay_ms, max_iterations=said.get("max_iterations"), max_failure_restarts=whole[2])
    return said["of"], whole[0], asked


def _readable(
    line: Mapping[str, Any], number: int, *, key: str, new_ids: Mapping[str, str], left_out: Mapping[str, str]
) -> dict[str, Any]:
    """The line as `medbay add` understands it: without the extras, `after` by the ids there are now."""
    said = {name: value for name, value in line.items() if name not in EXTRA}
    if named_key := _key(line, number, key):
        said["key"] = named_key
    for other in _after(line):
        if left_out.get(other) == "cancelled":
            raise UsageError(f'it comes after "{other}", which was cancelled', hint="take that out, or import --all")
    named = line.get("after")
    if isinstance(named, str | list):
        others = [named] if isinstance(named, str) else named
        said["after"] = [new_ids.get(str(other), other) for other in others if str(other) not in left_out]
    return said


def _key(line: Mapping[str, Any], number: int, key: str) -> Any:
    """The key a line is added under, if any."""
    return line.get("key") or (f"{key}:{line.get('id') or number}" if key else None)


def _waves(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """The lines so that each comes after those it names; what names none comes first, all at once."""
    by_id: dict[str, Line] = {}
    for number, line in lines:
        name = str(line.get("id") or f"line {number}")
        if name in by_id:
            twice = UsageError(f'the id "{name}" stands in line {by_id[name][0]} too', hint="keep one of them")
            raise _at(number, twice)
        by_id[name] = (number, line)
    missing = {name: {other for other in _after(line) if other in by_id} for name, (_, line) in by_id.items()}
    followers: dict[str, list[str]] = {}
    for name, others in missing.items():
        for other in others:
            followers.setdefault(other, []).append(name)
    free = [name for name in by_id if not missing[name]]
    seen = 0
    while free:
        yield [by_id[name] for name in free]
        seen += len(free)
        done, free = free, []
        for name in done:
            for follower in followers.get(name, ()):
                missing[follower].discard(name)
                free += [] if missing[follower] else [follower]
    if seen < len(by_id):
        number = next(by_id[name][0] for name, others in missing.items() if others)
        raise _at(number, UsageError("what it comes after comes after itself", hint="take one of the circle out"))


def _at(number: int, error: UsageError) -> UsageError:
    error.line_number = number
    return error


def _after(line: Mapping[str, Any]) -> list[str]:
    """The names in `after`; what is wrong with it is said when the line is checked."""
    said = line.get("after") or ()
    names = (said,) if isinstance(said, str) else said
    return [each for each in names if isinstance(each, str)] if isinstance(names, Sequence) else []


def again(seen: list[Mapping[str, Any]], unseen: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """What was taken before, then the rest, which is remembered as it is taken."""
    yield from list(seen)
    for line in unseen:
        seen.append(requests.as_it_is(line))
        yield line
