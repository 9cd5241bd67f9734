"""What ADJUST may change, its limits, and what it comes to as a diff."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.model import Task
from medbay.core.triage.case import Means
from medbay.core.triage.rights import accounts, beyond, criteria, diff, limits, parted, shown, without
from medbay.core.triage.verdict import Adjustment
from tests.core.builders import DAY, HOUR, MINUTE, SECOND
from tests.core.triage.cases import SPEC, agents, told_before, waiting, with_agents


def test_a_diff_names_what_was_and_what_is_to_be() -> None:
    """Everything that is different, and nothing else."""
    wanted = Adjustment(
        guidance="use the index",
        timeout_ms=HOUR,
        model="large",
        profile="other",
        fresh_session=True,
        retry_delay_ms=MINUTE,
        keep_criteria=("it adds", "3"),
    )

    assert diff(agents(timeout_ms=30 * MINUTE, model="small"), wanted) == {
        "timeout_ms": [30 * MINUTE, HOUR],
        "model": ["small", "large"],
        "runner": ["agent:coder", "agent:other"],
        "fresh_session": [False, True],
        "guidance": ["", "use the index"],
        "retry_delay_ms": [None, MINUTE],
        "criteria": [["it adds", "it subtracts and says so", "it prints"], ["it adds", "it prints"]],
    }


@pytest.mark.parametrize(
    ("of", "wanted"),
    [
        (waiting(timeout_ms=HOUR), Adjustment(timeout_ms=HOUR)),
        (agents(model="small"), Adjustment(model="small", profile="coder")),
        (agents(fresh_session=True), Adjustment(fresh_session=True)),
        (waiting(guidance=(told_before("use the index"),)), Adjustment(guidance=" use  the index ")),
        (waiting(), Adjustment(retry_delay_ms=0)),
        (agents(), Adjustment(keep_criteria=("1", "2", "3"))),
    ],
)
def test_the_same_again_is_no_change(of: Task, wanted: Adjustment) -> None:
    """Guidance is new when its advice differs."""
    assert diff(of, wanted) == {}


@pytest.mark.parametrize(
    ("now", "wanted", "fine"),
    [
        (HOUR, 15 * MINUTE, True),
        (HOUR, 15 * MINUTE - 1, False),
        (HOUR, 4 * HOUR, True),
        (HOUR, 4 * HOUR + 1, False),
        (2 * SECOND, SECOND, True),
        (2 * SECOND, SECOND - 1, False),
        (100, SECOND, True),
        (100, SECOND + 1, False),
        (None, DAY, True),
        (None, DAY + 1, False),
        (None, SECOND - 1, False),
    ],
)
def test_a_time_limit_stays_between_a_quarter_and_four_times(now: int | None, wanted: int, fine: bool) -> None:
    """At least a second; a day where there was none."""
    found = beyond(waiting(timeout_ms=now), Adjustment(timeout_ms=wanted), Means())

    assert (found == []) is fine


def test_a_retry_waits_a_day_at_most() -> None:
    """Longer is a pause."""
    assert beyond(waiting(), Adjustment(retry_delay_ms=DAY), Means()) == []
    assert "longer than 1d" in beyond(waiting(), Adjustment(retry_delay_ms=DAY + 1), Means())[0]


def test_models_and_agents_have_to_be_configured() -> None:
    """A verdict chooses among what a person set up."""
    assert beyond(agents(), Adjustment(model="large", profile="other", fresh_session=True), with_agents()) == []
    assert beyond(agents(model="own"), Adjustment(model="own"), Means()) == []
    assert beyond(agents(), Adjustment(model="huge", profile="evil"), with_agents()) == [
        'the model "huge" is not configured',
        'the agent "evil" is not configured',
    ]


def test_a_model_moves_one_class_up_or_down() -> None:
    """From the class of the task, else that of its role, else medium; a model that is named has no class."""
    for present, allowed in (("small", "medium"), ("medium", "large"), ("large", "medium"), ("", "small")):
        assert beyond(agents(model=present), Adjustment(model=allowed), Means()) == []
    assert beyond(agents(model="small"), Adjustment(model="large"), Means()) == [
        'the model "large" is more than one class away'
    ]
    assert beyond(agents(role="critical"), Adjustment(model="medium"), Means()) == []
    assert beyond(agents(model="own"), Adjustment(model="large"), Means()) != []


@pytest.mark.parametrize(
    "wanted", [Adjustment(model="large"), Adjustment(profile="other"), Adjustment(fresh_session=True)]
)
def test_a_command_has_neither_model_nor_session(wanted: Adjustment) -> None:
    """Only an agent has."""
    assert beyond(waiting(), wanted, with_agents()) == ["only an agent has a model, a profile or a session"]


@pytest.mark.parametrize(
    ("of", "keep", "why"),
    [
        (agents(spec="Just do it."), ("1",), "no acceptance criteria"),
        (agents(), ("it flies",), '"it flies" is no acceptance criterion'),
        (agents(), ("4",), '"4" is no acceptance criterion'),
        (agents(), ("0",), '"0" is no acceptance criterion'),
        (agents(), (), "would be left"),
        (agents(every_ms=HOUR), ("1",), "recurs"),
    ],
)
def test_a_scope_is_narrowed_to_criteria_that_are_there(of: Task, keep: tuple[str, ...], why: str) -> None:
    """Fewer, not others."""
    assert why in beyond(of, Adjustment(keep_criteria=keep), Means())[0]


def test_criteria_are_the_items_below_their_heading() -> None:
    """With what stands indented below them; what follows the next heading is none."""
    assert [each.text for each in criteria(SPEC)] == ["it adds", "it subtracts and says so", "it prints"]
    assert criteria("No list here.\n\n# Criteria\n\nnone") == ()


def test_without_a_heading_every_item_is_one() -> None:
    """A specification may be nothing but a list; text between them belongs to none."""
    found = criteria("# Goal\n* one\n\nwords\n  more words\n2) two")

    assert [each.text for each in found] == ["one", "two"]


def test_what_is_left_out_is_cut_from_the_specification() -> None:
    """By number or by words, in any case; everything else stays."""
    kept, left = parted(SPEC, ("IT  ADDS", "3"))

    assert [each.text for each in kept] == ["it adds", "it prints"]
    assert [each.text for each in left] == ["it subtracts and says so"]
    cut = without(SPEC, left)
    assert "subtracts" not in cut
    assert "says so" not in cut
    assert "- not a criterion" in cut
    assert [each.text for each in criteria(cut)] == ["it adds", "it prints"]


def test_another_agent_brings_its_own_account() -> None:
    """What the task needs beside it stays."""
    of = agents(resources=("provider:acme", "provider:database"))

    assert accounts(of, "other", with_agents()) == ("provider:database", "provider:beta")
    assert accounts(of, "unknown", with_agents()) == ("provider:database",)


def test_a_diff_is_told_in_words() -> None:
    """One for each thing."""
    told: dict[str, list[Any]] = {
        "timeout_ms": [None, HOUR],
        "retry_delay_ms": [None, MINUTE],
        "model": ["", "large"],
        "runner": ["agent:a", "agent:b"],
        "criteria": [["a", "b"], ["a"]],
        "fresh_session": [False, True],
        "guidance": ["", "x"],
    }

    assert list(shown(told)) == [
        "time limit none → 1h",
        "retry delay none → 1m",
        "model default → large",
        "runner agent:a → agent:b",
        "1 of 2 acceptance criteria",
        "fresh session",
        "new advice",
    ]
    assert list(shown({"timeout_ms": [MINUTE, HOUR]})) == ["time limit 1m → 1h"]


def test_the_limits_are_told_as_they_hold() -> None:
    """An agent's task has more of them."""
    assert set(limits(waiting(timeout_ms=HOUR), Means())) == {"guidance", "timeout_s", "retry_delay_s"}
    assert limits(waiting(timeout_ms=HOUR), Means())["timeout_s"] == [900, 14_400]
    told = limits(agents(), with_agents())
    assert (told["model"], told["profile"]) == (["small", "large"], ["coder", "other"])
    assert "1 to 3" in told["keep_criteria"]
    assert "keep_criteria" not in limits(agents(every_ms=HOUR), with_agents())
