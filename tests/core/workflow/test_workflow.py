"""Workflows as data: the shipped ones, and every mistake that a file may have."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

import pytest

from medbay.core.workflow import drawing, workflow
from medbay.core.workflow.workflow import WorkflowRefused
from tests.core.workflow.cases import FOLDER, shipped

OWN = """
name = "docs"
about = "a page from draft to print"
elaborated = "written"

[lifecycle]
initial = "idea"
terminal = ["printed"]
statuses = { idea = "desk", written = "desk", printed = "shelf" }
moves = [
    { from = "idea", to = "written", when = "the writer is done" },
    { from = "written", to = "printed" },
    { from = "written", to = "idea", guard = "past_elaboration" },
]

[phases.write]
from = ["idea"]
role = "writer"
verdicts = { PASS = "written" }
budget = { warning = 10, limit = 20 }

[phases.print]
from = ["written"]
workers = ["printer", "binder"]
required = ["binder"]
verdicts = { PASS = "printed", FAIL = "idea" }
budget_of = "write"
"""


def own() -> dict[str, Any]:
    """A workflow of a user's own."""
    return copy.deepcopy(tomllib.loads(OWN))


def refused(data: dict[str, Any]) -> list[tuple[tuple[str, ...], str]]:
    """Where the mistakes are, and what they say."""
    with pytest.raises(WorkflowRefused) as caught:
        workflow.read(data)
    assert all(each.hint for each in caught.value.mistakes)
    assert str(caught.value)
    return [(each.path, each.message) for each in caught.value.mistakes]


@pytest.mark.parametrize("name", ["story", "hotfix", "task"])
def test_the_shipped_workflows_are_read_by_the_same_reader(name: str) -> None:
    """Each over the lifecycle of its name."""
    found = shipped(name)

    assert found.name == found.machine.name == name
    assert {each.stem for each in FOLDER.glob("*.toml")} == {"story", "hotfix", "task"}


def test_a_story_has_a_phase_for_every_status_that_goes_on() -> None:
    """From each status that is not an end one phase goes on; those that are at work resume."""
    found = shipped("story")

    going = {status: found.next_phase(status) for status in found.statuses}
    names = {status: each.name for status, each in going.items() if each is not None}

    assert names == {
        "pending": "generate",
        "generated": "elaborate",
        "in-elaboration": "elaborate",
        "needs-refinement": "refine",
        "needs-split": "split",
        "ready-to-work": "implement",
        "in-progress": "implement",
        "ready-for-code-review": "review",
        "code-review-failed": "fix",
        "ready-for-qa": "verify",
        "in-qa": "verify",
        "needs-work": "fix",
        "uat": "gate",
    }
    fix = found.next_phase("in-progress", "fix")
    assert fix is not None and fix.name == "fix"
    assert found.has_review
    assert found.phase("nothing") is None


def test_a_phase_may_use_the_budget_of_another() -> None:
    """Fix uses that of implement, the gate that of the review."""
    found = shipped("story")

    groups = {each.name: found.budget_of(each)[0] for each in found.phases}

    assert (groups["fix"], groups["gate"], groups["refine"], groups["verify"]) == (
        "implement",
        "review",
        "generate",
        "verify",
    )


def test_a_workflow_of_ones_own_brings_its_lifecycle() -> None:
    """With the moves of a block and a cancel, and its directories."""
    found = workflow.read(own())

    assert found.machine.allowed("idea") == ("written", "cancelled", "blocked")
    assert found.machine.places["printed"] == "shelf"
    assert found.machine.places["blocked"] == "blocked"
    assert not found.has_review


@pytest.mark.parametrize(
    ("path", "value", "where", "says"),
    [
        (("phases",), 3, ("phases",), "Expected `object`"),
        (("nonsense",), 1, ("nonsense",), "not known"),
        (("lifecycle",), "nothing", ("lifecycle",), "there is no lifecycle"),
        (("name",), "story", ("name",), "exists"),
        (("lifecycle", "initial"), 3, ("lifecycle", "initial"), "Expected `str`"),
        (("lifecycle", "initial"), "dream", ("lifecycle", "initial"), "no status"),
        (("lifecycle", "terminal"), ["dream"], ("lifecycle", "terminal"), "no status"),
        (("lifecycle", "statuses", "a b"), "desk", ("lifecycle", "statuses", "a b"), "no status with its directory"),
        (("lifecycle", "statuses", "lost"), "desk", ("lifecycle", "statuses", "lost"), "cannot be reached"),
        (("elaborated",), "dream", ("elaborated",), "no status"),
        (("phases", "Bad Name"), {"from": ["idea"]}, ("phases", "Bad Name"), "no name of a phase"),
        (("phases", "write", "rol"), "x", ("phases", "write", "rol"), "not known"),
        (("phases", "write", "from"), ["dream"], ("phases", "write", "from"), "no status"),
        (("phases", "write", "from"), ["written"], ("phases", "print", "from"), "already"),
        (("phases", "write", "running"), "dream", ("phases", "write", "running"), "no status"),
        (("phases", "write", "running"), "printed", ("phases", "write", "running"), "has no move idea -> printed"),
        (("phases", "write", "verdicts", "PASS"), "dream", ("phases", "write", "verdicts", "PASS"), "no status"),
        (("phases", "write", "verdicts", "PASS"), "printed", ("phases", "write", "verdicts", "PASS"), "has no move"),
        (("phases", "write", "verdicts", "pass"), "written", ("phases", "write", "verdicts", "pass"), "no verdict"),
        (("phases", "write", "workers"), ["b"], ("phases", "write", "workers"), "exclude"),
        (("phases", "write", "beside"), "dream", ("phases", "write", "beside"), "no phase"),
        (("phases", "print", "required"), ["c"], ("phases", "print", "required"), "none of its workers"),
        (("phases", "write", "budget", "limit"), 5, ("phases", "write", "budget"), "before the limit"),
    ],
)
def test_a_mistake_is_named_with_its_place(
    path: tuple[str, ...], value: object, where: tuple[str, ...], says: str
) -> None:
    """What is wrong, where, and what would be right."""
    data = own()
    at: Any = data
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value

    found = refused(data)

    assert any(each[0] == where and says in each[1] for each in found), found


@pytest.mark.parametrize(
    ("move", "says"),
    [
        ({"from": "idea", "to": "dream"}, "no status"),
        ({"from": "printed", "to": "idea"}, "terminal"),
        ({"from": "idea", "to": "written"}, "twice"),
        ({"from": "idea", "to": "cancelled"}, "twice"),
        ({"from": "idea", "to": "printed", "guard": "luck"}, "no guard"),
    ],
)
def test_a_move_that_cannot_be_is_refused(move: dict[str, str], says: str) -> None:
    """Named by its place in the list."""
    data = own()
    data["lifecycle"]["statuses"]["cancelled"] = "bin"
    data["lifecycle"]["moves"].append(move)

    assert any(each[0] == ("lifecycle", "moves", "3") and says in each[1] for each in refused(data))


def test_a_status_without_a_way_out_is_refused() -> None:
    """It is neither terminal nor has it a move."""
    data = own()
    data["lifecycle"]["terminal"] = []

    assert any("no way out" in said for _, said in refused(data))


def test_a_verdict_that_leads_where_nothing_goes_on_is_refused() -> None:
    """A story would stay there for ever."""
    data = own()
    del data["phases"]["print"]

    assert any("no phase goes on" in said for _, said in refused(data))


def test_a_workflow_is_drawn() -> None:
    """As text, as a diagram, as data."""
    found = shipped("story")

    assert "implement  from ready-to-work (in-progress)  by dev" in drawing.text(found)
    assert "if complete: RESUME" in drawing.text(found)
    assert "ready_to_work --> in_progress: implement" in drawing.mermaid(found)
    assert "uat --> completed: gate PASS" in drawing.mermaid(found)
    assert "completed --> [*]" in drawing.mermaid(found)
    assert drawing.as_data(found)["phases"][0]["from"] == ("pending",)
    assert drawing.text(shipped("task"))
