"""`medbay triage` beside and after other engines: what it takes over, how it is stopped, what it says of what waits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_recurring import until
from tests.e2e.test_the_path_of_a_task import MEDBAY, Terminal
from tests.e2e.test_triage import asked, one_off, terminal

__all__ = ["terminal"]

HANGS = "#!/bin/sh\ncat > /dev/null\necho x >> asked\necho $$ > agent.pid\nexec sleep 600\n"
WAITS = '#!/bin/sh\ncat > /dev/null\necho x >> asked\necho \'{"verdict": "NOOP", "why": "wait"}\'\n'


def agent(terminal: Terminal, script: str) -> None:
    """What the agent does from now on."""
    (terminal.home / "agent.sh").write_text(script, encoding="utf-8")


def begin(terminal: Terminal, *args: str) -> subprocess.Popen[str]:
    """A command that goes on."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [MEDBAY, *args], cwd=terminal.home, env=terminal.environ, stdout=pipe, stderr=pipe, text=True
    )


def looked_at_by_what_hangs(terminal: Terminal, *args: str) -> tuple[str, subprocess.Popen[str]]:
    """A task whose triage goes on and on, and the command that runs it."""
    agent(terminal, HANGS)
    config = (terminal.home / "medbay.toml").read_text(encoding="utf-8").replace('"20s"', '"10m"')
    (terminal.home / "medbay.toml").write_text(f'[engine]\ngrace = "1s"\n{config}', encoding="utf-8")
    if args[0] != "up":
        terminal.must("breaker", "open", "agency")
    task = one_off(terminal)
    if args[0] != "up":
        assert terminal.run("up", "--until-idle").returncode == 75
        terminal.must("breaker", "close", "agency")
    running = begin(terminal, *args)
    until(terminal, task, lambda shown: asked(terminal) > 0)
    return task, running


def is_gone(pid_file: Path) -> bool:
    """Whether the process that wrote its number there is no more; what was killed may need a moment to leave."""
    until_s = time.monotonic() + 10.0
    while time.monotonic() < until_s:
        try:
            os.kill(int(pid_file.read_text(encoding="utf-8")), 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    ("how", "args"), [(signal.SIGINT, ("triage", "--once")), (signal.SIGTERM, ("triage", "--loop", "--every", "10m"))]
)
def test_a_signal_hands_the_triage_back_and_the_next_command_goes_on_with_it(
    terminal: Terminal, how: signal.Signals, args: tuple[str, ...]
) -> None:
    """In order: a line that says so, 75, no process left; nobody is asked for it."""
    task, running = looked_at_by_what_hangs(terminal, *args)
    running.send_signal(how)
    out, told = running.communicate(timeout=60)

    assert running.returncode == 75, told
    assert "stopping: triages that run have a moment to end" in told
    assert "stopped: 1 handed back" in told
    assert "triage_started" in out
    assert is_gone(terminal.home / "agent.pid")
    assert terminal.show(task)["block_kind"] is None

    agent(terminal, WAITS)
    found = json.loads(terminal.must("triage", "--once", "--json"))
    assert [(each["issue_id"], each["action"]) for each in found["results"]] == [(task, "no_action")]
    assert [each["action"] for each in terminal.show(task)["triages"]] == ["no_action"]


def test_what_a_dead_daemon_looked_at_is_taken_over(terminal: Terminal) -> None:
    """As `up` would: the triage is lost, a person is asked, nothing of it is left; it may be looked at again."""
    task, running = looked_at_by_what_hangs(terminal, "up")
    running.kill()
    running.wait(timeout=60)

    def once(*args: str) -> Any:
        return json.loads(terminal.must("triage", *args, "--json"))["results"]

    assert [(each["tier"], each["action"]) for each in once("--once")] == [(3, "triage_failed")]
    assert is_gone(terminal.home / "agent.pid")
    assert terminal.show(task)["block_kind"] == "human"
    agent(terminal, WAITS)
    assert [each["action"] for each in once(task)] == ["no_action"]


def test_what_somebody_else_looks_at_or_holds_back_is_said_as_it_is(terminal: Terminal) -> None:
    """Under way where somebody runs it, pending where nobody does; the counts add up."""
    task, running = looked_at_by_what_hangs(terminal, "triage", "--once")
    try:
        found = json.loads(terminal.must("triage", task, "--json"))
        assert [(each["action"], found["tier2_started"]) for each in found["results"]] == [("triage_started", 1)]
        terminal.must("breaker", "open", "agency", "--reason", "the model is down")
        other = terminal.must("add", "other", "--run", "echo something else broke in module nine; exit 4").strip()
        up = begin(terminal, "up")
        until(terminal, other, lambda shown: shown["consecutive_failures"] >= 3)
        up.terminate()
        up.communicate(timeout=60)
        done = terminal.run("triage", "--once", "--json")
        found = json.loads(done.stdout)
        assert [(each["issue_id"], each["action"]) for each in found["results"]] == [(other, "cooldown_pending")]
        assert (found["issues_found"], found["tier1_pending"], found["tier2_no_action"]) == (1, 1, 0)
        assert "suppressing triage: the agency breaker is open, 1 held back" in done.stderr
        (held,) = json.loads(terminal.must("breaker", "list", "--json"))
        assert (held["key"], held["held"]) == ("agency", 1)
        assert "agency" in terminal.must("explain", other)
    finally:
        running.terminate()
        running.communicate(timeout=60)


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("anthropic: 503 Service Unavailable", "its agent could not work"),
        ("Your credit balance is too low to access the Anthropic API", "a person is asked"),
    ],
)
def test_a_cycle_does_not_wait_for_a_provider_that_is_down(terminal: Terminal, says: str, told: str) -> None:
    """It says what the triage waits for; whoever serves the queue goes on with it."""
    terminal.must("breaker", "open", "agency")
    task = one_off(terminal)
    assert terminal.run("up", "--until-idle").returncode == 75
    terminal.must("breaker", "close", "agency")
    agent(terminal, f"#!/bin/sh\ncat > /dev/null\necho '{says}' >&2\nexit 1\n")

    found = json.loads(terminal.must("triage", "--once", "--json"))

    assert [(each["issue_id"], each["action"]) for each in found["results"]] == [(task, "cooldown_pending")]
    assert told in found["results"][0]["detail"]
    assert terminal.show(task)["block_kind"] is None
