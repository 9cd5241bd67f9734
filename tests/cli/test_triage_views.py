"""What a person sees of triages, evaluations, agents and people: through the command line, with a fake agent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Called, Cli

CONFIG = """
[triage]
agent = "command"
command = ["./agent.sh"]
timeout = "20s"
[policy.ladder.unknown]
delays = ["10ms"]
[agents.helper]
command = ["./helper.sh", "{prompt_file}"]
"""
PLAIN = {"NO_COLOR": "1"}


def program(folder: Path, name: str, text: str) -> None:
    """A script that may be started."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(0o755)


@pytest.fixture
def watched(cli: Cli) -> Cli:
    """A project whose failures are looked at by a script that answers what the file `verdict` says."""
    (cli.folder / "medbay.toml").write_text(CONFIG, encoding="utf-8")
    program(cli.folder, "agent.sh", "cat > seen.json; echo 'thinking hard' >&2; cat verdict")
    program(cli.folder, "helper.sh", "echo at work")
    return cli


def judged(cli: Cli, verdict: str | dict[str, Any], *, title: str = "import") -> str:
    """A task that failed three times and was looked at; the verdict is given or typed as it is."""
    if isinstance(verdict, dict):
        verdict = json.dumps({"root_cause": "the ledger is down", "evidence": ["row 77"], "confidence": 0.8} | verdict)
    (cli.folder / "verdict").write_text(verdict, encoding="utf-8")
    task_id = cli.add(title, "--run", f"echo 'ledger of {title} looks odd' >&2; exit 3")
    cli.process("up", "--until-idle")
    return task_id


def seen(cli: Cli, *args: str, columns: int = 100) -> Called:
    """On a terminal without colours."""
    return cli.terminal(*args, columns=columns, env=PLAIN)


# What a configuration names


def checked(cli: Cli, text: str) -> list[str]:
    """What `policy check` says of a file: line, message and hint."""
    (cli.folder / "try.toml").write_text(text, encoding="utf-8")
    called = cli("policy", "check", "try.toml")
    assert called.code == (2 if called.out else 0)
    return called.lines


def test_check_names_programs_and_agents_that_are_not_there(cli: Cli) -> None:
    """A typing error is met before a night is lost to it."""
    assert checked(cli, '[triage]\nagent = "command"\n') == [
        'try.toml:2: triage.command names no program; command = ["./triage.py"] below [triage]'
    ]
    (told,) = checked(cli, '[triage]\nagent = "command"\ncommand = ["./agent.sh"]\n')
    assert told.startswith('try.toml:3: triage.command: there is no program "./agent.sh" here; ')
    (cli.folder / "agent.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    assert checked(cli, '[triage]\nagent = "command"\ncommand = ["./agent.sh"]\n') == [
        'try.toml:3: triage.command: "./agent.sh" is not executable; chmod +x ./agent.sh'
    ]
    (cli.folder / "agent.sh").chmod(0o755)
    assert checked(cli, '[triage]\nagent = "command"\ncommand = ["./agent.sh"]\n') == []
    assert checked(cli, '[triage]\nevaluate = "/nowhere/evaluate --all"\n') == [
        'try.toml:2: triage.evaluate: there is no program "/nowhere/evaluate"; write where it is'
    ]
    assert checked(cli, '[triage]\nevaluate = "cd x && ./agent.sh"\n') == []  # for the shell to say
    assert checked(cli, '[triage]\nevaluate = "it\'s"\n') == []


def test_check_names_agents_that_nobody_described(cli: Cli) -> None:
    """With the one that was meant, or how to make one."""
    helper = '[agents.helper]\ncommand = ["sh", "{prompt_file}"]\n'
    assert checked(cli, f'[triage]\nfix_agent = "helpr"\n{helper}') == [
        'try.toml:2: there is no agent "helpr"; did you mean "helper"?'
    ]
    assert checked(cli, '[triage]\nfix_agent = "other"\n') == [
        'try.toml:2: there is no agent "other"; [agents.other] makes one'
    ]
    assert checked(cli, f'[triage]\nfix_agent = "helper"\n{helper}') == []
    (told,) = checked(cli, '[agents.x]\ncommand = ["no-such-agent", "{prompt_file}"]\n')
    assert told.startswith('try.toml:2: agents.x.command: there is no program "no-such-agent" on the PATH; ')


def test_doctor_says_which_agent_cannot_be_started(watched: Cli) -> None:
    """The same mistakes, with how to mend them."""
    assert ["fine", "agents", "triage by command, helper", ""] in watched("doctor").cells
    (watched.folder / "helper.sh").chmod(0o600)
    called = watched("doctor")
    assert called.code == 1
    wrong = next(line for line in called.cells if line[:2] == ["failed", "agents"])
    assert wrong[2:] == ['agents.helper.command: "./helper.sh" is not executable', "fix: chmod +x ./helper.sh"]


# Who works on it


def test_show_says_what_runs(watched: Cli) -> None:
    """An agent with how it is started, a person, a triage with whom it is of."""
    agents = watched.good("add", "write it", "--agent", "helper").out.strip()
    persons = watched.good("add", "sign it", "--person").out.strip()
    task = judged(watched, {"verdict": "NOOP", "why": "wait"})

    assert "  runs agent helper: ./helper.sh {prompt_file}" in seen(watched, "show", agents).lines
    assert "  done by a person" in seen(watched, "show", persons).lines
    assert f"  runs the triage agent ./agent.sh on {task}" in seen(watched, "show", f".triage-{task}-1").lines
    assert ["run", "person"] in watched.good("show", persons).cells
    (watched.folder / "medbay.toml").write_text("", encoding="utf-8")
    assert "  runs agent helper, which is not configured here" in seen(watched, "show", agents).lines
    assert f"  runs the triage agent rules on {task}" in seen(watched, "show", f".triage-{task}-1").lines


# Answers


def test_every_answer_says_what_it_was_about(watched: Cli) -> None:
    """A recommendation is about no task, and is named by its question."""
    task = judged(watched, {"verdict": "RECOMMEND_CONFIG", "suggestion": "more memory for the ledger"})
    asked = f"q-{task}-1"

    assert watched.good("answer", asked, "1").out == f"{asked}: noted\n"
    again = watched("answer", asked, "1")
    assert again.code == 4
    assert f"{asked} was answered by person:" in again.err
    assert "noted" in again.err
    told = watched.good("answer", task, "pause", "--json").json
    assert (told["question"], told["tasks"]) == (f"q-{task}-2", [task])


# Lists and counts


def test_triages_are_listed_with_all_only(watched: Cli) -> None:
    """They are counted beside the work of people, and lead back to it."""
    task = judged(watched, {"verdict": "ESCALATE", "why": "look", "look_at": "the ledger"})
    looked = f".triage-{task}-1"

    assert [each["id"] for each in watched.good("list", "--json").json] == [task]
    assert {each["id"] for each in watched.good("list", "--all", "--json").json} == {task, looked}
    told = seen(watched, "list")
    assert told.lines[-1] == "1 needs you; 1 triage beside (medbay list --all)"
    assert seen(watched, "list", "--all").lines[-1] == "1 needs you, 1 ended"
    assert seen(watched, "list", "nothing like it").lines == ["nothing matches; medbay list --all has everything"]
    assert re.search(rf"last triage \d+s ago \({looked}\): escalated to human, look", seen(watched, "show", task).out)
    assert f"  triage of {task}: escalated to human, look" in seen(watched, "show", looked).lines
    assert watched.good("show", looked, "--json").json["triage"]["action"] == "escalated_to_human"
    assert watched.good("show", task, "--json").json["triage"] is None
    assert looked not in watched.good("export", "--all").out


def test_what_a_daemon_did_is_the_work_of_people(watched: Cli) -> None:
    """A triage that ended well is not a task that was completed."""
    (watched.folder / "verdict").write_text('{"verdict": "NOOP", "why": "wait"}', encoding="utf-8")
    watched.add("good")
    watched.add("import", "--run", "echo 'ledger looks odd' >&2; exit 3")

    told = watched.process("up", "--until-idle").err.splitlines()

    assert "✓ 1 completed   ▣ 1 triage   ! 1 needs you" in told


# Questions


@pytest.mark.parametrize(
    ("verdict", "headline"),
    [
        ("I would rather not", 'its triage cannot be read: the answer is no verdict: "I would rather not"'),
        ({"verdict": "COMPLETE"}, "the verdict of its triage was refused: no verdict can carry this: verdict COMPLETE"),
        ({"verdict": "PAUSE", "why": "it destroys data"}, "triage paused it: it destroys data"),
    ],
)
def test_a_question_after_a_triage_says_what_is_the_matter(watched: Cli, verdict: Any, headline: str) -> None:
    """The reason first, and where the words of the triage are."""
    task = judged(watched, verdict)

    told = seen(watched, "inbox", columns=200)

    assert told.lines[0].endswith(f"  import: {headline}")
    assert told.lines[1].startswith("    why: ")
    assert told.lines[1].endswith(f"; more: medbay log .triage-{task}-1")
    assert "thinking hard" in watched.good("log", f".triage-{task}-1").out
