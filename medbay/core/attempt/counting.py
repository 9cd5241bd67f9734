"""The four counters of a task and how a failure moves them. Nothing else counts failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medbay.core.model import Task, changed
from medbay.core.policy.policy import Record

_MOVED: Final = ("streak", "charged", "uncharged", "uncharged_since", "failing_since")


def count_failure(task: Task, *, charge: bool, now: int) -> Task:
    """The streak counts every failure; a charged one moves the rung and ends a free run, a free one adds to it."""
    since = now if task.failing_since is None else task.failing_since
    task = changed(task, streak=task.streak + 1, failing_since=since)
    if charge:
        return changed(task, charged=task.charged + 1, uncharged=0, uncharged_since=None)
    return count_uncharged(task, now=now)


def count_ended(task: Task, *, charge: bool, canary: bool, now: int) -> Task:
    """Count a failed attempt. That of a canary is no failure of the work, but free tries have to come to an end."""
    if not canary:
        return count_failure(task, charge=charge, now=now)
    return task if charge else count_uncharged(task, now=now)


def counters(task: Task) -> dict[str, Any]:
    """The counters a failure moves, as they are before it: kept with the failure, so that it can be counted again."""
    return {name: getattr(task, name) for name in _MOVED}


def recount_failure(task: Task, before: Mapping[str, Any], *, charge: bool, at: int) -> Task:
    """Count the newest failure again after its class changed; a streak that a person reset since then stays."""
    if not before or task.streak != before["streak"] + 1:
        return task
    undone = changed(task, **{name: before[name] for name in _MOVED if name in before})
    return count_failure(undone, charge=charge, now=at)


def count_uncharged(task: Task, *, now: int) -> Task:
    """One more free try: an uncharged failure, or an attempt that asked to be tried again (no failure)."""
    # What was excused up to the end of a hold and tried before it, as its probe is, lasted no longer than until now.
    since = min(task.uncharged_since, now) if task.uncharged_since is not None else now
    return changed(task, uncharged=task.uncharged + 1, uncharged_since=since)


def excuse(task: Task, waited_ms: int) -> Task:
    """Time inside a hold with a named end does not count towards the bound of free tries."""
    if task.uncharged_since is None or waited_ms <= 0:
        return task
    return changed(task, uncharged_since=task.uncharged_since + waited_ms)


def forget_failures(task: Task) -> Task:
    """Success, or a person's `--reset-failures`: the only two resets there are."""
    since = {"uncharged_since": None, "failing_since": None}
    return changed(task, streak=0, charged=0, uncharged=0, granted=0, asks_at=0, **since)


def grant(task: Task, attempts: int) -> Task:
    """A person's release: the streak stays, more attempts come on top, a free run starts again."""
    return changed(
        task,
        granted=task.granted + attempts,
        asks_at=task.charged + attempts,
        uncharged=0,
        uncharged_since=None,
    )


def record_of(task: Task) -> Record:
    """What a policy needs to know of a task."""
    return Record(
        task_id=task.id,
        attempt=task.attempts,
        charged=task.charged,
        uncharged=task.uncharged,
        uncharged_since=task.uncharged_since,
        granted=task.granted,
        asks_at=task.asks_at,
    )
