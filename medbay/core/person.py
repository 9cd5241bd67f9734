"""Tasks that no program works on: a person is asked, and the answer completes them."""

from __future__ import annotations

from typing import Final

from medbay.core.decision import Draft
from medbay.core.model import PERSON, Option, Question, Task
from medbay.core.question import CANCEL, EVIDENCE_MAX, PAUSE

RUNNER: Final = PERSON
WHY: Final = "only a person can do it"

_DONE: Final = {
    "review": "completes the review, and {subject} goes on: with the specification in --note, without one as it is",
    "fix": "completes the fix, and {subject} goes on",
}


def is_persons(task: Task) -> bool:
    """Whether a person does it, so that no engine ever claims it."""
    return task.runner == RUNNER


def is_due(task: Task) -> bool:
    """Whether the person is to be asked now: nothing it comes after is missing, and nobody paused it."""
    return is_persons(task) and task.status == "pending" and task.unmet == 0 and not task.paused


def hand_over(draft: Draft) -> Question:
    """Ask the person; until the answer it is blocked."""
    asked = draft.ask(_ask(draft.task, draft.now))
    draft.block("human", asked.why)
    return asked


def _ask(task: Task, now: int) -> Question:
    done = _DONE.get(task.role, "completes it; a --note becomes its result, and what comes after it goes on")
    return Question(
        id=f"q-{task.id}-{task.questions + 1}",
        need=task.title,
        why=f"{task.subject} waits for it, and no agent is configured for a {task.role}" if task.subject else WHY,
        evidence=task.description[:EVIDENCE_MAX],
        options=(Option("done", "done", done.format(subject=task.subject)), PAUSE, CANCEL),
        default=1,
        task_ids=(task.id,),
        asked_at=now,
    )
