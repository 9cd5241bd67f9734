"""A phase from its start to its verdict."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core import owners
from medbay.core.decision import NOTHING, Added, Decision, WorkingSet
from medbay.core.model import Task
from medbay.core.workflow import budget, phase
from medbay.core.workflow.records import SETUP, RunChanged, Story, StoryDecision, StoryRules
from tests.core.workflow.cases import (
    NOW,
    answered,
    asks,
    case,
    ended_run,
    failing,
    follow,
    given_up,
    says,
    shipped,
    started,
    task_of,
    walked,
)

SIX = shipped("story").phase("review").roles  # type: ignore[union-attr]


def test_a_phase_starts_with_tasks_that_wait_for_their_setup() -> None:
    """The story is what it is called while the phase runs."""
    found = case("generated")
    wanted = found.workflow.phase("elaborate")
    assert wanted is not None
    worker = phase.PhaseWorker(role="qa", phase="elaborate", command=("qa",), timeout_ms=7)

    made = phase.start(found, wanted, [worker], StoryRules(), NOW, actor="person:x", command="c", queue="q")
    after = follow(found, made)

    assert (after.story.status, after.story.run, after.story.runs) == ("in-elaboration", 1, 1)
    (task,) = after.tasks
    assert (task.waits_for, task.policy, task.queue, task.owner_id) == (SETUP, "phase", "q", "S-1")
    assert dict(task.env)["MEDBAY_VERDICTS"] == "PASS,FAIL,SPLIT,ERROR"
    assert [each.name for each in made.events] == ["story:moved", "phase:started", "task:created"]


def test_the_setup_lets_its_tasks_be_claimed_once() -> None:
    """With the folder, the prompt and the context; a task that is let go already stays as it is."""
    found = started(case("generated"), "elaborate")

    again = phase.set_up(found, {}, {}, "/elsewhere", NOW)

    assert found.run is not None and (found.run.status, found.run.context) == ("RUNNING", {"a": 1})
    assert found.tasks[0].ready and dict(found.tasks[0].env)["MEDBAY_STORY_DIR"] == "/stories/S-1"
    assert not again.changes


@pytest.mark.parametrize(
    ("status", "name", "verdict", "target"),
    [
        ("pending", "generate", "PASS", "generated"),
        ("generated", "elaborate", "PASS", "ready-to-work"),
        ("generated", "elaborate", "FAIL", "needs-refinement"),
        ("generated", "elaborate", "SPLIT", "needs-split"),
        ("in-elaboration", "elaborate", "PASS", "ready-to-work"),
        ("needs-refinement", "refine", "PASS", "generated"),
        ("needs-split", "split", "PASS", "superseded"),
        ("ready-to-work", "implement", "PASS", "ready-for-code-review"),
        ("code-review-failed", "fix", "PASS", "ready-for-code-review"),
        ("needs-work", "fix", "PASS", "ready-for-code-review"),
        ("ready-for-qa", "verify", "PASS", "uat"),
        ("ready-for-qa", "verify", "FAIL", "needs-work"),
        ("uat", "gate", "PASS", "completed"),
        ("uat", "gate", "FAIL", "in-progress"),
        ("ready-to-work", "implement", "FAIL", "in-progress"),
    ],
)
def test_the_verdict_moves_the_story_by_the_table(status: str, name: str, verdict: str, target: str) -> None:
    """A verdict without a move leaves it where it is."""
    after = walked(case(status), name, verdict)

    assert (after.story.status, after.story.run, after.run) == (target, 0, None)
    assert after.runs[-1].status in ("PASS", "FAIL")
    assert after.story.elaborated == (target == "ready-to-work")


def test_reviewers_add_up_once_the_last_has_ended() -> None:
    """Until then the run is open."""
    found = started(case("ready-for-code-review"), "review")
    for role in SIX[:-1]:
        found, made = answered(found, role)
        assert found.run is not None
    after, made = answered(found, SIX[-1], "FAIL")

    assert after.story.status == "code-review-failed"
    assert after.story.rounds == 1
    assert after.runs[-1].summary == "failed: review-build"
    assert not asks(made)


def test_too_many_rounds_block_the_story_and_ask() -> None:
    """What a person granted counts on top."""
    for granted, status in ((0, "blocked"), (1, "code-review-failed")):
        before = case("ready-for-code-review", rounds=2, rounds_granted=granted)
        after, made = answered(started(before, "review", "review-lint"), "review-lint", "FAIL")

        assert after.story.status == status
        assert [each.options[0].effect for each in asks(made)] == (["continue"] if not granted else [])
        assert after.story.blocked_from == ("code-review-failed" if not granted else "")


def test_a_pass_with_a_warning_says_so() -> None:
    """A reviewer that timed out is named."""
    found = started(case("ready-for-code-review"), "review", "review-lint", "review-style")
    late = given_up(found, "review-style", "timeout/limit")
    after, _ = answered(late, "review-lint")

    assert after.story.status == "ready-for-qa"
    assert "timed out: review-style" in after.runs[-1].summary


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [
        ("timeout/limit", "TIMEOUT", "AGENT_TIMEOUT"),
        ("timeout/stalled", "TIMEOUT", "AGENT_TIMEOUT"),
        ("unknown/malformed_output", "FAIL", "MALFORMED_OUTPUT"),
        ("transient/spawn", "FAIL", "AGENT_SPAWN_FAILED"),
        ("code_error", "FAIL", "AGENT_FAILED"),
    ],
)
def test_a_part_that_is_given_up_ends_its_phase(kind: str, status: str, error: str) -> None:
    """By the type of its error; the story stays, and nobody is asked yet."""
    after = given_up(started(case("ready-to-work"), "implement"), "dev", kind)

    assert (after.runs[-1].status, after.runs[-1].error_type) == (status, error)
    assert after.story.status == "in-progress"


def test_the_third_end_of_one_type_opens_the_breaker() -> None:
    """The story is blocked and a person asked; what a person forgave does not count."""
    ends = tuple(ended_run(number, "implement", "FAIL", error_type="AGENT_FAILED") for number in (1, 2))
    cancelled = ended_run(3, "implement", "CANCELLED")
    for forgiven, status in ((0, "blocked"), (1, "in-progress")):
        before = case("ready-to-work", runs=(*ends, cancelled), forgiven=forgiven)
        before = replace(before, story=replace(before.story, runs=3))
        found = started(before, "implement")
        made = failing(found, "dev", "code_error")
        after = follow(found, made)

        assert after.story.status == status
        assert ("breaker:opened" in [each.name for each in made.events]) == (status == "blocked")


def test_an_outside_service_that_stays_away_blocks_at_once() -> None:
    """Its retries are used up already."""
    after = given_up(started(case("ready-to-work"), "implement"), "dev", "transient/service")

    assert (after.story.status, after.story.blocked_from) == ("blocked", "in-progress")


def test_a_fallback_takes_over_once() -> None:
    """When it fails as well, the phase has failed."""
    found = started(case("ready-to-work"), "implement", fallback=("offline",))
    draft = task_of(found, "dev")
    draft.move("failed", "it failed")
    draft.set(last_category="transient/service", live=None)
    draft.block("exhausted", "used up")

    made = phase.part_failed(draft, found, Decision(), True)

    assert (draft.task.status, draft.task.command, draft.task.charged) == ("pending", ("offline",), 0)
    assert not made.all(RunChanged)
    on = replace(found, tasks=(replace(found.tasks[0], command=("offline",)),))
    assert given_up(on, "dev", "transient/service").story.status == "blocked"


def test_gates_that_break_twice_in_a_row_ask() -> None:
    """A review that is no answer is not a failed review."""
    before = case("ready-for-code-review", runs=(ended_run(1, "review", "ERROR"),))
    after, made = answered(started(before, "review", "review-lint"), "review-lint", "ERROR")

    assert after.story.status == "blocked"
    assert asks(made)


def test_what_is_not_used_up_is_left_to_what_was_decided() -> None:
    """A retry, a free try, a person's question: the phase goes on."""
    found = started(case("ready-to-work"), "implement")
    draft = task_of(found, "dev")
    followed = Decision()

    assert phase.part_failed(draft, found, followed, True) is followed
    assert phase.part_failed(draft, found, followed, False) is followed


def test_a_part_of_another_time_means_nothing() -> None:
    """Its run has ended, or it has answered already."""
    found = started(case("ready-to-work"), "implement")
    draft = task_of(found, "dev")
    over = replace(found, run=None)

    assert phase.part_succeeded(draft, over, says()) is NOTHING
    assert phase.part_cancelled(draft, over) is NOTHING
    assert phase.part_failed(draft, over, NOTHING, True) is NOTHING


def test_a_part_that_is_stopped_ends_a_run_of_one() -> None:
    """Cancelled: the story stays where it is and nothing is asked."""
    found = started(case("ready-to-work"), "implement")

    after = follow(found, phase.part_cancelled(task_of(found, "dev"), found))

    assert (after.runs[-1].status, after.story.status) == ("CANCELLED", "in-progress")


def test_an_error_of_our_own_ends_the_part() -> None:
    """The story does not wait for ever; of another time it means nothing."""
    found = started(case("ready-to-work"), "implement")
    work = WorkingSet(questions={"a": "b"})

    made = phase.part_broke(found, task_of(found, "dev"), work, "boom")

    assert follow(found, made).runs[-1].status == "ERROR"
    assert made.work is work
    assert not phase.part_broke(replace(found, run=None), task_of(found, "dev"), work, "boom").writes


def test_the_first_failure_stops_the_others_when_it_is_to_be_fast() -> None:
    """What runs is asked to end, what waits is cancelled at once."""
    rules = StoryRules(fail_fast=True)
    found = started(case("ready-for-code-review"), "review", "review-lint", "review-style", "review-build", rules=rules)
    lint, style, build = found.tasks
    found = replace(found, tasks=(lint, replace(style, live=1, status="in_progress"), build))

    after, made = answered(found, "review-lint", "FAIL")

    assert [each.status for each in after.run.parts] == ["FAIL", "", "STOPPED"]  # type: ignore[union-attr]
    assert [each.name for each in made.events] == ["task:cancel_requested", "task:cancelled"]
    last = follow(after, phase.part_cancelled(task_of(after, "review-style"), after))
    assert last.story.status == "code-review-failed"


def test_a_phase_beside_another_leads_on_from_where_that_leads() -> None:
    """Review and verification together: two moves more in one transaction."""
    data = {each: getattr(shipped("story"), each) for each in ("name", "about", "machine", "elaborated")}
    both = tuple(replace(each, beside="verify") if each.name == "review" else each for each in shipped("story").phases)
    found = replace(case("ready-for-code-review"), workflow=type(shipped("story"))(**data, phases=both))
    wanted = found.workflow.phase("review")
    assert wanted is not None
    workers = [phase.PhaseWorker(role="review-lint", phase="review"), phase.PhaseWorker(role="qa", phase="verify")]
    for verdict, status in (("PASS", "uat"), ("FAIL", "needs-work")):
        made = phase.start(found, wanted, workers, StoryRules(), NOW, actor="x", command="c", queue="q")
        begun = follow(found, made)
        begun, _ = answered(begun, "review-lint")
        after, _ = answered(begun, "qa", verdict)
        assert after.story.status == status
    begun = follow(found, phase.start(found, wanted, workers, StoryRules(), NOW, actor="x", command="c", queue="q"))
    begun, _ = answered(begun, "qa")
    assert answered(begun, "review-lint", "FAIL")[0].story.status == "code-review-failed"
    late = replace(found, story=replace(found.story, status="uat"))
    forced = StoryRules(forced=True)
    begun = follow(late, phase.start(late, wanted, workers, forced, NOW, actor="x", command="c", queue="q"))
    begun, _ = answered(begun, "qa")
    assert answered(begun, "review-lint")[0].story.status == "uat"


def test_a_forced_run_leaves_a_status_that_has_no_move() -> None:
    """Elaborated again when it is ready to work: the verdict is recorded."""
    found = started(case("ready-to-work"), "elaborate", rules=StoryRules(forced=True))
    assert found.story.status == "ready-to-work"

    after, _ = answered(found, "qa", "FAIL")

    assert after.story.status == "ready-to-work"


def test_a_missing_precondition_ends_the_run_without_running() -> None:
    """The gate says which criterion nothing shows; that is a failed gate."""
    found = case("uat")
    wanted = found.workflow.phase("gate")
    assert wanted is not None
    worker = phase.PhaseWorker(role="gate", phase="gate")
    made = phase.start(found, wanted, [worker], StoryRules(), NOW, actor="x", command="c", queue="q")
    begun = follow(found, made)

    after = follow(begun, phase.refuse(begun, "criterion 1: nothing shows it", NOW, verdict="FAIL"))

    assert after.story.status == "in-progress"
    assert (after.runs[-1].error_type, after.tasks[0].status) == ("PRECONDITION_FAILED", "cancelled")
    ended = replace(begun, tasks=(replace(begun.tasks[0], status="cancelled"),))
    assert not phase.refuse(ended, "x", NOW, verdict="FAIL").changes


def test_a_story_is_written_by_its_phase() -> None:
    """Criteria and description come with the answer; an answer without them changes neither."""
    after = walked(case("pending"), "generate", criteria=["a"], description="d")

    assert (after.story.criteria, after.story.description) == (("a",), "d")
    assert walked(case("pending"), "generate").story.criteria == ("one", "two", "three")


def test_a_split_makes_parts_and_moves_dependencies() -> None:
    """Parts start as generated, with free ids; what depended on the whole depends on all of them."""
    other = Story(id="O", title="o", depends_on=("S-1", "X"))
    before = case("needs-split", dependents=(other,), taken=frozenset({"S-1-1"}), driven=True)
    found = started(before, "split")

    after, made = answered(found, "pm", parts=[{"title": "A", "criteria": ["c"]}, {"title": "B"}])

    added = [each.change.after for each in made.all(Added)]
    assert [(each.id, each.status, each.split_of, each.driven) for each in added] == [
        ("S-1-2", "generated", "S-1", True),
        ("S-1-3", "generated", "S-1", True),
    ]
    assert after.story.status == "superseded"
    assert after.story.parts == ("S-1-2", "S-1-3")
    (moved,) = [each for each in made.writes if getattr(getattr(each, "after", None), "id", "") == "O"]
    assert moved.after.depends_on == ("X", "S-1-2", "S-1-3")  # type: ignore[attr-defined]


def test_small_decisions_are_made_and_listed_others_are_asked() -> None:
    """By a preference that fits, else by the default; a story waits for what a person has to decide."""
    preferences = {"decision:which-name-for-the-flag": "b"}
    decisions = [
        {"question": "Which name for the flag?", "options": ["a", "b"]},
        {"question": "Which folder for it?", "options": ["x", "y"], "default": "y"},
        {"question": "Drop the old table?", "options": ["yes", "no"]},
        {"question": "Drop the old index?"},
    ]
    found = started(case("ready-to-work", preferences=preferences), "implement")

    after, made = answered(found, "dev", decisions=decisions)

    listed = made.all(StoryDecision)
    assert [(each.kind, each.answer, each.answered_by) for each in listed] == [
        ("trivial", "b", "preference"),
        ("reversible", "y", "default"),
        ("irreversible", "", ""),
        ("irreversible", "", ""),
    ]
    assert after.story.waiting
    assert [each.scope for each in asks(made)] == [None, None]
    assert len({each.id for each in asks(made)}) == 2


@pytest.mark.parametrize(
    ("enforcement", "tokens", "status", "asked", "event"),
    [
        ("advisory", 60_000, "ready-to-work", 0, "budget:exceeded"),
        ("warning", 60_000, "ready-to-work", 0, "budget:exceeded"),
        ("warning", 30_000, "ready-to-work", 0, "budget:warning"),
        ("hard_gate", 30_000, "ready-to-work", 0, "budget:warning"),
        ("hard_gate", 29_999, "ready-to-work", 0, ""),
        ("soft_gate", 60_000, "blocked", 1, "budget:exceeded"),
        ("hard_gate", 60_000, "blocked", 1, "budget:exceeded"),
    ],
)
def test_budgets_are_enforced_by_their_level(
    enforcement: str, tokens: int, status: str, asked: int, event: str
) -> None:
    """Over all runs of the phase."""
    earlier = ended_run(1, "elaborate", "FAIL", parts=())
    before = case("generated", enforcement=enforcement, runs=(earlier,))
    found = started(before, "elaborate")

    after, made = answered(found, "qa", usage={"tokens_in": tokens})

    assert (after.story.status, len(asks(made))) == (status, asked)
    assert [each.name for each in made.events if each.name.startswith("budget")] == ([event] if event else [])
    assert (after.runs[-1].error_type == "BUDGET_EXCEEDED") == (enforcement == "hard_gate" and asked > 0)


def test_a_budget_that_a_person_confirmed_asks_no_more() -> None:
    """Once is enough."""
    before = case("generated", enforcement="soft_gate", confirmed=("elaborate",), multiplier=0.5)

    after = walked(before, "elaborate", usage={"tokens_in": 40_000})

    assert after.story.status == "ready-to-work"


def test_the_parts_of_a_story_have_the_rule_of_any_role() -> None:
    """Roles are people's own names."""
    task = Task(id="t", title="t", owner_kind="story", owner_id="S", role="anything")

    assert owners.rule_of(task).succeeded is phase.part_succeeded


def test_a_phase_without_a_budget_may_use_what_it_needs() -> None:
    """And one that needs nobody has nobody's budget."""
    flow = shipped("task")
    run = flow.phase("run")
    assert run is not None

    assert budget.state_of(case().story, flow, run, 10**9) is None
    assert budget.acts(case().story, None) == ""


def test_a_description_alone_leaves_the_criteria() -> None:
    """What an answer does not say stays."""
    after = walked(case("pending"), "generate", description="d")

    assert (after.story.criteria, after.story.description) == (("one", "two", "three"), "d")
