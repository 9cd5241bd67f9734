"""Stories, runs and workflows for the tests of their rules."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from medbay.core.decision import Change, Decision, Draft
from medbay.core.model import Question, Retry, Task
from medbay.core.workflow import phase, workflow
from medbay.core.workflow.phase import PhaseWorker, StoryCase
from medbay.core.workflow.records import PhaseRun, RunChanged, Story, StoryRules
from medbay.core.workflow.workflow import Workflow

NOW = 1_000_000
FOLDER = Path(workflow.__file__).parents[2] / "workflows"


@cache
def shipped(name: str) -> Workflow:
    """One of the workflows of the package."""
    return workflow.read(tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")))


def case(status: str = "pending", *, of: str = "story", **fields: Any) -> StoryCase:
    """A story with this status."""
    more = {name: fields.pop(name) for name in tuple(fields) if name in StoryCase.__struct_fields__}
    made = Story(id="S-1", title="A story", workflow=of, status=status, criteria=("one", "two", "three"), **fields)
    return StoryCase(**{"story": made, "workflow": shipped(of), **more})


def started(found: StoryCase, name: str, *roles: str, rules: StoryRules | None = None, **more: Any) -> StoryCase:
    """The case once a phase was started and set up."""
    wanted = found.workflow.phase(name)
    assert wanted is not None
    workers = [PhaseWorker(role=role, phase=name, command=("true",), **more) for role in roles or wanted.roles]
    made = phase.start(found, wanted, workers, rules or StoryRules(), NOW, actor="person:x", command="c", queue="q")
    after = follow(found, made)
    return follow(after, phase.set_up(after, {"a": 1}, {}, "/stories/S-1", NOW))


def follow(found: StoryCase, made: Decision) -> StoryCase:
    """The case as a decision leaves it."""
    story, run, runs, tasks = found.story, found.run, list(found.runs), {each.id: each for each in found.tasks}
    for write in made.writes:
        if isinstance(write, RunChanged):
            run = write.after
        change = getattr(write, "change", write)
        if isinstance(change, Change) and isinstance(change.after, Story) and change.after.id == story.id:
            story = change.after
        if isinstance(change, Change) and isinstance(change.after, Task):
            tasks[change.after.id] = change.after
    if run is not None and not run.is_open:
        runs, run = [*[each for each in runs if each.number != run.number], run], None
    return replace(found, story=story, run=run, runs=tuple(runs), tasks=tuple(tasks.values()))


def task_of(found: StoryCase, role: str) -> Draft[Task]:
    """The task of a role, live."""
    mine = next(each for each in found.tasks if each.role == role)
    return Draft(replace(mine, status="in_progress", attempts=1, live=1), NOW + 5, actor="worker:w")


def says(verdict: str = "PASS", **more: Any) -> str:
    """The answer of a role, as it is handed on."""
    return json.dumps({"verdict": verdict, "summary": f"it is {verdict}", **more})


def answered(found: StoryCase, role: str, verdict: str = "PASS", **more: Any) -> tuple[StoryCase, Decision]:
    """The case once a role answered, and the decision."""
    made = phase.part_succeeded(task_of(found, role), found, says(verdict, **more))
    return follow(found, made), made


def given_up(found: StoryCase, role: str, kind: str, **more: Any) -> StoryCase:
    """The case once a part was given up for this kind of failure."""
    return follow(found, failing(found, role, kind, **more))


def failing(found: StoryCase, role: str, kind: str, *, charged: bool = True) -> Decision:
    """What follows from the last failure of a part."""
    draft = task_of(found, role)
    draft.move("failed", "it failed")
    draft.set(last_category=kind, last_summary="why", live=None)
    draft.emit("task:retry_exhausted")
    draft.block("exhausted", "used up")
    asked = Question(id="q", need="n", why="w")
    retry = Retry("t", 1, "c", "a", 1, 1, 1)
    made = phase.part_failed(draft, found, Decision(writes=(asked, retry)), charged)
    assert not charged or not draft.events or draft.events[0].name != "task:retry_exhausted"
    return made


def walked(found: StoryCase, name: str, verdict: str = "PASS", **more: Any) -> StoryCase:
    """The case once a phase of one role has ended with a verdict."""
    begun = started(found, name)
    return answered(begun, begun.tasks[-1].role, verdict, **more)[0]


def ended_run(number: int, name: str, status: str = "PASS", **fields: Any) -> PhaseRun:
    """A run that has ended."""
    return PhaseRun(story_id="S-1", number=number, phase=name, status=status, ended_at=NOW, **fields)  # type: ignore[arg-type]


def asks(made: Decision) -> list[Question]:
    """What a decision asks a person."""
    return list(made.all(Question))
