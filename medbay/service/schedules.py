"""The schedules of recurring tasks: what may be edited, and loops over several tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medbay.core import rules
from medbay.core.model import Task
from medbay.core.rules import Loop
from medbay.core.schedule import cron
from medbay.errors import NotAllowed, UsageError
from medbay.store import tasks
from medbay.store.apply import apply
from medbay.store.database import Tx

DEFAULT_ZONE: Final = "UTC"
_SCHEDULE: Final = ("cron", "zone", "every_ms", "catch_up", "max_iterations")


def checked(fields: Mapping[str, Any], now: int) -> dict[str, Any]:
    """The schedule of a new task, complete; what does not go together is refused."""
    given = dict(fields)
    if given.get("cron") and given.get("every_ms") is not None:
        raise UsageError("cron and every were both given", hint="leave one of them out")
    if not given.get("cron") and given.get("zone"):
        raise UsageError("zone goes with cron", hint='for example --cron "0 3 * * *" --zone Europe/Berlin')
    if given.get("cron"):
        given["zone"] = given.get("zone") or DEFAULT_ZONE
        cron.check(given["cron"], given["zone"], now)
    elif given.get("every_ms") is None:
        for name in ("catch_up", "max_iterations"):
            if name in given:
                raise UsageError(f"{name} goes with cron or every", hint="--every 60s, or --cron EXPRESSION")
    return given


def edited(tx: Tx, task: Task, fields: Mapping[str, Any]) -> dict[str, Any]:
    """New values for the schedule of a task: by cron or every so often, whichever was said last."""
    given = dict(fields)
    if not given.keys() & set(_SCHEDULE):
        return given
    if task.loop and given.keys() - {"max_iterations"} & set(_SCHEDULE):
        raise NotAllowed(f"{task.id} is part of a loop", hint="its turn comes with the others'")
    if given.keys() >= {"cron", "every_ms"}:
        raise UsageError("cron and every were both given", hint="leave one of them out")
    if "every_ms" in given:
        given |= {"cron": "", "zone": ""}
    if given.get("cron"):
        given["every_ms"] = None
    was = {name: value for name in _SCHEDULE if (value := getattr(task, name)) not in ("", None) and task.recurs}
    whole = {**was, **given}
    if not task.loop:
        given["zone"] = checked(whole, tx.now).get("zone", "")
    if not task.recurs and (after := tasks.ids_after(tx, task.id)):
        raise NotAllowed(f"{after[0]} comes after {task.id}", hint="nothing can come after a task that recurs")
    return given


def make_loop(tx: Tx, members: Sequence[Task], asked: Loop, *, actor: str) -> list[Task]:
    """Let tasks follow each other round and round; the first is the owner."""
    for task in members:
        if after := tasks.ids_after(tx, task.id):
            raise NotAllowed(f"{after[0]} comes after {task.id}", hint="nothing can come after a task that recurs")
    decision = rules.on_loop_command(tuple(members), tx.now, asked=asked, actor=actor)
    apply(tx, decision)
    return [change.after for change in decision.changes]
