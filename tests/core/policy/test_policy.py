"""The ladder from rung to rung, what grants and free runs change, and the times nothing comes before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbay.core.attempt.cause import Cause, FailureCase, cause_of, is_charged
from medbay.core.attempt.counting import count_failure, grant, record_of
from medbay.core.attempt.guidance import DIFFERENT_APPROACH
from medbay.core.diagnosis.record import CATEGORIES, Diagnosis
from medbay.core.model import Task
from medbay.core.outcome import Failed
from medbay.core.policy import backoff, policy
from medbay.core.policy.policy import NextStep, Policy, Record
from medbay.core.policy.presets import LADDER, Rungs
from tests.core.builders import DAY, HOUR, MINUTE, NOW, SECOND, diagnosis, free, hopeless, task

RULES = Policy()

# The ladder, written here a second time.
DELAYS: dict[str, tuple[int, ...]] = {
    "transient": (30 * SECOND, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE),
    "code_error": (2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE),
    "test_failure": (2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE),
    "timeout": (5 * MINUTE, 15 * MINUTE, 30 * MINUTE),
    "resource_exhaustion": (15 * MINUTE, 30 * MINUTE, 60 * MINUTE),
    "dependency_missing": (2 * MINUTE, 5 * MINUTE, 15 * MINUTE),
    "unknown": (2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE),
}
MAX_RETRIES = {name: 3 if len(delays) == 3 else 5 for name, delays in DELAYS.items()}


class Failing:
    """A task that fails again and again, with what the policy says each time."""

    def __init__(self, rules: Policy = RULES) -> None:
        self.task: Task = task()
        self.rules = rules
        self.now = NOW

    def fail(self, found: Diagnosis | None = None) -> NextStep:
        """One more failure, counted and decided the way an ended attempt is."""
        found = found or diagnosis()
        case = FailureCase(outcome=Failed(), diagnosis=found)
        self.task = count_failure(self.task, charge=is_charged(case, cause_of(case)), now=self.now)
        record = record_of(self.task)
        used_up = policy.retries_used_up(found, record, self.rules)
        cause = cause_of(FailureCase(outcome=Failed(), diagnosis=found, used_up=used_up))
        return policy.decide(found, record, self.rules, self.now, cause=cause)

    def actions(self, times: int, found: Diagnosis | None = None) -> list[str]:
        """The next so many answers."""
        return [self.fail(found).action for _ in range(times)]

    def release(self, attempts: int = 2) -> None:
        """A person lets it go on."""
        self.task = grant(self.task, attempts)


def record(**given: Any) -> Record:
    """A record of one charged failure, changed by what is given."""
    values: dict[str, Any] = {"task_id": "t-1", "attempt": 1, "charged": 1}
    return Record(**(values | given))


def test_the_shipped_ladder_is_the_table_of_the_specification() -> None:
    """Delays and numbers of retries, by category."""
    assert {name: rungs.delays_ms for name, rungs in LADDER.items()} == DELAYS
    assert {name: rungs.max_retries for name, rungs in LADDER.items()} == MAX_RETRIES
    assert set(LADDER) == set(CATEGORIES)
    assert RULES.max_retries_total == 5


# The rungs


def test_two_retries_then_a_different_approach_then_a_person() -> None:
    """Rungs 1 to 4 of a code error."""
    failing = Failing()

    found = [failing.fail() for _ in range(4)]

    assert [step.action for step in found] == [
        "retry_with_guidance",
        "retry_with_guidance",
        "triage",
        "escalate_to_human",
    ]
    assert found[2].guidance is not None and found[2].guidance.advice == DIFFERENT_APPROACH
    assert found[0].guidance is not None and found[0].guidance.advice == "define foo"
    assert (found[3].block_kind, found[3].event, found[3].due_at) == ("human", "task:escalated", None)


def test_the_fifth_rung_is_the_end() -> None:
    """When the same rung was asked about and nothing was granted."""
    failing = Failing()
    failing.actions(4)

    step = failing.fail()

    assert step.action == "mark_as_blocked"
    assert (step.block_kind, step.event) == ("exhausted", "task:permanently_blocked")


@pytest.mark.parametrize(
    "kind", [("resource_exhaustion", "context_window"), ("code_error", "session"), ("unknown", "refused")]
)
def test_what_time_does_not_change_is_not_waited_for(kind: tuple[str, str]) -> None:
    """A fresh session may help at once; it is charged like every try."""
    step = Failing().fail(diagnosis(category=kind[0], subcategory=kind[1]))

    assert step.action == "retry_with_guidance"
    assert step.delay_ms is not None and step.delay_ms <= 6 * SECOND
    assert policy.schedule_of("/".join(kind), RULES) == (5 * SECOND,)


@pytest.mark.parametrize("category", CATEGORIES)
def test_each_delay_is_the_tables_entry_within_ten_percent(category: str) -> None:
    """Retries 1 to 3 wait as long as the category says."""
    failing = Failing()

    for number in (1, 2, 3):
        step = failing.fail(diagnosis(category=category))

        assert step.delay_ms is not None and step.due_at == NOW + step.delay_ms
        assert step.delay_ms == backoff.spread(DELAYS[category][number - 1], number, key="t-1")
        assert abs(step.delay_ms - DELAYS[category][number - 1]) <= 0.1 * DELAYS[category][number - 1]


@pytest.mark.parametrize("category", [name for name, most in MAX_RETRIES.items() if most == 3])
def test_a_category_with_three_retries_is_used_up_at_the_fourth_failure(category: str) -> None:
    """Before rung 4 would ask: exhausted, whatever the rung."""
    failing = Failing()
    failing.actions(3, diagnosis(category=category))

    step = failing.fail(diagnosis(category=category))

    assert (step.action, step.block_kind, step.event) == ("mark_as_blocked", "exhausted", "task:retry_exhausted")
    assert f"all 3 retries for {category} are used up" in step.why


def test_the_newest_failures_category_decides_what_is_left() -> None:
    """One streak, whatever the categories: three code errors, and a time limit has none left."""
    failing = Failing()
    failing.actions(3, diagnosis(category="code_error"))

    step = failing.fail(diagnosis(category="timeout"))

    assert step.event == "task:retry_exhausted"


def test_nobody_gets_more_charged_retries_than_the_total() -> None:
    """A smaller total of a configuration ends the ladder early, and says so."""
    failing = Failing(Policy(max_retries_total=1))

    actions, last = failing.actions(1), failing.fail()

    assert actions == ["retry_with_guidance"]
    assert (last.block_kind, last.event) == ("exhausted", "task:retry_exhausted")
    assert last.why.startswith("all 1 retries are used up")


@pytest.mark.parametrize(("charged", "used_up"), [(5, False), (6, True)])
def test_used_up_means_more_charged_failures_than_retries(charged: int, used_up: bool) -> None:
    """Five retries are six attempts."""
    assert policy.retries_used_up(diagnosis(), record(charged=charged), RULES) == used_up


def test_a_diagnosis_less_than_half_sure_is_unknown() -> None:
    """Its category decides nothing: a doubtful time limit has the delays and retries of `unknown`."""
    failing = Failing()

    step = failing.fail(diagnosis(category="timeout", confidence=0.49))

    assert step.delay_ms == backoff.spread(DELAYS["unknown"][0], 1, key="t-1")
    assert policy.category_acted_on(diagnosis(category="timeout", confidence=0.49)) == "unknown"
    assert policy.category_acted_on(diagnosis(category="timeout", confidence=0.5)) == "timeout"
    assert not policy.retries_used_up(diagnosis(category="timeout", confidence=0.49), record(charged=4), RULES)


def test_what_cannot_be_retried_goes_to_a_person_at_once() -> None:
    """The first failure already; trying again cannot help."""
    step = Failing().fail(hopeless())

    assert (step.action, step.block_kind, step.event) == ("escalate_to_human", "human", "task:escalated")
    assert "401 unauthorized" in step.why


def test_what_is_only_probably_hopeless_follows_the_ladder() -> None:
    """Below four fifths of certainty it climbs like a charged failure and asks at rung 4."""
    found = Failing().actions(4, hopeless(confidence=0.79))

    assert found == ["retry_with_guidance", "retry_with_guidance", "triage", "escalate_to_human"]


# Grants


def test_a_release_grants_two_attempts_before_the_same_rung_asks_again() -> None:
    """Asked at rung 4, released, failed once, failed twice: asked again, and so for ever."""
    failing = Failing()
    failing.actions(4)

    for _ in range(3):
        failing.release()
        assert failing.actions(2) == ["retry_with_guidance", "escalate_to_human"]


def test_the_later_delays_of_the_list_serve_the_granted_attempts() -> None:
    """Delay 4 after a release at three failures, delay 5 after one at four."""
    early, late = Failing(), Failing()
    early.actions(3)
    early.release()
    late.actions(4)
    late.release()

    fourth, fifth = early.fail(), late.fail()

    assert fourth.delay_ms == backoff.spread(DELAYS["code_error"][3], 4, key="t-1")
    assert fifth.delay_ms == backoff.spread(DELAYS["code_error"][4], 5, key="t-1")


@pytest.mark.parametrize("attempts", [1, 2, 3, 7])
def test_a_person_may_grant_any_number(attempts: int) -> None:
    """`--attempts N`: the Nth failure asks."""
    failing = Failing()
    failing.actions(4)
    failing.release(attempts)

    found = failing.actions(attempts)

    assert found == ["retry_with_guidance"] * (attempts - 1) + ["escalate_to_human"]


def test_a_grant_covers_used_up_retries_as_well() -> None:
    """Exhausted, released: two more, and exhausted again."""
    failing = Failing()
    slow = diagnosis(category="timeout")
    failing.actions(4, slow)
    failing.release()

    retried, again = failing.fail(slow), failing.fail(slow)

    assert retried.action == "retry_with_guidance"
    assert "1 left of what a person granted" in retried.why
    assert again.event == "task:retry_exhausted"


def test_a_free_failure_uses_up_nothing_of_a_grant() -> None:
    """Two charged attempts were granted, not two of any kind."""
    failing = Failing()
    failing.actions(4)
    failing.release()
    failing.actions(10, free())

    assert failing.actions(2) == ["retry_with_guidance", "escalate_to_human"]


@given(st.lists(st.sampled_from(["fail", "free", "release"]), max_size=40))
def test_a_released_task_is_always_tried_twice_before_it_stops(happenings: list[str]) -> None:
    """Whatever came before, the first charged failure after a release of two is retried."""
    failing = Failing()
    for each in happenings:
        if each == "release":
            failing.release()
        else:
            failing.fail(free() if each == "free" else diagnosis())
    failing.release()

    assert failing.fail().due_at is not None


# Free runs


def test_a_free_failure_leaves_the_rung_alone_and_has_its_own_delays() -> None:
    """Three free ones after two charged ones: the next charged one is the third."""
    failing = Failing()
    failing.actions(2)

    waits = [failing.fail(free()).delay_ms for _ in range(3)]

    assert waits == [
        backoff.spread(entry, number, key="t-1") for number, entry in enumerate(DELAYS["transient"][:3], start=1)
    ]
    assert failing.fail().action == "triage"


def test_free_delays_repeat_the_last_entry() -> None:
    """Fifteen minutes for a network that stays down."""
    failing = Failing()
    failing.actions(30, free())

    step = failing.fail(free())

    assert step.delay_ms is not None
    assert 0.9 * 15 * MINUTE <= step.delay_ms <= 1.1 * 15 * MINUTE
    assert "free try 31" in step.why


@pytest.mark.parametrize(
    ("lasted", "tries", "over"),
    [
        (24 * HOUR, 20, True),
        (24 * HOUR - 1, 20, False),
        (24 * HOUR, 19, False),
        (23 * HOUR, 5_000, False),
        (72 * HOUR, 2, True),
        (72 * HOUR - 1, 19, False),
        (0, 1, False),
    ],
)
def test_a_free_run_ends_after_a_day_and_twenty_tries_or_after_three_days(lasted: int, tries: int, over: bool) -> None:
    """Neither many tries in an hour nor few in two days."""
    run = record(charged=0, uncharged=tries, uncharged_since=NOW - lasted)

    assert policy.uncharged_run_is_over(run, NOW) == over
    step = policy.decide(free(), run, RULES, NOW, cause=Cause.UNCHARGED)
    assert (step.event == "task:retry_exhausted" and step.block_kind == "exhausted") == over
    assert (step.due_at is None) == over


def test_a_run_that_began_at_the_epoch_has_lasted_since_then() -> None:
    """Zero is a time like any other; virtual clocks begin there."""
    run = record(charged=0, uncharged=20, uncharged_since=0)

    step = policy.decide(free(), run, RULES, DAY, cause=Cause.UNCHARGED)

    assert step.why == "20 free tries over 1d did not help: connection refused"


def test_no_free_try_at_all_is_no_run() -> None:
    """Nothing began, nothing lasted."""
    assert not policy.uncharged_run_is_over(record(), NOW)


@pytest.mark.parametrize("cause", [Cause.PROVIDER_LIMIT, Cause.CRASH_LOOP, Cause.INCIDENT, Cause.UNCHARGED])
def test_everything_that_is_not_the_works_fault_waits_free(cause: Cause) -> None:
    """The same schedule and the same bound for each."""
    run = record(charged=3, uncharged=1, uncharged_since=NOW)

    step = policy.decide(free(), run, RULES, NOW, cause=cause)

    assert step.action == "retry_with_guidance"
    assert step.delay_ms == backoff.spread(30 * SECOND, 1, key="t-1")


@pytest.mark.parametrize("kind", ["rate_limit", "usage_limit"])
def test_a_limit_without_a_time_waits_a_minute_doubling_to_an_hour(kind: str) -> None:
    """1, 2, 4 ... 60 minutes."""
    failing = Failing()

    waits = [failing.fail(free(subcategory=kind)).delay_ms for _ in range(8)]

    minutes = [1, 2, 4, 8, 16, 32, 60, 60]
    assert waits == [backoff.spread(m * MINUTE, n, key="t-1") for n, m in enumerate(minutes, start=1)]


def test_a_lock_that_another_holds_is_tried_again_within_seconds() -> None:
    """Locks are short."""
    failing = Failing()

    first, *_, sixth = [failing.fail(free(subcategory="lock")).delay_ms for _ in range(6)]

    assert first is not None and first <= 5.5 * SECOND
    assert sixth is not None and 54 * SECOND <= sixth <= 66 * SECOND


def test_exit_75_waits_a_minute_doubling_to_an_hour() -> None:
    """When it names no time itself."""
    waits = [policy.requeue_delay(record(uncharged=n)) for n in (1, 2, 3, 50)]

    for wait, minutes in zip(waits, (1, 2, 4, 60), strict=True):
        assert 0.9 * minutes * MINUTE <= wait <= 1.1 * minutes * MINUTE


# Times that a failure names


@given(named=st.integers(1, 30 * DAY), charged=st.integers(1, 3), uncharged=st.integers(0, 40), charge=st.booleans())
def test_nothing_is_retried_before_the_time_the_failure_named(
    named: int, charged: int, uncharged: int, charge: bool
) -> None:
    """Nor before its schedule; the named time is only ever moved later, a minute at most."""
    found = diagnosis(retry_after_ms=NOW + named) if charge else free(retry_after_ms=NOW + named)
    known = record(charged=charged, uncharged=uncharged, uncharged_since=NOW)

    step = policy.decide(found, known, RULES, NOW, cause=Cause.RUNG if charge else Cause.UNCHARGED)

    assert step.due_at is not None and step.delay_ms is not None
    assert step.due_at >= NOW + named
    assert step.due_at == NOW + step.delay_ms
    plain = backoff.from_list(DELAYS[found.category], charged if charge else uncharged, key="t-1")
    assert plain <= step.delay_ms <= max(plain, named + MINUTE)


def test_a_limit_that_names_its_reset_waits_for_that_and_not_for_the_doubling() -> None:
    """Thirty tries in, a reset in twenty minutes is twenty minutes away."""
    found = free(subcategory="rate_limit", provider="anthropic", retry_after_ms=NOW + 20 * MINUTE)

    step = policy.decide(
        found, record(charged=0, uncharged=30, uncharged_since=NOW), RULES, NOW, cause=Cause.PROVIDER_LIMIT
    )

    assert step.delay_ms is not None
    assert 20 * MINUTE <= step.delay_ms <= 21 * MINUTE


@pytest.mark.parametrize("named", [None, NOW - 1, NOW])
def test_a_time_that_has_passed_changes_nothing(named: int | None) -> None:
    """The schedule alone decides."""
    assert policy.not_before(named, NOW + 7, NOW, record()) == NOW + 7


# The policy as a value


def test_the_hash_is_the_same_for_the_same_values() -> None:
    """Two engines with one policy agree."""
    same = Policy(rungs=dict(reversed(list(LADDER.items()))))

    assert same.hash() == RULES.hash()
    assert len(RULES.hash()) == 12


@pytest.mark.parametrize(
    "other",
    [
        Policy(preset="tiers"),
        Policy(max_retries_total=4),
        Policy(rungs={**LADDER, "timeout": Rungs(delays_ms=(1,), max_retries=3)}),
        Policy(rungs={**LADDER, "timeout": Rungs(delays_ms=DELAYS["timeout"], max_retries=4)}),
    ],
)
def test_the_hash_differs_when_any_value_does(other: Policy) -> None:
    """`doctor` can name engines whose policies differ."""
    assert other.hash() != RULES.hash()
