"""A story whose scope changes: back through its audit, with everything that was made and shown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core.decision import QuestionClosed
from medbay.core.holds.breaker import BreakerChange, open_phase
from medbay.core.model import Question
from medbay.core.workflow import story
from medbay.core.workflow.records import EvidenceEntry, PhaseRun, StoryDecision
from medbay.errors import NotAllowed
from tests.core.workflow.cases import NOW, case, ended_run, follow, shipped

ACTOR = "person:x"
TERMINAL = shipped("story").machine.terminal
UNSEEN = ("pending", "generated")  # by an audit
SEEN = tuple(each for each in shipped("story").statuses if each not in (*TERMINAL, *UNSEEN, "blocked"))
NEW = {"criteria": ("one", "new")}
SHOWN = (EvidenceEntry(criterion=1, shows="s", path="a", phase="implement", hash="h"),)


@pytest.mark.parametrize("status", SEEN)
@pytest.mark.parametrize("blocked", [False, True])
def test_what_was_audited_is_audited_again(status: str, blocked: bool) -> None:
    """From every status, blocked or not; every move on the way is one of the table."""
    settled = status not in ("in-elaboration", "needs-refinement", "needs-split")
    found = case(status, elaborated=settled, evidence=SHOWN, rounds=2, rounds_granted=1, runs=(ended_run(4, "fix"),))
    found = replace(found, story=replace(found.story, runs=4))
    if blocked:
        found = follow(found, story.on_block(found, "later", NOW, actor=ACTOR))

    made = story.on_rescope(found, NEW, NOW, actor=ACTOR, asked=())
    after = follow(found, made).story

    assert (after.status, after.elaborated, after.blocked_from, after.criteria) == (
        "generated",
        False,
        "",
        NEW["criteria"],
    )
    assert (after.evidence, after.rounds, after.rounds_granted, after.forgiven) == (SHOWN, 0, 0, 4)
    steps = [(each.data["from"], each.data["to"]) for each in made.events if each.name == "story:moved"]
    assert set(steps) <= shipped("story").machine.steps
    assert steps[-1] == ("blocked", "generated")


@pytest.mark.parametrize("status", UNSEEN)
def test_what_nobody_has_audited_stays_where_it_is(status: str) -> None:
    """Also blocked; and a hotfix has no audit to go back to."""
    found = case(status)
    assert follow(found, story.on_rescope(found, NEW, NOW, actor=ACTOR, asked=())).story.status == status
    found = follow(found, story.on_block(found, "later", NOW, actor=ACTOR))
    after = follow(found, story.on_rescope(found, NEW, NOW, actor=ACTOR, asked=())).story
    assert (after.status, after.blocked_from, after.criteria) == ("blocked", status, NEW["criteria"])
    short = case("uat", of="hotfix", elaborated=True)
    assert follow(short, story.on_rescope(short, NEW, NOW, actor=ACTOR, asked=())).story.status == "uat"


def test_what_was_asked_about_the_block_is_closed_and_its_breaker_too() -> None:
    """A decision that a phase wants stays open."""
    wanted = StoryDecision(story_id="S-1", number=1, phase="p", question="x", question_id="q-1")
    opened = open_phase("S-1", "implement", NOW, why="w", question_id="q-2")
    found = case("blocked", blocked_from="in-progress", elaborated=True, decisions=(wanted,), breakers=(opened,))
    asked = [Question(id="q-1", need="n", why="w"), Question(id="q-2", need="n", why="w")]

    made = story.on_rescope(found, NEW, NOW, actor=ACTOR, asked=asked)

    assert [each.question_id for each in made.all(QuestionClosed)] == ["q-2"]
    assert [each.after.state for each in made.all(BreakerChange)] == ["closed"]


def test_what_runs_or_is_over_is_not_rescoped() -> None:
    """The phase ends first; what has ended is over."""
    running = replace(case("in-progress"), run=PhaseRun(story_id="S-1", number=1, phase="implement"))
    with pytest.raises(NotAllowed, match="Phase in progress"):
        story.on_rescope(running, NEW, NOW, actor=ACTOR, asked=())
    for status in TERMINAL:
        with pytest.raises(NotAllowed, match="cannot change any more"):
            story.on_rescope(case(status), NEW, NOW, actor=ACTOR, asked=())
