"""Attempts, checks and evaluations, from records alone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.attempt import rescue
from medbay.core.model import CheckResult
from medbay.views import attempt as view
from tests.views.records import NOW, TASK, failed

CHECK = CheckResult(task_id=TASK.id, number=1, position=1, command=("make", "test"), status="PASS", exit_code=0)
EVALUATION = replace(CHECK, position=rescue.POSITION, command="./judge.sh")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"outcome": None}, "running"),
        ({}, "exit 1"),
        ({"exit_code": None, "signal": 9}, "signal 9"),
        ({"exit_code": None}, "could not start"),
        ({"exit_code": None, "session": "s-1"}, "not done"),
        ({"outcome": "timed_out"}, "time limit"),
        ({"outcome": "over_budget"}, "over budget"),
        ({"outcome": "succeeded"}, "succeeded"),
    ],
)
def test_an_ending_is_said_in_the_fewest_words(fields: dict[str, Any], said: str) -> None:
    """The same in `show` and in `run`."""
    assert view.ending(replace(failed(), **fields)) == said


def test_a_failure_that_does_not_count_says_so() -> None:
    """A free retry leaves the budget alone."""
    assert view.why(failed(charged=False)).endswith(" (not counted)")
    assert "counted" not in view.why(failed())


def test_the_evaluation_is_no_check_of_the_task() -> None:
    """Each has words of its own."""
    results = (CHECK, EVALUATION)

    assert view.checks(results) == [CHECK]
    assert view.evaluation(results) == EVALUATION
    assert view.check_command(CHECK) == "make test"


def test_a_running_evaluation_is_under_way() -> None:
    """Until it has a score."""
    running = replace(EVALUATION, status="RUNNING", exit_code=None, started_at=NOW)
    words = view.evaluation_sentence(replace(failed(), outcome=None), running, 0.8)

    assert words == "the evaluation of attempt 1: under way; ./judge.sh"


def test_the_json_of_an_attempt_has_checks_and_evaluation_apart() -> None:
    """A program finds the score without counting positions."""
    made = view.as_json(failed(), (CHECK, EVALUATION))

    assert [each["command"] for each in made["checks"]] == [["make", "test"]]
    assert made["evaluation"]["rescued"] is False
    assert "position" not in made["evaluation"]
    assert made["duration_s"] == 2.0
