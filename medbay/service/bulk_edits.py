"""Tags and kinds of failures of many tasks, in one transaction: whom it changes, and who is passed over and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medbay.core.attempt.knowledge import read_kind
from medbay.core.model import Task
from medbay.core.policy.policy import Policy
from medbay.errors import MedbayError, NotAllowed, NotFound, UsageError
from medbay.service import bulk, requests, tasks, teaching
from medbay.store import tasks as task_rows
from medbay.store.database import Tx
from medbay.store.tasks import TaskFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkEdit:
    """What became of every task that was meant; no task is in both lists."""

    done: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]  # id, why
    fingerprints: tuple[str, ...] = ()  # of which something was learnt


def tag(
    tx: Tx,
    meant: TaskFilter | Iterable[str],
    *,
    add: Sequence[str],
    remove: Sequence[str],
    actor: str,
    dry_run: bool,
) -> BulkEdit:
    """Give tags to all that are meant, and take some away; or only say to whom."""
    if not add and not remove:
        raise UsageError("no tag is named", hint="add or remove names one")
    new = tuple(requests.edited_fields({"tag": list(add)})["tags"]) if add else ()
    done, skipped = [], []
    for task in _meant(tx, meant):
        kept = tuple(each for each in task.tags if each not in remove)
        tags = (*kept, *(each for each in new if each not in kept))
        why = task.status if task.finished else "tagged so already" if tags == task.tags else ""
        if why:
            skipped.append((task.id, why))
            continue
        if not dry_run:
            tasks.edit(tx, task, actor=actor, fields={"tags": tags}, reset_failures=False)
        done.append(task.id)
    return BulkEdit(done=tuple(done), skipped=tuple(skipped))


def reclassify(
    tx: Tx, meant: TaskFilter | Iterable[str], kind: str, *, actor: str, policy: Policy, dry_run: bool
) -> BulkEdit:
    """Say what the last failures of all that are meant were. Each fingerprint is taught once; who has it follows."""
    wanted = "/".join(part for part in read_kind(kind) if part)
    done: list[str] = []
    skipped: list[tuple[str, str]] = []
    taught: set[str] = set()
    for task in _meant(tx, meant):
        if not task.last_fingerprint:
            skipped.append((task.id, "without a failure"))
        elif task.last_fingerprint in taught:
            done.append(task.id)
        elif task.last_category == wanted:
            skipped.append((task.id, f"{wanted} already"))
        elif why := "" if dry_run else _taught(tx, task, kind, actor=actor, policy=policy):
            skipped.append((task.id, why))
        else:
            taught.add(task.last_fingerprint)
            done.append(task.id)
    return BulkEdit(done=tuple(done), skipped=tuple(skipped), fingerprints=tuple(sorted(taught)))


def _taught(tx: Tx, task: Task, kind: str, *, actor: str, policy: Policy) -> str:
    """Why it was not, or nothing."""
    try:
        teaching.reclassify(tx, task.id, kind, actor=actor, policy=policy)
    except (NotAllowed, NotFound) as error:
        return _short(error)
    return ""


def _short(error: MedbayError) -> str:
    return "not to be reclassified now" if isinstance(error, NotAllowed) else "without a record of its failure"


def _meant(tx: Tx, meant: TaskFilter | Iterable[str]) -> Iterable[Task]:
    for task_id in sorted(bulk.lock_meant(tx, meant)):
        task = task_rows.get(tx, task_id)  # read again: the one before may have changed it
        if task is not None:
            yield task
