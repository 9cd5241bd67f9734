"""A pull request that comes back after its task was completed: one more task changes the work, on the same branch."""

from __future__ import annotations

import hashlib

from medbay.core.decision import Added, Decision, Draft
from medbay.core.model import TITLE_MAX, Task
from medbay.core.triage.effects import INHERITED
from medbay.core.untrusted import line
from medbay.core.workspace import REVISION

ACTOR = "engine"


def key_of(task_id: str, words: str) -> str:
    """What makes it one task, however often the same words are read."""
    return f"{REVISION}-{task_id}-{hashlib.sha256(words.encode()).hexdigest()[:16]}"


def on_came_back(task: Task, now: int, *, new_id: str, words: str, round_number: int = 0) -> Decision:
    """Add the task that answers: worked on exactly as that round of it was, and landed on its pull request."""
    inherited = {name: getattr(task, name) for name in INHERITED}
    about = "\n\n".join(part for part in (task.description.strip(), words) if part)
    made = Task(
        id=new_id,
        title=line(f"Revise {task.title}", TITLE_MAX),
        description=about,
        spec=task.spec,
        agents=task.agents,
        key=key_of(task.id, words),
        owner_kind="task",
        owner_id=task.id,
        role=REVISION,
        position=round_number,
        created_at=now,
        created_by=ACTOR,
        since=now,
        **{**inherited, "on_pass": "pr"},
    )
    draft = Draft(made, now, actor=ACTOR)
    served = {"subject": task.id, "role": REVISION}
    draft.emit("task:created", title=made.title, queue=made.queue, priority=made.priority, serves=served)
    return Decision(writes=(Added(draft.change()),), events=tuple(draft.events))
