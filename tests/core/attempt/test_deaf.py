"""Commands that cannot take advice get one repetition of what only a change can cure."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from medbay.core.attempt import deaf
from medbay.core.model import Task, changed
from medbay.core.policy.forecast import forecast
from medbay.core.policy.policy import Policy
from tests.core.builders import NOW, diagnosis

FAILED = Task(id="t", title="t", command=("ls", "/nope"), streak=1, charged=1, last_fingerprint="code_error:a1b2c3d4")


def asks(task: Task = FAILED, *, takes_advice: bool = False, charged: bool = True, **found: Any) -> str:
    """Why a person is asked about its newest failure."""
    return deaf.why_ask(task, diagnosis(**found), takes_advice=takes_advice, charged=charged)


def test_the_second_failure_of_the_same_kind_is_a_persons() -> None:
    """The question names the failure."""
    assert asks() == "failed the same way twice, and the command takes no advice: cannot find name foo"


@pytest.mark.parametrize(
    ("task", "how"),
    [
        (FAILED, {"takes_advice": True}),
        (replace(FAILED, policy="tiers"), {}),
        (FAILED, {"charged": False}),
        (FAILED, {"fingerprint": "code_error:00000000"}),
        (FAILED, {"category": "timeout"}),
        (FAILED, {"confidence": 0.4}),
        (changed(FAILED, streak=0), {}),
        (changed(FAILED, every_ms=60_000), {}),
        (changed(FAILED, granted=2, asks_at=3), {}),
    ],
)
def test_everything_else_is_left_to_the_ladder(task: Task, how: dict[str, Any]) -> None:
    """What hears, what is free, what fails otherwise, what recurs, and what a person granted."""
    assert asks(task, **how) == ""


@pytest.mark.parametrize(
    ("fields", "known"),
    [
        ({"runner": "agent:x"}, True),
        ({"runner": "python"}, True),
        ({"advice": "takes"}, True),
        ({"advice": "none"}, False),
        ({"command": 'tool "$MEDBAY_GUIDANCE"'}, True),
        ({"command": ("tool", "--out", "$MEDBAY_RESULT")}, True),
        ({}, None),
    ],
)
def test_whether_it_hears_is_said_by_the_task_or_by_what_it_starts(fields: dict[str, Any], known: bool | None) -> None:
    """None: the script has to be read."""
    assert deaf.is_known(changed(FAILED, **fields)) is known


def test_every_word_may_name_the_script() -> None:
    """Of a list, of a line, and of a line that no shell would take."""
    assert deaf.may_be_scripts(("sh", "a b.sh")) == ["sh", "a b.sh"]
    assert deaf.may_be_scripts("cd x && './a b.sh'; y.sh")[:4] == ["cd", "x", "&&", "./a b.sh"]
    assert "y.sh" in deaf.may_be_scripts("cd x;y.sh")
    assert deaf.may_be_scripts("echo 'it") == ["echo", "it"]


def test_what_is_foretold_knows_it() -> None:
    """`explain` does not promise tries that will not be made."""
    steps = forecast(FAILED, diagnosis(), Policy(), NOW, takes_advice=False)

    assert [each.step.action for each in steps] == ["escalate_to_human"]
    assert len(forecast(FAILED, diagnosis(), Policy(), NOW)) > 1
