"""What is expected of a task in time: when it is looked at, when a person is asked, and when nobody is."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core import rules
from medbay.core.decision import Decision
from medbay.core.model import Question, Task
from medbay.core.people.commands import Edit
from medbay.core.schedule import expectation
from medbay.errors import UsageError
from tests.core.builders import HOUR, NOW, task

DAY = 24 * HOUR
NIGHTLY: dict[str, Any] = {"cron": "0 3 * * *", "zone": "UTC", "expect_by": "06:00", "expect_at": NOW}


def asked(made: Decision) -> Question | None:
    """The question of a decision."""
    return made.first(Question)


def after(made: Decision) -> Task:
    """The task as it is to be."""
    return made.changes[0].after


def test_a_time_of_day_is_read_or_refused() -> None:
    """Hours and minutes."""
    assert expectation.time_of_day(" 6:05 ") == "06:05"
    for wrong in ("24:00", "6", "06:60", "soon", ""):
        with pytest.raises(UsageError, match="not a time of day"):
            expectation.time_of_day(wrong)


def test_it_is_looked_at_at_that_time_in_its_zone() -> None:
    """The next one after now; nothing where nothing is expected, or all is over."""
    at = expectation.next_at(task(expect_by="06:00"), NOW)
    berlin = expectation.next_at(task(expect_by="06:00", cron="0 3 * * *", zone="Asia/Tokyo"), NOW)

    assert at is not None and at > NOW and at % DAY == 6 * HOUR
    assert berlin is not None and berlin % DAY == 21 * HOUR
    assert expectation.next_at(task(), NOW) is None
    assert expectation.next_at(task(expect_by="06:00", status="completed"), NOW) is None


def test_a_new_task_and_an_edited_one_know_when() -> None:
    """And one that ended is not looked at any more."""
    added = after(rules.on_added(task(expect_by="06:00"), NOW))
    edited = rules.on_edit_command(added, NOW, actor="p", edit=Edit(fields={"expect_by": ""}, reset_failures=False))

    assert added.expect_at == expectation.next_at(added, NOW)
    assert after(edited).expect_at is None
    assert after(rules.on_cancel_command(added, NOW, actor="p", dependents=(), question=None)).expect_at is None


@pytest.mark.parametrize(
    ("of", "succeeded_at", "told"),
    [
        (NIGHTLY, None, "it never succeeded"),
        (NIGHTLY, NOW - DAY - 1, "its last success was 1d ago"),
        ({"expect_by": "06:00", "expect_at": NOW}, None, "it never succeeded"),
        ({"every_ms": HOUR, "planned_at": NOW - HOUR, "expect_by": "06:00"}, None, "it never succeeded"),
    ],
)
def test_what_did_not_succeed_in_time_is_asked_about(of: dict[str, Any], succeeded_at: int | None, told: str) -> None:
    """One question that blocks nothing; what recurs is looked at again the next day."""
    made = expectation.on_expected(task(**of), NOW, succeeded_at=succeeded_at, asked=False)

    question = asked(made)
    assert question is not None and told in question.why and question.scope == "failing|t-1"
    assert [option.effect for option in question.options] == ["wait", "pause", "cancel"]
    assert after(made).status == "pending"
    assert (after(made).expect_at is not None) == after(made).recurs


@pytest.mark.parametrize(
    ("of", "succeeded_at", "already"),
    [
        (NIGHTLY, NOW - HOUR, False),
        (NIGHTLY, None, True),
        ({**NIGHTLY, "paused": True}, None, False),
        ({**NIGHTLY, "cron": "0 3 1 1 *"}, None, False),  # nothing was planned today
    ],
)
def test_nobody_is_asked_without_need(of: dict[str, Any], succeeded_at: int | None, already: bool) -> None:
    """It succeeded, a person was asked, it is paused, or it had nothing to do."""
    made = expectation.on_expected(task(**of), NOW, succeeded_at=succeeded_at, asked=already)

    assert asked(made) is None
    assert (after(made).expect_at or 0) > NOW


def test_strangely_long_is_five_times_the_median_and_a_minute() -> None:
    """Of five successes or more; what runs once has no median."""
    often = task(every_ms=HOUR)

    assert expectation.slow_at(often, [60_000, 70_000, 50_000, 60_000, 900_000], NOW) == NOW + 300_000
    assert expectation.slow_at(often, [100] * 5, NOW) == NOW + 60_000
    assert expectation.slow_at(often, [100] * 4, NOW) is None
    assert expectation.slow_at(task(), [100] * 5, NOW) is None


def test_an_attempt_that_takes_strangely_long_is_asked_about_once() -> None:
    """While it runs; not where a person was asked already, or it has ended."""
    running = task(status="in_progress", live=7, attempts=7, since=NOW - HOUR, slow_at=NOW, every_ms=HOUR)

    question = asked(expectation.on_slow(running, NOW, asked=False))
    again = expectation.on_slow(running, NOW, asked=True)

    assert question is not None and "attempt 7 runs for 1h" in question.why
    assert asked(again) is None and after(again).slow_at is None
    assert asked(expectation.on_slow(task(), NOW, asked=False)) is None
