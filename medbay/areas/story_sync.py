"""All story folders made equal to the store at once: read in one look, written under one lease for many.

What needs more than writing, as a run whose end is not counted yet or an edit by hand, is left to the conductor.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from medbay.areas.conductor import Conductor
from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.records import Story
from medbay.errors import MedbayError
from medbay.service import stories
from medbay.store import stories as rows
from medbay.store.database import Tx

if TYPE_CHECKING:
    from medbay.bay import Bay

_AT_ONCE: Final = 50  # folders under one lease: they are written long before it is over


def sync(bay: Bay, conductor: Conductor) -> list[str]:
    """Make the folders equal to the store; what was repaired, in words."""
    with bay.store.read() as tx:
        cases = stories.cases(tx, rows.select(tx))
    said = _moved(conductor, cases)
    conductor.taken.clear()
    simple = [each for each in cases if _only_files(each)]
    done: set[str] = set()
    for at in range(0, len(simple), _AT_ONCE):
        done |= _written(bay, conductor, simple[at : at + _AT_ONCE])
    said += conductor.taken
    left = [each.story for each in cases if each.story.id not in done]
    if left:
        bay.write(lambda tx: rows.mark_files_due(tx, [each.id for each in left]))
        said += conductor.cycle(only=[each.id for each in left if not each.driven])
        said += conductor.taken
    return list(dict.fromkeys(said))


def _moved(conductor: Conductor, cases: Sequence[StoryCase]) -> list[str]:
    """Put every folder into the directory of its story."""
    said: list[str] = []
    machines = {each.story.workflow: each.workflow.machine for each in cases}
    for root in sorted({each.story.root for each in cases}):
        mine = [each.story for each in cases if each.story.root == root]
        running = {each.id: "running" for each in mine if each.run}
        said += conductor.folders(mine[0]).sync(mine, machines, running)
    return said


def _only_files(case: StoryCase) -> bool:
    """Whether nothing but its folder may be behind the store."""
    git = case.story.git
    counted = all(each.completed_at is not None for each in case.runs)
    return counted and case.run is None and not (git.landing or git.reverting in ("due", "agreed"))


def _written(bay: Bay, conductor: Conductor, cases: Sequence[StoryCase]) -> set[str]:
    """Write the folders that no other process is writing and nobody edited; which are as the store says now."""
    ids = [each.story.id for each in cases]
    got = bay.write(lambda tx: rows.claim_many(tx, ids, by=conductor.by, until=tx.now + stories.LEASE_MS))
    put: list[tuple[Story, str]] = []
    for case in cases:
        story, folders = case.story, conductor.folders(case.story)
        at = folders.root / folders.directory(story, case.workflow.machine) / story.id  # it was put there
        if got.get(story.id) != story.version or folders.hand_edit(story, at) is not None:
            continue
        with suppress(MedbayError):  # the conductor tries it again, and says why it cannot be
            put.append((story, conductor.put_files(case, folders)))
    if put:
        conductor.commit(put[-1][0])

    def settle(tx: Tx) -> None:
        rows.files_written(tx, put)
        rows.release_files(tx, ids, by=conductor.by)

    bay.write(settle)
    return {each.id for each, _ in put}
