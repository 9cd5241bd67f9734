"""The board and the figures of stories: loading what they show."""

from __future__ import annotations

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
    statuses = {each.id: each.status for each in found}
    return [_on_board(tx, each, statuses) for each in shown]


def _on_board(tx: Tx, found: Story, statuses: dict[str, str]) -> OnBoard:
    workflow = service.workflow_of(tx, found.definition)
    open_ = found.ended_at is None
    runs = stories.runs(tx, found.id)
    ids = [part.task_id for run in runs if run.is_open for part in run.parts]
    asked = (*stories.open_question_ids(tx, found.id), *stories.open_task_question_ids(tx, ids)) if open_ else ()
    known = {each: statuses[each] for each in found.depends_on if each in statuses}
    return OnBoard(
        story=found,
        workflow=workflow,
        runs=runs,
        questions=tuple(dict.fromkeys(asked)),
        held_by=tuple(story.held_by(found, workflow, known)) if open_ else (),
    )


def summed(tx: Tx, since: int) -> tuple[StoryFigures, list[Learning]]:
    """The figures of all stories that something happened to since then, and what was learned last."""
    found = [each for each in stories.select(tx, limit=STORIES_MAX) if each.since >= since]
    runs = {each.id: stories.runs(tx, each.id) for each in found}
    phases = [phase for each in found for phase in service.workflow_of(tx, each.definition).phases]
    gates = {phase.name for phase in phases if phase.merges}
    reviews = {phase.name for phase in phases if phase.counts_rounds}
    return figures.summed(found, runs, gates=gates, reviews=reviews), learnings.newest(tx, LEARNINGS_SHOWN)
