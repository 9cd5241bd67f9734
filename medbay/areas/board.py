"""The board of stories, and figures over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from medbay.service import board
from medbay.views import board as view
from medbay.views import story as stories
from medbay.views import story_figures
from medbay.views.board import StoryCard

if TYPE_CHECKING:
    from medbay.bay import Bay


class Board:
    """Stories as they stand side by side."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay

    def cards(self) -> list[StoryCard]:
        """Every story that is not over, and the newest of those that are."""
        with self._bay.store.read() as tx:
            return [
                StoryCard(
                    story=each.story,
                    workflow=each.workflow,
                    runs=each.runs,
                    questions=each.questions,
                    held_by=each.held_by,
                )
                for each in board.on_board(tx)
            ]

    def overview(self) -> dict[str, Any]:
        """The board as data."""
        return view.as_json(self.cards())

    def story(self, story_id: str) -> dict[str, Any]:
        """Everything about one story, with the moves a person may make."""
        found = self._bay.stories.detail(story_id)
        running = next((run.phase for run in found.runs if run.is_open), "")
        whole = stories.in_full(
            found.story,
            found.workflow,
            found.runs,
            found.decisions,
            found.questions,
            held_by=found.held_by,
            artifacts=self._bay.stories.artifacts(found.story),
        )
        return {**whole, "moves": view.moves(found.story, found.workflow.machine, running=running)}

    def figures(self, since_ms: int) -> tuple[list[str], dict[str, Any]]:
        """What became of the stories of the last so long: in words, and as data."""
        with self._bay.store.read() as tx:
            found, learned = board.summed(tx, tx.now - since_ms)
        return story_figures.sentences(found), story_figures.as_json(found, learned)
