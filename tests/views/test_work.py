"""What an attempt does, from records alone."""

from __future__ import annotations

from msgspec.structs import replace

from medbay.core.agent import Profile
from medbay.core.model import PERSON, Task
from medbay.core.policy.presets import Recurring
from medbay.core.snapshot import TaskDetail
from medbay.views import work as view
from tests.views.records import MINUTE, NOW, TASK, question

AGENTS = {"helper": Profile(name="helper", command=("my-agent", "{prompt_file}"))}


def detail(task: Task) -> TaskDetail:
    """The record of a task."""
    return TaskDetail(now=NOW, task=task, rules=Recurring())


def test_each_kind_of_work_is_named() -> None:
    """A command, an agent, a person, a triage."""
    agent = replace(TASK, runner="agent:helper", command=())

    assert view.runs(detail(TASK), AGENTS, "rules") == "runs make docs"
    assert view.runs(detail(agent), AGENTS, "rules") == "runs agent helper: my-agent {prompt_file}"
    assert view.runs(detail(agent), {}, "rules") == "runs agent helper, which is not configured here"
    assert view.runs(detail(replace(TASK, runner=PERSON)), AGENTS, "rules") == "done by a person"
    triage = replace(detail(replace(TASK, runner="triage")), subject="m2xa")
    assert view.work(triage, AGENTS, "rules") == "the triage agent rules on m2xa"


def test_the_json_names_one_kind_of_work_only() -> None:
    """The others are null."""
    call = replace(TASK, runner="python", command=("jobs:pull", "[1]", "isolated"))

    assert view.call_as_json(call) == {"python": "jobs:pull", "args": [1], "isolated": True}
    assert view.run_as_json(call) is None
    assert view.call_as_json(TASK)["python"] is None
    assert view.run_as_json(replace(TASK, command=("a", "b"))) == ["a", "b"]


def test_the_last_answer_is_said_once_nothing_is_asked_any_more() -> None:
    """With who gave it, and when."""
    answered = question(status="answered", answer="retry", answered_by="person:ada", answered_at=NOW - MINUTE)
    found = TaskDetail(now=NOW, task=TASK, rules=Recurring(), questions=(answered,), result={"rows": 3})

    assert view.came_to(found) == [("result", '{"rows": 3}'), ("answered", "retry, by person:ada 1m ago")]
    assert view.came_to(replace(found, question=question(), result=None)) == []
