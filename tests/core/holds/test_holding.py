"""The nineteen reasons that hold a task back: each by itself, all in order, and who may pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core.holds import holding
from medbay.core.holds.holding import CODES, Circumstances, Reason, is_ready, reasons
from medbay.core.lifecycles import BlockKind
from medbay.core.model import Task
from tests.core.builders import HOUR, NOW, failed, task

FREE = Circumstances()


@dataclass(frozen=True)
class Held:
    """A task held back by one reason alone, and the words for it."""

    number: int
    what: str
    needs: str
    task: Task
    around: Circumstances = FREE


ONE_BY_ONE = [
    Held(1, "completed: it goes nowhere from there", "event", task(status="completed")),
    Held(2, "cancel requested", "event", task(cancel_requested=True)),
    Held(3, "attempt 7 is live", "event", task(status="in_progress", live=7)),
    Held(4, "blocked · circuit: opened", "event", task(status="blocked", block_kind="circuit", reason="opened")),
    Held(5, "paused", "event", task(paused=True)),
    Held(6, "waits for its triage", "event", task(waits_for="triage")),
    Held(7, "after t-2, t-3", "event", task(unmet=2), Circumstances(waiting_on=("t-2", "t-3"))),
    Held(8, "not due yet", "time", task(due_at=NOW + 1)),
    Held(9, "the day's budget is spent", "healing", task(), Circumstances(budget="the day's budget is spent")),
    Held(10, "anthropic resets 18:00", "healing", task(), Circumstances(provider_hold="anthropic resets 18:00")),
    Held(11, "incident 4", "healing", task(), Circumstances(incident="incident 4")),
    Held(12, "codex crashes here", "healing", task(), Circumstances(crash_loop="codex crashes here")),
    Held(13, 'no live worker serves the queue "gpu"', "capacity", task(queue="gpu"), Circumstances(queue_served=False)),
    Held(
        14,
        "recovery has its share of the slots while fresh work is ready",
        "capacity",
        task(recovery=True),
        Circumstances(recovery_share_used=True),
    ),
    Held(15, "no free slot", "capacity", task(), Circumstances(slots_busy=True)),
    Held(16, "t-2 has it", "capacity", task(mutex="db"), Circumstances(mutex="t-2 has it")),
    Held(17, "all 2 slots taken", "capacity", task(), Circumstances(queue_full="all 2 slots taken")),
    Held(18, "short of CPU", "capacity", task(streak=1), Circumstances(load="short of CPU")),
    Held(19, "it is away", "capacity", task(place="cluster"), Circumstances(place_away="it is away")),
]

EVERYTHING = Circumstances(
    waiting_on=("t-2",),
    budget="budget",
    provider_hold="hold",
    incident="incident",
    crash_loop="loop",
    mutex="t-2 has it",
    queue_full="taken",
    load="short of CPU",
    place_away="it is away",
    queue_served=False,
    recovery_share_used=True,
    slots_busy=True,
)


def by_number(held: Held) -> str:
    """The number as the name of a case."""
    return str(held.number)


@pytest.mark.parametrize("held", ONE_BY_ONE, ids=by_number)
def test_each_reason_alone_holds_a_task_back(held: Held) -> None:
    """Named, numbered, and saying what it needs."""
    (only,) = reasons(held.task, NOW, held.around)

    assert (only.number, only.what, only.needs) == (held.number, held.what, held.needs)


@pytest.mark.parametrize("held", ONE_BY_ONE, ids=by_number)
def test_without_its_rule_the_task_would_start(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other rule covers for the one that was taken out."""
    kept = tuple(rule for rule in holding._RULES if rule.number != held.number)
    monkeypatch.setattr(holding, "_RULES", kept)
    monkeypatch.setattr(holding, "_passes", lambda task, number: False)

    assert reasons(held.task, NOW, held.around) == ()


def test_there_are_nineteen_and_each_is_tested() -> None:
    """One more needs its row above; the newer ones stand between 12 and 13."""
    assert [held.number for held in ONE_BY_ONE] == list(range(1, 20))
    assert [rule.number for rule in holding._RULES] == [*range(1, 13), 16, 17, 18, 19, 13, 14, 15]


def test_nobody_passes_a_mutex_and_only_retries_wait_for_the_load() -> None:
    """A canary and a person's retry wait for a mutex; fresh work, a canary and a warm call do not wait for the load."""
    around = Circumstances(mutex="t-2 has it", load="short of CPU", crash_loop="loop")

    forced = reasons(task(mutex="db", forced=True, streak=2), NOW, around)
    canary = reasons(task(mutex="db", canary=True, streak=2), NOW, around)

    assert [each.number for each in forced] == [16] == [each.number for each in canary]
    assert not holding.waits_for_load(task())
    assert not holding.waits_for_load(task(streak=1, runner="python", command=("m:f", "[]")))
    assert holding.waits_for_load(task(streak=1, runner="python", command=("m:f", "[]", "isolated")))


def test_each_number_has_a_code_that_stays() -> None:
    """Published names: programs rely on them."""
    codes = (
        "finished cancel_requested running blocked paused waits after not_due budget provider_hold incident"
        " crash_loop queue_unserved recovery_share no_slot mutex queue_slots load place_away"
    ).split()

    assert {number: CODES[number] for number in sorted(CODES)} == dict(enumerate(codes, start=1))
    assert [reasons(held.task, NOW, held.around)[0].code for held in ONE_BY_ONE] == codes


def test_nothing_holds_a_ready_task_in_a_free_bay() -> None:
    """No reason, no waiting."""
    assert reasons(task(), NOW, FREE) == ()
    assert is_ready(task(), NOW)


def test_all_reasons_are_named_in_their_order() -> None:
    """`explain` names all, `list` the first."""
    burdened = task(
        status="blocked",
        block_kind="external",
        reason="parts",
        cancel_requested=True,
        live=1,
        paused=True,
        waits_for="evaluation",
        unmet=1,
        due_at=NOW + HOUR,
        recovery=True,
        streak=1,
        mutex="db",
    )

    numbers = [each.number for each in reasons(burdened, NOW, EVERYTHING)]
    assert numbers == [*range(2, 13), 16, 17, 18, 13, 14, 15]


def test_a_reason_says_until_when_where_that_is_known() -> None:
    """A time for what has one: a block that times out and a task that is not due."""
    due = reasons(task(due_at=NOW + HOUR, paused=True), NOW, FREE)
    waiting = reasons(task(status="blocked", block_kind="external", due_at=NOW), NOW, FREE)

    assert [(each.number, each.until) for each in due] == [(5, None), (8, NOW + HOUR)]
    assert [(each.number, each.until) for each in waiting] == [(4, NOW)]


def test_a_task_is_due_at_its_time_not_after_it() -> None:
    """To the millisecond."""
    assert not is_ready(task(due_at=NOW + 1), NOW)
    assert is_ready(task(due_at=NOW), NOW)


def test_a_failed_task_is_never_ready_before_it_was_released() -> None:
    """Its time has come, but the record of the retry is not closed yet."""
    overdue = failed(due_at=NOW - HOUR)

    assert not is_ready(overdue, NOW)
    assert reasons(overdue, NOW, FREE) == (Reason(8, "due, about to be released", "time", NOW - HOUR),)


def test_tasks_it_comes_after_are_counted_when_they_are_not_named() -> None:
    """The row knows the number, the graph the names."""
    (only,) = reasons(task(unmet=3), NOW, FREE)

    assert only.what == "after 3 other tasks"


def test_the_recovery_share_does_not_concern_fresh_work() -> None:
    """Only a task that failed before waits for its share."""
    assert reasons(task(recovery=False), NOW, Circumstances(recovery_share_used=True)) == ()


@pytest.mark.parametrize(
    ("flags", "passed"),
    [
        ({"canary": True}, {8, 10, 11, 12, 18}),
        ({"forced": True}, {8, 9, 10, 11, 12, 18}),
        ({"forced": True, "canary": True}, {8, 9, 10, 11, 12, 18}),
        ({}, set()),
    ],
)
def test_a_canary_and_a_persons_retry_pass_what_they_may(flags: dict[str, Any], passed: set[int]) -> None:
    """Time, healing and the load, never a pause, a block or a mutex; the budget yields to a person only."""
    found = {held.number for held in ONE_BY_ONE if not reasons(replace(held.task, **flags), NOW, held.around)}

    assert found == passed


@given(st.data())
def test_ready_means_that_none_of_the_first_eight_applies(data: st.DataObject) -> None:
    """What the store keeps as a column is what the reasons say."""
    some = data.draw(tasks())

    first_eight = [each for each in reasons(some, NOW, FREE) if each.number <= 8]

    assert is_ready(some, NOW) == (not first_eight)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    """Any task that can exist: attempts are live where something runs, flags of a release only on pending ones."""
    status = draw(
        st.sampled_from(
            ["pending", "in_progress", "pending_verification", "completed", "failed", "blocked", "cancelled"]
        )
    )
    values: dict[str, Any] = {
        "status": status,
        "block_kind": draw(st.sampled_from(get_args(BlockKind))) if status == "blocked" else None,
        "live": 1 if status in ("in_progress", "pending_verification") else None,
        "paused": draw(st.booleans()),
        "cancel_requested": draw(st.booleans()),
        "waits_for": draw(st.sampled_from([None, None, "triage", "evaluation"])),
        "unmet": draw(st.sampled_from([0, 0, 1, 3])),
        "due_at": draw(st.sampled_from([None, NOW - 1, NOW, NOW + 1, NOW + HOUR])),
        "forced": status == "pending" and draw(st.booleans()),
        "canary": status == "pending" and draw(st.booleans()),
        "hold": draw(st.sampled_from([None, "provider:x"])),
        "recovery": draw(st.booleans()),
    }
    return task(**values)
