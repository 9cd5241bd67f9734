"""What becomes of the branch of a story, decision by decision."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.decision import Decision
from medbay.core.model import Question
from medbay.core.people.answer import EFFECTS, Answer, AskedStory, on_answer
from medbay.core.workflow import landing, phase, story
from medbay.core.workflow import question as questions
from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.records import Story, StoryGit, StoryRules
from medbay.core.workspace import Landed
from medbay.errors import NotAllowed
from tests.core.workflow.cases import NOW, answered, asks, case, ended_run, follow, started

GIT = StoryGit(branch="medbay/story-S-1", base="main", worktree="/w", directory="/w")
MERGED = Landed(how="merged", words="merged into main as abc", commit="abc")
REFUSED = Landed(how="refused", words="pull request https://x/1 came back\nci: failure", url="https://x/1")
CONFLICT = Landed(how="conflict", words="it conflicts with main in app.txt\n<<<<<<<")
KEPT = Landed(how="kept", words="kept: gh is not installed")


def gated(verdict: str = "PASS", *, on_pass: str = "merge", forced: bool = False, **fields: Any) -> StoryCase:
    """A story whose gate has just ended."""
    status = fields.pop("status", "uat")
    found = case(status, git=fields.pop("git", GIT), elaborated=True, **fields)
    begun = started(found, "gate", rules=StoryRules(on_pass=on_pass, forced=forced))
    return answered(begun, "gate", verdict)[0]


def test_a_pass_waits_for_the_merge_and_then_moves() -> None:
    """What is completed is merged."""
    found = gated()
    assert (found.story.status, found.story.git.landing) == ("uat", 1)

    after = follow(found, landing.landed(found, MERGED, NOW)).story

    assert (after.status, after.merged, after.git.merge_commit, after.git.landing) == ("completed", True, "abc", 0)
    assert after.reason == "gate: PASS: merged into main as abc"
    assert after.files_due


def test_a_pull_request_completes_it_without_a_merge() -> None:
    """Its address is kept."""
    found = gated(on_pass="pr")
    made = Landed(how="pr", words="pull request https://x/1", url="https://x/1")

    after = follow(found, landing.landed(found, made, NOW)).story

    assert (after.status, after.merged, after.git.pull_request) == ("completed", False, "https://x/1")


@pytest.mark.parametrize(("on_pass", "git"), [("keep", GIT), ("merge", StoryGit())])
def test_what_is_kept_or_has_no_branch_moves_at_once(on_pass: str, git: StoryGit) -> None:
    """Nothing follows from the pass but its move."""
    assert gated(on_pass=on_pass, git=git).story.status == "completed"


def test_the_first_conflict_goes_back_to_the_developer_the_second_to_a_person() -> None:
    """The developer is told of it; the person is shown it, and may leave the work on its branch."""
    found = gated()
    back = follow(found, landing.landed(found, CONFLICT, NOW))
    assert (back.story.status, back.story.git.landing, back.story.git.conflicts) == ("in-progress", 0, 1)
    told = story.context_of(back, ended_run(2, "implement"), "/f")
    assert "app.txt" in told["findings"][0]

    done = story.completed(back, (), (), NOW, resolved=True)
    assert follow(back, done).story.git.conflict == ""
    again = gated(git=replace(back.story.git, conflict=""))
    made = landing.landed(again, CONFLICT, NOW)

    (asked,) = asks(made)
    after = follow(again, made)
    assert (after.story.status, after.story.git.landing) == ("blocked", 1)
    assert "<<<<<<<" in asked.evidence
    assert [each.effect for each in asked.options] == ["continue", "keep", "wait", "cancel"]
    released = follow(after, story.on_release(after, NOW, actor="person:a", asked=[asked])).story
    assert (released.status, released.git.landing, released.git.conflicts) == ("uat", 1, 0)
    elsewhere = story.on_release(after, NOW, actor="person:a", asked=[asked], to="in-progress")
    assert follow(after, elsewhere).story.git.landing == 0
    kept = follow(after, landing.on_kept(after, NOW, actor="person:a", asked=[asked])).story
    assert (kept.status, kept.merged, kept.git.landing) == ("completed", False, 0)
    assert follow(after, story.on_cancel(after, NOW, actor="a", asked=[], why="x")).story.git.landing == 0


def test_what_comes_back_from_a_pull_request_goes_to_the_developer() -> None:
    """Until a role has seen to it; more often than it may, and where the table has no way back, a person is asked."""
    found = gated(on_pass="pr")
    waiting = Landed(how="pr", words="pull request https://x/1", url="https://x/1", waiting=True)
    waits = follow(found, landing.waits(found, waiting, NOW))
    assert (waits.story.status, waits.story.git.landing, waits.story.git.pull_request) == ("uat", 1, "https://x/1")
    assert landing.waits(waits, waiting, NOW) == Decision()

    back = follow(waits, landing.landed(waits, REFUSED, NOW))

    assert (back.story.status, back.story.git.landing, asks(landing.landed(waits, REFUSED, NOW))) == (
        "in-progress",
        0,
        [],
    )
    assert REFUSED.words in story.context_of(back, ended_run(2, "implement"), "/f")["findings"]
    assert follow(back, story.completed(back, (), (), NOW, resolved=True)).story.git.came_back == ""
    given_up = follow(waits, landing.landed(waits, replace(REFUSED, how="given_up"), NOW)).story
    assert (given_up.status, given_up.git.landing) == ("blocked", 1)
    completed = gated(on_pass="pr", forced=True, status="completed")
    assert asks(landing.landed(completed, REFUSED, NOW))


def test_what_stands_in_the_way_is_asked_about() -> None:
    """A new run forgets what was to be merged; without anything to merge there is nothing to keep."""
    found = gated(on_pass="pr")

    made = landing.landed(found, replace(KEPT, url="https://x/1"), NOW)

    after = follow(found, made)
    assert after.story.status == "blocked" and after.story.git.pull_request == "https://x/1"
    assert "gh is not installed" in asks(made)[0].why
    with pytest.raises(NotAllowed):
        landing.on_kept(case("uat"), NOW, actor="a", asked=[])
    assert started(replace(found, story=replace(found.story, status="uat")), "gate").story.git.landing == 0


def test_a_completed_story_is_asked_about_without_being_blocked() -> None:
    """A gate that a person forced."""
    found = gated(forced=True, status="completed")
    assert found.story.status == "completed"

    made = landing.landed(found, CONFLICT, NOW)

    after = follow(found, made).story
    assert (after.status, after.git.landing) == ("completed", 0)
    assert [each.effect for each in asks(made)[0].options] == ["leave"]


def test_a_person_finishes_it() -> None:
    """With what was merged, or with nothing."""
    found = case("completed", git=GIT)

    assert follow(found, landing.finished(found, MERGED, NOW, actor="a")).story.git.merge_commit == "abc"
    assert follow(found, landing.finished(found, None, NOW, actor="a")).story.merged


def failed_after_merge(**fields: Any) -> StoryCase:
    """A story whose gate failed after it was merged."""
    git = replace(GIT, merge_commit="abcdef")
    return gated("FAIL", forced=True, status="completed", git=git, merged=True, **fields)


def test_a_fail_after_the_merge_calls_for_its_revert() -> None:
    """Prepared on a branch: a person is asked, or it is agreed already."""
    found = failed_after_merge()
    assert (found.story.status, found.story.git.reverting) == ("completed", "due")
    assert gated("FAIL").story.git.reverting == ""

    agreed = landing.revert_prepared(found, "medbay/revert", "stat", NOW, agreed=True)
    assert follow(found, agreed).story.git.reverting == "agreed" and not asks(agreed)
    made = landing.revert_prepared(found, "medbay/revert", "1 file", NOW)

    (asked,) = asks(made)
    after = follow(found, made)
    assert (after.story.git.reverting, after.story.git.revert_branch) == ("asked", "medbay/revert")
    assert (asked.evidence, [each.effect for each in asked.options]) == ("1 file", ["revert", "leave"])
    left = landing.on_revert(after, asked, NOW, actor="a", agreed=False)
    assert follow(after, left).story.git.reverting == ""
    wanted = follow(after, landing.on_revert(after, asked, NOW, actor="a", agreed=True))
    assert wanted.story.git.reverting == "agreed"
    done = follow(wanted, landing.reverted(wanted, replace(MERGED, commit="fed"), NOW)).story
    assert (done.merged, done.git.reverting, done.git.revert_commit) == (False, "", "fed")


def test_a_revert_that_fails_is_asked_about() -> None:
    """Whether it cannot be made, or cannot be merged."""
    found = failed_after_merge()
    made = landing.revert_prepared(found, "", "", NOW, problem="it conflicts", agreed=True)
    assert "it conflicts" in asks(made)[0].why

    stands = landing.reverted(follow(found, made), KEPT, NOW)

    assert asks(stands)[0].options[0].label == "try the revert again"


def test_every_effect_of_these_questions_has_a_row() -> None:
    """So that an answer does something."""
    for effect in (questions.KEEP, questions.REVERT, questions.LEAVE):
        assert ("story", effect) in EFFECTS


def test_a_run_is_set_up_where_its_story_works() -> None:
    """In the worktree, or in the project."""
    found = case("ready-to-work", project="/p")
    wanted = found.workflow.phase("implement")
    assert wanted is not None
    worker = phase.PhaseWorker(role="dev", phase="implement", command=("true",))
    begun = follow(found, phase.start(found, wanted, [worker], StoryRules(), NOW, actor="a", command="c", queue="q"))

    inside = follow(begun, phase.set_up(begun, {}, {}, "/f", NOW, git=GIT))
    outside = follow(begun, phase.set_up(begun, {}, {}, "/f", NOW))

    assert (inside.tasks[0].cwd, inside.story.git) == ("/w", GIT)
    assert (outside.tasks[0].cwd, outside.story.git.branch) == ("/p", "")


def test_an_answer_keeps_the_branch_reverts_or_leaves_it() -> None:
    """By the effect of the option that a person chose."""
    stopped = gated(on_pass="pr")
    made = landing.landed(stopped, KEPT, NOW)
    blocked, (asked,) = follow(stopped, made), asks(made)
    assert chosen(blocked, asked, "keep").status == "completed"
    failed = failed_after_merge()
    made = landing.revert_prepared(failed, "medbay/revert", "1 file", NOW)
    found, (asked,) = follow(failed, made), asks(made)

    assert chosen(found, asked, "revert").git.reverting == "agreed"
    assert chosen(found, asked, "leave").git.reverting == ""


def chosen(found: StoryCase, asked: Question, effect: str) -> Story:
    """The story once a person chose the option with this effect."""
    option = next(each for each in asked.options if each.effect == effect)
    answer = Answer(question=asked, option=option, words="", actor="person:a", now=NOW)
    return follow(found, on_answer(answer, "story", AskedStory(case=found, questions=(asked,)))).story
