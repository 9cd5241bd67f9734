"""A triage ended, in any way: what becomes of it, of the failing task and of the breaker of all triage."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.decision import AttemptEnd, Decision, Draft, WorkingSet
from medbay.core.holds.breaker import Breaker, BreakerChange
from medbay.core.model import Question, Retry, Task, Triage
from medbay.core.outcome import (
    Cancelled,
    Failed,
    Lost,
    Outcome,
    Output,
    OverBudget,
    Requeued,
    Stalled,
    Succeeded,
    TimedOut,
)
from medbay.core.triage import agency
from medbay.core.triage.case import Means
from medbay.core.triage.ending import LookedAt, settle
from tests.core.builders import DAY, MINUTE, NOW, after, end, names, only, running
from tests.core.triage.cases import case


def answered(text: str) -> Succeeded:
    """An agent that printed this."""
    return Succeeded(output=Output(result={"answer": text}))


def settled(outcome: Outcome, work: WorkingSet | None = None, **given: Any) -> tuple[Decision, Task]:
    """What follows for the failing task, and the triage as it is left."""
    means = given.pop("means", Means())
    own = Draft(running(id=".triage-t-1-1", runner="triage", role="triage", live=None), NOW, actor="worker:w-1")
    made = settle(LookedAt(case=case(means=means), **given), outcome, own, work or WorkingSet())
    return made, own.task


def test_a_verdict_is_applied_and_the_triage_is_done() -> None:
    """In one decision."""
    made, own = settled(answered('{"verdict": "NOOP", "why": "wait"}'))

    assert (own.status, own.reason) == ("completed", "no_action: wait")
    assert after(made).due_at is not None
    assert made.all(Triage)[0].action == "no_action"
    assert made.all(BreakerChange) == ()


@pytest.mark.parametrize("outcome", [answered("rubbish"), Succeeded()])
def test_rubbish_asks_a_person_and_counts_for_the_breaker(outcome: Outcome) -> None:
    """The agent ran; what it said was none."""
    made, own = settled(outcome)

    assert (own.status, after(made).block_kind) == ("completed", "human")
    assert made.all(Triage)[0].action == "verdict_unreadable"
    assert [each.after.data["times"] for each in made.all(BreakerChange)] == [[NOW]]


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (TimedOut(limit_s=300), "no answer within 300s"),
        (Lost(why="the engine died"), "was lost: the engine died"),
        (Cancelled(), "was cancelled"),
        (OverBudget(why="tokens"), "over its budget: tokens"),
        (Failed(spawn_error="no such file"), "could not be started: no such file"),
        (Failed(exit_code=9, output=Output(tail="a\nno model\n")), "failed (exit 9): no model"),
        (Failed(signal=11), "failed (signal 11)"),
        (Stalled(silent_s=9), "ended stalled"),
    ],
)
def test_every_other_end_is_a_failed_triage(outcome: Outcome, why: str) -> None:
    """One attempt and no ladder: closed, one warning, a person is asked."""
    made, own = settled(outcome)

    assert own.status == "cancelled"
    assert (made.all(Triage)[0].action, why in made.all(Triage)[0].detail) == ("triage_failed", True)
    assert after(made).block_kind == "human"
    assert names(made).count("triage:failed") == 1
    assert len(made.all(Question)) == 1


# The breaker of all triage


def ran(work: WorkingSet, *, well: bool, known: Breaker | None = None, by: str = "x", at: int = NOW) -> Any:
    """One more run that ended."""
    return agency.ran(work, known, at, well=well, by=by, why="no model", failures=5)


def test_five_failed_runs_in_a_row_open_it() -> None:
    """However far apart; a run that ended well starts the count anew."""
    work = WorkingSet()
    for number in range(4):
        work = ran(work, well=False, at=NOW + number * MINUTE).work
    assert agency.lets(work.breakers.get("agency")) == "all"
    healed = ran(work, well=True).work
    assert ran(healed, well=False).work.breakers == {}

    opened = ran(work, well=False, at=NOW + 9 * MINUTE)
    assert opened.work.breakers["agency"].state == "open"
    assert agency.lets(opened.work.breakers["agency"]) == "none"
    assert "breaker:opened" in [each.name for each in opened.made.events]


def test_a_run_that_ends_well_changes_nothing_where_nothing_was_counted() -> None:
    """No row is written for it."""
    assert ran(WorkingSet(), well=True).made == Decision()
    assert ran(WorkingSet(), well=True, known=Breaker(key="agency", kind="agency", state="closed")).made == Decision()


def test_one_goes_through_and_three_that_end_well_close_it() -> None:
    """One that fails opens it again; what began before it opened says nothing."""
    half = Breaker(key="agency", kind="agency", state="half_open", opened_at=NOW - MINUTE)
    assert agency.lets(half) == "one"
    sent = agency.sent(half, "x")
    assert agency.lets(sent) == "none"
    assert ran(WorkingSet(), well=True, known=sent, by="y").made == Decision()
    assert ran(WorkingSet(), well=False, known=sent).made.all(BreakerChange)[0].after.state == "open"
    freed = agency.gone(WorkingSet(), sent, NOW, by="x").made.all(BreakerChange)[0].after
    assert agency.lets(freed) == "one"
    for other in (None, replace(sent, state="closed"), replace(sent, canary_task="y")):
        assert agency.gone(WorkingSet(), other, NOW, by="x").made == Decision()

    state = sent
    for _ in range(3):
        state = (
            ran(WorkingSet(), well=True, known=agency.sent(replace(state, state="half_open"), "x"))
            .made.all(BreakerChange)[0]
            .after
        )
    assert state.state == "closed"


# The end of the attempt that ran it


def ends(outcome: Outcome, **given: Any) -> Decision:
    """What follows from the end of a triage's attempt."""
    tags = ("no-recurring-triage",)
    own = running(
        id=".triage-t-1-1", runner="triage", role="triage", owner_kind="task", owner_id="t-1", tags=tags, **given
    )
    return end(own, outcome, owner=LookedAt(case=case()))


def test_the_attempt_and_the_verdict_are_one_decision() -> None:
    """Recorded and applied in the same transaction."""
    made = ends(answered('{"verdict": "NOOP", "why": "wait"}'))

    assert made.first(AttemptEnd) is not None
    assert (only(made, AttemptEnd).task_id, only(made, AttemptEnd).outcome) == (".triage-t-1-1", "succeeded")
    assert after(made, ".triage-t-1-1").status == "completed"
    assert after(made).due_at is not None
    assert made.first(Retry) is not None


def test_a_triage_that_failed_is_diagnosed_and_gets_no_ladder() -> None:
    """Its own retry is none."""
    made = ends(Failed(exit_code=9, output=Output(tail="no model\n", total_bytes=9)))

    assert made.first(AttemptEnd) is not None
    assert only(made, AttemptEnd).diagnosis is not None
    assert (after(made, ".triage-t-1-1").status, after(made).block_kind, made.first(Retry)) == (
        "cancelled",
        "human",
        None,
    )


def test_a_limit_of_its_provider_lets_a_triage_wait() -> None:
    """Nothing follows for the failing task yet."""
    limit = Output(tail="anthropic: 429 rate_limit_error: rate limit exceeded, retry after 60s\n", total_bytes=70)
    made = ends(Failed(exit_code=1, output=limit))

    assert after(made, ".triage-t-1-1").status == "failed"
    assert {change.after.id for change in made.changes} == {".triage-t-1-1"}
    assert made.all(Triage) == ()


@pytest.mark.parametrize("line", ["anthropic: 503 Service Unavailable", "API Error: 529 overloaded_error"])
def test_an_outage_of_its_provider_lets_a_triage_wait(line: str) -> None:
    """It is tried again later, free of charge; but not for days: then a person has what it was to look at."""
    outage = Failed(exit_code=1, output=Output(tail=f"{line}\n", total_bytes=len(line) + 1))
    made = ends(outage)

    own = after(made, ".triage-t-1-1")
    assert (own.status, own.charged, made.all(Triage)) == ("failed", 0, ())
    assert own.due_at is not None and own.due_at > NOW

    tried = {"attempts": 21, "streak": 20, "uncharged": 20, "uncharged_since": NOW - DAY}
    made = ends(outage, **tried)
    assert (after(made, ".triage-t-1-1").status, made.all(Triage)[0].action) == ("cancelled", "triage_failed")
    assert after(made).block_kind == "human"


def test_spent_credits_hold_a_triage_until_somebody_answers() -> None:
    """The account is held with it; the failing task goes on waiting for what the triage will say."""
    line = "Your credit balance is too low to access the Anthropic API"
    made = ends(Failed(exit_code=1, output=Output(tail=line, total_bytes=len(line))))

    assert (after(made, ".triage-t-1-1").block_kind, made.all(Triage)) == ("human", ())
    assert [each.after.spent for each in made.all(BreakerChange)] == [True]
    assert [each.task_ids for each in made.all(Question)] == [(".triage-t-1-1",)]


def test_a_triage_that_a_stopping_worker_hands_back_runs_again() -> None:
    """It has not been asked; exit 75 is an answer that is none."""
    back = ends(Requeued(asked=False, why="the worker stops"))
    assert (after(back, ".triage-t-1-1").status, back.all(Triage)) == ("pending", ())

    asked = ends(Requeued(asked=True, why="exit 75"))
    assert (after(asked, ".triage-t-1-1").status, after(asked).block_kind) == ("cancelled", "human")
