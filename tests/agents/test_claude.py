"""The real Claude Code through the installed command, against an imitation of its API: how each night ends."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agents.conftest import at, project
from tests.agents.imitation import CACHED, GUIDANCE, INPUT, OUTPUT, Imitation
from tests.e2e.test_the_path_of_a_task import MEDBAY, Terminal
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(400)  # a night of a dozen real agents, on a machine that may be busy
WHO = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
TURN = INPUT + CACHED + OUTPUT
QUIETLY = "for n in 1 2 3 4 5 6 7 8 9; do touch quiet-$n; python3 -c 'import time; time.sleep(1)'; done"
SLOWLY = "python3 -c 'import time; time.sleep(1)'"

# What each task is told; what is not said here is the same for all. Those that take longest come first.
TASKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "hangs": ("[[hang 90 1]] [[say Here I am.]] [[say Here I am.]]", ("--stall", "6s", "--provider", "anthropic/slow")),
    "quiet": (f"[[bash {QUIETLY}]] [[say Written.]]", ("--stall", "6s")),
    "over": (" ".join(f"[[bash {SLOWLY} {n}]]" for n in range(8)), ("--max-tokens", str(3 * TURN + 100))),
    "fine": ("[[bash echo hi > fine.txt]] [[say All done.]]", ()),
    "learns": ("[[say It looks fine.]] [[bash touch learnt.txt]] [[say Done.]]", ("--cwd", "repository")),
    "limited": ("[[limit 1]] [[say I am back.]]", ("--provider", "anthropic/limited")),
    "overloaded": ("[[err 529 3]] [[say It works again.]]", ("--provider", "anthropic/busy")),
    "unauthorized": ("[[err 401]]", ()),
    "cut": ("[[cut]]", ()),
    "turns": ("[[bash echo 1]] [[bash echo 2]] [[bash echo 3]]", ("--agent", "brief")),
    "denied": ("[[bash rm -rf out]]", ("--agent", "careful")),
    "asks": ("[[say I looked at both. Postgres or SQLite? Please let me know.]]", ()),
    "context": ("[[err 400]]", ()),
    "refused": ("[[refuse]] [[refuse]] [[refuse]]", ()),
}
MORE = """
[agents.brief]
preset = "claude"
program = "{claude}"
max_turns = 1
[agents.careful]
preset = "claude"
program = "{claude}"
allow = ["Read"]
"""


@dataclass(frozen=True)
class Night:
    """What a night left: the project, the tasks by their names, what was recorded at its end, and the bill."""

    terminal: Terminal
    ids: dict[str, str]
    attempts: list[Any]
    figures: Any
    bill: dict[str, int]

    def task(self, name: str) -> Any:
        """A task as it stands."""
        return self.terminal.show(self.ids[name])

    def prompt(self, name: str, attempt: int) -> str:
        """What an attempt was told."""
        path = self.terminal.home / ".medbay" / "logs" / self.ids[name] / f"{attempt}.prompt.md"
        return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, imitation: Imitation) -> Night:
    """All of them in one run, next to each other; one run for all workers of the tests."""
    base = tmp_path_factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "night-of-claude"
    with open(f"{home}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "left.json").exists():
            (home / "left.json").write_text(json.dumps(spend_the_night(home, imitation)), encoding="utf-8")
    left = json.loads((home / "left.json").read_text(encoding="utf-8"))
    return Night(terminal=at(home, imitation), **left)


def spend_the_night(home: Path, imitation: Imitation) -> dict[str, Any]:
    """Run them all; what is recorded then."""
    terminal = project(home, imitation)
    file = terminal.home / "medbay.toml"
    settings = file.read_text(encoding="utf-8")
    program = settings.rpartition('program = "')[2].partition('"')[0]
    file.write_text(settings + MORE.format(claude=program), encoding="utf-8")
    repository = terminal.home / "repository"
    for words in (("init", "--quiet"), (*WHO, "commit", "--quiet", "--allow-empty", "-m", "The beginning")):
        repository.mkdir(exist_ok=True)
        subprocess.run(["git", *words], cwd=repository, check=True)
    ids = {}
    for name, (told, options) in TASKS.items():
        agent = () if "--agent" in options else ("--agent", "claude")
        ids[name] = terminal.must("add", name, *agent, "--description", told, *options).strip()
    at(home, imitation, real=True).must("up", "--until-idle", code=75)
    bill = {"tokens_in": imitation.bill.tokens_in, "tokens_out": imitation.bill.tokens_out}
    attempts = [each for task in ids.values() for each in terminal.show(task)["attempts"]]
    figures = json.loads(terminal.must("stats", "--cost", "--json"))
    return {"ids": ids, "attempts": attempts, "figures": figures, "bill": bill}


def kinds(task: Any) -> list[str | None]:
    """What each attempt failed with."""
    found = [each["diagnosis"] for each in task["attempts"]]
    return [None if each is None else f"{each['category']}/{each['subcategory']}" for each in found]


def test_work_that_is_done_is_recorded_with_what_it_cost(night: Night) -> None:
    """Session, model, tokens and cost, and the last words as its result."""
    done = night.task("fine")
    (attempt,) = done["attempts"]

    assert (done["status"], done["result"]["summary"]) == ("completed", "All done.")
    assert (night.terminal.home / "fine.txt").read_text(encoding="utf-8") == "hi\n"
    assert (attempt["agent"], attempt["tokens"], attempt["tool_calls"]) == ("claude", 2 * TURN, 1)
    assert (attempt["tokens_in"], attempt["tokens_out"]) == (2 * (INPUT + CACHED), 2 * OUTPUT)
    assert attempt["cost"] > 0
    assert attempt["session"]


def test_its_log_and_its_history_can_be_read(night: Night) -> None:
    """What it said and did in place of its stream, which `--raw` prints; who worked in which session, at what cost."""
    task = night.ids["fine"]
    log, raw = night.terminal.must("log", task), night.terminal.must("log", task, "--raw")
    ended = next(each for each in night.task("fine")["history"] if each["to"] == "completed")["context"]

    assert "→ Bash echo hi > fine.txt" in log and "All done." in log and "{" not in log
    assert '"type":"result"' in raw
    assert (ended["agent"], ended["error"], ended["metadata"]["tokens_out"]) == ("claude", None, 2 * OUTPUT)
    assert ended["session_id"] == night.task("fine")["attempts"][0]["session"]


def test_the_second_attempt_is_told_what_failed(night: Night) -> None:
    """Done with nothing to show was no success; guidance is in its prompt, and it acts on it in its worktree."""
    done = night.task("learns")

    assert (done["status"], kinds(done)) == ("completed", ["unknown/no_evidence", None])
    assert "learnt.txt" in night.terminal.must("diff", done["id"])
    assert not (night.terminal.home / "repository" / "learnt.txt").exists()
    assert GUIDANCE not in night.prompt("learns", 1)
    assert f"{GUIDANCE} (Attempt #2)" in night.prompt("learns", 2)


def test_a_usage_limit_holds_the_account_until_the_time_it_names(night: Night) -> None:
    """Uncharged; then the same session goes on."""
    done = night.task("limited")
    first, last = done["attempts"][0], done["attempts"][-1]
    held = [event for event in night.terminal.events() if event["name"] == "hold:placed"]

    assert (done["status"], kinds(done)[0], first["charged"]) == ("completed", "transient/usage_limit", False)
    assert first["diagnosis"]["retry_after"] is not None
    assert last["started_at"] >= first["diagnosis"]["retry_after"]
    assert last["session"] == first["session"]
    assert any("anthropic/limited" in json.dumps(each) for each in held)


def test_an_outage_longer_than_every_retry_of_the_tool_is_waited_for(night: Night) -> None:
    """No attempt is charged."""
    done = night.task("overloaded")

    assert done["status"] == "completed"
    assert kinds(done)[:-1] == ["transient/overloaded"] * (len(done["attempts"]) - 1)
    assert len(done["attempts"]) > 1
    assert not any(each["charged"] for each in done["attempts"])


def test_credentials_that_are_refused_are_a_persons_matter_at_once(night: Night) -> None:
    """One attempt, and the reason."""
    asked = night.task("unauthorized")

    assert (asked["status"], kinds(asked)) == ("blocked", ["unknown/auth"])


def test_a_stream_that_is_cut_is_tried_again_by_the_tool_itself(night: Night) -> None:
    """Its own terminal record says that it got there."""
    done = night.task("cut")

    assert (done["status"], done["attempts_total"]) == ("completed", 1)


def test_turns_used_up_are_no_success(night: Night) -> None:
    """They have a diagnosis of their own, and the next attempt is another one."""
    failed = night.task("turns")

    assert failed["status"] != "completed"
    assert set(kinds(failed)) == {"unknown/max_turns"}
    assert all(each["charged"] for each in failed["attempts"])


def test_tools_that_were_denied_and_nothing_done_is_no_success(night: Night) -> None:
    """A person is asked which tool it may use; the exit code was 0."""
    asked = night.task("denied")

    assert (asked["status"], kinds(asked), asked["attempts_total"]) == ("blocked", ["unknown/denied"], 1)
    assert "Bash" in asked["question"]["why"]


def test_a_question_is_answered_in_the_session_that_asked_it(night: Night) -> None:
    """In its own words, uncharged; only words are an answer."""
    asked = night.task("asks")
    task, (first,) = asked["id"], asked["attempts"]
    assert (asked["status"], kinds(asked), first["charged"]) == ("blocked", ["unknown/asked"], False)
    assert "Postgres or SQLite?" in asked["question"]["evidence"]
    assert "agent:asked" in [event["name"] for event in night.terminal.events() if event["task"] == task]
    night.terminal.must("answer", task, code=2)

    night.terminal.must("answer", task, "[[say SQLite it is.]]")
    night.terminal.run("up", "--until-idle")

    done = night.task("asks")
    assert (done["status"], done["result"]["summary"]) == ("completed", "SQLite it is.")
    assert [each["session"] for each in done["attempts"]] == [first["session"]] * 2
    assert "> " not in night.prompt("asks", 2).partition("## Answer")[2]


def test_an_exceeded_context_window_begins_a_fresh_session(night: Night) -> None:
    """Then a person is asked to split it."""
    failed = night.task("context")
    sessions = [each["session"] for each in failed["attempts"]]

    assert kinds(failed) == ["resource_exhaustion/context_window"] * 2
    assert len(set(sessions)) == 2
    assert "split the task" in failed["question"]["why"]


def test_a_refusal_of_the_model_is_no_success(night: Night) -> None:
    """Charged; then other words, then a person."""
    failed = night.task("refused")

    assert failed["status"] != "completed"
    assert set(kinds(failed)) == {"unknown/refused"}


def test_a_budget_overrun_is_stopped_while_it_runs_with_one_turn_to_hand_back(night: Night) -> None:
    """At most one turn over; what it hands back is kept."""
    failed = night.task("over")
    first = failed["attempts"][0]

    assert first["outcome"] == "over_budget"
    assert first["tokens"] <= failed["max_tokens"] + TURN
    assert (night.terminal.home / ".medbay" / "logs" / failed["id"] / "1.handback.log").exists()


def test_one_that_hangs_is_ended_with_its_tree_and_one_that_writes_files_in_silence_is_left_alone(night: Night) -> None:
    """By progress, not by silence; what it last did is told to the next attempt."""
    hung, quiet = night.task("hangs"), night.task("quiet")

    assert (hung["status"], [each["outcome"] for each in hung["attempts"]]) == ("completed", ["stalled", "succeeded"])
    assert (quiet["status"], quiet["attempts_total"]) == ("completed", 1)
    assert quiet["attempts"][0]["duration_s"] > 8
    mark = f"MEDBAY_TASK={hung['id']}".encode()
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and mark in environment(pid)]


def environment(pid: str) -> list[bytes]:
    """The variables of a process; of one that is gone there are none."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def test_what_is_recorded_adds_up_to_what_was_billed(night: Night) -> None:
    """Over all tasks, attempts and sessions."""
    attempts, bill, figures = night.attempts, night.bill, night.figures

    cut = 2 * (INPUT + CACHED)  # the tool counts what it was sent before the connection was gone
    assert bill["tokens_out"] <= sum(each["tokens_out"] or 0 for each in attempts) <= bill["tokens_out"] + 2
    assert 0 <= sum(each["tokens_in"] or 0 for each in attempts) - bill["tokens_in"] <= cut
    assert figures["total"]["tokens_in"] == sum(each["tokens_in"] or 0 for each in attempts)
    assert figures["total"]["cost"] == pytest.approx(sum(each["cost"] or 0 for each in attempts))
    for group in ("by_day", "by_agent", "by_model", "by_provider", "by_task"):
        assert sum(each["tokens_out"] for each in figures[group]) == figures["total"]["tokens_out"]


def test_agents_are_listed_checked_and_their_next_prompt_is_shown(night: Night) -> None:
    """Installed, signed in, used today; one cheap call; to the letter what comes next."""
    listed = {each["name"]: each for each in json.loads(night.terminal.must("agents", "--json"))}
    mine, checked = listed["claude"], json.loads(night.terminal.must("agents", "check", "claude", "--json"))
    told = night.terminal.must("prompt", night.ids["turns"])

    assert (mine["installed"], mine["signed_in"], mine["configured"]) == (True, True, True)
    assert mine["version"] and mine["attempts_today"] > 0 and mine["cost_today"] > 0
    assert (checked["works"], checked["said"], checked["tokens"]) == (True, "ok", TURN)
    assert told.startswith("# turns\n") and "## Earlier attempts" in told and "Retry Guidance" in told
    night.terminal.must("agents", "check", "nobody", code=2)


@pytest.fixture
def daemon(tmp_path: Path, imitation: Imitation) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    """A project with a daemon of its own."""
    terminal = project(tmp_path, imitation)
    process = subprocess.Popen(
        [MEDBAY, "up"], cwd=terminal.home, env=terminal.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    yield terminal, process
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def test_a_session_goes_on_after_its_daemon_was_killed(
    daemon: tuple[Terminal, subprocess.Popen[bytes]], imitation: Imitation
) -> None:
    """The lost attempt keeps what it used; the next one continues its session."""
    terminal, process = daemon
    before = imitation.bill.tokens_in
    wait = "touch here.txt; while [ ! -e go.txt ]; do python3 -c 'import time; time.sleep(0.1)'; done"
    told = f"[[bash {wait}]] [[say At last.]] [[say At last.]]"  # the tool itself may say something in between
    task = terminal.must("add", "long", "--agent", "claude", "--description", told).strip()
    wait_for(lambda: (terminal.home / "here.txt").exists(), 30)

    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)
    (terminal.home / "go.txt").touch()
    terminal.must("up", "--until-idle")

    done = terminal.show(task)
    lost, last = done["attempts"]
    assert (done["status"], lost["outcome"], last["outcome"]) == ("completed", "lost", "succeeded")
    assert lost["session"] == last["session"] != ""
    assert done["result"]["summary"] == "At last."
    assert lost["tokens_in"] + last["tokens_in"] == imitation.bill.tokens_in - before
    figures = json.loads(terminal.must("stats", "--cost", "--json"))
    assert figures["total"]["tokens_in"] == lost["tokens_in"] + last["tokens_in"]
    assert lost["cost"] > 0
