"""What people do with a story."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core.decision import Added, Change, QuestionClosed
from medbay.core.model import Question, Task
from medbay.core.people.answer import Answer, AskedStory, on_answer
from medbay.core.workflow import prompt, question, story
from medbay.core.workflow.answer import WantedDecision
from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.records import EvidenceEntry, PhaseRun, RunPart, Story, StoryDecision
from medbay.errors import IllegalTransition, NotAllowed, UsageError
from tests.core.workflow.cases import NOW, case, ended_run, follow, shipped, started

ACTOR = "person:x"
ALIVE = tuple(each for each in shipped("story").statuses if each not in shipped("story").machine.terminal)
LASTING = tuple(each for each in ALIVE if each != "blocked")


def test_an_id_has_to_name_a_folder_and_a_title_one_line() -> None:
    """Markup stays text, line breaks go."""
    assert story.checked_id("WISH-001") == "WISH-001"
    assert story.clean_title(" <b>a</b>\n# b\x07 ") == "<b>a</b> # b"
    for wrong in ("", "../x", "a b", ".x"):
        with pytest.raises(UsageError):
            story.checked_id(wrong)
    with pytest.raises(UsageError):
        story.clean_title(" \n ")


def test_a_new_story_says_where_it_stands() -> None:
    """With an event of its own."""
    made = story.created(story.begun(case().story, NOW), NOW, actor=ACTOR)

    (added,) = made.all(Added)
    assert added.change.after.created_at == NOW
    assert made.events[0].data["to"] == "pending"


@pytest.mark.parametrize("status", ALIVE)
def test_every_unfinished_status_may_be_cancelled(status: str) -> None:
    """Its questions are closed with it, and the tasks of the phase that runs are stopped."""
    found = case(status)
    live, waiting = Task(id="a", title="a", live=1, status="in_progress"), Task(id="b", title="b")
    done = Task(id="c", title="c", status="completed")
    run = PhaseRun(story_id="S-1", number=1, phase="implement")
    found = replace(found, tasks=(live, waiting, done), run=run)
    asked = [Question(id="q", need="n", why="w")]

    made = story.on_cancel(found, NOW, actor=ACTOR, asked=asked, why="no longer needed")
    after = follow(found, made)

    assert (after.story.status, after.story.run, after.runs[-1].status) == ("cancelled", 0, "CANCELLED")
    assert [each.question_id for each in made.all(QuestionClosed)] == ["q"]
    assert {each.id: each.status for each in after.tasks} == {"a": "in_progress", "b": "cancelled", "c": "completed"}


@pytest.mark.parametrize("status", LASTING)
def test_a_block_returns_to_where_it_was_blocked_from(status: str) -> None:
    """And past elaboration also to work; every other way is refused by its guard."""
    for elaborated in (False, True):
        blocked = follow(case(status), story.on_block(case(status), "later", NOW, actor=ACTOR))
        blocked = replace(blocked, story=replace(blocked.story, elaborated=elaborated))
        allowed = {status} | ({"in-progress", "ready-to-work"} if elaborated else set())
        for target in LASTING:
            if target not in allowed:
                with pytest.raises(IllegalTransition, match="only if"):
                    story.on_release(blocked, NOW, actor=ACTOR, asked=(), to=target)
                continue
            made = story.on_release(blocked, NOW, actor=ACTOR, asked=(), to=target)
            assert follow(blocked, made).story.status == target


@pytest.mark.parametrize("status", sorted(shipped("story").machine.terminal))
def test_what_has_ended_is_neither_blocked_nor_cancelled(status: str) -> None:
    """It goes nowhere."""
    with pytest.raises(IllegalTransition):
        story.on_block(case(status), "x", NOW, actor=ACTOR)
    with pytest.raises(IllegalTransition):
        story.on_cancel(case(status), NOW, actor=ACTOR, asked=(), why="x")


def test_a_release_forgives_and_grants() -> None:
    """What failed counts no more; one more round after a review, a budget that was over is confirmed."""
    part = RunPart(role="r", task_id="t", tokens_in=200_000)
    runs = (ended_run(1, "review", "FAIL", parts=(part,)),)
    found = case("blocked", blocked_from="code-review-failed", runs=runs, enforcement="soft_gate")
    found = replace(found, story=replace(found.story, runs=1))

    after = follow(found, story.on_release(found, NOW, actor=ACTOR, asked=()))

    assert (after.story.forgiven, after.story.rounds_granted, after.story.confirmed) == (1, 1, ("review",))
    plain = replace(found, runs=(ended_run(1, "elaborate", "FAIL"),))
    assert follow(plain, story.on_release(plain, NOW, actor=ACTOR, asked=())).story.confirmed == ()
    none = replace(found, runs=())
    assert follow(none, story.on_release(none, NOW, actor=ACTOR, asked=())).story.rounds_granted == 0
    with pytest.raises(NotAllowed):
        story.on_release(case("pending"), NOW, actor=ACTOR, asked=())


def test_a_decision_stays_open_when_a_block_is_released() -> None:
    """Only what was asked about the block is closed."""
    made = StoryDecision(story_id="S-1", number=1, phase="p", question="x", question_id="q-1")
    found = case("blocked", blocked_from="pending", decisions=(made,))
    asked = [Question(id="q-1", need="n", why="w"), Question(id="q-2", need="n", why="w")]

    decided = story.on_release(found, NOW, actor=ACTOR, asked=asked)

    assert [each.question_id for each in decided.all(QuestionClosed)] == ["q-2"]
    assert follow(found, decided).story.waiting


def test_what_depended_on_a_cancelled_story_is_a_persons_matter() -> None:
    """Unless a phase of it runs, or it is blocked already."""
    others = (
        Story(id="A", title="a", depends_on=("S-1",)),
        Story(id="B", title="b", depends_on=("S-1",), run=2),
        Story(id="C", title="c", depends_on=("S-1",), status="blocked"),
    )
    made = story.on_cancel(case("pending", dependents=others), NOW, actor=ACTOR, asked=(), why="x")

    moved = [each.after for each in made.writes if isinstance(each, Change) and each.after.id in "ABC"]
    assert [(each.id, each.status, each.depends_on) for each in moved] == [("A", "blocked", ())]
    assert len(made.all(Question)) == 1


def test_a_person_may_set_a_status_that_the_table_allows() -> None:
    """Block, release and cancel by the name of the status as well."""
    update = story.on_update

    def to(found: StoryCase, status: str) -> Story:
        return follow(found, update(found, status, NOW, actor=ACTOR, asked=(), why="w")).story

    assert to(case("pending"), "generated").status == "generated"
    assert to(case("in-elaboration"), "ready-to-work").elaborated
    assert to(case("pending"), "blocked").blocked_from == "pending"
    assert to(case("pending"), "cancelled").status == "cancelled"
    assert to(case("blocked", blocked_from="uat", elaborated=True), "in-progress").status == "in-progress"
    with pytest.raises(UsageError):
        to(case("pending"), "nonsense")
    with pytest.raises(IllegalTransition):
        to(case("pending"), "completed")
    with pytest.raises(IllegalTransition):
        to(case("in-progress"), "ready-for-qa")
    with pytest.raises(IllegalTransition):
        to(case("needs-split"), "generated")
    assert to(case("needs-split", split_of="W"), "generated").status == "generated"
    assert to(case("in-progress", has_review=False), "ready-for-qa").status == "ready-for-qa"
    with pytest.raises(NotAllowed, match="Phase in progress"):
        to(replace(case("pending"), run=PhaseRun(story_id="S-1", number=1, phase="generate")), "generated")


def test_a_change_of_scope_keeps_the_evidence_of_what_stays() -> None:
    """Under its new number."""
    shown = tuple(
        EvidenceEntry(criterion=number, shows="s", path=f"{number}", phase="p", hash="h") for number in (1, 2, 9)
    )
    found = case("uat", evidence=shown)

    after = follow(found, story.on_edit(found, {"criteria": ("two", "new"), "title": " T "}, NOW, actor=ACTOR)).story

    assert [(each.criterion, each.path) for each in after.evidence] == [(1, "2")]
    assert (after.title, after.status) == ("T", "uat")
    other = follow(found, story.on_edit(found, {"priority": 0, "title": None}, NOW, actor=ACTOR)).story
    assert (other.priority, other.title, other.evidence) == (0, "A story", shown)
    with pytest.raises(UsageError):
        story.on_edit(found, {"enforcement": "mild"}, NOW, actor=ACTOR)


def test_a_story_is_driven_with_the_tasks_that_wait() -> None:
    """In the queue of who drives it; then it rests."""
    tasks = (Task(id="a", title="a"), Task(id="b", title="b", live=1), Task(id="c", title="c", queue="q"))
    found = replace(case("pending"), tasks=tasks)

    made = story.drive(found, NOW, actor=ACTOR, queue="q", until="uat")
    after = follow(found, made)

    assert (after.story.driven, after.story.until, after.story.queue) == (True, "uat", "q")
    assert [each.after.id for each in made.changes] == ["a"]
    assert not follow(after, story.rest(after, NOW, actor=ACTOR)).story.driven
    with pytest.raises(UsageError):
        story.drive(found, NOW, actor=ACTOR, queue="q", until="nonsense")


def test_what_is_complete_is_known_by_its_runs() -> None:
    """A phase that passed is complete until the story stands where it starts from again."""
    flow = shipped("story")
    elaborate, verify = flow.phase("elaborate"), flow.phase("verify")
    assert elaborate is not None and verify is not None
    passed, failed = ended_run(1, "elaborate"), ended_run(1, "elaborate", "FAIL")

    assert story.is_complete(case("ready-to-work", runs=(passed,)), elaborate)
    assert not story.is_complete(case("generated", runs=(passed,)), elaborate)
    assert not story.is_complete(case("needs-refinement", runs=(failed,)), elaborate)
    assert not story.is_complete(case("ready-to-work"), elaborate)
    assert story.is_complete(case("uat"), verify)
    assert not story.is_complete(case("in-qa"), verify)
    assert story.has_run(case("uat", runs=(passed,)), elaborate) and not story.has_run(case("uat"), elaborate)


def test_what_a_run_showed_is_kept_with_its_hash() -> None:
    """The newest entry for a criterion and a path stands; the run is completed with it."""
    shown = {"evidence": [{"criterion": 1, "shows": "new", "path": "a"}, {"criterion": 1, "shows": "b", "path": "b"}]}
    run = ended_run(1, "implement", parts=(RunPart(role="dev", task_id="t", result=shown),))
    old = EvidenceEntry(criterion=1, shows="old", path="a", phase="x", hash="1")
    found = case("uat", evidence=(old,), runs=(run,))

    kept = story.with_evidence(found.story, run, {"a": "2"})
    after = follow(found, story.completed(found, [run], kept.evidence, NOW))

    assert [(each.shows, each.hash) for each in kept.evidence] == [("new", "2"), ("b", "")]
    assert after.runs[-1].completed_at == NOW
    assert len(after.story.evidence) == 2


def test_a_run_is_told_what_was_found_before() -> None:
    """The failed review by its reviewers, another failure by itself; a pass leaves nothing to mend."""
    failed = RunPart(role="review-lint", task_id="t", status="FAIL", summary="unused import")
    review = ended_run(1, "review", "FAIL", parts=(failed, replace(failed, status="PASS")))
    run = PhaseRun(story_id="S-1", number=2, phase="fix")
    made = StoryDecision(story_id="S-1", number=1, phase="p", question="x?", answer="y", answered_by="default")

    told = story.context_of(case("in-progress", runs=(review,), decisions=(made,)), run, "/d")

    assert told["findings"] == ["review-lint: unused import"]
    assert (told["stage"], told["decided"]) == ("begin", ["x? -> y"])
    alone = story.context_of(case("uat", runs=(ended_run(1, "fix", "FAIL", summary="s"),)), run, "/d")
    assert (alone["findings"], alone["stage"]) == (["fix: s"], "resume")
    assert story.context_of(case("uat", runs=(ended_run(1, "fix"),)), run, "/d")["findings"] == []
    assert story.context_of(case("uat"), run, "/d")["findings"] == []


def test_an_agent_is_told_the_story_as_data() -> None:
    """With its findings; what people wrote for the project stands as it is, what roles said is quoted."""
    pieces = [{"tier": "static", "text": "You audit."}, {"tier": "session", "text": "So far:\n- generate: PASS\n"}]

    told = prompt.told(case().story, pieces, {"findings": ["f"], "decided": []})

    assert told.startswith("You audit.\n\nSo far:\n\n> - generate: PASS\n\n")
    assert "> 1. one" in told and "> f" in told
    assert "(none yet)" in prompt.told(replace(case().story, criteria=()), [], {})


def test_an_agent_is_told_how_to_answer() -> None:
    """With the verdicts of its phase, also where its session goes on."""
    begun = started(case("generated"), "elaborate")

    told = prompt.answer_wanted(begun.tasks[0])

    assert "as qa in the phase elaborate of the story S-1" in told and "one of PASS, FAIL, SPLIT, ERROR." in told
    review = started(case("ready-for-code-review"), "review", "review-lint")
    assert "one of PASS, FAIL, ERROR." in prompt.answer_wanted(review.tasks[0])


def test_dependencies_hold_a_story_past_its_elaboration() -> None:
    """A hotfix, which has none, from the start."""
    waits = case("pending", depends_on=("A", "B"))

    assert story.held_by(waits.story, waits.workflow, {}) == []
    settled = replace(waits.story, elaborated=True)
    assert story.held_by(settled, waits.workflow, {"A": "completed", "B": "uat"}) == ["B"]
    assert story.held_by(waits.story, shipped("hotfix"), {"A": "completed"}) == ["B"]


def test_what_cannot_start_unwatched_is_a_persons_matter() -> None:
    """It is blocked with what is missing."""
    made = story.cannot_start(case("pending"), "generate", "no role pm", NOW)

    assert follow(case("pending"), made).story.status == "blocked"
    assert "no role pm" in made.all(Question)[0].need


# Questions


@pytest.mark.parametrize(
    ("words", "said", "kind"),
    [
        ("Delete the old data?", None, "irreversible"),
        ("May I rotate the API key?", None, "irreversible"),
        ("Is a schema change fine?", "trivial", "costly"),
        ("Which name?", None, "trivial"),
        ("Which name?", "irreversible", "irreversible"),
        ("Which folder?", None, "reversible"),
        ("Hm?", None, "costly"),
        ("Hm?", "reversible", "reversible"),
    ],
)
def test_a_decision_is_classified_by_the_table(words: str, said: str | None, kind: str) -> None:
    """A role's own word may make it weightier, never lighter than a rule."""
    assert question.classify(WantedDecision(question=words, kind=said))[0] == kind  # type: ignore[arg-type]


def test_a_preference_has_to_fit() -> None:
    """Else the default is taken, the first option, or the role's own judgement."""
    asked = WantedDecision(question="Which name?", options=("a", "b"))
    scope = question.scope_of(asked.question)

    assert question.decided(asked, {scope: "b"}) == ("b", "preference")
    assert question.decided(asked, {scope: "z"}) == ("a", "default")
    assert question.decided(WantedDecision(question="Which name?"), {scope: "z"}) == ("z", "preference")
    assert question.decided(WantedDecision(question="Which name?"), {}) == ("as you think best", "default")


def answer(effect: str, words: str = "") -> Answer:
    """A person's answer."""
    made = StoryDecision(story_id="S-1", number=1, phase="p", question="Which?", options=("a", "b"), question_id="q")
    asked = question.ask_decision(case().story, made, NOW)
    if effect != "decide":
        asked = question.ask_blocked(case().story, "n", "w", NOW, go_on="go on")
    option = next(each for each in asked.options if each.effect == effect)
    return Answer(question=asked, option=option, words=words, actor=ACTOR, now=NOW)


def test_an_answer_has_its_effect_on_the_story() -> None:
    """It goes on, ends, waits, or is told what was decided."""
    blocked = case("blocked", blocked_from="pending")
    made = StoryDecision(story_id="S-1", number=1, phase="p", question="Which?", question_id="q")

    def after(effect: str, found: StoryCase, words: str = "", *, others: bool = False) -> Story:
        asked = AskedStory(case=found, decision=made, others=others)
        return follow(found, on_answer(answer(effect, words), "story", asked)).story

    assert after("continue", blocked).status == "pending"
    assert after("continue", case("uat")).status == "uat"
    assert after("cancel", blocked).status == "cancelled"
    assert after("wait", blocked).status == "blocked"
    assert after("decide", case("uat", waiting=True), "mine").waiting is False
    assert after("decide", case("uat", waiting=True), others=True).waiting is True


def test_what_was_decided_is_remembered_for_all_stories() -> None:
    """By the words of the question."""
    made = StoryDecision(story_id="S-1", number=1, phase="p", question="Which name?")

    kept = question.remembered(made, "b", by=ACTOR, now=NOW)

    assert (kept.scope, kept.answer) == ("decision:which-name", "b")
