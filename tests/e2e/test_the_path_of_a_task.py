"""The whole path through the command line, as a user walks it: fails, understood, waits, heals or asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from tests.cli.calling import call

MEDBAY = str(Path(sys.executable).parent / "medbay")
QUICK = "\n".join(
    f'[policy.ladder.{name}]\ndelays = ["10ms", "20ms", "30ms"]'
    for name in ("transient", "code_error", "test_failure", "timeout", "resource_exhaustion", "unknown")
)


EITHER_STORE = ["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.long])]


def store_of(request: pytest.FixtureRequest) -> str:
    """The address of the store that a fixture with `EITHER_STORE` is to use; empty for the usual one."""
    if request.param == "sqlite":
        return ""
    url: str = request.getfixturevalue("postgres").url(request.getfixturevalue("own_database"))
    return url


class Terminal:
    """A person in a directory of their own. What they type runs in this process, unless it is to be a real one."""

    def __init__(self, home: Path, *, real: bool = False) -> None:
        self.home = home
        self._real = real
        self.limit_s = 60
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("MEDBAY_")}
        self.environ["MEDBAY_WEB_ENABLED"] = "false"  # the page has tests of its own

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Type a command."""
        if not self._real:
            called = call(words, cwd=self.home, env=self.environ, stdin=stdin)
            return subprocess.CompletedProcess(words, called.code, called.out, called.err)
        return subprocess.run(
            [MEDBAY, *words],
            cwd=self.home,
            env=self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=self.limit_s,
        )

    def must(self, *words: str, code: int = 0, stdin: str = "") -> str:
        """Type a command that has to end with this exit code; what it printed."""
        done = self.run(*words, stdin=stdin)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def show(self, task_id: str) -> Any:
        """`medbay show --json`."""
        return json.loads(self.must("show", task_id, "--json"))

    def events(self) -> list[Any]:
        """`medbay events --json`."""
        return [json.loads(line) for line in self.must("events", "--json").splitlines()]


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A fresh project with quick delays."""
    return with_a_project(Terminal(tmp_path))


@pytest.fixture
def installed(tmp_path: Path) -> Terminal:
    """The same, and every command is a process of its own."""
    return with_a_project(Terminal(tmp_path, real=True))


def with_a_project(here: Terminal) -> Terminal:
    """Make one with quick delays."""
    here.must("init")
    (here.home / "medbay.toml").write_text(QUICK, encoding="utf-8")
    return here


def test_good_flaky_hopeless_and_dependent_tasks_end_as_promised(terminal: Terminal) -> None:
    """One good, one that heals after two failures, one that never does, one after another."""
    good = terminal.must("add", "good", "--", "true").strip()
    flaky_run = "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; echo try $n; test $n -ge 2"
    flaky = terminal.must("add", "flaky", "--run", flaky_run).strip()
    hopeless = terminal.must("add", "hopeless", "--run", "echo nothing works; exit 3").strip()
    after = terminal.must("add", "after", "--after", flaky, "--", "echo", "at last").strip()

    terminal.must("up", "--until-idle", code=75)

    assert terminal.show(good)["status"] == "completed"
    healed = terminal.show(flaky)
    assert (healed["status"], healed["attempts_total"], healed["consecutive_failures"]) == ("completed", 3, 0)
    assert [each["outcome"] for each in healed["attempts"]] == ["failed", "failed", "succeeded"]
    assert [(each["status"], each["outcome"]) for each in healed["retries"]] == [
        ("executed", "failed"),
        ("executed", "succeeded"),
    ]
    asked = terminal.show(hopeless)
    assert (asked["status"], asked["block_kind"], asked["consecutive_failures"]) == ("blocked", "human", 3)
    assert [each["exit_code"] for each in asked["attempts"]] == [3, 3, 3]
    assert asked["next_attempt_at"] is None
    last = terminal.show(after)
    assert (last["status"], last["after"]) == ("completed", [flaky])
    names = [event["name"] for event in terminal.events() if event["task"] == hopeless]
    assert names.count("task:failed") == 3
    assert names.count("task:retry_scheduled") == names.count("task:retry_executed") == 2
    assert {"task:escalated", "task:blocked", "question:asked"} <= set(names)


def test_a_walk_from_the_first_failure_over_a_person_to_success(installed: Terminal) -> None:
    """Fails, retried, fails, retried, fails, a new approach, fails, asked, answered, succeeds: attempts 1 to 5."""
    task = installed.must(
        "add", "tests", "--run", 'echo "$MEDBAY_GUIDANCE" > told.$MEDBAY_ATTEMPT; test -e fixed'
    ).strip()

    installed.must("up", "--until-idle", code=75)
    (question,) = json.loads(installed.must("inbox", "--json"))
    assert question["tasks"] == [task]
    assert question["default"] == 1
    assert "different approach" in (installed.home / "told.4").read_text(encoding="utf-8")
    (installed.home / "fixed").touch()
    installed.must("answer", task, "1", "--note", "I fixed it")
    assert installed.show(task)["consecutive_failures"] == 4
    installed.must("up", "--until-idle")

    story = installed.show(task)
    assert [each["number"] for each in story["attempts"]] == [1, 2, 3, 4, 5]
    assert story["status"] == "completed"
    assert "I fixed it" in (installed.home / "told.5").read_text(encoding="utf-8")
    moves = [(each["from"], each["to"]) for each in story["history"]]
    assert moves == [("pending", "in_progress"), ("in_progress", "failed"), ("failed", "pending")] * 3 + [
        ("pending", "in_progress"),
        ("in_progress", "failed"),
        ("failed", "blocked"),
        ("blocked", "pending"),
        ("pending", "in_progress"),
        ("in_progress", "completed"),
    ]
    assert story["questions"][0]["answered_by"].startswith("person:")


def test_a_time_limit_is_exhausted_and_the_run_says_so(terminal: Terminal) -> None:
    """Exhausted comes before waiting for a person in the exit code."""
    terminal.must("add", "slow", "--timeout", "50ms", "--", "sleep", "30")
    terminal.must("add", "missing", "--", "no-such-command-anywhere")

    terminal.must("up", "--until-idle", code=1)

    kinds = {each["title"]: each["block_kind"] for each in json.loads(terminal.must("list", "--json"))}
    assert kinds == {"slow": "exhausted", "missing": "human"}


def test_hostile_titles_and_outputs_stay_text(terminal: Terminal) -> None:
    """Shell metacharacters, escape codes and NUL bytes reach no shell and break nothing."""
    title = "$(touch pwned); `touch pwned` \x1b[2J'\"| & <script>\u202e"
    task = terminal.must("add", title, "--run", r"printf 'a\0b\033[2Jc\377'; exit 1").strip()

    terminal.must("up", "--until-idle", code=75)

    assert terminal.show(task)["title"] == title
    assert not (terminal.home / "pwned").exists()
    assert "\x1b[2J" not in terminal.must("list")
    assert "\x1b[2J" not in terminal.must("show", task)


def test_a_hundred_megabytes_of_output_are_kept_at_both_ends(terminal: Terminal) -> None:
    """The log stays bounded on disk, and the cause at its end is found."""
    noise = "yes 'all is well' | head -c 100000000; echo 'connect ECONNREFUSED 127.0.0.1:5432'"
    noisy = f"{noise}; test -e again || {{ touch again; exit 1; }}"
    task = terminal.must("add", "noisy", "--run", noisy).strip()

    terminal.must("up", "--until-idle")

    story = terminal.show(task)
    assert story["attempts"][0]["diagnosis"]["category"] == "transient"
    assert not story["attempts"][0]["charged"]
    log = Path(story["attempts"][0]["log_path"])
    assert log.stat().st_blocks * 512 < 20_000_000


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["list", "--frobnicate"], 2, "frobnicate"),
        (["show", "zzzz"], 3, "zzzz"),
        (["add", "x"], 2, "run"),
        (["add", "x", "--priority", "9", "--", "true"], 2, "priority"),
        (["add", "x", "--after", "nope", "--", "true"], 3, "nope"),
        (["answer", "zzzz", "1"], 3, "zzzz"),
    ],
)
def test_bad_input_gets_one_clear_line_and_the_right_exit_code(
    terminal: Terminal, words: list[str], code: int, says: str
) -> None:
    """No traceback, nothing stored."""
    done = terminal.run(*words)

    assert done.returncode == code
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(terminal.must("list", "--all", "--json")) == []


def test_an_illegal_move_is_refused(terminal: Terminal) -> None:
    """A completed task goes nowhere."""
    task = terminal.must("add", "good", "--", "true").strip()
    terminal.must("up", "--until-idle")

    for command in ("retry", "cancel", "pause", "unblock"):
        done = terminal.run(command, task)
        assert (done.returncode, "completed" in done.stderr) == (4, True)

    assert terminal.show(task)["status"] == "completed"


def test_many_tasks_are_added_together_or_not_at_all(terminal: Terminal) -> None:
    """A bad line names itself."""
    lines = [{"title": f"t{n}", "run": ["true"]} for n in range(50)]
    bad = "\n".join(json.dumps(line) for line in [*lines, {"title": "no command"}])

    done = terminal.run("add", "--file", "-", stdin=bad)
    assert done.returncode == 2
    assert "51" in done.stderr
    assert json.loads(terminal.must("list", "--all", "--json")) == []

    ids = terminal.must("add", "--file", "-", stdin="\n".join(map(json.dumps, lines))).split()
    assert len(set(ids)) == 50


def test_a_broken_configuration_names_its_line(terminal: Terminal) -> None:
    """The file, the line, the key, and what was probably meant."""
    (terminal.home / "medbay.toml").write_text("[policy.ladder.transient]\n\ndelay = ['1s']\n", encoding="utf-8")

    done = terminal.run("list")

    assert done.returncode == 2
    assert 'medbay.toml:3: unknown key "delay"' in done.stderr
    assert "delays" in done.stderr


def test_agents_may_not_use_a_persons_commands(terminal: Terminal) -> None:
    """A task that tries to answer for a person is refused with exit 4."""
    other = terminal.must("add", "other", "--", "true").strip()
    terminal.must("pause", other)
    meddler = terminal.must("add", "meddler", "--run", f"{quote(MEDBAY)} resume {other}; test $? = 4").strip()

    terminal.must("up", "--until-idle")

    assert terminal.show(meddler)["status"] == "completed"
    assert terminal.show(other)["paused"]
