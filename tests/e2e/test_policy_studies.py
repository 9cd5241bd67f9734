"""What the record is good for, through the installed command on both databases: learned delays."""

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
        here.environ["MEDBAY_STORE"] = server.url(request.getfixturevalue("database"))
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
        assert 0.25 <= retry["delay_s"] < 0.45  # the schedule waits at least that
        assert "ended well; the schedule says 500ms" in retry["learned"]
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

    told = "20 of 20 retries that waited about"
    assert told in terminal.show(task)["retries"][0]["learned"]
    assert f"learned: {told}" in terminal.must("explain", task)
    assert told in terminal.must("show", task)
