"""What an audit used that never brought an answer, through the engine: it counts in the check of its own run."""

from __future__ import annotations

from pathlib import Path

from medbay.core.workflow.records import ENFORCEMENTS
from tests.engine.story_world import StoryProcess
from tests.worlds import ManualClock

SAYS = {"verdict": "MAYBE", "usage": {"tokens_in": 15_000, "tokens_out": 5_000}}


def test_retries_are_counted_where_their_run_is_judged(tmp_path: Path, clock: ManualClock) -> None:
    """Three attempts of 20,000 tokens reach the 60,000 of an audit; told at every level, and a gate stops it."""
    process = StoryProcess(tmp_path / "p", clock, said={"qa elaborate": [SAYS]})
    stories = {level: f"B-{level.replace('_', '-')}" for level in ENFORCEMENTS}
    for level, story_id in stories.items():
        process.bay.stories.new(story_id, title="x", criteria=["it prints"], enforcement=level)
        process.bay.stories.hand_over(story_id, until="in-elaboration")
    engine = process.engine()

    for _ in range(40):
        clock.advance(1_000)
        process.bay.stories.conductor.cycle()
        engine.lease.beat(process.bay.store)
        engine.tick()
        found = process.stories(list(stories.values()))
        if all(each.runs >= 2 and not each.run and not each.files_due for each in found):
            break

    for level, story_id in stories.items():
        generated, audit = process.runs(story_id)[:2]
        assert (generated.status, audit.status, audit.error_type) == ("PASS", "FAIL", "MALFORMED_OUTPUT")
        assert (audit.agent_spawns, audit.tokens) == (3, 60_000)
        story, gated = process.bay.stories.get(story_id), level in ("soft_gate", "hard_gate")
        assert story.status == ("blocked" if gated else "in-elaboration"), level
        assert [asked.owner.id for asked in process.bay.inbox() if asked.owner].count(story_id) == int(gated)
        log = next((tmp_path / "p/stories").glob(f"*/{story_id}/_implementation/TOKEN-LOG.md")).read_text()
        assert "| 60000 |" in log
    told = [each.data["used"] for each in process.bay.events() if each.name == "budget:exceeded"]
    assert told == [60_000] * 4
    process.close()
