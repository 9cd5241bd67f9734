"""Budgets through the installed command: a triage over its limit, and a day that has nothing left."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.e2e.test_recurring import Up, until
from tests.e2e.test_the_path_of_a_task import Terminal

CONFIG = """
[triage]
agent = "command"
command = ["./agent.sh"]
timeout = "20s"
max_tokens = 100
[policy.ladder.unknown]
delays = ["10ms"]
"""
SAID = {"verdict": "NOOP", "why": "x", "root_cause": "x", "evidence": [], "confidence": 0.5, "usage": {"tokens": 700}}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def terminal(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A project with a greedy agent, on either database."""
    here = Terminal(tmp_path)
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").url(request.getfixturevalue("own_database"))
        here.environ["MEDBAY_STORE"] = url
        monkeypatch.setenv("MEDBAY_STORE", url)
    here.must("init")
    (tmp_path / "medbay.toml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "verdict").write_text(json.dumps(SAID), encoding="utf-8")
    agent = tmp_path / "agent.sh"
    agent.write_text("#!/bin/sh\ncat > /dev/null\ncat verdict\n", encoding="utf-8")
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    return here


def test_a_triage_over_its_limit_asks_a_person_and_the_day_holds_the_next_one(terminal: Terminal) -> None:
    """What it used is recorded and counted; what does not fit says until when it waits."""
    task = terminal.must("add", "import", "--run", "echo 'row 77 looks odd' >&2; exit 3").strip()
    with Up(terminal):
        until(terminal, task, lambda shown: shown["status"] == "blocked")
    exceeded = [event for event in terminal.events() if event["name"] == "budget:exceeded"]
    assert [event["data"]["why"] for event in exceeded] == ["used 700 tokens of 100"]
    triage = terminal.show(exceeded[0]["task"])
    assert (triage["attempts"][0]["outcome"], triage["attempts"][0]["tokens"]) == ("over_budget", 700)

    (terminal.home / "medbay.toml").write_text(CONFIG + "[budget]\ndaily_tokens = 750\n", encoding="utf-8")
    other = terminal.must("add", "export", "--run", "echo 'the moon looks odd' >&2; exit 3").strip()
    with Up(terminal):
        shown = until(terminal, other, lambda shown: bool(shown["triages"]))
        held = shown["triages"][0]["id"]
        until(terminal, held, lambda shown: bool(shown["held_by"]))
    assert terminal.show(held)["held_by"].startswith("budget:")
    assert terminal.show(held)["attempts"] == []
    assert "50 tokens of 750 tokens left today" in terminal.must("explain", held)
    assert "budget:" in terminal.must("breaker", "list")

    by_hand = json.loads(terminal.run("triage", other, "--json").stdout)  # says so at once, instead of waiting all day
    assert [each["action"] for each in by_hand["results"]] == ["cooldown_pending"]
    assert "held by budget:" in by_hand["results"][0]["detail"]


ROLES = """
[agents.mine]
command = ["./work.sh", "{prompt_file}"]
[budgets.worker]
max_tokens = 50
daily_tokens = 120
[budgets.reviewer]
daily_cost = 2.5
"""


def test_a_role_has_a_limit_of_its_own_and_stats_say_what_is_left_of_it(terminal: Terminal) -> None:
    """One attempt over the limit of its role is over budget, the next does not fit into the day of its role."""
    (terminal.home / "medbay.toml").write_text(ROLES, encoding="utf-8")
    work = terminal.home / "work.sh"
    used = '{"outcome": "failed", "summary": "no", "usage": {"tokens": 90, "cost": 0.25}}'
    work.write_text(f"#!/bin/sh\necho '{used}' > $MEDBAY_RESULT\nexit 1\n", encoding="utf-8")
    work.chmod(work.stat().st_mode | stat.S_IXUSR)
    first = terminal.must("add", "one", "--agent", "mine").strip()
    terminal.run("up", "--until-idle")
    second = terminal.must("add", "two", "--agent", "mine").strip()
    free = terminal.must("add", "three", "--run", "true").strip()
    with Up(terminal):
        until(terminal, second, lambda shown: bool(shown["held_by"]))
        until(terminal, free, lambda shown: shown["status"] == "completed")

    assert terminal.show(first)["attempts"][0]["outcome"] == "over_budget"
    assert terminal.show(second)["held_by"].endswith(":worker")
    assert "30 tokens of 120 tokens left today for the role worker" in terminal.must("explain", second)
    figures = json.loads(terminal.must("stats", "--cost", "--json"))
    assert [(each["role"], each["used_tokens"], each["daily_tokens"]) for each in figures["budgets"]] == [
        ("reviewer", 0, None),
        ("worker", 90, 120),
    ]
    assert [(each["name"], each["tokens_in"], each["cost"]) for each in figures["by_role"]] == [("worker", 90, 0.25)]
    assert "budget\tworker\t90\t120\t0.2500\t\n" in terminal.must("stats", "--cost")

    (terminal.home / "medbay.toml").write_text("[budgets.worker]\nmax_tokens = 0\ndayly_cost = 1\n", encoding="utf-8")
    said = terminal.run("stats", "--cost")
    assert said.returncode == 2 and "budgets.worker.max_tokens must be" in said.stderr
