"""Everything that is recorded about one task, loaded in one transaction for `show`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from medbay.core.model import Task
from medbay.core.policy.presets import Recurring
from medbay.core.snapshot import TaskDetail
from medbay.service import calls, circumstances, owners
from medbay.store import attempts, checks, history, intake, patterns, questions, retries, tasks, triages
from medbay.store.database import Tx

ATTEMPTS_SHOWN: Final = 50


def load(
    tx: Tx,
    task: Task,
    *,
    rules: Recurring,
    recovery_share: float,
    rescue_threshold: float,
    queue_slots: Mapping[str, int] = circumstances.NO_LIMITS,
) -> TaskDetail:
    """Return the task with its newest attempts, retries, history, triages, questions and what holds it back."""
    recent = attempts.of_task(tx, task.id, ATTEMPTS_SHOWN)
    checked = checks.of_task(tx, task.id, since=recent[0].number) if recent else {}
    before = tasks.comes_after(tx, task.id)
    return TaskDetail(
        now=tx.now,
        task=task,
        rules=rules,
        rescue_threshold=rescue_threshold,
        attempts=tuple(recent),
        checks={number: tuple(found) for number, found in checked.items()},
        result=calls.result_of(tx, task),
        guidance=tuple((each, patterns.record(tx, each.fingerprint, each.advice)) for each in task.guidance),
        retries=tuple(retries.of_task(tx, task.id)),
        history=tuple(history.of_task(tx, task.id)),
        after=tuple(other for other, _ in before),
        waits_for=tuple(other for other, status in before if status != "completed"),
        subject=owners.subject_of(tx, task),
        triage=triages.get(tx, task.id) if task.role == "triage" else None,
        triages=tuple(triages.of_task(tx, task.id)),
        question=questions.open_of_task(tx, task.id),
        questions=tuple(questions.of_task(tx, task.id)),
        held_back=circumstances.first_reason(tx, task, recovery_share=recovery_share, queue_slots=queue_slots),
        candidate=intake.candidate_of_task(tx, task.id),
    )
