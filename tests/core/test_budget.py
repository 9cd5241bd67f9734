"""What work may cost: what is reserved, what fits into a day, what an attempt says it used, and what follows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from medbay.core import budget
from medbay.core.budget import Amount, Budget, Day, Reservation, RoleBudget
from medbay.core.holds.breaker import close
from medbay.core.holds.incident import changed_breaker
from medbay.core.outcome import Failed, Lost, Outcome, Output, OverBudget, Requeued, Succeeded
from tests.core.builders import task

NOON = int(datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp() * 1000)
HOUR = 3_600_000
DAY = Day(day="2026-03-28")


def said(usage: object, *, kind: type[Succeeded] | type[Failed] = Succeeded) -> Outcome:
    """An attempt that says what it used."""
    return kind(output=Output(result={"usage": usage}))


def test_a_day_ends_at_midnight_where_the_zone_is() -> None:
    """Also on the day that has 23 hours."""
    assert Budget().day_of(NOON) == "2026-03-28" and Budget().ends_at(NOON) == NOON + 12 * HOUR
    berlin = Budget(zone=ZoneInfo("Europe/Berlin"))
    assert berlin.day_of(NOON + 12 * HOUR) == "2026-03-29"
    assert berlin.ends_at(NOON) == NOON + 11 * HOUR
    assert berlin.ends_at(NOON + 12 * HOUR) == NOON + 34 * HOUR


def test_only_what_has_a_limit_or_is_an_agent_is_concerned() -> None:
    """A plain command costs nothing, and is asked nothing."""
    day = Budget()
    assert not budget.concerns(task(), day) and not budget.concerns(replace(task(), runner="python"), day)
    assert budget.concerns(replace(task(), max_tokens=1), day) and budget.concerns(replace(task(), max_cost=1), day)
    assert budget.concerns(replace(task(), runner="triage"), day)
    assert not budget.concerns(replace(task(), runner="triage"), replace(day, free=day.free | {"triage"}))


def test_an_attempt_reserves_its_limit_and_never_more_than_a_day_has() -> None:
    """Else it would wait for ever."""
    asks = replace(task(), max_tokens=500, max_cost=70)
    assert budget.wanted(asks, Budget()) == Amount(500, 70)
    assert budget.wanted(asks, Budget(daily_tokens=100, daily_cost=90)) == Amount(100, 70)
    assert budget.wanted(task(), Budget(daily_tokens=100)) == Amount()


ROLES = {
    "spec": RoleBudget(name="spec", daily_tokens=50),
    "reviewer": RoleBudget(name="reviewer", max_tokens=40, daily_cost=9),
    "review-security": RoleBudget(name="review-security", max_cost=7),
}


@pytest.mark.parametrize(
    ("role", "name", "allowed", "asks"),
    [
        ("", "worker", (None, None), Amount()),
        ("fix", "worker", (None, None), Amount()),
        ("review", "spec", (None, None), Amount()),
        ("review-lint", "reviewer", (40, None), Amount(40, 0)),
        ("review-security", "review-security", (None, 7), Amount(0, 7)),
        ("dev", "dev", (None, None), Amount()),
    ],
)
def test_a_role_has_limits_of_its_own_where_a_task_has_none(
    role: str, name: str, allowed: tuple[int | None, int | None], asks: Amount
) -> None:
    """What is reserved, what an attempt may use, and which share it counts for."""
    day = Budget(daily_cost=100, roles=ROLES)
    works = replace(task(), runner="agent:claude", role=role)
    assert (budget.role_of(works, day), budget.allowance(works, day), budget.wanted(works, day)) == (
        name,
        allowed,
        asks,
    )
    own = replace(works, max_tokens=60, max_cost=20)
    assert budget.allowance(own, day) == (60, 20)
    most = {"review": Amount(50, 20), "review-lint": Amount(60, 9)}
    assert budget.wanted(own, day) == most.get(role, Amount(60, 20))
    assert budget.allowance(replace(works, runner="shell"), day) == (None, None)  # a command costs nothing


def test_a_limit_of_a_role_is_a_limit_and_its_share_is_told_by_name() -> None:
    """The day of all, and the share of one, are two breakers."""
    day = Budget(roles=ROLES)
    assert day.limited and not Budget().limited
    assert not Budget(roles={"dev": RoleBudget(name="dev", max_cost=1)}).limited
    share = Day(day="2026-03-28", role="spec", used=Amount(50, 0))
    held = budget.used_up(share, day, NOON)
    assert (held.key, held.why) == (
        "budget:2026-03-28:spec",
        "the budget of 2026-03-28 for the role spec is used up",
    )
    assert budget.day_of(held) == Day(day="2026-03-28", role="spec")
    assert budget.is_told(held, day) and not budget.is_told(held, Budget())
    assert budget.shortage(task(), held) == "0 tokens of 50 tokens left today for the role spec"
    lint = Day(day="2026-03-28", role="reviewer", used=Amount(0, 9))
    assert budget.used_up(lint, day, NOON).data["max_tokens"] == 40
    works = replace(task(), runner="agent:claude", role="review")
    assert budget.fitting(share, [works], day) == []
    assert budget.fitting(replace(share, used=Amount(49, 0)), [works], day) == [works]
    over = said({"tokens": 41}, kind=Failed)
    reviews = replace(task(), runner="agent:claude", role="review-lint")
    assert budget.judged(reviews, over, day) == OverBudget(why="used 41 tokens of 40", output=over.output)


@pytest.mark.parametrize(
    ("taken", "more", "fits"),
    [((0, 0), (100, 0), True), ((1, 0), (100, 0), False), ((99, 0), (0, 0), True), ((100, 0), (0, 0), False)]
    + [((0, 40), (1, 10), True), ((0, 41), (1, 10), False), ((0, 50), (0, 0), False)],
)
def test_what_fits_into_the_day_is_reserved(taken: tuple[int, int], more: tuple[int, int], fits: bool) -> None:
    """What is used and what is reserved both count; without a limit of its own it needs some room."""
    limits = Budget(daily_tokens=100, daily_cost=50)
    for day in (replace(DAY, used=Amount(*taken)), replace(DAY, reserved=Amount(*taken))):
        after = budget.reserve(day, Amount(*more), limits)
        assert (after is not None) == fits
        if after is not None:
            assert after.reserved.tokens == day.reserved.tokens + more[0]
    assert Budget().limited is False and limits.limited is True
    assert budget.reserve(replace(DAY, used=Amount(10**9, 10**9)), Amount(5, 5), Budget()) is not None


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        ({"tokens": 12, "cost": 0.25}, Amount(12, 250_000)),
        ({"tokens": 12}, Amount(12, 0)),
        ({}, Amount()),
        ({"tokens": -1}, None),
        ({"tokens": True}, None),
        ({"cost": "much"}, None),
        ({"cost": "much", "tokens": "12"}, Amount(12, 0)),
        ({"tokens": {"input": 100, "output": 20, "note": "x"}, "cost": 0.0125}, Amount(120, 12_500)),
        ({"tokens": {}, "cost": float("inf")}, None),
        ("12", None),
        (None, None),
    ],
)
def test_what_an_attempt_says_it_used_is_read_or_ignored(usage: object, read: Amount | None) -> None:
    """In its result, or inside of its answer."""
    assert budget.usage_of(said(usage)) == read
    asked = Succeeded(output=Output(result={"answer": json.dumps({"verdict": "NOOP", "usage": usage})}))
    assert budget.usage_of(asked) == read


def test_an_answer_may_stand_in_a_fence() -> None:
    """As agents like to write; the last one counts."""
    answer = 'Well, {"usage": {"tokens": 1}}\n```json\n{"verdict": "NOOP", "usage": {"tokens": 7, "cost": 1}}\n```'
    assert budget.usage_of(Succeeded(output=Output(result={"answer": answer}))) == Amount(7, 1_000_000)


@pytest.mark.parametrize("answer", ["not json", "[1]", '"usage": {' * 10_000, '"usage": {no}', ""])
def test_an_answer_that_says_nothing_used_nothing_that_is_known(answer: str) -> None:
    """Whatever it is."""
    assert budget.usage_of(Succeeded(output=Output(result={"answer": answer}))) is None
    assert budget.usage_of(Succeeded()) is None


def test_over_its_limit_a_failure_is_one_of_the_budget_and_done_work_stays_done() -> None:
    """A triage that cost too much has no say."""
    limited = replace(task(), max_tokens=10, max_cost=1_000_000)
    over, dear = said({"tokens": 11}, kind=Failed), said({"cost": 1.5}, kind=Failed)
    assert budget.judged(limited, over, Budget()) == OverBudget(why="used 11 tokens of 10", output=over.output)
    assert budget.judged(limited, dear, Budget()) == OverBudget(why="cost 1.50 of 1.00", output=dear.output)
    done = said({"tokens": 11})
    assert budget.judged(limited, done, Budget()) is done
    looked = replace(limited, role="triage")
    assert isinstance(budget.judged(looked, done, Budget()), OverBudget)
    answer = {"verdict": "NOOP", "usage": {"tokens": {"input": 10, "output": 1}}}
    asked = Succeeded(output=Output(result={"answer": json.dumps(answer)}))
    assert isinstance(budget.judged(looked, asked, Budget()), OverBudget)
    for fine in (said({"tokens": 10, "cost": 1}, kind=Failed), Failed(), Requeued(asked=True, why="")):
        assert budget.judged(limited, fine, Budget()) is fine
    assert budget.judged(task(), over, Budget()) is over


def test_what_was_lost_has_cost_at_least_the_input_of_one_call() -> None:
    """Nothing is known of it; but it may have begun."""
    made = Reservation(task_id="a", number=1, day="d", amount=Amount(40_000, 1_000))
    lost = Lost(why="gone")
    assert budget.settle(made, lost, None) == Amount(4_000, 100)
    assert budget.settle(replace(made, amount=Amount(100, 1_000)), lost, None) == Amount(100, 1_000)
    assert budget.settle(replace(made, amount=Amount(0, 1_000)), lost, None) == Amount(4_000, 100)
    assert budget.settle(made, lost, Amount(7, 7)) == Amount(7, 7)
    assert budget.settle(None, lost, None) == budget.settle(made, Failed(), None) == Amount()


def test_a_warning_comes_once_when_most_of_the_day_is_used() -> None:
    """At 80 percent of either."""
    limits = Budget(daily_tokens=100, daily_cost=10)

    def warned(before: tuple[int, int], after: tuple[int, int]) -> bool:
        return budget.warns(replace(DAY, used=Amount(*before)), replace(DAY, used=Amount(*after)), limits)

    assert warned((79, 0), (80, 0)) and warned((0, 7), (0, 8))
    assert not warned((80, 0), (99, 0)) and not warned((0, 0), (79, 7))
    assert not budget.warns(DAY, replace(DAY, used=Amount(99, 99)), Budget())


def test_what_does_not_fit_is_parked_until_the_day_ends() -> None:
    """The time is named: waiting for it does not count as trying."""
    held = budget.used_up(replace(DAY, used=Amount(5, 2_000_000)), Budget(daily_tokens=5), NOON)
    assert (held.key, held.kind, held.until, held.probe_at) == (
        "budget:2026-03-28",
        "budget",
        NOON + 12 * HOUR,
        NOON + 12 * HOUR,
    )
    assert held.rule.parks and held.ends == "until the next day" and held.next_at == NOON + 12 * HOUR
    assert held.data["named"] and held.data["used_cost"] == 2.0 and held.data["daily_cost"] is None
    assert budget.told(DAY, Budget(daily_cost=1_000_000))["daily_cost"] == 1.0


amounts = st.builds(Amount, st.integers(0, 200), st.integers(0, 200))


def test_what_was_given_back_is_for_those_that_fit_now() -> None:
    """In their order; one that is too big lets a smaller one pass."""
    waiting = [replace(task(), id=str(tokens), max_tokens=tokens) for tokens in (50, 20, 30, 10)]
    today = Day(day="d", used=Amount(50, 0))

    assert [each.id for each in budget.fitting(today, waiting, Budget(daily_tokens=90))] == ["20", "10"]
    assert budget.fitting(today, waiting, Budget()) == waiting
    made = Reservation(task_id="t", number=1, day="d", amount=Amount(60, 10))
    assert [budget.given_back(made, Amount(*used)) for used in ((10, 10), (60, 9), (60, 10))] == [True, True, False]
    assert not budget.given_back(None, Amount())


def test_a_day_knows_by_which_limits_it_is_used_up() -> None:
    """Raised or taken away, they are others."""
    held = budget.used_up(Day(day="d"), Budget(daily_tokens=90, daily_cost=5), NOON)

    assert budget.is_told(held, Budget(daily_tokens=90, daily_cost=5))
    assert not any(budget.is_told(held, other) for other in (Budget(), Budget(daily_tokens=91, daily_cost=5)))


@given(st.lists(amounts, max_size=20), st.integers(1, 300), st.integers(1, 300))
def test_whatever_is_asked_for_a_day_never_promises_more_than_it_has(
    asked: list[Amount], tokens: int, cost: int
) -> None:
    """In any order, any sizes."""
    limits, day = Budget(daily_tokens=tokens, daily_cost=cost), DAY
    for each in asked:
        day = budget.reserve(day, each, limits) or day
    assert day.reserved.tokens <= tokens and day.reserved.cost <= cost


def test_a_used_up_day_is_told_once_and_its_end_by_nobody() -> None:
    """What waits under it is released then, as with any other breaker."""
    held = budget.used_up(DAY, Budget(daily_tokens=5), NOON)
    (event,) = changed_breaker(None, held).events
    assert (event.name, event.data["key"], event.data["daily_tokens"]) == ("budget:exceeded", held.key, 5)
    assert changed_breaker(held, close(held, NOON + 12 * HOUR)).events == ()


def test_input_and_output_tokens_are_read() -> None:
    """As most services report them; a sum that is given as well counts alone."""
    assert budget.read_usage({"input_tokens": 1200, "output_tokens": 34, "cost": 0.5}) == Amount(1234, 500_000)
    assert budget.read_usage({"tokens": 5, "input_tokens": 1200}) == Amount(5, 0)


@pytest.mark.parametrize(
    ("limits", "used", "asks", "said"),
    [
        (
            {"daily_cost": 200_000},
            Amount(0, 150_000),
            {"max_cost": 150_000},
            "0.05 of 0.20 left today, this needs 0.15",
        ),
        ({"daily_cost": 200_000}, Amount(0, 250_000), {}, "0.00 of 0.20 left today"),
        ({"daily_cost": 200_000}, Amount(0, 1), {"max_cost": 900_000}, "0.20 of 0.20 left today, this needs 0.20"),
        (
            {"daily_tokens": 9_000},
            Amount(8_000, 0),
            {"max_tokens": 2_000},
            "1,000 tokens of 9,000 tokens left today, this needs 2,000 tokens",
        ),
        ({"daily_tokens": 9_000, "daily_cost": 5}, Amount(9_000, 0), {}, "0 tokens of 9,000 tokens left today"),
        ({"daily_cost": 200_000}, Amount(), {"max_cost": 1}, "the budget of 2026-03-28 is used up"),
    ],
)
def test_what_is_short_is_said_in_numbers(
    limits: dict[str, Any], used: Amount, asks: dict[str, int], said: str
) -> None:
    """What is left and what an attempt needs, of the day as it is now."""
    held = budget.used_up(DAY, Budget(**limits), NOON)
    now = budget.refreshed(held, replace(DAY, used=used))

    assert budget.shortage(replace(task(), **asks), now) == said
    assert now.data["zone"] == "UTC" and now.data["daily_cost"] == held.data["daily_cost"]
