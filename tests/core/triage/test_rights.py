"""What a verdict may do, in code: everything else is refused, and what comes too late is dropped."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.model import Guidance, Role, Task
from medbay.core.people.question import ask
from medbay.core.triage.case import Means
from medbay.core.triage.rights import allowed, limits, outside, repetition_forbidden, stale
from medbay.core.triage.verdict import WORDS, Adjustment, Piece, Verdict
from tests.core.builders import NOW, blocked, diagnosis, free, running, task
from tests.core.triage.cases import PARTS, agents, case, repeating, says, triage_of, waiting, with_agents


def refused(verdict: Verdict, of: Task | None = None, **given: Any) -> str:
    """Why a verdict is refused."""
    found = outside(verdict, case(of, **given))
    assert found is not None
    return found.why


# Too late


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (task(status="completed", attempts=3), "succeeded"),
        (task(status="cancelled", attempts=3), "cancelled"),
        (running(attempts=4), "started"),
        (waiting(cancel_requested=True), "cancelled"),
        (waiting(paused=True), "paused"),
    ],
)
def test_the_task_itself_shows_that_a_verdict_is_stale(of: Task, why: str) -> None:
    """It succeeded, started, was cancelled or paused."""
    found = stale(case(of, triage=triage_of(of, number=3)))

    assert found is not None
    assert why in found


def test_another_attempt_since_makes_it_stale() -> None:
    """Also when it has ended already."""
    assert stale(case(waiting(attempts=4), triage=triage_of(waiting()))) == "it has started again"


@pytest.mark.parametrize(
    ("act", "why"),
    [
        ("task:started", "started"),
        ("task:iteration_done", "succeeded"),
        ("task:completed", "succeeded"),
        ("task:cancel_requested", "cancelled"),
        ("task:paused", "paused"),
        ("task:resumed", "resumed"),
        ("task:edited", "edited"),
        ("task:reclassified", "corrected"),
        ("question:answered", "answered"),
        ("task:unblocked", "released"),
        ("task:blocked", "blocked"),
    ],
)
def test_what_somebody_did_since_makes_it_stale(act: str, why: str) -> None:
    """Read from the events about the task."""
    found = stale(case(acts=("triage:started", act)))

    assert found is not None
    assert why in found


@pytest.mark.parametrize("of", [waiting(), repeating(), repeating(status="pending", due_at=None)])
def test_what_happens_by_itself_does_not(of: Task) -> None:
    """A recurring task may have been released; it has not started."""
    assert stale(case(of, acts=("triage:started", "task:retry_executed", "task:occurrences_skipped"))) is None


# Outside its rights


@pytest.mark.parametrize("word", WORDS)
def test_every_verdict_is_within_its_rights_where_it_belongs(word: str) -> None:
    """An agent's task can be treated in every way."""
    assert outside(says(word), case(agents(), means=with_agents())) is None


@pytest.mark.parametrize("word", [word for word in WORDS if word != "SPLIT"])
def test_a_command_cannot_be_split_but_everything_else(word: str) -> None:
    """Nobody knows how to run half a command."""
    assert outside(says(word), case()) is None
    assert "only what an agent works on" in refused(says("SPLIT"))


def test_it_may_name_the_failing_task_and_its_attempt_and_no_other() -> None:
    """It touches the failing task and what it creates."""
    assert outside(says("NOOP", task_id="t-1", attempt=3), case()) is None
    assert "it is about t-2, not t-1" in refused(says("NOOP", task_id="t-2"))
    assert "attempt 2, not 3" in refused(says("NOOP", attempt=2))


def test_there_is_no_triage_of_a_triage() -> None:
    """By its role and by its runner."""
    assert "triage of a triage" in refused(says("NOOP"), waiting(role="triage"))
    assert "triage of a triage" in refused(says("NOOP"), waiting(runner="triage"))
    assert allowed(waiting(role="triage"), descendants=0, depth=0) == ()


def test_orders_are_refused_by_name() -> None:
    """To close, to run, to triage: all of it is recorded."""
    assert refused(says("NOOP", orders=("close", "command"))) == "no verdict can carry this: close, command"


def test_a_verdict_carries_only_what_belongs_to_it() -> None:
    """A NOOP with a fix is no NOOP."""
    why = refused(says("NOOP", adjust=Adjustment(guidance="x"), parts=PARTS, fixes=(Piece(title="x"),)))

    assert why == "NOOP cannot change the task; NOOP cannot make parts; NOOP cannot file a fix"


def test_one_fix_may_be_filed_and_no_fix_of_a_fix_of_a_fix() -> None:
    """Depth 2 at most."""
    assert "not 10" in refused(says("FILE_FIX", fixes=(Piece(title="x"),) * 10))
    assert "not 0" in refused(says("FILE_FIX", fixes=()))
    assert outside(says("FILE_FIX"), case(waiting(), depth=1)) is None
    assert "3 steps away" in refused(says("FILE_FIX"), waiting(), depth=2)


@pytest.mark.parametrize(("number", "fine"), [(0, False), (1, False), (2, True), (10, True), (11, False)])
def test_a_split_makes_two_to_ten_parts(number: int, fine: bool) -> None:
    """Neither fewer nor more."""
    verdict = says("SPLIT", parts=(Piece(title="x", description="y"),) * number)

    assert (outside(verdict, case(agents())) is None) is fine


def test_a_family_has_its_limits() -> None:
    """Depth 2, twenty descendants."""
    assert outside(says("SPLIT"), case(agents(), depth=1, descendants=18)) is None
    assert "20 are allowed" in refused(says("SPLIT"), agents(), depth=1, descendants=19)
    assert "3 steps away" in refused(says("SPLIT"), agents(), depth=2)


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (agents(every_ms=1_000), "recurs"),
        (agents(role="review", owner_kind="task", owner_id="t-0"), "the review that t-0 waits for"),
        (agents(role="fix", owner_kind="task", owner_id="t-0"), "the fix that t-0 waits for"),
    ],
)
def test_what_has_to_stay_whole_is_not_split(of: Task, why: str) -> None:
    """A schedule would end, a subject would wait for nothing."""
    assert why in refused(says("SPLIT"), of)


def test_while_a_person_is_asked_a_verdict_only_advises() -> None:
    """Nothing but the answer releases the task, and a question is never left without it."""
    waits = blocked(attempts=3, runner="agent:coder")
    for word in ("SPLIT", "FILE_FIX", "SPEC_REFRESH", "PAUSE"):
        assert "waits for a person" in refused(says(word), waits)
    for word in ("NOOP", "ADJUST", "ESCALATE", "RECOMMEND_CONFIG"):
        assert outside(says(word), case(waits)) is None

    asked = ask(agents(), kind="human", why="x", now=NOW)
    assert "waits for a person" in refused(says("SPLIT"), agents(), question=asked)
    assert outside(says("FILE_FIX"), case(agents(), question=asked)) is None


def test_an_adjustment_changes_something() -> None:
    """Also where only the same advice is given again."""
    assert refused(says("ADJUST", adjust=None)) == "ADJUST changes nothing"
    assert refused(says("ADJUST", adjust=Adjustment())) == "ADJUST changes nothing"
    same = says("ADJUST", adjust=Adjustment(guidance="pin the  seed"))
    told = (Guidance(2, "pin the seed", "..."), Guidance(3, "something else", "..."))
    assert refused(same, waiting(guidance=told)) == (
        'its only advice is what attempt 2 was told already: "pin the seed"'
    )
    as_it_is = says("ADJUST", adjust=Adjustment(timeout_ms=60_000))
    assert refused(as_it_is, waiting(timeout_ms=60_000)) == "it asks for what the task has already"


@pytest.mark.parametrize("of", [blocked(), waiting(status="pending", unmet=1, waits_for=None)])
def test_a_delay_is_for_who_waits_for_a_retry(of: Task) -> None:
    """What waits for a person or another task is not changed by it, and is not told to be."""
    later = says("ADJUST", adjust=Adjustment(retry_delay_ms=60_000))

    assert refused(later, of) == f"a retry delay changes nothing while it is {of.status}"
    both = says("ADJUST", adjust=Adjustment(retry_delay_ms=60_000, guidance="look first"))
    assert outside(both, case(of)) is None
    assert "retry_delay_s" not in limits(of, Means())


def test_an_agent_that_failed_at_its_code_is_told_something_new() -> None:
    """Waiting longer is the same again, where only a change can help."""
    later = says("ADJUST", adjust=Adjustment(retry_delay_ms=60_000))
    why = "nothing that the next attempt would do differently"

    assert why in refused(later, agents())
    assert outside(later, case(agents(), diagnosis=free())) is None
    assert outside(later, case(agents(), diagnosis=None)) is None
    assert outside(later, case()) is None


def test_narrowing_leaves_a_task_behind_and_has_the_same_depth() -> None:
    """A follow-up of a follow-up, and no further."""
    fewer = says("ADJUST", adjust=Adjustment(keep_criteria=("1",)))

    assert outside(fewer, case(agents(), depth=1)) is None
    assert "a follow-up of t-1 would be 3 steps away" in refused(fewer, agents(), depth=2)


@pytest.mark.parametrize("role", ["review", "fix"])
def test_what_another_task_waits_for_is_not_narrowed(role: Role) -> None:
    """Its specification is the other one's."""
    fewer = says("ADJUST", adjust=Adjustment(keep_criteria=("1",)))

    assert f"the {role} that t-0 waits for" in refused(fewer, agents(role=role, owner_kind="task", owner_id="t-0"))


def test_there_is_no_review_of_a_review_and_none_of_what_is_far_from_a_person() -> None:
    """Or reviews of reviews would have no end."""
    assert "a review itself" in refused(says("SPEC_REFRESH"), agents(role="review", owner_kind="task", owner_id="t-0"))
    assert "3 steps away" in refused(says("SPEC_REFRESH"), agents(), depth=2)
    assert outside(says("SPEC_REFRESH"), case(agents(), depth=1)) is None


@pytest.mark.parametrize(
    ("of", "found", "forbidden"),
    [
        (agents(), diagnosis(), True),
        (agents(), diagnosis(category="test_failure", subcategory=None), True),
        (agents(), diagnosis(category="unknown", subcategory="malformed_output"), True),
        (agents(), diagnosis(confidence=0.3), False),
        (agents(), free(), False),
        (agents(streak=1), diagnosis(), False),
        (waiting(), diagnosis(), False),
    ],
)
def test_the_same_again_is_forbidden_to_agents_where_only_a_change_helps(of: Task, found: Any, forbidden: bool) -> None:
    """From the second failure on, not to plain commands."""
    assert repetition_forbidden(of, found) is forbidden


@pytest.mark.parametrize(
    ("of", "descendants", "depth", "without"),
    [
        (agents(), 0, 0, set()),
        (agents(), 18, 0, set()),
        (agents(), 19, 0, {"SPLIT"}),
        (waiting(), 0, 0, {"SPLIT"}),
        (agents(), 0, 2, {"SPLIT", "FILE_FIX", "SPEC_REFRESH"}),
        (agents(role="review", owner_kind="task", owner_id="t-0"), 0, 0, {"SPLIT", "SPEC_REFRESH"}),
        (blocked(runner="agent:coder"), 0, 0, {"SPLIT", "FILE_FIX", "SPEC_REFRESH", "PAUSE"}),
    ],
)
def test_an_agent_is_told_which_verdicts_it_may_give(of: Task, descendants: int, depth: int, without: set[str]) -> None:
    """What would be refused anyway is not offered."""
    assert set(allowed(of, descendants=descendants, depth=depth)) == set(WORDS) - without


def test_a_part_that_is_a_title_alone_is_refused() -> None:
    """Nobody could work on it."""
    verdict = says("SPLIT", parts=(Piece(title="parser", description="reads"), Piece(title="printer")))

    assert "1 of its parts say nothing but their title: printer" in refused(verdict, agents())
