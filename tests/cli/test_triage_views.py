"""What a person sees of triages, evaluations, agents and people: through the command line, with a fake agent."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import COMMAND, Called, Cli
from tests.waiting import wait_for

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
    cli("up", "--until-idle")
    return task_id


def seen(cli: Cli, *args: str, columns: int = 100) -> Called:
    """On a terminal without colours."""
    return cli.screen(*args, columns=columns, env=PLAIN)


@contextlib.contextmanager
def daemon(cli: Cli) -> Iterator[None]:
    """A daemon that runs beside."""
    up = subprocess.Popen([COMMAND, "up"], cwd=cli.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        up.terminate()
        up.wait(30)


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
    assert told.startswith('try.toml:3: triage.command: there is no program "./agent.sh"; ')
    (cli.folder / "agent.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    assert checked(cli, '[triage]\nagent = "command"\ncommand = ["./agent.sh"]\n') == [
        'try.toml:3: triage.command: "./agent.sh" is not executable; chmod +x ./agent.sh'
    ]
    (cli.folder / "agent.sh").chmod(0o755)
    assert checked(cli, '[triage]\nagent = "command"\ncommand = ["./agent.sh"]\n') == []
    assert checked(cli, '[triage]\nevaluate = "/nowhere/evaluate --all"\n') == [
        'try.toml:2: triage.evaluate: there is no program "/nowhere/evaluate"; write its whole path'
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


def test_check_names_the_agents_of_roles_that_nobody_described(cli: Cli) -> None:
    """A story would meet it only when its phase begins."""
    assert checked(cli, '[roles.dev]\nagent = "cladue"\n') == [
        'try.toml:2: there is no agent "cladue"; did you mean "claude"?'
    ]
    assert checked(cli, '[roles.dev]\nagent = "other"\n[agents.other]\ncommand = ["sh", "{prompt_file}"]\n') == []


def test_check_names_budgets_that_limit_nothing(cli: Cli) -> None:
    """A name that no role has would let every attempt start."""
    assert checked(cli, "[budgets.wroker]\nmax_cost = 2\n") == [
        'try.toml:1: there is no role "wroker"; did you mean [budgets.worker]?'
    ]
    assert checked(cli, "[budgets.architect]\nmax_cost = 2\n") == [
        'try.toml:1: there is no role "architect"; [roles.architect] makes one'
    ]
    shipped = "".join(f"[budgets.{each}]\nmax_cost = 2\n" for each in ("worker", "spec", "triage", "dev", "review-own"))
    assert checked(cli, shipped + '[budgets.architect]\nmax_cost = 2\n[roles.architect]\ncommand = ["sh"]\n') == []


def test_check_names_mistakes_of_every_kind_at_once(cli: Cli) -> None:
    """A wrong value hides neither a missing program nor an agent that nobody described; nothing follows from it."""
    text = '[triage]\nfix_agent = "other"\nevaluate = "/nowhere/look"\n[engine]\nworkers = 0\nlaese = "1s"\n'
    found = [each.partition(": ")[0] for each in checked(cli, text)]
    assert found == [f"try.toml:{line}" for line in (2, 3, 5, 6)]

    (told,) = checked(cli, '[triage]\nagent = "command"\ncommand = 7\n')
    assert told.startswith("try.toml:3: ")
    (told,) = checked(cli, '[triage]\nfix_agent = "helper"\n[agents.helper]\ncommand = 7\n')
    assert told.startswith("try.toml:4: ")


def test_doctor_says_which_agent_cannot_be_started(watched: Cli) -> None:
    """The same mistakes, with how to mend them."""
    assert ["fine", "agents", "triage by command, helper", ""] in watched("doctor").cells
    (watched.folder / "helper.sh").chmod(0o600)
    called = watched("doctor")
    assert called.code == 1
    wrong = next(line for line in called.cells if line[:2] == ["failed", "configuration"])
    assert wrong[2].endswith(': agents.helper.command: "./helper.sh" is not executable')
    assert wrong[3] == "fix: chmod +x ./helper.sh"


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
    assert told.lines[-1] == "1 needs you; 1 triage hidden (medbay list --all)"
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

    told = watched("up", "--until-idle").err.splitlines()

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


# Explanations


def explained(cli: Cli, task_id: str) -> dict[str, list[str]]:
    """What `explain` says, by label."""
    told: dict[str, list[str]] = {}
    for label, sentence in cli.good("explain", task_id).cells:
        told.setdefault(label, []).append(sentence)
    return told


def test_what_triage_paused_waits_for_a_person(watched: Cli) -> None:
    """Nothing is about to be released, and both ways on are named."""
    task = judged(watched, {"verdict": "PAUSE", "why": "it destroys data"})

    told = explained(watched, task)

    assert told["why"][0] == "paused"
    assert not any("due" in why for why in told["why"])
    assert any(why.endswith(f"it destroys data (medbay log .triage-{task}-1)") for why in told["why"])
    assert told["next"] == [
        "nothing until it is resumed, or a person answers: import: triage paused it: it destroys data"
    ]
    assert told["change"] == [f"medbay answer {task} · medbay resume {task} · medbay cancel {task}"]
    assert seen(watched, "list", columns=120).lines[0].endswith(f"medbay resume {task}")


def test_a_task_that_was_split_names_its_parts(watched: Cli) -> None:
    """And where it goes on."""
    tries = "echo x >> tries; test $(wc -l < tries) -le 3 || exec sleep 60"
    program(watched.folder, "helper.sh", f"{tries}; echo 'the ledger looks odd' >&2; exit 3")
    verdict = {
        "verdict": "SPLIT",
        "why": "too much",
        "parts": [
            {"title": "the ledger", "description": "read it"},
            {"title": "the report", "description": "write it"},
        ],
    }
    (watched.folder / "verdict").write_text(json.dumps(verdict), encoding="utf-8")
    task = watched.good("add", "import", "--agent", "helper").out.strip()
    with daemon(watched):
        wait_for(lambda: watched.bay().get(task).finished)

    told, data = explained(watched, task), watched.good("explain", task, "--json").json
    first, second = (each["id"] for each in data["parts"])
    assert f"it was split into {first} the ledger (pending), {second} the report (pending)" in told["why"]
    assert told["next"] == ["its parts go on"]
    assert told["change"] == [f"medbay explain {first} · medbay explain {second}"]


@pytest.mark.parametrize(
    "verdict",
    [
        {"verdict": "FILE_FIX", "fix": {"title": "repair the ledger", "description": "by hand"}},
        {"verdict": "SPEC_REFRESH", "unclear": "which ledger"},
    ],
)
def test_what_a_person_has_to_do_first_can_be_answered(watched: Cli, verdict: dict[str, Any]) -> None:
    """By the command that is offered; then it goes on."""
    task = judged(watched, verdict)

    told, data = explained(watched, task), watched.good("explain", task, "--json").json
    helper = data["waits_for_person"]
    assert f"medbay answer {helper}" in told["change"][0]
    assert told["next"][0].startswith(f"nothing until a person answers {helper}: ")
    watched.good("answer", helper, "done", "--note", "the new one")
    assert watched.good("explain", task, "--json").json["waits_for_person"] is None


def test_a_triage_that_may_not_start_says_why(watched: Cli) -> None:
    """The breaker that holds it, and what ends that; then that it is due."""
    watched.good("breaker", "open", "agency", "--reason", "the model is down")
    task = watched.add("import", "--run", "echo 'ledger looks odd' >&2; exit 3")
    with daemon(watched):
        wait_for(lambda: watched.bay().get(task).waits_for == "triage")

    told = explained(watched, task)

    assert told["why"][0] == "waits for its triage"
    assert not any("released" in why for why in told["why"])
    assert any(
        why.startswith(
            "no triage of it starts, because the breaker agency is open: the model is down; until it is closed"
        )
        for why in told["why"]
    )
    assert told["next"] == ["a triage, when what keeps it back is over"]
    assert "medbay breaker close agency" in told["change"][0]
    assert watched.good("explain", task, "--json").json["triage_waits"]["what"] == "held_back"
    assert "medbay breaker list" in watched.good("triage", task).out
    watched.good("breaker", "close", "agency")
    told = explained(watched, task)
    assert "a triage of it is due" in told["why"]
    assert told["next"] == ["a triage, as soon as a worker is free"]
    assert f"medbay triage {task}" in told["change"][0]


def test_a_triage_under_way_is_what_comes_next(watched: Cli) -> None:
    """Until when, and where to watch it; who waits for the same says so."""
    program(watched.folder, "agent.sh", "touch began; while [ ! -e go ]; do sleep 0.1; done; cat verdict")
    (watched.folder / "verdict").write_text('{"verdict": "NOOP", "why": "wait"}', encoding="utf-8")
    task, other = (watched.add(name, "--run", "echo 'ledger looks odd' >&2; exit 3") for name in ("import", "again"))
    with daemon(watched):
        wait_for(lambda: (watched.folder / "began").exists())
        wait_for(lambda: watched.bay().get(task).waits_for == watched.bay().get(other).waits_for == "triage")
        looking, waiting = task, other
        if not watched.good("show", task, "--json").json["triages"]:
            looking, waiting = other, task
        first, second = explained(watched, looking), explained(watched, waiting)
        row = seen(watched, "triage", waiting).lines[0]
        (watched.folder / "go").touch()

    own = f".triage-{looking}-1"
    assert row == f"◷ {waiting}  waits  {own} examines the same failure"
    assert first["next"][0].startswith(f"the verdict of {own}, at the latest ")
    assert f"medbay log {own} -f" in first["change"][0]
    assert f"no triage of it has started: {own} examines the same failure" in second["why"]
    assert second["next"] == ["a triage, when what keeps it back is over"]


# Evaluations


def evaluated(cli: Cli, *said: str) -> str:
    """A task that failed once for each, and whose evaluator said that."""
    (cli.folder / "medbay.toml").write_text(
        '[triage]\nevaluate = "./evaluate.sh"\n[policy.ladder.unknown]\ndelays = ["10ms"]\n', encoding="utf-8"
    )
    (cli.folder / "scores").write_text("".join(f"{line}\n" for line in said), encoding="utf-8")
    program(cli.folder, "evaluate.sh", 'echo looking >&2; echo x >> n; sed -n "$(wc -l < n)p" scores')
    task_id = cli.add("import", "--run", "echo 'ledger looks odd' >&2; exit 3")
    cli("up", "--until-idle")
    return task_id


def test_an_evaluation_shows_its_score_and_why(cli: Cli) -> None:
    """A score that rescued nothing is not shown as a success."""
    task = evaluated(cli, '{"score": 0.4, "why": "half is missing"}', "rubbish", '{"score": 0.9, "why": "all there"}')

    told = seen(cli, "show", task, columns=120).out

    assert re.search(r"evaluation ✗ 0\.40, below the 0\.8 that rescues +\d+ms +half is missing", told)
    assert re.search(r"evaluation ✗ no score, not rescued +\d+ms +the evaluator printed no score", told)
    assert re.search(r"evaluation ✓ 0\.90, rescued +\d+ms +all there", told)
    rows = [cells for cells in cli.good("show", task).cells if cells[0] == "evaluation"]
    assert [cells[1:3] for cells in rows] == [
        ["1", "0.40, below the 0.8 that rescues"],
        ["2", "no score, not rescued"],
        ["3", "0.90, rescued"],
    ]
    shown = cli.good("show", task, "--json").json
    assert [each["evaluation"]["rescued"] for each in shown["attempts"]] == [False, False, True]
    assert shown["rescue_threshold"] == 0.8
    assert "the evaluation of attempt 3: 0.90, rescued; all there" in explained(cli, task)["why"]
    assert cli.good("log", task, "--attempt", "2", "--check", "0").out == "looking\n"


def test_a_threshold_that_was_changed_since_is_not_claimed(cli: Cli) -> None:
    """What happened is what is told."""
    low = '{"score": 0.7, "why": "nearly"}'
    task = evaluated(cli, low, low, low, low, low)
    config = cli.folder / "medbay.toml"
    config.write_text(config.read_text("utf-8").replace("[policy", "rescue_threshold = 0.5\n[policy"), encoding="utf-8")

    assert "0.70, not rescued" in seen(cli, "show", task).out
    assert cli.good("explain", task, "--json").json["last_failure"]["evaluation"]["why"] == "nearly"
    assert cli("log", cli.add("other"), "--check", "0").code == 3


# What a newcomer types


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[triage]\ncommand = "./agent.sh --all"\n', '; write ["./agent.sh", "--all"]'),
        ("[triage]\nagent = command\n", '; a text stands in quotes: name = "text"'),
    ],
)
def test_a_common_mistake_in_the_file_says_how_it_is_written(cli: Cli, text: str, told: str) -> None:
    """One line, with the remedy."""
    (said,) = checked(cli, text)
    assert said.endswith(told)


def test_what_cannot_be_looked_at_says_why_and_what_helps(watched: Cli) -> None:
    """Each state in its own words; exit 4."""
    task = judged(watched, {"verdict": "PAUSE", "why": "it destroys data"})
    fresh, done = watched.add("fresh"), watched.add("done")
    watched.good("cancel", done)

    for given, told in (
        (task, f"{task} is paused; medbay resume {task} first"),
        (fresh, f"{fresh} has not failed; medbay explain {fresh} says where it stands"),
        (done, f"{done} is cancelled: there is nothing to triage; medbay show {done} has its attempts"),
        (f".triage-{task}-1", f".triage-{task}-1 is a triage itself; medbay show {task} is what it examines"),
    ):
        refused = watched("triage", given)
        assert (refused.code, refused.err) == (4, f"medbay: {told}\n")
    (watched.folder / "go").unlink(missing_ok=True)
    runs = watched.add("runs", "--run", "touch began; while [ ! -e go ]; do sleep 0.1; done")
    with daemon(watched):
        wait_for(lambda: (watched.folder / "began").exists())
        refused = watched("triage", runs)
        (watched.folder / "go").touch()
        wait_for(lambda: watched.bay().get(runs).finished)
    assert refused.err.startswith(f"medbay: {runs} runs (attempt 1), and may say more; ")


def test_a_cycle_on_a_terminal_tells_every_error_once_and_the_next_step(watched: Cli) -> None:
    """In the row of its task; programs get it on stderr."""
    task = judged(watched, {"verdict": "ESCALATE", "why": "look"})
    (watched.folder / "verdict").write_text("rubbish", encoding="utf-8")

    told = seen(watched, "triage", task).lines

    assert told[0] == f'! {task}  verdict unreadable  the answer is no verdict: "rubbish"'
    assert told[1].startswith("triage: issues_found 1, ")
    assert told[-1] == "next: medbay inbox" and sum("rubbish" in line for line in told) == 1
    assert f'{task}: verdict_unreadable: the answer is no verdict: "rubbish"' in watched("triage", task).err
    would = seen(watched, "triage", task, "--dry-run").lines
    assert would[0] == f"▣ {task}  would be triaged  .triage-{task}-4 by command"
    assert not would[-1].startswith("next")


def test_the_log_of_a_triage_says_where_the_rest_is(watched: Cli) -> None:
    """What it was shown and what it answered are files beside its log."""
    task = judged(watched, "")
    told = watched.good("log", f".triage-{task}-1")
    assert told.out == "thinking hard\n"
    assert [line.split(": ")[0] for line in told.err.splitlines()] == ["what it was shown"]
    other = judged(watched, {"verdict": "NOOP", "why": "wait"}, title="other")
    paths = [line.split(": ")[1] for line in watched.good("log", f".triage-{other}-1").err.splitlines()]
    assert json.loads((watched.folder / paths[1]).read_text("utf-8"))["verdict"] == "NOOP"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_question_is_read_to_its_end_on_any_terminal(watched: Cli, columns: int) -> None:
    """Need, why and what each option does are broken between words, never cut."""
    persons = watched.good("add", "sign it", "--person").out.strip()
    (watched.folder / "verdict").write_text(
        json.dumps({"verdict": "RECOMMEND_CONFIG", "suggestion": "more memory " * 12, "why": "it is short " * 12}),
        "utf-8",
    )
    task = watched.add("import", "--run", "echo 'ledger looks odd' >&2; exit 3")
    watched("up", "--until-idle")

    told = seen(watched, "inbox", columns=columns)

    assert all(len(line) <= columns for line in told.lines)
    assert "…" not in told.out
    flat = " ".join(told.out.split())
    assert flat.count("more memory") == flat.count("it is short") == 12
    assert "a --note becomes its result, and what comes after it goes on" in flat
    assert f"medbay answer {persons} 1 more: medbay show {persons}" in flat
    assert f"medbay answer q-{task}-1 1 more: medbay explain {task}" in flat


def test_a_question_beside_a_schedule_is_explained(watched: Cli) -> None:
    """A recurring task goes on, and says that somebody is asked."""
    (watched.folder / "verdict").write_text("rubbish", encoding="utf-8")
    task = watched.add("poll", "--every", "1h", "--run", "echo 'ledger looks odd' >&2; exit 3")
    watched("up", "--until-idle")
    watched("triage", task)

    told = explained(watched, task)

    assert any(why.startswith("a question about it is open: poll: its triage cannot be read") for why in told["why"])
    assert f"medbay answer {task}" in told["change"][0]


# One command, with healing


@pytest.mark.parametrize(
    ("verdict", "last"),
    [
        (
            {"verdict": "PAUSE", "why": "it destroys data"},
            [
                "▣ triage says PAUSE: down",
                "‖ paused by triage",
                "! failed · paused: triage paused it: it destroys data",
            ],
        ),
        (
            {"verdict": "FILE_FIX", "fix": {"title": "Repair it"}},
            ["▣ triage says FILE_FIX: down", "! pending · after {fix}: waits for its fix {fix}; Repair it"],
        ),
        (
            "rubbish",
            [
                '▣ triage failed: the answer is no verdict: "rubbish"',
                '! blocked · human: its triage cannot be read: the answer is no verdict: "rubbish"',
            ],
        ),
    ],
)
def test_run_tells_what_triage_says_and_where_it_leaves_you(watched: Cli, verdict: Any, last: list[str]) -> None:
    """With the command that answers, for the task or for what it waits for."""
    if isinstance(verdict, dict):
        verdict = json.dumps({"root_cause": "down"} | verdict)
    (watched.folder / "verdict").write_text(verdict, encoding="utf-8")

    ran = watched("run", "--title", "import", "--run", "echo 'ledger looks odd' >&2; exit 3")

    (task,) = (each["id"] for each in watched.good("list", "--json").json if each["title"] == "import")
    asked = next(iter(watched.good("show", task, "--json").json["after"]), task)
    told = ran.err.splitlines()
    assert ran.code == 75
    assert told[-3 - len(last) : -2] == ["▣ triaged by command", *(line.format(fix=asked) for line in last)]
    assert told[-1].startswith(f"  medbay answer {asked} 1, then medbay up")
