"""The breaker of a phase: failures of one type in a row stop it, from every status, until a person lets it go on."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from medbay.core.decision import Decision
from medbay.core.holds.breaker import Breaker, BreakerChange
from medbay.core.model import Question
from medbay.core.workflow import artifacts, phase, story
from medbay.core.workflow.phase import StoryCase
from medbay.core.workflow.records import StoryRules
from tests.core.workflow.cases import NOW, answered, case, ended_run, follow, shipped, started

ACTOR = "person:x"
# Every phase from every status it starts from, with what it has to say for the status to stay in its hands.
STARTS = [(each.name, status) for each in shipped("story").phases for status in each.starts]


def changed(made: Decision) -> list[Breaker]:
    """The breakers as a decision leaves them."""
    return [each.after for each in made.all(BreakerChange)]


def fails(found: StoryCase, name: str, *, times: int, rules: StoryRules | None = None) -> tuple[StoryCase, Decision]:
    """A phase whose first role says ERROR so often in a row, whatever became of the story in between."""
    made = Decision()
    for _ in range(times):
        begun = started(found, name, rules=rules)
        after = begun
        for task in begun.tasks:
            if not task.finished:
                after, made = answered(after, task.role, "ERROR")
        found = replace(after, tasks=())
    return found, made


@pytest.mark.parametrize(("name", "status"), STARTS)
def test_it_opens_from_every_status_and_the_way_back_is_the_tables(name: str, status: str) -> None:
    """Blocked from the status the phase leaves it in, one question, one breaker; a release closes both."""
    found = case(status, elaborated=True)
    wanted = found.workflow.phase(name)
    assert wanted is not None
    times = 2 if wanted.workers else 3  # reviewers that cannot answer: a second in a row asks a person

    before, quiet = fails(found, name, times=times - 1)
    assert before.story.status != "blocked" and not changed(quiet)
    blocked, made = fails(before, name, times=1)

    (opened,), (asked,) = changed(made), made.all(Question)
    assert (blocked.story.status, blocked.story.blocked_from) == ("blocked", wanted.running or status)
    assert (opened.key, opened.state, opened.only_a_person_ends) == (f"phase:S-1:{name}", "open", True)
    assert opened.question_id == asked.id
    assert [each.data["kind"] for each in made.events if each.name == "breaker:opened"] == ["phase"]
    open_now = replace(blocked, breakers=(opened,))
    released = story.on_release(open_now, NOW, actor=ACTOR, asked=[asked])
    assert [each.state for each in changed(released)] == ["closed"]
    assert follow(blocked, released).story.status == (wanted.running or status)
    gone = story.on_cancel(open_now, NOW, actor=ACTOR, asked=[asked], why="x")
    assert [each.state for each in changed(gone)] == ["closed"]


@pytest.mark.parametrize("breaks_at", [1, 2, 4])
def test_how_many_open_it_is_a_setting(breaks_at: int) -> None:
    """Not one earlier, and ERROR-LOG.yaml at the same moment."""
    rules = StoryRules(breaks_at=breaks_at)
    found = case("pending")
    for at in range(1, breaks_at + 1):
        found, made = fails(found, "generate", times=1, rules=rules)
        assert bool(changed(made)) == (at == breaks_at)
        assert bool(error_log(found)) == (at == breaks_at)


def error_log(found: StoryCase) -> dict[str, Any]:
    """What ERROR-LOG.yaml says; nothing where there is none."""
    text = artifacts.files_of(found.story, found.runs, (), found.workflow).get("_implementation/ERROR-LOG.yaml", "")
    return dict(yaml.safe_load(text)) if text else {}


def test_three_refusals_in_a_row_are_three_failures_of_one_type() -> None:
    """Of QA, with fixes in between: the verdict is the type."""
    runs = [
        ended_run(at, name, status)
        for at, (name, status) in enumerate(
            [("verify", "FAIL"), ("fix", "PASS"), ("verify", "FAIL"), ("fix", "PASS")], start=1
        )
    ]
    found = case("ready-for-qa", elaborated=True, runs=tuple(runs))
    found = replace(found, story=replace(found.story, runs=4))

    after, made = answered(started(found, "verify"), "qa", "FAIL")

    assert after.story.status == "blocked" and after.story.blocked_from == "needs-work"
    assert [each.key for each in changed(made)] == ["phase:S-1:verify"]
    said = error_log(after)
    assert (said["phase"], said["type"], [each["run"] for each in said["errors"]]) == ("verify", "FAIL", [1, 3, 5])


def test_what_passed_or_failed_otherwise_in_between_counts_from_one() -> None:
    """A stopped run counts for nothing; a service that stays away is written down at once."""

    def log(*ends: tuple[str, str]) -> dict[str, Any]:
        runs = tuple(
            ended_run(at, "verify", status, error_type=kind) for at, (status, kind) in enumerate(ends, start=1)
        )
        return error_log(case("in-qa", runs=runs))

    bad, other, fine, stopped = (
        ("FAIL", "MALFORMED_OUTPUT"),
        ("TIMEOUT", "AGENT_TIMEOUT"),
        ("PASS", ""),
        ("CANCELLED", ""),
    )
    assert not log(bad, bad, fine, bad)
    assert not log(bad, bad, other, bad)
    assert log(bad, bad, stopped, bad)["type"] == "MALFORMED_OUTPUT"
    assert log(("FAIL", "EXTERNAL_SERVICE_DOWN"))["type"] == "EXTERNAL_SERVICE_DOWN"


def test_used_up_rounds_block_without_a_breaker() -> None:
    """They are a limit of their own; the refusals are written down all the same."""
    runs = tuple(ended_run(at, "review", "FAIL") for at in (1, 2))
    found = case("ready-for-code-review", elaborated=True, rounds=2, runs=runs)
    found = replace(found, story=replace(found.story, runs=2))
    begun = started(found, "review", "review-lint")

    after, made = answered(begun, "review-lint", "FAIL")

    assert after.story.status == "blocked" and not changed(made)
    assert error_log(after)["type"] == "FAIL"
    assert phase.breakers_closed(after, NOW, actor=ACTOR) == Decision()
