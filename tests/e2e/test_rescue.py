"""Rescue through the installed command: a failed attempt whose work is good enough counts as a success."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_checks import add, daemon, processes
from tests.e2e.test_the_path_of_a_task import QUICK, Terminal
from tests.waiting import wait_for

# Remembers that it was asked, and what it was shown; says what the next line of `scores` says.
EVALUATOR = """#!/bin/sh
echo "looking at attempt $MEDBAY_ATTEMPT" >&2
cat > "shown.$MEDBAY_ATTEMPT"
echo "$MEDBAY_ATTEMPT" >> evaluated
sed -n "$(wc -l < evaluated)p" scores
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A fresh project with quick delays and an evaluator; nothing may be left running at its end."""
    here = Terminal(tmp_path)
    here.must("init")
    evaluator = tmp_path / "evaluate.sh"
    evaluator.write_text(EVALUATOR, encoding="utf-8")
    evaluator.chmod(0o755)
    config = '[engine]\ngrace = "500ms"\n[triage]\nevaluate = "./evaluate.sh"\ntimeout = "5s"\n'
    (tmp_path / "medbay.toml").write_text(config + QUICK, encoding="utf-8")
    yield here
    assert processes(here) == {}


def scores(terminal: Terminal, *lines: str) -> None:
    """What the evaluator will print, time after time."""
    (terminal.home / "scores").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def evaluated(terminal: Terminal) -> list[str]:
    """The attempts that were evaluated."""
    return (terminal.home / "evaluated").read_text(encoding="utf-8").split()


def outcomes(shown: Any) -> list[str]:
    """How the attempts of a task ended."""
    return [each["outcome"] for each in shown["attempts"]]


def test_good_work_that_failed_is_rescued(terminal: Terminal) -> None:
    """Completed, what comes after it goes on, and the evaluator saw what there is to know."""
    scores(terminal, json.dumps({"score": 0.9, "why": "all of it is there"}))
    task = add(terminal, "work", "--run", "echo done; echo token=ghp_0123456789012345678901234567 >&2; exit 3")
    after = add(terminal, "after", "--after", task, "--run", "true")

    terminal.must("up", "--until-idle")

    done = terminal.show(task)
    assert (done["status"], outcomes(done), done["consecutive_failures"]) == ("completed", ["rescued"], 0)
    assert done["attempts"][0]["exit_code"] == 3
    assert [row["to"] for row in done["history"]] == ["in_progress", "pending_verification", "completed"]
    assert terminal.show(after)["status"] == "completed"
    rescued = next(each for each in terminal.events() if each["name"] == "task:rescued")
    assert rescued["data"] == {"score": 0.9, "why": "all of it is there", "outcome": "failed"}
    shown = json.loads((terminal.home / "shown.1").read_text(encoding="utf-8"))
    assert (shown["task"]["id"], shown["attempt"]["exit_code"], shown["attempt"]["outcome"]) == (task, 3, "failed")
    assert "done" in shown["attempt"]["tail"] and "ghp_" not in json.dumps(shown)
    assert "task:failed" not in [each["name"] for each in terminal.events()]


def test_what_is_not_good_enough_counts_as_the_failure_it_was(terminal: Terminal) -> None:
    """A low score, rubbish, no answer at all: diagnosed as ever; a time limit that struck stays one."""
    scores(terminal, '{"score": 0.79, "why": "half of it"}', "rubbish", '{"score": 7}')
    task = add(
        terminal,
        "work",
        *(
            "--takes-advice",
            "--timeout",
            "1s",
            "--run",
            "test $MEDBAY_ATTEMPT = 3 && sleep 60; echo 'ImportError: no x'; exit 1",
        ),
    )

    terminal.must("up", "--until-idle", code=75)

    left = terminal.show(task)
    assert outcomes(left)[:3] == ["failed", "failed", "timed_out"]
    assert {each["diagnosis"]["category"] for each in left["attempts"][:2]} == {"code_error"}
    assert left["attempts"][2]["diagnosis"]["category"] == "timeout"
    failed = [each for each in terminal.events() if each["name"] == "triage:failed"]
    assert [each["attempt"] for each in failed][:2] == [2, 3]
    assert all(each["data"]["role"] == "evaluation" for each in failed)
    assert "exit" not in failed[0]["data"]["why"] and "rubbish" in failed[0]["data"]["why"]


def test_an_evaluator_that_hangs_or_breaks_rescues_nothing(terminal: Terminal) -> None:
    """One warning each, and the failure counts."""
    config = (terminal.home / "medbay.toml").read_text(encoding="utf-8")
    for evaluator, said in (("sleep 60", "did not answer in time"), ("exit 4", "ended with exit 4")):
        text = config.replace("./evaluate.sh", evaluator).replace('timeout = "5s"', 'timeout = "1s"')
        (terminal.home / "medbay.toml").write_text(text, encoding="utf-8")
        task = add(terminal, "work", "--run", "echo 'permission denied (publickey)'; exit 1")

        done = terminal.run("up", "--until-idle")

        assert outcomes(terminal.show(task)) == ["failed"]
        assert f"is not rescued: the evaluator {said}" in done.stderr
        assert [each["data"]["why"] for each in terminal.events() if each["name"] == "triage:failed"][-1].endswith(said)


def test_one_rescued_and_three_failed_iterations_are_a_streak_of_three(terminal: Terminal) -> None:
    """Scenario 14: a rescue is a success and resets the streak; each of the four was evaluated."""
    bad = '{"score": 0.1, "why": "nothing is there"}'
    scores(terminal, '{"score": 1, "why": "good"}', bad, bad, bad)
    run = "test $MEDBAY_ATTEMPT -ge 5 && sleep 60; echo 'assertion failed'; exit 1"
    task = add(terminal, "again", "--every", "50ms", "--tag", "no-recurring-triage", "--run", run)
    up = daemon(terminal)
    try:
        wait_for(lambda: terminal.show(task)["attempts_total"] == 5)

        shown = terminal.show(task)
        assert outcomes(shown)[:4] == ["rescued", "failed", "failed", "failed"]
        assert (shown["consecutive_failures"], evaluated(terminal)) == (3, ["1", "2", "3", "4"])
        assert shown["iterations_done"] == 1
        terminal.must("cancel", task)
        wait_for(lambda: terminal.show(task)["status"] == "cancelled")
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(timeout=30)


def test_the_failure_survives_an_engine_that_dies_while_it_is_looked_at(terminal: Terminal) -> None:
    """The evaluation alone is repeated, by the next engine."""
    evaluator = "echo x >> begun; test $(wc -l < begun) -ge 2 || sleep 60; cat > /dev/null; echo '{\"score\": 0.9}'"
    config = (terminal.home / "medbay.toml").read_text(encoding="utf-8").replace('"5s"', '"60s"')
    config = config.replace('"./evaluate.sh"', json.dumps(evaluator))
    (terminal.home / "medbay.toml").write_text(config, encoding="utf-8")
    task = add(terminal, "work", "--run", "echo ran >> ran; exit 9")
    up = daemon(terminal)
    wait_for(lambda: (terminal.home / "begun").exists())
    up.kill()
    up.wait(timeout=30)

    terminal.must("up", "--until-idle")

    done = terminal.show(task)
    assert (done["status"], outcomes(done), done["attempts"][0]["exit_code"]) == ("completed", ["rescued"], 9)
    assert (terminal.home / "ran").read_text(encoding="utf-8") == "ran\n"
    assert (terminal.home / "begun").read_text(encoding="utf-8") == "x\nx\n"
