"""Jobs that stand in a file: added, changed to what it says, and cancelled when they are gone from it.

A job is known by its key, so that the same file applied twice changes nothing. What is wrong is named with its line.
"""

from __future__ import annotations

import graphlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from msgspec import structs

from medbay.core.agent import Profile
from medbay.core.jobs import FileJob, JobChange, JobFile
from medbay.core.model import Task
from medbay.env import Ids
from medbay.errors import MedbayError, NotAllowed, UsageError
from medbay.service import additions, requests, tasks
from medbay.service.additions import NewTask
from medbay.store import tasks as task_rows
from medbay.store.database import Tx

JOBS_MAX: Final = 10_000
RENAMED: Final = {"command": "run", "tags": "tag", "checks": "check", "providers": "provider"}
_WHEN_ADDED: Final = ("after", "at", "on_conflict", "assess", "key", "like")  # not part of what is compared
_NOT_ALONE: Final = ("after", "at", "args", "isolated")  # checked with the others
_OWN: Final = ("key", "on_conflict", "assess")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWriter:
    """Who applies a file, and what is done with a job that is there already or cannot be done."""

    ids: Ids
    actor: str
    agents: Mapping[str, Profile]
    shell: str = ""  # of new jobs that name none
    update: bool = True  # a job that is there already is changed to what the file says
    prune: bool = False
    dry_run: bool = False
    partly: bool = False  # what is refused is left out, the others are done


class _Undone(Exception):
    """How a trial takes back what it did."""


def apply_file(tx: Tx, file: JobFile, by: JobWriter) -> list[JobChange]:
    """Bring the store to what the file says, all or none (`partly`: what can be); a trial takes everything back."""
    made: list[JobChange] = []
    try:
        with tx.savepoint():
            made = _applied(tx, file, by)
            if by.dry_run:
                raise _Undone
    except _Undone:
        return [replace(each, task_id="") if each.action == "add" else each for each in made]
    refused = next((each for each in made if each.error is not None), None)
    if refused is not None and refused.error is not None and not by.partly:
        refused.error.message = f"{refused.name}: {refused.error.message}"
        raise refused.error
    return made


def _applied(tx: Tx, file: JobFile, by: JobWriter) -> list[JobChange]:
    if len(file.jobs) > JOBS_MAX:
        raise UsageError(f"{len(file.jobs)} jobs are more than {JOBS_MAX}", hint="make several files of it")
    additions.serialise_keys(tx, (job.key for job in file.jobs))
    keys = {job.name: job.key for job in file.jobs}
    made = []
    for job in _in_order(file.jobs):
        try:
            with tx.savepoint():
                made.append(_settled(tx, job, file, keys, by))
        except MedbayError as error:
            error.line_number = error.line_number or job.line
            made.append(JobChange(name=job.name, action="refuse", line=job.line, error=error))
    made.sort(key=lambda each: each.line or 0)
    return made + (_pruned(tx, file, by) if by.prune else [])


def _in_order(jobs: Sequence[FileJob]) -> list[FileJob]:
    """Each job after those of the same file it comes after."""
    by_name = {job.name: job for job in jobs}
    before = {job.name: [each for each in _after(job) if each in by_name] for job in jobs}
    try:
        return [by_name[name] for name in graphlib.TopologicalSorter(before).static_order()]
    except graphlib.CycleError as error:
        circle = error.args[1]
        wrong = UsageError(f"{' -> '.join(circle)}: a job cannot come after itself", hint="take one `after` out")
        wrong.line_number = by_name[circle[0]].line
        raise wrong from None


def _settled(tx: Tx, job: FileJob, file: JobFile, keys: Mapping[str, str], by: JobWriter) -> JobChange:
    new = _checked(tx, job, file, keys, by)
    known = task_rows.by_key(tx, job.key)
    if known is not None and known.status == "cancelled" and by.update:
        known, new = None, structs.replace(new, on_conflict="replace")
    if known is None:
        task = additions.add(tx, new, ids=by.ids, actor=by.actor)
        return JobChange(name=job.name, action="add", line=job.line, task_id=task.id, title=task.title)
    known = tasks.resolve(tx, known.id)
    changed = _differences(new, known)
    if "shell" not in job.given:  # what runs its lines does not change under it
        changed.pop("shell", None)
    after = _more_after(tx, new, known)
    said = JobChange(name=job.name, action="keep", line=job.line, task_id=known.id, title=new.title, changed=changed)
    if not by.update or not (changed or after):
        return said
    _change(tx, new, known, changed, after, actor=by.actor)
    told = {**changed, **({"after": ((), after)} if after else {})}
    return replace(said, action="change", changed=told)


def _checked(tx: Tx, job: FileJob, file: JobFile, keys: Mapping[str, str], by: JobWriter) -> NewTask:
    """The task that a job asks for; what is wrong is named with the line of its name."""
    given: dict[str, Any] = {"title": job.name}
    for said, value in job.given.items():
        name = RENAMED.get(said, said)
        try:
            if name in _OWN:
                raise UsageError(f"{name} is not given: the name of a job is its key")
            if name in given and name != "title":
                raise UsageError(f"{said} and {name} are the same")
            if name not in _NOT_ALONE:
                requests.edited_fields({name: value}, agents=by.agents)
        except MedbayError as error:
            error.line_number = job.lines.get(said, job.line)
            raise
        given[name] = value
    if "after" in given:
        given["after"] = [keys.get(each, each) for each in _after(job)]
    defaults = requests.Defaults(cwd=file.cwd, shell=by.shell)
    new = requests.new_task(given, now=tx.now, defaults=defaults, agents=by.agents)
    return structs.replace(new, key=job.key)


def _differences(new: NewTask, task: Task) -> dict[str, tuple[Any, Any]]:
    """What the file wants otherwise, by the name of the task's field."""
    found = {}
    for name in (each for each in NewTask.__struct_fields__ if each not in _WHEN_ADDED):
        was, wanted = getattr(task, name), getattr(new, name)
        if was != wanted and not (name == "tags" and set(was) == set(wanted)):
            found[name] = (was, wanted)
    return found


def _more_after(tx: Tx, new: NewTask, task: Task) -> tuple[str, ...]:
    """The further tasks it has to come after; those it came after before can not be taken away."""
    wanted = dict.fromkeys(tasks.id_of(tx, each, or_key=True) for each in new.after)
    has = {other for other, _ in task_rows.comes_after(tx, task.id)}
    if gone := sorted(has - wanted.keys()):
        raise NotAllowed(f"that it comes after {gone[0]} cannot be changed", hint="give the job another name")
    return tuple(each for each in wanted if each not in has)


def _change(
    tx: Tx, new: NewTask, task: Task, changed: Mapping[str, tuple[Any, Any]], after: Sequence[str], *, actor: str
) -> None:
    """Edit it, from its next attempt on; what cannot be edited is named."""
    names = ", ".join(changed) or "after"
    if task.finished or task.cancel_requested:
        standing = "is being cancelled" if task.cancel_requested and not task.finished else f"has {task.status}"
        hint = "give the job another name to run it again"
        raise NotAllowed(f"{task.id} {standing}, and {names} cannot be changed any more", hint=hint)
    if task.recurs and not new.cron and new.every_ms is None:
        raise NotAllowed(f"{task.id} recurs and cannot become a job that runs once", hint="give the job another name")
    wanted = {name: value for name, (_, value) in changed.items()}
    for name in ("every_ms",) if new.cron else ("cron", "zone"):  # of two ways to recur the new one is said
        wanted.pop(name, None)
    tasks.edit(tx, task, actor=actor, fields=wanted, reset_failures=False, after=after)


def _pruned(tx: Tx, file: JobFile, by: JobWriter) -> list[JobChange]:
    """Cancel what an earlier apply of this file added and is gone from it."""
    there = {job.key for job in file.jobs}
    found = {task_id: key.removeprefix(file.prefix) for task_id, key in task_rows.open_by_key_prefix(tx, file.prefix)}
    gone = {task_id: name for task_id, name in found.items() if file.prefix + name not in there and ":" not in name}
    behind = {task_id: [each for each in task_rows.ids_after(tx, task_id) if each in gone] for task_id in gone}
    made = []
    for task_id in graphlib.TopologicalSorter(
        behind
    ).static_order():  # what comes after others first: no person is asked
        task = tasks.resolve(tx, task_id)
        if not task.cancel_requested:
            tasks.cancel(tx, task, actor=by.actor)
            made.append(JobChange(name=gone[task_id], action="cancel", task_id=task_id, title=task.title))
    return made


def _after(job: FileJob) -> list[str]:
    said = job.given.get("after") or []
    return [said] if isinstance(said, str) else [str(each) for each in said]
