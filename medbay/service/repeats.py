"""Ends of attempts and steps of tasks that are alike, in one transaction: the rules are asked about the first."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medbay.core.attempt import alike
from medbay.core.attempt.ending import Ended, diagnose_ended
from medbay.core.budget import Budget
from medbay.core.decision import Change, Decision, RetryClosed, WorkingSet
from medbay.core.diagnosis.record import Diagnosis
from medbay.core.model import Task, changed, changed_fields
from medbay.store.again import Written, apply_noted
from medbay.store.apply import apply
from medbay.store.database import Tx

KINDS_MAX: Final = 8  # that are looked through for each end: among more kinds few are alike


def diagnosed(ends: Sequence[Ended], now: int, work: WorkingSet) -> list[Diagnosis | None]:
    """Why each of these failed, looked at once for those that are alike."""
    if len(ends) == 1:
        return [diagnose_ended(ends[0], now)]
    found: list[Diagnosis | None] = []
    looked: deque[tuple[Ended, Diagnosis | None]] = deque(maxlen=KINDS_MAX)
    for each in ends:
        same = [made for other, made in looked if alike.is_alike(each, other, now, work)]
        found.append(same[0] if same else diagnose_ended(each, now))
        if not same and found[-1] is not None and alike.stands_alone(each.task):
            looked.append((each, found[-1]))
    return found


class Ends:
    """What was written for the newest few kinds of ends of attempts, with the working set it was decided in."""

    def __init__(self, tx: Tx, budget: Budget) -> None:
        self._tx = tx
        self._budget = budget
        self._known: deque[tuple[Ended, WorkingSet, Written]] = deque(maxlen=KINDS_MAX)

    def wrote(self, ended: Ended, work: WorkingSet) -> bool:
        """Write what was written for an end like this one; whether there was any."""
        for other, decided_in, written in self._known:
            if decided_in is work and alike.is_alike(ended, other, self._tx.now, work):
                written.again(self._tx, ended.task.id, (ended.attempt.number, ended.outcome.output))
                return True
        return False

    def apply(self, ended: Ended, made: Decision, work: WorkingSet) -> None:
        """Save what the rules decided about this end, and remember it for those that are like it."""
        if not (alike.is_plain(ended, self._budget) and alike.is_repeatable(made, self._tx.now, work)):
            apply(self._tx, made)
        elif (written := apply_noted(self._tx, made, ended.task.id)) is not None:
            self._known.append((ended, work, written))


class Steps:
    """The same step of many tasks by one rule, which looks at nothing but the task: a claim, or that it is due."""

    def __init__(self, tx: Tx, *, many: bool) -> None:
        self._tx = tx
        self._many = many  # else there is none to remember anything for
        self._known: deque[tuple[Task, Mapping[str, Any], Written]] = deque(maxlen=KINDS_MAX)

    def after(self, task: Task) -> Task | None:
        """Write what was written for a task like this one; the task after it, None where there was no such task."""
        now = self._tx.now
        for other, changes, written in self._known:
            if alike.task_as_if(task, other, now) == other:
                written.again(self._tx, task.id)
                return changed(task, **changes)
        return None

    def apply(self, task: Task, made: Decision, *, repeats: bool = True) -> None:
        """Save what the rule decided about this task, and remember it for those that are like it."""
        if not (self._many and repeats and alike.stands_alone(task)):
            apply(self._tx, made)
            return
        written = apply_noted(self._tx, made, task.id)
        (change,) = made.changes
        if written is not None and set(map(type, made.writes)) <= {Change, RetryClosed}:
            names = changed_fields(task, change.after)
            self._known.append((task, {name: getattr(change.after, name) for name in names}, written))
