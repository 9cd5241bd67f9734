"""What the record is good for, through the installed command on both databases: learned delays, another policy."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.e2e.test_recurring import Up
from tests.e2e.test_the_path_of_a_task import Terminal
from tests.postgres_server import Server

REFUSED = "connect ECONNREFUSED 127.0.0.1:5432"
FLAKY = f"test $MEDBAY_ATTEMPT -gt 1 || {{ echo '{REFUSED}'; exit 1; }}"
NO_INCIDENTS = "[incidents]\ntasks = 1000\n"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Terminal:
    """A fresh project on each kind of database."""
    here = Terminal(tmp_path)
    here.must("init")
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        here.environ["MEDBAY_STORE"] = server.url(request.getfixturevalue("own_database"))
    return here


def configure(terminal: Terminal, delay: str, extra: str = "") -> None:
    """One delay for everything transient."""
    text = f'{extra}\n[policy.ladder.transient]\ndelays = ["{delay}"]\n{NO_INCIDENTS}'
    (terminal.home / "medbay.toml").write_text(text, encoding="utf-8")


def heal_many(terminal: Terminal, count: int) -> None:
    """So many tasks that are refused once and then succeed."""
    lines = [json.dumps({"title": f"call {n}", "run": FLAKY}) for n in range(count)]
    terminal.must("add", "--file", "-", stdin="\n".join(lines))
    terminal.must("up", "--until-idle")


def test_delays_are_learned_shown_and_used_once_switched_on(terminal: Terminal) -> None:
    """25 retries that waited about 0.3s ended well: twice as long is not needed."""
    configure(terminal, "300ms")
    heal_many(terminal, 25)
    configure(terminal, "500ms")
    (found,) = json.loads(terminal.must("policy", "learn", "--json"))["classes"]
    assert (found["class"], found["retries"], found["ended_well"]) == ("transient/network", 25, 25)
    (choice,) = found["delays"]
    assert choice["scheduled_s"] == 0.5
    configure(terminal, "500ms", "[policy]\nadaptive = true")
    assert "adaptive delays are on" in terminal.run("policy", "learn").stderr

    task = terminal.must("add", "now", "--run", FLAKY).strip()
    terminal.must("up", "--until-idle")

    (retry,) = terminal.show(task)["retries"]
    if choice["differs"]:
        assert abs(retry["delay_s"] - choice["chosen_s"]) <= 0.1 * choice["chosen_s"] + 0.002
        assert "succeeded; the schedule says 500ms" in retry["learned"]
    else:  # the machine was so busy that every retry came late
        assert retry["learned"] is None


def test_a_learned_delay_is_told_while_it_is_waited_for(terminal: Terminal) -> None:
    """`show` and `explain` say where the time of the next attempt comes from."""
    configure(terminal, "2s")
    heal_many(terminal, 20)
    configure(terminal, "3s", "[policy]\nadaptive = true")
    task = terminal.must("add", "never", "--run", f"echo '{REFUSED}'; exit 1").strip()
    with Up(terminal):
        give_up = time.monotonic() + 60
        while terminal.show(task)["status"] != "failed":
            assert time.monotonic() < give_up

    told = "retries that waited about"
    assert told in terminal.show(task)["retries"][0]["learned"]
    assert "learned: " in terminal.must("explain", task)
    assert told in terminal.must("show", task)


def test_the_recorded_failures_under_another_policy(terminal: Terminal) -> None:
    """Three that healed, one that asks a person: an impatient policy asks at once, a patient one heals later."""
    configure(terminal, "300ms")
    heal_many(terminal, 3)
    terminal.must("add", "poison", "--run", "echo 'HTTP 401 Unauthorized'; exit 1")
    terminal.must("up", "--until-idle", code=75)
    (terminal.home / "patient.toml").write_text('[policy.ladder.transient]\ndelays = ["1h"]\n', encoding="utf-8")

    found = json.loads(terminal.must("policy", "replay", "--policy", "patient.toml", "--since", "7d", "--json"))

    was, in_force, patient = found["policies"]
    assert [each["policy"] for each in found["policies"]] == ["as it was", "in force", "patient.toml"]
    for each in found["policies"]:
        assert (each["tasks"], each["healed"], each["blocked"], each["people_called"]) == (4, 3, 1, 1)
        assert each["attempts_wasted"] >= 4 and each["tokens_wasted"] == 0
    assert was["attempts_wasted"] == patient["attempts_wasted"] == 4
    assert was["median_heal_s"] < 60 and 3200 < patient["median_heal_s"] < 4000
    assert was["median_heal_s"] <= in_force["median_heal_s"] + 0.2 < 60
    assert "fail until the moment one succeeded" in found["assumed"][0]
    told = terminal.run("policy", "replay", "--policy", "patient.toml")
    assert [line.split("\t")[0] for line in told.stdout.splitlines()] == ["as it was", "in force", "patient.toml"]
    assert "are left out" in told.stderr
    assert terminal.must("policy", "replay").count("\n") == 2


def test_a_replay_refuses_what_it_cannot_use(terminal: Terminal) -> None:
    """A file that is not there, mistakes with their line, a time that is none, and an empty record."""
    (terminal.home / "bad.toml").write_text('[policy]\n\n[policy.ladder.transient]\ndelay = ["1h"]\n', encoding="utf-8")

    missing = terminal.run("policy", "replay", "--policy", "nowhere.toml")
    assert missing.returncode == 3 and "there is no file nowhere.toml" in missing.stderr
    bad = terminal.run("policy", "replay", "--policy", "bad.toml")
    assert bad.returncode == 2 and 'bad.toml:4: unknown key "delay"' in bad.stderr
    for since in ("yesterday", "-3d", "0s"):
        assert terminal.run("policy", "replay", "--since", since).returncode == 2
    empty = terminal.run("policy", "replay")
    assert empty.returncode == 3 and "nothing to replay" in empty.stderr
