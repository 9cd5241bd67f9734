"""Issues of a tracker and the tasks that work on them: link, import, clear, hand to a person; the store alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from medbay.core.model import TRACKER, Attempt, Check, Task
from medbay.core.tracker import mirror, record
from medbay.core.tracker.issue import Issue
from medbay.core.tracker.mirror import IssueLink, Wanted
from medbay.core.tracker.record import FailureRecord
from medbay.core.tracker.tiers import PRESET
from medbay.env import Ids
from medbay.service import additions, tasks
from medbay.service.additions import NewTask
from medbay.store import attempts, issues, meta, questions, workers
from medbay.store import tasks as task_rows
from medbay.store.apply import apply
from medbay.store.database import Tx

PART_KEY: Final = "medbay:"  # before the id of the task that an issue was made for


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueWork:
    """How the issues of a tracker are worked on."""

    source: str
    queue: str
    command: tuple[str, ...] | str
    runner: str
    cwd: str
    resources: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    shell: str = ""


def known(tx: Tx, source: str, issue_id: str) -> tuple[IssueLink, Task | None]:
    """What is known of an issue, and the task that works on it."""
    link = issues.get(tx, source, issue_id) or IssueLink(source=source, issue_id=issue_id)
    return link, task_rows.get(tx, link.task_id) if link.task_id else None


def is_part(tx: Tx, key: str) -> bool:
    """Whether an issue was made for a part of a split of ours, by the key it was made with."""
    task_id = key.removeprefix(PART_KEY) if key.startswith(PART_KEY) else ""
    part = task_rows.get(tx, task_id) if task_id else None
    return part is not None and part.role == "part"


def take_up(
    tx: Tx,
    issue: Issue,
    work: IssueWork,
    env: tuple[tuple[str, str], ...],
    *,
    ids: Ids,
    actor: str,
    checked: bool,
    again: bool = False,
) -> Task:
    """The task of an issue: the one there is, else a new one that goes on counting where its notes left off.

    `again`: an issue that was closed is open again and is new work, unless another daemon has begun it meanwhile.
    """
    link, task = known(tx, work.source, issue.id)
    key = f"{work.source}:{issue.id}"
    if again and task is not None and task.finished and link.closed_at is not None:
        key, task = f"{key}:{link.closed_at}", None
        link = IssueLink(source=link.source, issue_id=link.issue_id)
    if task is not None:
        return _as_configured(tx, task, work, env, checked=checked)
    new = NewTask(
        title=issue.title or issue.id,
        command=work.command,
        runner=work.runner,
        cwd=work.cwd,
        env=env,
        description=issue.description,
        spec=issue.acceptance,
        priority=issue.priority,
        queue=work.queue,
        tags=(work.source,),
        policy=PRESET,
        resources=work.resources,
        checks=work.checks if checked else (),
        key=key,
    )
    task = additions.add(tx, new, ids=ids, actor=actor)
    if link.charged and not task.charged:
        tasks.edit(
            tx,
            task,
            actor=mirror.ACTOR,
            fields={"streak": link.charged, "charged": link.charged, "attempts": link.charged},
            reset_failures=False,
        )
        task = _again(tx, task)
    issues.save(tx, replace(link, task_id=task.id, version=task.version, closed_at=None))
    return task


def import_failed(tx: Tx, issue: Issue, found: FailureRecord, work: IssueWork, *, ids: Ids, actor: str) -> Task:
    """The task of an issue that failed elsewhere, as failed as its notes say; its record is ours from now on."""
    link, task = known(tx, work.source, issue.id)
    link = replace(link, line=record.last_line(issue.notes) or link.line)
    if task is not None:
        issues.save(tx, link)
        return task
    task = take_up(tx, issue, work, (("MEDBAY_ISSUE", issue.id),), ids=ids, actor=actor, checked=False)
    decision, attempt = mirror.on_imported(task, found, tx.now)
    apply(tx, decision)
    if workers.get(tx, attempt.worker_id) is None:
        workers.insert(tx, mirror.ELSEWHERE)
    attempts.insert_ended(tx, attempt)
    task = _again(tx, task)
    issues.save(tx, replace(link, task_id=task.id, charged=max(link.charged, found.attempt), version=task.version))
    return task


def clear(tx: Tx, task: Task, *, why: str) -> Task:
    """Let the task of an issue start: its record is cleared, by its cooldown or by a person."""
    task = tasks.resolve(tx, task.id)
    if task.status == "blocked":
        tasks.unblock(tx, task, actor=mirror.ACTOR, attempts=2)
    else:
        apply(tx, mirror.on_cleared(task, tx.now, why=why))
    return _again(tx, task)


def end_closed(tx: Tx, *, link: IssueLink, actor: str) -> None:
    """A person closed the issue of a task, or deleted it: there is nothing to work on any more."""
    link, task = known(tx, link.source, link.issue_id)
    if task is None or task.finished or link.closed_at is not None:
        return
    tasks.cancel(tx, task, actor=actor)
    issues.save(tx, replace(link, closed_at=tx.now, version=_again(tx, task).version))


def want_triage(tx: Tx, task: Task) -> Task:
    """Let a triage judge the task of an issue."""
    task = tasks.resolve(tx, task.id)
    if task.status == "failed" and task.waits_for == TRACKER:
        apply(tx, mirror.on_due_for_triage(task, tx.now))
    return _again(tx, task)


def escalate(tx: Tx, task: Task, *, why: str) -> Task:
    """Hand the task of an issue to a person."""
    task = tasks.resolve(tx, task.id)
    if task.status == "failed":
        asked = questions.open_of_task(tx, task.id)
        apply(tx, mirror.on_escalated(task, tx.now, why=why, open_question=asked))
    return _again(tx, task)


def complete_split(tx: Tx, task_id: str) -> None:
    """Every part of a split has its issue: let the parts start."""
    for _, part in issues.of_parts(tx, task_id):
        if part.waits_for == TRACKER and part.status == "pending":
            apply(tx, mirror.on_complete_split(part, tx.now))


def take_turn(tx: Tx, source: str, *, owner: str, until: int) -> bool:
    """Whether this daemon has the next cycle over a tracker: of several daemons one at a time, by lease."""
    key = f"tracker:{source}"
    held_by, _, held_until = (meta.value(tx, key) or "").partition(" ")
    if held_by not in ("", owner) and int(held_until) > tx.now:
        return False
    meta.put(tx, key, f"{owner} {until}")
    return True


def wanted(tx: Tx, link: IssueLink, task: Task) -> Wanted:
    """What the issue of a task is to say now."""
    parts = tuple(each.issue_id for each, _ in issues.of_parts(tx, task.id)) if task.status == "cancelled" else ()
    return mirror.wanted(task, _failed(tx, task), charged=link.charged, parts=parts)


def _failed(tx: Tx, task: Task) -> Attempt | None:
    return attempts.newest_diagnosed(tx, task.id) if task.status == "failed" else None


def _as_configured(tx: Tx, task: Task, work: IssueWork, env: tuple[tuple[str, str], ...], *, checked: bool) -> Task:
    """A task that is to start, by what is configured now: an import may have come before anything was."""
    fields = {"command": work.command, "runner": work.runner, "env": env, "checks": work.checks if checked else ()}
    different = {name: value for name, value in fields.items() if getattr(task, name) != value}
    if different and not task.finished and task.live is None:
        tasks.edit(tx, task, actor=mirror.ACTOR, fields=different, reset_failures=False)
    return _again(tx, task)


def _again(tx: Tx, task: Task) -> Task:
    found = task_rows.get(tx, task.id)
    assert found is not None
    return found
