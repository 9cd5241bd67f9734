"""When a triage starts: threshold, cooldown, tags, one per failure at a time, the breaker; and what it starts with."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.decision import Added, Draft, RetryClosed
from medbay.core.holds.breaker import Breaker, BreakerChange
from medbay.core.model import Question, Task
from medbay.core.people.question import ask
from medbay.core.policy.presets import Recurring
from medbay.core.triage.case import Means
from medbay.core.triage.cycle import (
    StartSurroundings,
    cooling_until,
    decide,
    drop,
    is_wanted,
    start,
    to_a_person,
    under_agency,
    waits_no_more,
)
from tests.core.builders import DAY, HOUR, NOW, after, names, told
from tests.core.triage.cases import repeating, triage_of, waiting

RULES = Recurring()
OPEN = Breaker(key="agency", kind="agency", state="open", version=3)
HALF = replace(OPEN, state="half_open")


@pytest.mark.parametrize(
    ("of", "charged", "covered", "wanted"),
    [
        (repeating(), True, False, True),
        (repeating(streak=2), True, False, False),
        (repeating(), False, False, False),
        (repeating(), True, True, False),
        (repeating(tags=("no-recurring-triage",)), True, False, False),
        (repeating(role="triage"), True, False, False),
        (repeating(status="blocked", block_kind="human"), True, False, False),
        (waiting(), True, False, False),
    ],
)
def test_a_recurring_task_wants_one_at_its_threshold(of: Task, charged: bool, covered: bool, wanted: bool) -> None:
    """Not while the newest failure is free or covered by something else, not with the tag, never a triage."""
    assert is_wanted(of, RULES, charged=charged, covered=covered) is wanted


def answer(of: Task, **around: Any) -> str:
    """Whether a triage of a task may start."""
    return decide(of, RULES, NOW, StartSurroundings(**around)).what


def test_a_triage_starts_when_nothing_speaks_against_it() -> None:
    """A recurring task outside its cooldown, a one-off at rung 3."""
    assert cooling_until(repeating(triaged_at=None), RULES) is None
    assert answer(repeating(triaged_at=NOW - DAY)) == "start"
    assert answer(waiting(triaged_at=None)) == "start"


def test_within_its_cooldown_a_recurring_task_is_not_looked_at_again() -> None:
    """Nor with the tag, nor when it has healed; a person may ask all the same."""
    cooling = repeating(triaged_at=NOW - DAY + 1)
    assert answer(cooling) == "drop"
    assert answer(repeating(triaged_at=None, tags=("no-recurring-triage",))) == "drop"
    assert answer(repeating(triaged_at=None, streak=0)) == "drop"
    assert answer(cooling, asked_for=True) == "start"


def test_the_same_failure_after_a_triage_is_a_persons() -> None:
    """Within the cooldown, or after two at all."""
    of = waiting(triaged_at=NOW - HOUR)
    same, other = triage_of(of), triage_of(of, fingerprint="another")

    assert answer(of, earlier=(same,)) == "to_a_person"
    assert answer(of, earlier=(other,)) == "start"
    assert answer(waiting(triaged_at=NOW - 2 * DAY), earlier=(same, same)) == "to_a_person"
    assert answer(of, earlier=(same, same), asked_for=True) == "start"


def test_a_recurring_task_that_fails_in_the_same_way_after_its_triage_is_a_persons() -> None:
    """Asked once; not while its fix is worked on, and not for another failure."""
    of = repeating(triaged_at=NOW - HOUR)
    same, other = triage_of(of), triage_of(of, fingerprint="another")
    long_ago = replace(same, started_at=NOW - 2 * DAY)

    assert answer(of, earlier=(same,)) == "to_a_person"
    for around in ({"told": True}, {"fix": "t-7"}):
        assert answer(of, earlier=(same,), **around) == "drop"
        assert answer(waiting(triaged_at=NOW - HOUR), earlier=(same,), **around) == "to_a_person"
    assert answer(of, earlier=(other, long_ago)) == "drop"


def test_after_two_triages_a_recurring_task_asks_once() -> None:
    """Past its cooldown too: not again at every failure, and not while its fix is worked on."""
    of = repeating(triaged_at=NOW - 2 * DAY)
    twice = (triage_of(of), triage_of(of))

    assert answer(of, earlier=twice) == "to_a_person"
    assert answer(of, earlier=twice, told=True) == answer(of, earlier=twice, fix="t-7") == "drop"


def test_a_failure_while_its_triage_runs_waits_for_what_that_says() -> None:
    """It is not a failure after a triage."""
    of = repeating(triaged_at=NOW - HOUR)

    assert answer(of, earlier=(triage_of(of),), running=triage_of(of)) == "wait"


def test_what_stands_still_is_not_looked_at_unless_a_person_asks() -> None:
    """But for the owner of a loop, which is blocked together with the failure that makes a triage due."""
    for of in (
        repeating(triaged_at=None, status="blocked", block_kind="human"),
        repeating(triaged_at=None, status="cancelled"),
    ):
        assert (answer(of), answer(of, asked_for=True)) == ("drop", "start")
    owner = repeating(triaged_at=None, owner_kind="loop", owner_id="t-1", status="blocked", block_kind="exhausted")
    assert answer(owner) == "start"
    assert answer(repeating(triaged_at=None, status="in_progress", live=4)) == "wait"


def test_one_triage_per_failure_at_a_time() -> None:
    """Nor while an incident on it is open."""
    assert answer(waiting(triaged_at=None), running=triage_of(waiting(id="t-9"))) == "wait"
    assert answer(waiting(triaged_at=None), incident=True) == "wait"


def test_the_agency_breaker_holds_back_or_lets_one_through() -> None:
    """Half open, the next one goes, and then none until it has ended."""
    of = waiting(triaged_at=None)
    assert answer(of, agency=OPEN) == "held_back"
    assert answer(of, agency=HALF) == "start"

    made, looked = start(of, NOW, means=Means(), last_seq=7)
    sent, state = under_agency(made, HALF, looked)
    assert state is not None
    assert (state.canary_task, state.version, len(sent.all(BreakerChange))) == (looked.id, 4, 1)
    assert answer(of, agency=state) == "held_back"
    assert under_agency(made, None, looked) == (made, None)
    assert under_agency(made, replace(OPEN, state="closed"), looked)[0] == made


def test_a_triage_is_a_task_that_serves_the_failing_one() -> None:
    """With its own limits and the tags that keep it from being looked at itself."""
    means = Means(agent="command", timeout_ms=9_000, max_tokens=5, max_cost=6)
    of = repeating(triages=4, wants_triage=True, cwd="/srv", priority=1, queue="q")
    made, looked = start(of, NOW, means=means, last_seq=7)
    own = made.all(Added)[0].change.after

    assert (looked.id, looked.number, looked.since_seq, looked.agent) == (".triage-t-1-5", 3, 7, "command")
    assert (own.id, own.runner, own.role, own.subject) == (looked.id, "triage", "triage", "t-1")
    assert (own.timeout_ms, own.max_tokens, own.max_cost, own.cwd) == (9_000, 5, 6, "/srv")
    assert (own.priority, own.queue, own.ready, own.recovery) == (1, "q", True, True)
    assert set(own.tags) == {"recurring-triage", "no-recurring-triage"}
    left = after(made)
    assert (left.wants_triage, left.triages, left.triaged_at, left.due_at) == (False, 5, NOW, of.due_at)
    assert told(made, "triage:started").data == {"triage": looked.id, "agent": "command"}
    assert start(waiting(), NOW, means=means, last_seq=0, queue="run-1")[0].all(Added)[0].change.after.queue == "run-1"


def test_a_task_that_wants_none_any_more_is_left_alone() -> None:
    """Only the wish is gone."""
    left = after(drop(repeating(wants_triage=True), NOW))

    assert (left.wants_triage, left.due_at) == (False, NOW + HOUR)


def test_nothing_waits_for_what_somebody_decided() -> None:
    """But a turn in a loop is still waited for."""
    for of, waits in ((waiting(wants_triage=True), None), (repeating(waits_for="turn"), "turn")):
        draft = Draft(of, NOW, actor="ada")
        waits_no_more(draft)
        assert (draft.task.waits_for, draft.task.wants_triage) == (waits, False)


def test_instead_of_another_triage_a_person_is_asked_once() -> None:
    """A one-off is blocked; a recurring task stays where it is, also in a loop."""
    made = to_a_person(waiting(wants_triage=True), NOW, "the same again", open_question=None)
    assert made.all(RetryClosed) == (RetryClosed("t-1", "cancelled"),)
    left = after(made)
    assert (left.status, left.block_kind, left.waits_for, left.wants_triage) == ("blocked", "human", None, False)
    assert (len(made.all(Question)), told(made, "task:escalated").data["reason"]) == (1, "the same again")

    turn = repeating(status="pending", owner_kind="loop", owner_id="t-0", waits_for="turn", due_at=None)
    asked = to_a_person(turn, NOW, "the same again", open_question=None)
    assert asked.all(RetryClosed) == ()
    assert (after(asked).status, after(asked).waits_for, len(asked.all(Question))) == ("pending", "turn", 1)

    known = ask(waiting(), kind="human", why="before", now=NOW)
    again = to_a_person(waiting(), NOW, "the same again", open_question=known)
    assert again.all(Question) == ()
    assert "task:blocked" in names(again)
