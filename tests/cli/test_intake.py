"""From a thought to a task through the command line: the flow, what hostile agents cannot do, tries and poison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Cli

THOUGHTS = ("login is flaky on Safari", "Safari login fails sometimes", "export the report as CSV")
ONE = {"title": "do it", "acceptance_criteria": ["done"]}


def captured(cli: Cli, *texts: str) -> list[str]:
    """The ids of new captures."""
    return [cli.good("capture", each).out.strip() for each in texts]


def configure(cli: Cli, answer: Any, **more: str) -> None:
    """An agent that answers with this, where `CAP` stands for the first capture it is shown."""
    said = answer if isinstance(answer, str) else json.dumps(answer)
    Path("said.txt").write_text(said, encoding="utf-8")
    script = 'sed "s/CAP/$(grep -o "cap-[a-z0-9]*" | head -1)/" said.txt'
    command = more.pop("command", json.dumps(["sh", "-c", script]))
    lines = [f"{name} = {value}" for name, value in more.items()]
    Path("medbay.toml").write_text("\n".join(["[intake]", 'agent = "command"', f"command = {command}", *lines, ""]))


def bundle(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A bundle about the first capture."""
    return {"title": "t", "metadata": {"capture_ids": ["CAP"]}, "content": list(content), **more}


def statuses(cli: Cli) -> list[tuple[str, int]]:
    """Of all captures: status and tries."""
    return [(each["status"], each["tries"]) for each in cli.good("captures", "--json").json]


def test_three_captures_become_two_candidates_and_a_task_that_runs(cli: Cli) -> None:
    """The whole flow, with every record it leaves; what was promoted and its captures name each other."""
    ids = captured(cli, *THOUGHTS)

    ran = cli.good("intake", "--once", "--json").json

    assert (ran["events_processed"], ran["reason"], ran["verdict"], ran["errors"]) == (1, "SCHEDULED", "PASS", [])
    assert (sorted(ran["captures"]), ran["snapshot"], ran["workorder"]) == (sorted(ids), "snap-1", "wo-1")
    one, two = cli.good("candidates", "--json").json
    assert (one["captures"], two["captures"]) == (sorted(ids[:2]), ids[2:])
    assert [each for each, _ in statuses(cli)] == ["PROCESSED"] * 3
    order = cli.good("workorders", "show", "wo-1", "--json").json
    assert (order["status"], order["budget_ms"], order["branch_name"]) == ("PASSED", 300_000, None)
    assert order["snapshot"]["objective_id"] == "intake" and THOUGHTS[0] in order["snapshot"]["full_prompt_text"]
    assert order["run_record"] == {"gate_result": "PASS", "gate_reason": "2 candidates from 3 captures"}
    assert order["pause_state"]["reason"] == "RUN_COMPLETE" and order["pause_state"]["actions"]

    again = cli.good("intake", "--once", "--json").json
    assert (again["reason"], again["workorder"]) == ("NO_PENDING_CAPTURES", None)
    assert len(cli.good("workorders", "--json").json) == 1

    cli.good("candidates", "edit", one["id"], "--title", "Fix the login", "--criterion", "it works")
    task = cli.good("promote", one["id"], "--run", "true").out.strip()
    assert cli("promote", two["id"], "--story", "--run", "true").code == 2
    assert cli("promote", one["id"]).code == 4
    mine = cli.good("promote", two["id"]).out.strip()
    assert cli.good("up", "--until-idle").code == 0

    shown = cli.good("show", task, "--json").json
    assert (shown["status"], shown["title"]) == ("completed", "Fix the login")
    assert shown["candidate"] == {"id": "wo-1-1", "workorder": "wo-1", "captures": sorted(ids[:2])}
    assert "it works" in shown["spec"]
    assert cli.good("captures", "show", ids[0], "--json").json["candidates"][0]["task"] == task
    assert cli.good("show", mine, "--json").json["runner"] == "person"
    assert [each["owner"]["kind"] for each in cli.good("inbox", "--json").json] == ["task"]
    assert "promoted from wo-1-1" in cli.screen("show", task).out


def test_a_daemon_does_intake_beside_its_work(cli: Cli) -> None:
    """What was captured before it starts is a candidate when it is idle."""
    captured(cli, *THOUGHTS)

    cli.good("up", "--until-idle")

    assert [each["status"] for each in cli.good("candidates", "--json").json] == ["PROPOSED", "PROPOSED"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("x" * 1_000_000, "longer than 256 KB"),
        ("I have cancelled task k7f2 for you", "not one JSON object"),
        (bundle(ONE, metadata={"capture_ids": ["cap-zzzz"]}), "cap-zzzz"),
        (bundle({**ONE, "acceptance_criteria": []}), "length >= 1"),
        (bundle({**ONE, "title": ""}), "schema"),
        (bundle(ONE, tasks=[{"id": "k7f2", "action": "cancel"}]), "unknown field `tasks`"),
    ],
)
def test_a_hostile_answer_fails_with_the_reason_and_touches_nothing(cli: Cli, answer: Any, why: str) -> None:
    """The captures stay pending and count the try; no candidate, no task, nothing else changes."""
    other = cli.add("other")
    captured(cli, "one")
    configure(cli, answer)

    ran = cli("intake", "--once", "--json")

    assert (ran.code, ran.json["verdict"], ran.json["candidates"]) == (1, "FAIL", [])
    assert why in ran.json["errors"][0]
    assert statuses(cli) == [("PENDING", 1)]
    assert cli.good("candidates", "--json").json == []
    assert {each["id"] for each in cli.good("list", "--json").json} == {other, ".intake-wo-1"}
    assert cli.good("show", other, "--json").json["status"] == "pending"


def test_after_three_tries_a_capture_is_poison_and_a_person_releases_it(cli: Cli) -> None:
    """Whatever the reason: a bad answer, a failing command, a budget that ran out."""
    captured(cli, "one")
    for command, why in (("true", "empty"), ("exit 3", "gave up"), ("sleep 60", "no end after 1s")):
        configure(cli, "", command=json.dumps(["sh", "-c", command]), budget='"1s"')
        assert why in cli("intake", "--once", "--json").json["errors"][0]
    assert statuses(cli) == [("POISON", 3)]
    assert cli.good("intake", "--once", "--json").json["events_processed"] == 0
    (asked,) = cli.good("inbox", "--json").json
    assert asked["why"].startswith("GATE_FAILED")
    assert [each["status"] for each in cli.good("list", "--json").json if each["status"] == "failed"] == []

    cli.good("answer", asked["owner"]["id"], "2")
    configure(cli, bundle(ONE))

    assert cli.good("intake", "--once", "--json").json["verdict"] == "PASS"
    assert cli.good("inbox", "--json").json[0]["why"].startswith("RUN_COMPLETE")
    assert cli.good("answer", "q-" + cli.good("workorders", "--json").json[-1]["id"] + "-1", "discard").code == 0
    assert cli.good("candidates", "--json").json[0]["status"] == "DISCARDED"


def test_a_confident_candidate_is_promoted_by_the_setting(cli: Cli) -> None:
    """At least as sure as it says; the others wait for a person."""
    captured(cli, "one")
    configure(cli, bundle({**ONE, "confidence": 0.9}, {**ONE, "confidence": 0.8}), promote_above="0.9")

    cli.good("intake", "--once")

    sure, unsure = cli.good("candidates", "--json").json
    assert (sure["status"], unsure["status"]) == ("PROMOTED", "PROPOSED")
    assert cli.good("show", sure["task"], "--json").json["runner"] == "person"


def test_captures_are_edited_discarded_and_refused(cli: Cli) -> None:
    """Clear errors, exit codes as everywhere."""
    one, two = captured(cli, "one", "two")
    Path("long.txt").write_text("x" * 20_001)

    assert cli("capture", " ").code == 2
    assert cli("capture").code == 2
    assert cli("capture", "--file", "long.txt").code == 2
    assert cli("capture", "-", stdin=b"\xff\xfe").code == 2
    assert cli.good("capture", "-", stdin="from a pipe").out.startswith("cap-")
    cli.good("captures", "edit", one, "another")
    cli.good("captures", "discard", two)
    assert cli("captures", "discard", two).code == 4
    assert cli("captures", "edit", two, "x").code == 4
    assert cli("captures", "show", "cap-none").code == 3
    assert cli("discard", "nothing").code == 3
    assert cli("promote", "nothing").code == 3
    assert cli("workorders", "show", "nothing").code == 3
    texts = {each["text"]: each["status"] for each in cli.good("captures", "--json").json}
    assert texts == {"another": "PENDING", "two": "DISCARDED", "from a pipe": "PENDING"}
    assert "another" in cli.screen("captures").out and "another" in cli.good("captures", "show", one).out


def test_decisions_about_candidates_are_a_persons(cli: Cli) -> None:
    """Inside an attempt they are refused; capturing is not."""
    inside = {"MEDBAY_ATTEMPT_KEY": "x"}

    for words in (("promote", "x"), ("discard", "x"), ("intake", "--once"), ("candidates", "promote", "x")):
        assert cli(*words, env=inside).code == 4
    assert cli("capture", "noticed while working", env=inside).code == 0


def test_what_people_read_names_everything(cli: Cli) -> None:
    """The lists and pages in words."""
    captured(cli, *THOUGHTS)

    said = cli.good("intake").out
    assert "wo-1  PASS" in said and "wo-1-2" in said
    assert "gate: PASS" in cli.good("workorders", "show", "wo-1").out
    assert "PASSED" in cli.screen("workorders").out and "PROPOSED" in cli.screen("candidates").out
    assert "captures: cap-" in cli.good("candidates", "show", "wo-1-1").out
    assert cli.good("intake", "--loop", "--max-cycles", "1").code == 0
    assert cli.good("intake", "--schema").json["$ref"]
    assert cli("intake", "--once", "--loop").code == 2


def test_an_agent_without_its_program_is_a_clear_mistake(cli: Cli) -> None:
    """Nothing is claimed before the settings are known to fit."""
    captured(cli, "one")
    Path("medbay.toml").write_text('[intake]\nagent = "command"\n')

    ran = cli("intake", "--once")

    assert ran.code == 2 and "no command" in ran.err
    assert statuses(cli) == [("PENDING", 0)]


def test_lists_are_read_in_pages_and_say_what_they_leave_out(cli: Cli) -> None:
    """On stderr, with the words to type for the next; a place that is none is refused."""
    captured(cli, "one", "two", "three")

    first = cli.good("captures", "--limit", "2", "--json")
    last = cli.good("captures", "list", "--after", first.json[-1]["id"], "--json")

    assert f"2 of 3 shown; --after {first.json[-1]['id']} shows the next" in first.err
    assert (len(first.json), len(last.json), last.err) == (2, 1, "")
    assert len({each["id"] for each in first.json + last.json}) == 3
    assert cli("captures", "--after", "cap-none").code == 2
    assert "no candidates" in cli.good("candidates", "--limit", "1").err
    assert cli.good("workorders", "--limit", "1", "--json").json == []


def test_a_candidate_becomes_a_story(cli: Cli) -> None:
    """With its title, criteria and captures; once, and the two name each other."""
    ids = captured(cli, THOUGHTS[2])
    cli.good("intake", "--once")
    (found,) = cli.good("candidates", "--json").json

    made = cli.good("promote", found["id"], "--story", "--json").json
    assert made == {"candidate": found["id"], "story": found["id"]}

    story = cli.good("story", "show", found["id"], "--json").json
    assert (story["title"], story["criteria"]) == (found["title"], found["acceptance_criteria"])
    assert story["status"] == "pending" and ids[0] in story["description"]
    assert (cli.folder / "stories" / "backlog" / found["id"] / "story.md").exists()
    assert cli.good("candidates", "show", found["id"], "--json").json["status"] == "PROMOTED"
    assert cli("promote", found["id"], "--story").code == 4
    assert len(cli.good("story", "list", "--json").json) == 1
