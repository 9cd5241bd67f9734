"""Our one comment on an issue, and the notes that it and the labels stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.tracker import comment, record
from medbay.core.tracker.record import FailureRecord

FENCES = (comment.MARKDOWN, comment.WIKI)


@given(st.text(max_size=80), st.integers(1, 9), st.sampled_from(FENCES))
def test_a_record_is_read_as_it_was_written(summary: str, attempt: int, fence: str) -> None:
    """Whatever its words are, and with the line ends of a browser."""
    line = record.write(FailureRecord(attempt=attempt, last_failure=0, error_class="a/b", summary=summary))
    text = comment.with_notes(line, fence)

    assert comment.notes_of(text, (), fence).strip() == line.strip()
    assert comment.is_ours(text)


@pytest.mark.parametrize("fence", FENCES)
def test_the_label_counts_for_a_person(fence: str) -> None:
    """Without it nobody is waited for; with it somebody is, whatever the comment says."""
    line = record.needs_human("cannot say")
    text = comment.with_notes(line, fence)

    assert comment.notes_of(text, ("needs_human",), fence) == line
    assert comment.notes_of(text, ("ui",), fence) == ""
    assert record.read(comment.notes_of("", ("needs_human",), fence)).human == "it has the label needs_human"


def test_a_comment_without_a_record_says_nothing_to_us() -> None:
    """Emptied, or with the reason of a close."""
    for text in (comment.with_notes(" \n", "```"), comment.with_reason("Completed"), "```", ""):
        assert comment.notes_of(text, (), "```") == ""


def test_a_persons_comment_is_not_ours() -> None:
    """Unless it begins as ours do, which only the tracker can tell apart."""
    assert not comment.is_ours("me too")
    assert comment.is_ours("\n" + comment.with_reason("x"))
