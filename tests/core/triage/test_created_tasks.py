"""The tasks a verdict makes: whom they serve, who works on them, what they are told."""

from __future__ import annotations

from typing import Any

from medbay.core.model import PERSON, TITLE_MAX, Check, Owner
from medbay.core.triage.effects import fix_task, follow_up, parts, review_task
from medbay.core.triage.rights import parted
from medbay.core.triage.verdict import Piece, Verdict
from tests.core.builders import NOW, diagnosis
from tests.core.triage.cases import FIX, PARTS, SPEC, agents, case, told_before, waiting, with_agents


def filed(piece: Piece, **given: Any) -> Verdict:
    """A verdict that files this."""
    return Verdict(word="FILE_FIX", fixes=(piece,), **given)


def test_a_fix_is_worked_on_by_the_agent_that_is_configured_for_it() -> None:
    """In the directory of the failing task, for its sake, as urgent as it is."""
    of = waiting(cwd="/srv", env=(("A", "1"),), priority=1, queue="q", policy="own", max_tokens=9, max_cost=7)
    made = fix_task(case(of, means=with_agents()), filed(FIX, root_cause="rust", evidence=("a line",)), NOW)
    task = made.task

    assert (task.id, task.title, task.runner) == ("n-1", "repair the ledger", "agent:fixer")
    assert (task.owner, task.role, task.position) == (Owner("task", "t-1"), "fix", 0)
    assert (task.cwd, task.env, task.priority, task.queue, task.policy) == ("/srv", (("A", "1"),), 1, "q", "own")
    assert (task.max_tokens, task.max_cost, task.resources) == (9, 7, ("provider:acme/2",))
    assert (task.status, task.ready, task.created_at, task.created_by) == ("pending", True, NOW, ".triage-t-1-1")
    for said in ("its checksum is wrong", "t-1 (build) keeps failing", "rust", "a line", "error TS2304"):
        assert said in task.description
    assert made.questions == ()
    assert [event.name for event in made.events] == ["task:created"]
    assert made.added.after == ()


def test_without_an_agent_a_fix_is_a_persons_question() -> None:
    """Pending, then blocked at once; the first answer says that it is done."""
    made = fix_task(case(waiting(env=(("A", "1"),))), filed(FIX), NOW)
    task = made.task
    (asked,) = made.questions

    assert (task.runner, task.status, task.block_kind, task.questions, task.env) == (PERSON, "blocked", "human", 1, ())
    assert [(each.source, each.target) for each in made.added.change.transitions] == [("pending", "blocked")]
    assert made.added.change.before.status == "pending"
    assert (asked.id, asked.task_ids, asked.need) == ("q-n-1-1", ("n-1",), "repair the ledger")
    assert [each.effect for each in asked.options] == ["done", "pause", "cancel"]
    assert asked.default == 1
    assert "t-1 waits for it" in asked.why
    assert [each.name for each in made.events] == ["task:created", "question:asked", "task:blocked"]


def test_a_review_has_the_specification_and_what_the_failures_showed() -> None:
    """Same priority, with the evidence and with what did not help."""
    of = agents(priority=0, guidance=(told_before("define foo"), told_before("", 2)))
    made = review_task(case(of, means=with_agents()), "what foo is", NOW, evidence=("seen here",))
    task = made.task

    assert (task.title, task.runner, task.role) == ("Review specification of build", "agent:writer", "review")
    assert (task.priority, task.spec, task.subject) == (0, SPEC, "t-1")
    for said in ("what foo is", "failed 3 times", "seen here", "- define foo", "cannot find name foo"):
        assert said in task.description


def test_a_review_by_a_person_says_what_the_answer_does() -> None:
    """The old specification is with it."""
    made = review_task(case(agents(), diagnosis=None), "all of it", NOW)
    (asked,) = made.questions

    assert made.task.runner == PERSON
    assert made.task.spec == SPEC
    assert asked.options[0].effect == "done"
    assert "t-1 goes on" in asked.options[0].consequence
    assert "cannot find name foo" in made.task.description
    assert "did not help" not in made.task.description


def test_without_anything_known_there_is_no_evidence() -> None:
    """Nothing is made up."""
    made = fix_task(case(waiting(last_summary=""), diagnosis=None), filed(Piece(title="x")), NOW)

    assert "Evidence" not in made.task.description


def test_the_parts_are_like_the_original_and_come_one_after_another() -> None:
    """Runner, tags, directory, checks and dependencies; the budget is shared."""
    of = agents(
        cwd="/srv",
        env=(("A", "1"),),
        tags=("x",),
        queue="q",
        checks=(Check("make test"),),
        resources=("provider:acme",),
        model="large",
        description="do it",
        timeout_ms=5_000,
        max_tokens=101,
        max_cost=1,
        key="only-once",
        unmet=1,
    )
    first, second = parts(case(of, after=("t-0",)), PARTS, NOW)

    for position, (made, title) in enumerate(((first, "parser"), (second, "printer"))):
        task = made.task
        assert (task.title, task.runner, task.tags, task.queue, task.cwd) == (title, "agent:coder", ("x",), "q", "/srv")
        assert (task.env, task.resources) == (of.env, of.resources)
        assert (task.model, task.timeout_ms, task.max_tokens, task.max_cost) == ("large", 5_000, 50, 1)
        assert (task.subject, task.role, task.position, task.key, task.spec) == ("t-1", "part", position, None, "")
        assert "Build the ledger." in task.description
        assert (task.attempts, task.streak, task.waits_for, task.ready) == (0, 0, None, False)
    assert (first.task.checks, second.task.checks) == ((), of.checks)  # there is no whole before the last one
    assert (first.added.after, first.task.unmet) == (("t-0",), 1)
    assert (second.added.after, second.task.unmet) == (("t-0", "n-1"), 2)
    assert "part 2 of 2" in second.task.description


def test_a_part_without_a_budget_has_none_and_the_first_may_start() -> None:
    """Nothing to share, nothing to wait for."""
    first, _ = parts(case(agents(spec="")), PARTS, NOW)

    assert (first.task.max_tokens, first.task.max_cost, first.task.ready) == (None, None, True)
    assert "The whole" not in first.task.description


def test_what_is_left_for_later_comes_after_the_original() -> None:
    """With the criteria that were left out as its specification."""
    _, left = parted(SPEC, ("1",))
    made = follow_up(case(agents(description="do it")), left, NOW)
    task = made.task

    assert (task.title, task.role, task.subject) == ("Rest of build", "follow_up", "t-1")
    assert (made.added.after, task.unmet, task.ready, task.runner) == (("t-1",), 1, False, "agent:coder")
    assert task.spec == "Acceptance criteria:\n- it subtracts and says so\n- it prints"


def test_a_title_is_one_line_and_bounded() -> None:
    """Whatever a model wrote."""
    made = fix_task(case(diagnosis=diagnosis()), filed(Piece(title="a\nb\x1b" + "x" * 900)), NOW)

    assert len(made.task.title) <= TITLE_MAX
    assert made.task.title.isprintable()
