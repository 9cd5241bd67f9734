"""The seventeen statuses in the store and on the disk: what a person may do is what the table says, and nothing else.

Written a second time from the specification; folders are moved and deleted by hand in between.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from medbay.core import lifecycles
from medbay.errors import IllegalTransition, NotAllowed
from tests.engine.story_world import StoryProcess
from tests.worlds import ManualClock

TERMINAL = {"completed", "cancelled", "superseded"}
# What a person may set by hand, from the table of the specification; a part of a split and work without review aside.
WAYS = {
    "pending": {"generated"},
    "generated": {"in-elaboration"},
    "in-elaboration": {"ready-to-work", "needs-refinement", "needs-split"},
    "needs-refinement": {"generated"},
    "needs-split": {"superseded"},
    "ready-to-work": {"in-progress"},
    "in-progress": {"ready-for-code-review"},
    "ready-for-code-review": {"ready-for-qa", "code-review-failed"},
    "code-review-failed": {"in-progress"},
    "ready-for-qa": {"in-qa"},
    "in-qa": {"uat", "needs-work"},
    "needs-work": {"in-progress"},
    "uat": {"completed", "in-progress"},
}
ALL = (*WAYS, "blocked", *sorted(TERMINAL))
PLACES = lifecycles.STORY.places
MOVES = st.sampled_from([*ALL, *(["forward"] * 12), "unblock", "sync", "moved by hand", "deleted by hand", "edited"])


@settings(max_examples=7)
@given(st.lists(MOVES, max_size=25))
@example(steps=["blocked", "cancelled"])
def test_a_person_may_do_what_the_table_says_and_the_folder_follows(steps: list[str]) -> None:
    """Any sequence of commands, with hands in the folders in between."""
    with tempfile.TemporaryDirectory() as folder:
        process = StoryProcess(Path(folder) / "p", ManualClock())
        try:
            _walk(process, steps)
        finally:
            process.close()


def _walk(process: StoryProcess, steps: list[str]) -> None:
    stories, root = process.bay.stories, process.folder / "stories"
    stories.new("S-1", title="Print it", criteria=["it prints"])
    status, came_from, settled = "pending", "", False
    for step in steps:
        here = root / PLACES[status] / "S-1"
        if step == "moved by hand":
            (root / "elsewhere").mkdir(exist_ok=True)
            shutil.move(here, root / "elsewhere" / "mine")
            step = "sync"
        elif step == "deleted by hand":
            shutil.rmtree(here)
            step = "sync"
        elif step == "edited":
            text = (here / "story.md").read_text(encoding="utf-8")
            (here / "story.md").write_text(text.replace(f"status: {status}", "status: completed"), encoding="utf-8")
            status, step = "completed" if status == "uat" else status, "sync"
        if step == "sync":
            stories.sync()
        else:
            target = step
            if step == "forward":
                target = sorted(WAYS.get(status, {"pending"}))[0]
            elif step == "unblock":
                target = came_from or "pending"
            legal = _legal(status, target, came_from, settled)
            try:
                stories.update("S-1", target)
                done = True
            except (IllegalTransition, NotAllowed):
                done = False
            assert done == legal, (status, target, came_from, settled)
            if done:
                came_from = status if target == "blocked" else ""
                status, settled = target, settled or target == "ready-to-work"
        found = stories.get("S-1")
        assert (found.status, found.blocked_from) == (status, came_from)
        assert [each.parent.name for each in root.glob("*/S-1")] == [PLACES[status]], (step, status)
        assert f"status: {status}" in (root / PLACES[status] / "S-1" / "story.md").read_text(encoding="utf-8")


def _legal(status: str, target: str, came_from: str, settled: bool) -> bool:
    if status in TERMINAL or status == target:
        return False
    if target == "cancelled":
        return True
    if status == "blocked":
        return target == came_from or (settled and target in ("in-progress", "ready-to-work"))
    return target == "blocked" or target in WAYS[status]
