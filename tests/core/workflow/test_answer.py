"""What a role answers: read strictly, or by the exit status of a reviewer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from medbay.core.model import Task
from medbay.core.outcome import Cancelled, Failed, Outcome, Output, Succeeded
from medbay.core.workflow import answer
from medbay.core.workflow.answer import MalformedAnswer


def task(role: str = "dev", runner: str = "shell") -> Task:
    """The task of a role."""
    env = ((answer.VERDICTS, "PASS,FAIL,SPLIT,ERROR"),)
    return Task(id="t", title="t", owner_kind="story", owner_id="S", role=role, runner=runner, env=env)


def ended(said: object = None, *, kind: type[Any] = Succeeded, **fields: Any) -> Outcome:
    """An attempt that ended with an answer."""
    text = said if isinstance(said, str) or said is None else json.dumps(said)
    result = {} if text is None else {"answer": text}
    made: Outcome = kind(output=Output(result={**result, **fields.pop("result", {})}, tail="last words"), **fields)
    return made


def told(outcome: Outcome) -> dict[str, Any]:
    """The answer that is handed on."""
    assert isinstance(outcome, Succeeded)
    found: dict[str, Any] = json.loads((outcome.output.result or {})["answer"])
    return found


def test_an_answer_is_read_whatever_the_spelling_of_its_verdict() -> None:
    """Small letters, dashes and the name of the status are all the same."""
    for said in ("split", "needs-split", "NEEDS SPLIT", "SPLIT"):
        assert answer.read(json.dumps({"verdict": said}), ["PASS", "SPLIT"]).verdict == "SPLIT"


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        ({"verdict": "MAYBE"}, "$.verdict"),
        ({"verdict": 3}, "$.verdict"),
        ({"summary": "x"}, "verdict"),
        ({"verdict": "PASS", "evidence": [{"criterion": "one", "shows": "x"}]}, "$.evidence[0].criterion"),
        ({"verdict": "PASS", "evidence": [{"criterion": 0, "shows": "x"}]}, "$.evidence[0].criterion"),
        ({"verdict": "PASS", "artifacts": "PROOF.md"}, "$.artifacts"),
        ("[1]", "object"),
        ("{", "JSON"),
    ],
)
def test_a_wrong_shape_is_said_with_its_place(said: object, quoted: str) -> None:
    """Nothing is dropped without a word."""
    text = said if isinstance(said, str) else json.dumps(said)

    with pytest.raises(MalformedAnswer) as caught:
        answer.read(text, ["PASS"])
    found = answer.delivered(task(), ended(text))

    assert quoted in str(caught.value)
    assert isinstance(found, Failed)
    assert (found.output.result or {})["category"] == "MALFORMED_OUTPUT"


def test_a_role_that_answers_has_succeeded_whatever_the_verdict() -> None:
    """Also where its exit status says it failed, as long as both say the same."""
    assert told(answer.delivered(task(), ended({"verdict": "FAIL"})))["verdict"] == "FAIL"
    assert told(answer.delivered(task(), ended({"verdict": "FAIL"}, kind=Failed, exit_code=1)))["verdict"] == "FAIL"
    assert isinstance(answer.delivered(task(), ended({"verdict": "PASS"}, kind=Failed, exit_code=1)), Failed)
    assert isinstance(answer.delivered(task(), ended({"verdict": 1}, kind=Failed, exit_code=1)), Failed)


def test_a_role_without_an_answer_has_failed() -> None:
    """Exit status 0 alone says nothing."""
    found = answer.delivered(task(), ended())

    assert isinstance(found, Failed)
    assert "verdict" in (found.output.result or {})["summary"]
    assert isinstance(answer.delivered(task(), ended(kind=Failed, exit_code=1)), Failed)
    assert isinstance(answer.delivered(task("review-lint", "agent:x"), ended()), Failed)


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"exit_code": 1}, "FAIL"),
        ({"exit_code": 127}, "ERROR"),
        ({"exit_code": 126}, "ERROR"),
        ({"signal": 9}, "ERROR"),
        ({"exit_code": 1, "memory_limit_hit": True}, "ERROR"),
    ],
)
def test_a_reviewer_that_is_a_command_may_say_it_by_its_exit_status(fields: dict[str, Any], verdict: str) -> None:
    """0 passes, what could not be run is an error, anything else fails with its last words."""
    found = told(answer.delivered(task("review-lint"), ended(kind=Failed, **fields)))

    assert (found["verdict"], found["summary"]) == (verdict, "last words")
    assert told(answer.delivered(task("review-lint"), ended()))["verdict"] == "PASS"


def test_what_could_not_be_started_is_tried_again_by_the_table() -> None:
    """It stays a failure."""
    failed = ended(kind=Failed, spawn_error="no such file")

    assert answer.delivered(task("review-lint"), failed) is failed


def test_what_an_agent_cost_stands_over_its_own_words() -> None:
    """Its record is read by its runner."""
    record = {"agent": {"session": "s", "model": "m", "tokens_in": 7, "tokens_out": 2, "calls": 3}}

    found = told(answer.delivered(task(), ended({"verdict": "PASS", "usage": {"tokens": 1}}, result=record)))

    assert (found["usage"], found["calls"], found["model"]) == ({"tokens_in": 7, "tokens_out": 2}, 3, "m")


def test_usage_may_be_one_number() -> None:
    """Where in and out are not told apart."""
    assert answer.read('{"verdict": "PASS", "usage": {"tokens": 9}}', ["PASS"]).spent == (9, 0)
    assert answer.read('{"verdict": "PASS", "usage": {"tokens_in": 4, "tokens_out": 5}}', ["PASS"]).spent == (4, 5)


def test_other_tasks_and_other_ends_are_left_alone() -> None:
    """Only the parts of a phase answer."""
    plain, stopped = ended({"verdict": "PASS"}), Cancelled()

    assert answer.delivered(Task(id="t", title="t"), plain) is plain
    assert answer.delivered(task(), stopped) is stopped


def test_a_file_of_a_wrong_shape_makes_an_answer_malformed() -> None:
    """Whatever its verdict and its exit status; a reviewer that only has an exit status wrote none."""
    why = {"malformed": "ELAB.yaml: Expected `str`, got `int` - at `$.verdict`"}

    for verdict, kind in (("PASS", Succeeded), ("FAIL", Succeeded), ("FAIL", Failed)):
        made = answer.delivered(task(), ended({"verdict": verdict}, kind=kind, result=why))
        assert isinstance(made, Failed)
        assert (made.output.result or {})["category"] == "MALFORMED_OUTPUT"
        assert (made.output.result or {})["summary"] == why["malformed"]
    assert told(answer.delivered(task("review-lint"), ended(result=why)))["verdict"] == "PASS"


def test_evidence_that_was_left_as_a_file_is_part_of_the_answer() -> None:
    """Once: what the answer says itself stands."""
    said = {"verdict": "PASS", "evidence": [{"criterion": 1, "shows": "mine", "path": "a"}]}
    files = {"shown": [{"criterion": 1, "shows": "x", "path": "a"}, {"criterion": 2, "shows": "y", "path": "b"}]}

    found = told(answer.delivered(task(), ended(said, result=files)))["evidence"]

    assert [(each["criterion"], each["shows"]) for each in found] == [(1, "mine"), (2, "y")]
