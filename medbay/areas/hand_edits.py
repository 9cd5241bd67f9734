"""What a person wrote into story.md: values are taken over, a status is a request that the lifecycle judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from medbay.core.workflow import story as rules
from medbay.core.workflow.frontmatter import StoryText
from medbay.core.workflow.phase import StoryCase
from medbay.errors import MedbayError, StaleClaim
from medbay.service import stories
from medbay.store.database import Tx

if TYPE_CHECKING:
    from medbay.bay import Bay

VALUES: Final = ("title", "priority", "depends_on", "enforcement", "multiplier", "criteria")


def take_over(bay: Bay, case: StoryCase, edited: StoryText) -> tuple[list[str], list[str]]:
    """Bring the store to what a person wrote, as far as it may; what was taken over and what was wrong, in words."""
    story_id, taken = case.story.id, []
    wrong = [f"{story_id}: story.md, {each}" for each in edited.mistakes]
    changes = {name: value for name in VALUES if (value := getattr(edited, name)) is not None}
    for name, value in changes.items():  # one by one: a wrong one does not take the others with it
        try:
            _take(bay, story_id, {name: value})
            taken.append(f"{story_id}: {name} taken over from story.md")
        except StaleClaim:
            raise
        except MedbayError as error:
            wrong.append(f"{story_id}: {name} of story.md was put back: {error}")
    if edited.status and edited.status != case.story.status:
        try:
            _ask_for(bay, story_id, edited.status)
            taken.append(f"{story_id}: {edited.status}, as story.md asks")
        except StaleClaim:
            raise
        except MedbayError as error:
            wrong.append(f"{story_id}: story.md asks for {edited.status}: {error}")
    return taken, wrong


def _take(bay: Bay, story_id: str, changes: dict[str, Any]) -> None:
    def take(tx: Tx) -> None:
        if "depends_on" in changes:
            stories.refuse_dependencies(tx, story_id, changes["depends_on"])
        stories.decide(tx, story_id, lambda now, _: rules.on_edit(now, changes, tx.now, actor=bay.actor))

    bay.write(take)


def _ask_for(bay: Bay, story_id: str, status: str) -> None:
    def ask(tx: Tx) -> None:
        def update(now: StoryCase, asked: Any) -> Any:
            return rules.on_update(now, status, tx.now, actor=bay.actor, asked=asked, why="story.md says so")

        stories.decide(tx, story_id, update)

    bay.write(ask)
