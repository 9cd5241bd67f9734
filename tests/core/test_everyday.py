"""Small rules of everyday use: whose question it is, whose limit, how fast free tries follow each other."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.attempt.cause import Cause
from medbay.core.holds.resources import account_of, command_key, is_commands
from medbay.core.model import Question, Task, Triage, changed
from medbay.core.people.commands import on_resume_command, on_retry_command
from medbay.core.people.question import paused_scope, scope_of
from medbay.core.policy.policy import Policy, Record, decide
from medbay.core.policy.presets import LADDER, Recurring, Rungs
from medbay.core.triage.cycle import StartSurroundings
from medbay.core.triage.cycle import decide as may_start
from tests.core.builders import NOW, diagnosis, free

TASK = Task(id="t", title="t", command="claude -p x")
LIMITED = {"subcategory": "usage_limit", "retry_after_ms": NOW + 60_000}


@pytest.mark.parametrize(
    ("found", "account", "scope"),
    [
        ({"subcategory": "auth", "summary": "401 https://me@api.X.org/a"}, None, "auth|host:api.x.org"),
        ({"subcategory": "auth", "summary": "401 https://api.x.org/a"}, "provider:x/me", "auth|provider:x/me"),
        ({"subcategory": "auth", "summary": "not logged in"}, None, "code_error:a1b2c3d4|"),
        ({"subcategory": "quota"}, "provider:x", "spent|provider:x"),
        ({"summary": "https://api.x.org/a"}, None, "code_error:a1b2c3d4|"),
    ],
)
def test_credentials_are_asked_about_once_per_resource(found: dict[str, Any], account: str | None, scope: str) -> None:
    """The account, else the host, else the failure itself."""
    assert scope_of(diagnosis(**found), account) == scope


def test_a_limit_with_a_time_and_without_a_name_is_the_commands() -> None:
    """Whatever the task needs besides; without a time it is nobody's."""
    own = f"provider:command-{command_key(TASK)[:8]}"
    two = changed(TASK, resources=("provider:a", "provider:b"))

    assert account_of(TASK, free(**LIMITED)) == account_of(two, free(**LIMITED)) == own
    assert is_commands(own) and not is_commands("provider:a")
    assert account_of(TASK, free(subcategory="usage_limit")) is None
    assert account_of(TASK, free(retry_after_ms=NOW + 60_000)) is None
    assert account_of(changed(TASK, resources=("provider:a",)), free(**LIMITED)) == "provider:a"
    assert account_of(TASK, None) is None


@pytest.mark.parametrize(
    ("tries", "least_ms"), [(1, 0), (10, 0), (11, 1_000), (12, 2_000), (17, 60_000), (400, 60_000)]
)
def test_free_tries_slow_down_whatever_is_configured(tries: int, least_ms: int) -> None:
    """The first ten as fast as is configured."""
    policy = Policy(
        rungs={name: Rungs(delays_ms=(100,), max_retries=each.max_retries) for name, each in LADDER.items()}
    )
    record = Record(task_id="t", attempt=tries, charged=0, uncharged=tries)

    step = decide(free(), record, policy, NOW, cause=Cause.UNCHARGED)

    assert step.delay_ms is not None and max(90, least_ms) <= step.delay_ms <= max(110, least_ms)


def test_a_second_retry_before_the_first_began_changes_nothing() -> None:
    """Nothing is granted twice."""
    assert not on_retry_command(changed(TASK, forced=True, ready=True), NOW, actor="person:x").writes
    assert on_retry_command(changed(TASK, ready=True), NOW, actor="person:x").writes


@pytest.mark.parametrize(("scope", "closes"), [(paused_scope("t"), True), ("failing|t", False), (None, False)])
def test_resume_answers_what_was_asked_because_of_the_pause(scope: str | None, closes: bool) -> None:
    """And nothing else."""
    asked = Question(id="q-t-1", need="", why="", scope=scope, task_ids=("t",))

    made = on_resume_command(changed(TASK, paused=True), NOW, actor="person:x", question=asked)

    assert ("question:answered" in [each.name for each in made.events]) is closes


def test_a_question_after_a_triage_names_the_failure_how_often_since_when_and_what_was_tried() -> None:
    """Of a recurring task whose triage did not help."""
    failing = changed(
        TASK,
        every_ms=60_000,
        status="failed",
        streak=7,
        failing_since=NOW - 60_000,
        last_summary="connection refused",
        last_fingerprint="x",
        wants_triage=True,
        triaged_at=NOW - 1_000,
    )
    looked = Triage(
        id=".triage-t-1",
        task_id="t",
        number=6,
        fingerprint="x",
        agent="rules",
        started_at=NOW - 1_000,
        action="adjusted",
    )
    detailed = changed(looked, detail="time limit 4s → 8s")

    said = may_start(failing, Recurring(), NOW, StartSurroundings(earlier=(looked,)))
    once = may_start(
        changed(failing, streak=1, failing_since=None), Recurring(), NOW, StartSurroundings(earlier=(detailed,))
    )

    assert said.what == once.what == "to_a_person"
    assert said.why.startswith("the same failure again: connection refused (failed 7 times in a row since 20")
    assert said.why.endswith("triage .triage-t-1 said adjusted")
    assert "failed once)" in once.why and once.why.endswith("said adjusted: time limit 4s → 8s")
