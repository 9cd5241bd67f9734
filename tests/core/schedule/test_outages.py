"""A recurring task in an outage: it keeps near its schedule and asks once; its next success withdraws that."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core import rules
from medbay.core.attempt.failure import Failure, follow
from medbay.core.decision import Decision, Draft, QuestionClosed, QuestionJoined, WorkingSet
from medbay.core.holds.incident import FailureSurroundings, opened
from medbay.core.model import Question, Retry, Task
from medbay.core.outcome import Failed, Output, Succeeded
from medbay.core.people.question import failing_scope, together_scope
from medbay.core.policy.policy import Policy
from medbay.core.policy.presets import Recurring
from medbay.core.schedule import occurrences
from tests.core.builders import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    after,
    diagnosis,
    end,
    failed,
    free,
    names,
    only,
    running,
    task,
)

EVERY_MINUTE: dict[str, Any] = {"cron": "* * * * *", "zone": "UTC", "planned_at": NOW, "endless": True}
OUTAGE = Failed(output=Output(tail="HTTP 502 Bad Gateway", total_bytes=20), exit_code=1)


def meets_outage(**given: Any) -> Decision:
    """One more failure of a task that runs every minute; `asked`, `policy` and `work` are around it."""
    asked, policy, work = given.pop("asked", None), given.pop("policy", Policy()), given.pop("work", None)
    of = running(**(EVERY_MINUTE | {"streak": 9, "attempts": 10} | given))
    around = FailureSurroundings(asked=asked)
    return end(of, OUTAGE, diagnosis=free(), around=around, policy=policy, work=work)


def question(**given: Any) -> Question:
    """One that was asked about it."""
    values: dict[str, Any] = {"id": "q-t-1-1", "need": "n", "why": "w", "task_ids": ("t-1",), "asked_at": NOW}
    return Question(**(values | given))


@pytest.mark.parametrize("streak", [4, 9, 40, 1_000])
def test_a_minute_job_never_sleeps_longer_than_a_quarter_of_an_hour(streak: int) -> None:
    """However long the outage lasts."""
    waits = only(meets_outage(streak=streak), Retry).delay_ms

    assert 13 * MINUTE <= waits <= 15 * MINUTE


@pytest.mark.parametrize(
    ("given", "rules_", "cap"),
    [
        ({"every_ms": MINUTE}, Recurring(), 15 * MINUTE),
        ({"every_ms": HOUR}, Recurring(), 3 * HOUR),
        ({"every_ms": 9 * HOUR}, Recurring(), DAY),  # never beyond what any failure waits
        ({"every_ms": MINUTE}, Recurring(transient_max_delay_ms=2 * MINUTE), 2 * MINUTE),
    ],
)
def test_the_cap_is_a_few_periods_unless_it_is_set(given: dict[str, Any], rules_: Recurring, cap: int) -> None:
    """The greater of 15m and three periods."""
    of = task(streak=50, last_category="transient/network", **given)

    assert occurrences.cap_ms(of, rules_, NOW) == cap
    assert cap * 0.9 <= occurrences.delay_ms(of, rules_, NOW, transient=True) <= cap
    assert occurrences.cap_ms(replace(of, last_category="code_error/type"), rules_, NOW) == DAY


def test_a_period_longer_than_the_cap_is_kept() -> None:
    """A daily job is run daily."""
    of = task(streak=5, every_ms=DAY)

    assert occurrences.delay_ms(of, Recurring(transient_max_delay_ms=MINUTE), NOW, transient=True) == DAY


def test_a_named_time_and_another_category_keep_their_own_waits() -> None:
    """Only what passes by itself is tried sooner."""
    of = running(**(EVERY_MINUTE | {"streak": 9, "attempts": 10}))
    named = end(of, OUTAGE, diagnosis=free(retry_after_ms=NOW + 2 * HOUR))
    code = end(of, OUTAGE, diagnosis=diagnosis())

    assert only(named, Retry).due_at >= NOW + 2 * HOUR
    assert only(code, Retry).delay_ms > 10 * HOUR


def test_after_an_hour_of_nothing_but_failures_a_person_is_asked_beside_the_schedule() -> None:
    """The task is not blocked, and the question names the failure, how often and for how long."""
    made = meets_outage(failing_since=NOW - HOUR)
    asked = only(made, Question)

    assert after(made).status == "failed" and only(made, Retry).due_at == after(made).due_at
    assert asked.scope == together_scope("transient/network", free().fingerprint)
    assert made.work.questions[asked.scope or ""] == asked.id
    assert "10 failures in a row and no success for 1h: connection refused" in asked.why
    assert "question:asked" in names(made) and "task:escalated" not in names(made)


@pytest.mark.parametrize(
    "given",
    [
        {"failing_since": NOW - HOUR + 1},
        {"failing_since": None},
        {"failing_since": NOW - DAY, "paused": True},
        {"failing_since": NOW - DAY, "policy": Policy(recurring=Recurring(ask_after_ms=0))},
        {"failing_since": NOW - DAY, "asked": question()},
        {"failing_since": NOW - DAY, "asked": question(status="answered", answered_at=NOW - HOUR + 1)},
        {"failing_since": NOW - DAY, "cron": "", "owner_kind": "loop", "owner_id": "t-1"},
    ],
)
def test_nobody_is_asked(given: dict[str, Any]) -> None:
    """Before its time, never where that is set, twice, right after an answer, about a loop, which stops by itself."""
    assert meets_outage(**given).all(Question) == ()


def test_an_answer_that_did_not_help_is_followed_by_another_question() -> None:
    """After as long again."""
    made = meets_outage(failing_since=NOW - DAY, asked=question(status="answered", answered_at=NOW - HOUR))

    assert only(made, Question).id == "q-t-1-1"


def test_what_is_shared_is_asked_once_and_not_by_each_task() -> None:
    """The incident has a question of its own."""
    breaker, _ = opened(free(), ["t-1", "t-2"], NOW - HOUR)
    made = meets_outage(failing_since=NOW - DAY, work=WorkingSet(breakers={breaker.key: breaker}))

    assert made.all(Question) == ()


def test_the_next_success_withdraws_the_question() -> None:
    """And nobody answers what is over."""
    scope = failing_scope("t-1")
    work = WorkingSet(questions={scope: "q-t-1-1", "other": "q-2"})
    made = end(running(**(EVERY_MINUTE | {"streak": 9, "failing_since": NOW - DAY})), Succeeded(), work=work)

    closed = only(made, QuestionClosed)
    assert (closed.question_id, closed.status, closed.whole) == ("q-t-1-1", "withdrawn", True)
    assert "question:withdrawn" in names(made) and made.work.questions == {"other": "q-2"}
    assert after(made).failing_since is None


def test_a_streak_remembers_when_it_began() -> None:
    """Of a store from before only from its next failure on."""
    first = after(meets_outage(streak=0))
    assert first.failing_since == NOW

    again = Draft(failed(every_ms=MINUTE, planned_at=NOW, failing_since=NOW - DAY), NOW, actor="w")
    follow(again, Failure(attempt=1, diagnosis=free(), policy=Policy()), WorkingSet())
    assert again.task.failing_since == NOW - DAY


def test_a_failed_recurring_task_may_go_ahead_for_an_incident_or_be_woken_when_it_is_over() -> None:
    """Both are runs beside the plan: what was planned until now is told as skipped."""
    breaker, _ = opened(free(), ["t-1"], NOW - HOUR)
    of: Task = failed(**(EVERY_MINUTE | {"planned_at": NOW - 5 * MINUTE, "due_at": NOW + 9 * MINUTE}))

    ahead = after(rules.on_canary_chosen(of, NOW + SECOND, breaker=breaker))
    woken = rules.on_woken(of, NOW + SECOND, over=breaker)

    assert (ahead.status, ahead.ready, ahead.canary) == ("pending", True, True)
    assert (after(woken).status, after(woken).ready, after(woken).due_at) == ("pending", True, None)
    assert {"task:occurrences_skipped", "task:retry_executed"} <= set(names(woken))


DAILY: dict[str, Any] = {"cron": "0 1 * * *", "streak": 0, "failing_since": None}


def test_a_daily_job_asks_at_its_first_failure() -> None:
    """Its next run is a day away: nobody would hear before that the backup of tonight failed."""
    asked = only(meets_outage(**DAILY), Question)

    assert asked.why.startswith("it failed, and its next run is ") and asked.why.endswith(" away: connection refused")
    assert meets_outage(**DAILY, asked=question()).all(Question) == ()
    assert meets_outage(**DAILY, policy=Policy(recurring=Recurring(ask_after_ms=0))).all(Question) == ()


def test_an_hourly_job_asks_at_its_second_failure() -> None:
    """The first may be over with its next run."""
    assert meets_outage(cron="0 * * * *", streak=0, failing_since=None).all(Question) == ()
    assert (
        "2 failures in a row" in only(meets_outage(cron="0 * * * *", streak=1, failing_since=NOW - HOUR), Question).why
    )


def test_jobs_that_fail_for_one_cause_share_a_question() -> None:
    """The second joins the first's, and is not asked about by itself."""
    scope = together_scope("transient/network", free().fingerprint)
    assert scope is not None
    made = meets_outage(failing_since=NOW - HOUR, work=WorkingSet(questions={scope: "q-other-1"}))

    assert only(made, QuestionJoined) == QuestionJoined("q-other-1", "t-1")
    assert made.all(Question) == () and made.work.questions == {scope: "q-other-1"}


def test_only_a_cause_outside_of_the_tasks_is_shared() -> None:
    """A full disk is one cause whatever was written; what is wrong with a task itself is its own, and so is a doubt."""
    assert together_scope("resource_exhaustion/disk", "a") == together_scope("resource_exhaustion/disk", "b")
    assert together_scope("transient/network", "a") != together_scope("transient/network", "b")
    assert together_scope("code_error/type", "a") is None

    unsure = end(
        running(**(EVERY_MINUTE | {"streak": 9, "failing_since": NOW - DAY})), OUTAGE, diagnosis=free(confidence=0.6)
    )
    assert only(unsure, Question).scope == failing_scope("t-1")


@pytest.mark.parametrize(("failing_since", "closes"), [(NOW - DAY, True), (None, False)])
def test_the_success_of_one_of_them_withdraws_what_they_share(failing_since: int | None, closes: bool) -> None:
    """The cause is gone; a task that did not fail lately says nothing about it."""
    scope = together_scope("transient/network", "f")
    assert scope is not None
    of = running(
        **(
            EVERY_MINUTE
            | {"failing_since": failing_since, "last_category": "transient/network", "last_fingerprint": "f"}
        )
    )

    made = end(of, Succeeded(), work=WorkingSet(questions={scope: "q-other-1"}))

    assert [each.question_id for each in made.all(QuestionClosed)] == (["q-other-1"] if closes else [])
