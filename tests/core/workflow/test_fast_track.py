"""Stories with few criteria: audited, waved through, or asked about."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.model import Question
from medbay.core.workflow import fast_track, question, story
from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.records import StoryDecision
from medbay.core.workflow.workflow import Phase
from tests.core.workflow.cases import NOW, case, follow, shipped

SCOPE = question.scope_of(fast_track.QUESTION)


def audit() -> Phase:
    """The phase that settles the scope of a story."""
    found = shipped("story").phase("elaborate")
    assert found is not None
    return found


def small(**more: Any) -> StoryCase:
    """A story with two criteria that is to be audited."""
    found = case("generated", **more)
    return replace(found, story=replace(found.story, criteria=("one", "two")))


def test_it_is_for_few_criteria_and_for_the_audit_alone() -> None:
    """A story without any criterion is not small but unknown; a hotfix has no audit."""
    implement, hotfix = shipped("story").phase("implement"), shipped("hotfix").phase("implement")
    assert implement is not None and hotfix is not None

    assert fast_track.applies(small(), audit(), "ask")
    assert not fast_track.applies(small(), audit(), "never")
    assert not fast_track.applies(case("generated"), audit(), "always")
    assert not fast_track.applies(replace(small(), story=replace(small().story, criteria=())), audit(), "always")
    assert not fast_track.applies(small(), implement, "always")
    assert not fast_track.applies(replace(small(), workflow=shipped("hotfix")), hotfix, "always")


def test_nobody_decided_so_a_person_is_asked_once() -> None:
    """The story waits; the answer is this story's decision."""
    found = small()
    assert fast_track.chosen(found, "ask") is None

    made = fast_track.ask(found, audit(), NOW)
    (asked,), (decision,) = made.all(Question), made.all(StoryDecision)

    assert follow(found, made).story.waiting
    assert [each.label for each in asked.options] == ["audit it", "fast track"]
    assert (decision.question_id, decision.answered_by) == (asked.id, "")
    waiting = replace(follow(found, made), decisions=(decision,))
    assert fast_track.chosen(waiting, "ask") is None
    said = story.on_decided(waiting, decision, asked, "fast track", False, NOW, actor="person:x")
    answered = replace(follow(waiting, said), decisions=tuple(said.all(StoryDecision)))
    chosen = fast_track.chosen(answered, "ask")
    assert chosen is not None and chosen.answer == fast_track.SKIP
    assert not fast_track.skip(answered, audit(), chosen, NOW).all(StoryDecision)


@pytest.mark.parametrize(
    ("setting", "known", "answer", "by"),
    [
        ("always", "audit it", "fast track", "configuration"),
        ("ask", "audit it", "audit it", "preference"),
        ("ask", "fast track", "fast track", "preference"),
        ("ask", "whatever", None, None),
    ],
)
def test_a_setting_or_an_earlier_answer_decides(setting: str, known: str, answer: str | None, by: str | None) -> None:
    """And what decided is kept with the story."""
    found = small(preferences={SCOPE: known})
    chosen = fast_track.chosen(found, setting)

    assert (chosen.answer if chosen else None) == answer
    if chosen is not None:
        rule = fast_track.skip if answer == fast_track.SKIP else fast_track.audit
        (kept,) = rule(found, audit(), chosen, NOW).all(StoryDecision)
        assert (kept.answer, kept.answered_by, kept.number) == (answer, by, 1)


def test_what_is_waved_through_takes_the_moves_of_the_table() -> None:
    """With a run that says so; what is audited is not decided twice."""
    found = small()
    chosen = fast_track.chosen(found, "always")
    assert chosen is not None

    after = follow(found, fast_track.skip(found, audit(), chosen, NOW))
    bare = replace(audit(), running="", verdicts={"PASS": "in-elaboration"})

    assert (after.story.status, after.story.elaborated, after.story.fast) == ("ready-to-work", True, True)
    assert "fast track" in after.runs[-1].summary
    assert follow(found, fast_track.skip(found, bare, chosen, NOW)).story.fast
    assert not fast_track.audit(found, audit(), replace(chosen, number=3), NOW).writes
