"""The board and the figures of stories: loading what they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medbay.core.workflow import figures, story
from medbay.core.workflow.figures import StoryFigures
from medbay.core.workflow.learning import Learning
from medbay.core.workflow.records import PhaseRun, Story
from medbay.core.workflow.workflow import Workflow
from medbay.service import stories as service
from medbay.store import learnings, stories
from medbay.store.database import Tx

STORIES_MAX: Final = 10_000
LEARNINGS_SHOWN: Final = 10
ENDED_SHOWN: Final = 20  # of those that are over, the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class OnBoard:
    """A story with all that its card shows."""

    story: Story
    workflow: Workflow
    runs: tuple[PhaseRun, ...]
    questions: tuple[str, ...]
    held_by: tuple[str, ...]


def on_board(tx: Tx) -> list[OnBoard]:
    """Every story that is not over, and the newest of those that are."""
    found = stories.select(tx, limit=STORIES_MAX)
    over = sorted((each for each in found if each.ended_at is not None), key=lambda each: -(each.ended_at or 0))
    shown = [each for each in found if each.ended_at is None] + over[:ENDED_SHOWN]
    return _with_cards(tx, shown, {each.id: each.status for each in found})


def _with_cards(tx: Tx, shown: Sequence[Story], statuses: Mapping[str, str]) -> list[OnBoard]:
    """What the cards of stories show, read for all of them together."""
    workflows = service.workflows_of(tx, shown)
    runs = stories.runs_of(tx, [each.id for each in shown])
    tasks = {each.id: _open_tasks(runs[each.id]) for each in shown}
    asked = stories.open_question_ids_of(tx, [each.id for each in shown if each.ended_at is None])
    parts = stories.open_task_questions(tx, [task for each in tasks.values() for task in each])
    made = []
    for each in shown:
        workflow, known = workflows[each.definition], {one: statuses[one] for one in each.depends_on if one in statuses}
        theirs = (*asked.get(each.id, ()), *(one for task in tasks[each.id] for one in parts.get(task, ())))
        held = tuple(story.held_by(each, workflow, known)) if each.ended_at is None else ()
        questions = tuple(dict.fromkeys(theirs))
        made.append(OnBoard(story=each, workflow=workflow, runs=runs[each.id], questions=questions, held_by=held))
    return made


def _open_tasks(runs: Sequence[PhaseRun]) -> list[str]:
    return [part.task_id for run in runs if run.is_open for part in run.parts]


def summed(tx: Tx, since: int) -> tuple[StoryFigures, list[Learning]]:
    """The figures of all stories that something happened to since then, and what was learned last."""
    found = [each for each in stories.select(tx, limit=STORIES_MAX) if each.since >= since]
    runs = stories.runs_of(tx, [each.id for each in found])
    phases = [phase for each in service.workflows_of(tx, found).values() for phase in each.phases]
    gates = {phase.name for phase in phases if phase.merges}
    reviews = {phase.name for phase in phases if phase.counts_rounds}
    return figures.summed(found, runs, gates=gates, reviews=reviews), learnings.newest(tx, LEARNINGS_SHOWN)
