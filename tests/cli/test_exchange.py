"""`medbay export` and `medbay import`: tasks as lines, and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medbay.service import requests
from tests.cli.calling import Cli

OTHER = "sqlite:///other.db"
FULL = {
    "cron": "0 3 * * *",
    "zone": "Europe/Berlin",
    "catch_up": "all",
    "max_iterations": 9,
    "title": "full",
    "run": ["echo", "a b"],
    "description": "why",
    "spec": "how",
    "cwd": "/tmp",
    "env": {"A": "1"},
    "timeout": "1500ms",
    "memory": 512_000_000,
    "cpu_time": "90s",
    "stall": "5m",
    "shell": "sh",
    "takes_advice": False,
    "priority": 0,
    "queue": "night",
    "tag": ["a", "b"],
    "policy": "ladder",
    "provider": ["anthropic/team"],
    "mutex": "db",
    "place": "cluster",
    "expect_by": "06:00",
    "check": ["true"],
    "required_check": [["test", "-e", "a b"]],
    "check_timeout": "30s",
    "fail_fast": True,
    "check_threshold": 0.5,
    "at": "2099-01-01T00:00:00.000Z",
    "key": "k1",
}


def exported(cli: Cli, *words: str) -> list[dict[str, object]]:
    """The lines of an export, by title: those of one transaction are equally old."""
    lines = [json.loads(line) for line in cli.good("export", *words).lines]
    return sorted(lines, key=lambda line: str(line["title"]))


def test_everything_a_task_was_given_survives(cli: Cli) -> None:
    """Each name of `add`, there and back; a field that is forgotten here fails."""
    (cli.folder / "medbay.toml").write_text('[places.cluster]\nkind = "temporal"\n', encoding="utf-8")
    first = cli.add("first")
    variables = cli.folder / "vars.env"
    variables.write_text("A=1\n", encoding="utf-8")
    own = {"after": [first], "env_file": str(variables), "env_from": ["HOME"]}
    cli.good("add", "--file", "-", stdin=json.dumps({**FULL, **own}))
    cli.add("often", "--every", "90s", "--at", "2099-01-01T00:00")

    lines = exported(cli)
    text = cli.good("export").out
    cli.good("import", "-", "--store", OTHER, stdin=text)
    again = exported(cli, "--store", OTHER)

    full = lines[1]
    of_agents = {"max_tokens", "max_cost", "model", "worktree", "setup", "copy", "on_pass"}
    assert {"run", *requests._FIELDS} - {"on_conflict", "assess"} - of_agents == {*full, *lines[2]} - {"id", "status"}
    assert full["after"] == [lines[0]["id"]]
    assert again[1]["after"] == [again[0]["id"]]
    changing = {"id", "after"}
    assert [{k: v for k, v in line.items() if k not in changing} for line in lines] == [
        {k: v for k, v in line.items() if k not in changing} for line in again
    ]
    assert {name: full[name] for name in ("timeout", "cpu_time", "memory", "env")} == {
        "timeout": "1500ms",
        "cpu_time": "90000ms",
        "memory": 512_000_000,
        "env": {"A": "1"},
    }


def test_a_call_of_a_function_survives(cli: Cli) -> None:
    """Under the names it was added with, not as the command it became."""
    call = {"python": "json:dumps", "args": {"obj": [1]}, "isolated": True}
    cli.good("add", "--file", "-", stdin=json.dumps({"title": "call", **call}))

    text = cli.good("export").out
    cli.good("import", "-", "--store", OTHER, stdin=text)

    (line,) = exported(cli, "--store", OTHER)
    assert {name: line[name] for name in call} == call
    assert "run" not in line


def test_the_work_of_agents_and_people_survives(cli: Cli) -> None:
    """Who does it, and what an attempt may use up."""
    config = '[agents.fake]\ncommand = ["fake", "{prompt_file}"]\nprovider = "acme/team"\n'
    (cli.folder / "medbay.toml").write_text(config, encoding="utf-8")
    agents = {"agent": "fake", "max_tokens": 5_000, "max_cost": 2.5, "provider": ["acme/team"]}
    cli.good("add", "think", "--agent", "fake", "--max-tokens", "5000", "--max-cost", "2.50")
    cli.good("add", "decide", "--person")

    text = cli.good("export").out
    cli.good("import", "-", "--store", OTHER, stdin=text)

    decides, thinks = exported(cli, "--store", OTHER)
    assert {name: thinks[name] for name in agents} == agents
    assert decides["person"] is True
    assert "run" not in thinks and "run" not in decides


def test_an_export_can_be_added_as_it_is(cli: Cli) -> None:
    """Without the two extra fields it is a file for `add`."""
    cli.add("a", "--tag", "x")
    lines = [{k: v for k, v in line.items() if k not in ("id", "status")} for line in exported(cli)]

    cli.good("add", "--file", "-", "--store", OTHER, stdin="\n".join(map(json.dumps, lines)))

    assert exported(cli, "--store", OTHER)[0]["title"] == "a"


def test_only_what_matches_is_exported(cli: Cli) -> None:
    """The same words as everywhere; what has ended on request."""
    kept, gone = cli.add("kept", "--tag", "x"), cli.add("gone")
    cli.good("cancel", gone)

    assert [line["id"] for line in exported(cli)] == [kept]
    assert [line["status"] for line in exported(cli, "--all")] == ["cancelled", "pending"]
    assert exported(cli, "--tag", "none") == []
    assert [line["id"] for line in exported(cli, "--status", "cancelled")] == [gone]


def test_what_had_ended_is_left_out_unless_asked_for(cli: Cli) -> None:
    """A completed one need not be waited for any more; after a cancelled one nothing can come."""
    lines = [
        {"id": "aaaa", "status": "completed", "title": "done", "run": "true"},
        {"id": "bbbb", "status": "pending", "title": "next", "run": "true", "after": ["aaaa"]},
    ]
    text = "\n".join(map(json.dumps, lines))

    told = cli.good("import", "-", stdin=text)

    assert len(told.lines) == 1
    assert told.err == "1 had ended and was left out; --all adds them too\n"
    assert cli.bay().get(told.out.strip()).ready
    assert len(cli.good("import", "-", "--all", stdin=text).lines) == 2
    refused = cli("import", "-", stdin=text.replace("completed", "cancelled"))
    assert refused.err.startswith('stdin:2: it comes after "aaaa", which was cancelled; ')


def test_a_key_makes_a_second_import_do_nothing(cli: Cli) -> None:
    """The same ids come back."""
    lines = [{"id": "aaaa", "title": "a", "run": "true"}, {"title": "b", "run": "true", "after": "aaaa"}]
    text = "\n".join(map(json.dumps, lines))

    first = cli.good("import", "-", "--key", "move", stdin=text).lines

    assert cli.good("import", "-", "--key", "move", stdin=text).lines == first
    assert [task["key"] for task in exported(cli)] == ["move:aaaa", "move:2"]
    assert cli.good("import", "-", "--json", stdin=text).json[0]["title"] == "a"


def test_lines_may_stand_in_any_order(cli: Cli) -> None:
    """A task may come before what it comes after; the ids are printed in the order of the lines."""
    lines = [
        {"id": "cccc", "title": "c", "run": "true", "after": ["bbbb", "aaaa"]},
        {"id": "bbbb", "title": "b", "run": "true", "after": "aaaa"},
        {"id": "aaaa", "title": "a", "run": "true"},
    ]

    ids = cli.good("import", "-", stdin="\n".join(map(json.dumps, lines))).lines

    bay = cli.bay()
    assert [bay.get(each).title for each in ids] == ["c", "b", "a"]
    assert sorted(bay.show(ids[0])["after"]) == sorted(ids[1:])


@pytest.mark.parametrize(
    ("bad", "said", "code"),
    [
        ("{", "is not JSON", 2),
        ('{"id": "x", "title": "a"}', "needs something to run", 2),
        ('{"id": "x", "title": "a", "run": "true", "colour": 1}', 'unknown field "colour"', 2),
        ('{"id": "x", "title": "a", "run": "true", "after": "zzzz"}', 'no task "zzzz"', 3),
        ('{"id": "x", "title": "a", "run": "true", "after": [7]}', "after", 2),
        ('{"id": "x", "title": "a", "run": "true", "after": "x"}', "comes after itself", 2),
        ('{"id": "good", "title": "a", "run": "true"}', 'the id "good" stands in line 1 too', 2),
    ],
)
def test_a_bad_line_names_itself_and_nothing_is_added(cli: Cli, bad: str, said: str, code: int) -> None:
    """All or none."""
    good = '{"id": "good", "title": "good", "run": "true"}'

    called = cli("import", "-", stdin=f"{good}\n{bad}\n")

    assert called.code == code
    assert called.err.startswith("stdin:2: ")
    assert said in called.err
    assert exported(cli) == []


def test_a_file_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    """One line, as for `add`."""
    assert cli("import", str(tmp_path / "none.jsonl")).code == 3


def test_a_loop_survives(cli: Cli) -> None:
    """Its order, delay and limits; the tasks of the copy have their own ids, and a second time adds nothing."""
    ids = [cli.add(title) for title in ("c", "a", "b")]
    cli.good("loop", *ids, "--delay", "5m", "--max-iterations", "7", "--max-failure-restarts", "2")
    cli.add("alone")
    text = cli.good("export").out
    backwards = "\n".join(reversed(text.splitlines()))

    cli.good("import", "-", "--store", OTHER, "--key", "moved", stdin=backwards)
    cli.good("import", "-", "--store", OTHER, "--key", "moved", stdin=backwards)

    lines = exported(cli, "--store", OTHER)
    assert [line["title"] for line in lines] == ["a", "alone", "b", "c"]
    owner = lines[3]["id"]
    said = {"of": owner, "delay": "300000ms", "max_iterations": 7, "max_failure_restarts": 2}
    assert [line.get("loop") for line in lines] == [
        {**said, "place": 1},
        None,
        {**said, "place": 2},
        {**said, "place": 0},
    ]
    shown = cli.good("show", str(lines[0]["id"]), "--store", OTHER, "--json").json
    assert shown["loop"] == owner


def test_what_is_left_of_a_loop_is_a_task(cli: Cli) -> None:
    """The other one has ended."""
    line = {"id": "x", "title": "left", "run": "true", "loop": {"of": "gone", "place": 1, "max_failure_restarts": 3}}
    cli.good("import", "-", stdin=json.dumps(line))
    (found,) = exported(cli)
    assert "loop" not in found and found["title"] == "left"


@pytest.mark.parametrize(
    "loop",
    [
        "x",
        {"place": 1},
        {"of": "x", "color": 1},
        {"of": "x", "place": -1},
        {"of": "x", "delay": "soon"},
        {"of": "x", "max_iterations": 0},
    ],
)
def test_a_loop_that_cannot_be_read_names_its_line(cli: Cli, loop: object) -> None:
    """And nothing is added."""
    lines = [{"title": "fine", "run": "true"}, {"title": "odd", "run": "true", "loop": loop}]
    found = cli("import", "-", stdin="\n".join(json.dumps(line) for line in lines))
    assert found.code == 2 and "2" in found.err
    assert exported(cli) == []


def test_a_file_that_is_not_there_is_not_found(cli: Cli) -> None:
    """Exit 3, as the reference says."""
    for words in (["import", "none.jsonl"], ["policy", "replay", "--policy", "none.toml"]):
        called = cli(*words)

        assert (called.code, f"there is no file {words[-1]}" in called.err) == (3, True)
