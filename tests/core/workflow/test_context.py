"""What a role is told besides its story."""

from __future__ import annotations

from medbay.core.workflow import context
from medbay.core.workflow.records import PhaseRun, RunPart, Story

STORY = Story(id="S-1", title="T")


def test_a_piece_has_the_hash_of_its_content() -> None:
    """The same text, the same hash."""
    made = context.piece("static", "role dev", "text")

    assert made.as_data() == {
        "tier": "static",
        "name": "role dev",
        "hash": "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1",
        "text": "text",
    }
    assert made.hash == context.digest("text")


def test_learnings_are_a_short_list() -> None:
    """Nothing is said where nothing was learned."""
    assert context.learned([]) == ""
    said = context.learned(["one\ntwo", *["x"] * 20])
    assert "- one two\n" in said and said.count("\n") == context.LEARNINGS_MAX + 1


def test_the_history_has_every_phase_that_ended() -> None:
    """With what the parts of a review refused; not what still runs."""
    parts = (
        RunPart(role="review-lint", task_id="t", status="FAIL", summary="unused import"),
        RunPart(role="review-build", task_id="t", status="PASS"),
    )
    runs = [
        PhaseRun(
            story_id="S-1", number=1, phase="implement", status="PASS", verdict="PASS", summary="done.", ended_at=1
        ),
        PhaseRun(story_id="S-1", number=2, phase="review", status="FAIL", ended_at=2, parts=parts),
        PhaseRun(story_id="S-1", number=3, phase="fix", status="RUNNING"),
    ]

    assert context.history(STORY, runs) == (
        "What happened in S-1 so far:\n"
        "- implement (run 1): PASS. done.\n"
        "- review (run 2): FAIL.\n"
        "  - review-lint: FAIL. unused import\n"
    )
    assert context.history(STORY, runs[2:]) == ""
