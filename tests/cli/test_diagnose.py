"""`medbay diagnose` and `medbay policy`: what Medbay thinks, and what it would do."""

from __future__ import annotations

import json

import pytest

from medbay.views.text import width
from tests.cli.calling import Cli

NETWORK = "Network timeout: ETIMEDOUT\n"
TYPESCRIPT = 'file.ts(45,12): error TS2304: Cannot find name "foo"\n'
FIELDS = """category subcategory confidence rule excerpt location fingerprint summary suggested_fix retryable
    retry_after provider charge session runners_up""".split()


def test_stdin_is_diagnosed_without_a_store(bare: Cli) -> None:
    """Nothing is run and nothing is opened."""
    found = bare.good("diagnose", "--exit-code", "1", "--json", stdin=NETWORK).json

    assert set(FIELDS) <= found.keys()
    assert found["category"] == "transient"
    assert found["confidence"] > 0.8


def test_a_file_is_diagnosed_with_its_place(bare: Cli) -> None:
    """For people and for programs."""
    (bare.folder / "build.log").write_text(TYPESCRIPT)

    rows = dict(bare.good("diagnose", "build.log").cells)
    told = bare.screen("diagnose", "build.log", columns=60, env={"NO_COLOR": "1"})

    assert rows["cause"].startswith("code_error")
    assert rows["where"] == "file.ts:45:12"
    assert all(width(line) <= 60 for line in told.lines)


def test_a_time_limit_is_a_fact(bare: Cli) -> None:
    """It comes before any text."""
    assert bare.good("diagnose", "--timed-out", "--json", stdin=TYPESCRIPT).json["category"] == "timeout"


def test_nothing_at_all_is_unknown_and_not_an_error(bare: Cli) -> None:
    """Also raw bytes and escape codes are text."""
    assert bare.good("diagnose", "--json", stdin="").json["category"] == "unknown"
    assert "\x1b" not in bare.good("diagnose", stdin=b"\xff\x00\x1b[2J error: \x1b[31mETIMEDOUT").out


def test_a_missing_file_is_not_found(bare: Cli) -> None:
    """Exit 3; a directory is wrong usage."""
    assert bare("diagnose", "none.log").code == 3
    assert bare("diagnose", str(bare.folder)).code == 2
    assert bare("diagnose", "--exit-code", "x").code == 2


def test_lines_are_judged_one_by_one(bare: Cli) -> None:
    """Each answer has its id."""
    lines = [
        {"id": "a", "text": NETWORK, "exit_code": 1},
        {"id": 7, "text": TYPESCRIPT},
        {"id": None, "text": "", "exit_code": None},
    ]
    text = "\n".join(map(json.dumps, lines))

    found = [json.loads(line) for line in bare.good("diagnose", "--jsonl", "-", stdin=text).lines]

    assert [each["id"] for each in found] == ["a", 7, None]
    assert [each["category"] for each in found] == ["transient", "code_error", "unknown"]
    assert found[1]["location"]["file"] == "file.ts"
    assert found[1]["location"]["line"] == 45
    assert found[2]["location"] is None
    assert all(set("id category subcategory confidence location fingerprint".split()) <= each.keys() for each in found)


@pytest.mark.parametrize("bad", ["{", "[]", '{"text": 5}', '{"id": 1}', '{"text": "x", "exit_code": "1"}'])
def test_a_bad_line_is_named_and_the_rest_goes_on(bare: Cli, bad: str) -> None:
    """Exit 2 at the end."""
    good = json.dumps({"id": 1, "text": NETWORK})

    called = bare("diagnose", "--jsonl", "-", stdin=f"{good}\n{bad}\n\n{good}\n")

    assert called.code == 2
    assert len(called.lines) == 2
    assert called.err.startswith("stdin:2: ")


def test_the_policy_is_shown_with_where_each_value_came_from(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Default, file with its line, or variable."""
    (cli.folder / "medbay.toml").write_text('[policy.ladder.transient]\ndelays = ["1s"]\n')
    monkeypatch.setenv("MEDBAY_POLICY_MAX_RETRIES_TOTAL", "9")

    rows = {cells[0]: cells[1:] for cells in cli.good("policy", "show").cells}
    found = cli.good("policy", "show", "--json").json

    assert rows["policy.ladder.transient.delays"] == ['["1s"]', "medbay.toml:2"]
    assert rows["policy.max_retries_total"] == ["9", "environment MEDBAY_POLICY_MAX_RETRIES_TOTAL"]
    assert rows["policy.preset"] == ['"ladder"', "default"]
    assert found["preset"] == "ladder"
    (changed,) = (each for each in found["settings"] if each["source"].startswith("environment"))
    assert (changed["key"], changed["value"]) == ("policy.max_retries_total", 9)
    assert "bold is not a default" in cli.screen("policy", "show").out


def test_without_a_store_the_policy_is_the_default(bare: Cli) -> None:
    """It can be looked at anywhere."""
    assert bare.good("policy", "show").cells[0] == ["policy.preset", '"ladder"', "default"]


def test_check_names_every_mistake_with_its_line(bare: Cli) -> None:
    """Exit 2; a good file is exit 0, a missing one exit 3."""
    (bare.folder / "bad.toml").write_text("[engine]\nworkres = 1\n[policy.ladder.transient]\ndelay = 3\n")
    (bare.folder / "good.toml").write_text("[engine]\nworkers = 1\n")

    bad = bare("policy", "check", "bad.toml")

    assert bad.code == 2
    assert [line.split(" ")[0] for line in bad.lines] == ["bad.toml:2:", "bad.toml:4:"]
    data = bare("policy", "check", "bad.toml", "--json")
    assert (data.code, [each["line"] for each in data.json]) == (2, [2, 4])
    assert bare("policy", "check", "good.toml").code == 0
    assert bare("policy", "check", "none.toml").code == 3
    assert bare("policy", "check", "-", stdin="[engine").code == 2


def test_a_dry_run_shows_the_next_five_decisions(cli: Cli) -> None:
    """What is thought of the log, then what would happen."""
    found = cli.good("policy", "dry-run", "-", "--exit-code", "1", "--json", stdin=NETWORK).json

    assert found["diagnosis"]["category"] == "transient"
    assert [each["attempt"] for each in found["decisions"]] == [1, 2, 3, 4, 5]
    assert all(each["due_at"] for each in found["decisions"])


def test_a_dry_run_ends_where_a_person_is_asked(cli: Cli) -> None:
    """For something that trying again cannot help, at once; the configured delays count."""
    (cli.folder / "medbay.toml").write_text('[policy.ladder.code_error]\ndelays = ["1s"]\nmax_retries = 1\n')

    steps = cli.good("policy", "dry-run", "-", "--json", stdin=TYPESCRIPT).json["decisions"]
    rows = cli.good("policy", "dry-run", "-", stdin=TYPESCRIPT).cells

    assert [each["action"] for each in steps] == ["retry_with_guidance", "mark_as_blocked"]
    assert steps[0]["delay_s"] < 2
    assert steps[1]["block_kind"] == "exhausted"
    assert [cells[1] for cells in rows if cells[0] == "decision"] == ["1", "2"]
    (cli.folder / "log").write_text(TYPESCRIPT)
    told = cli.screen("policy", "dry-run", "log", columns=60, env={"NO_COLOR": "1"})
    assert "mark as blocked" in told.out
    assert all(width(line) <= 60 for line in told.lines)


@pytest.mark.parametrize("name", ["task", "story", "hotfix", "workorder", "capture", "candidate"])
def test_a_lifecycle_is_drawn_in_three_ways(bare: Cli, name: str) -> None:
    """Text, diagram, data."""
    assert bare.good("lifecycle", "show", name).out.startswith(f"{name}: starts as ")
    assert bare.good("lifecycle", "show", name, "--format", "mermaid").out.startswith("stateDiagram-v2\n")
    assert bare.good("lifecycle", "show", name, "--json").json["name"] == name


def test_an_unknown_lifecycle_is_wrong_usage(bare: Cli) -> None:
    """With the nearest one."""
    called = bare("lifecycle", "show", "stroy")

    assert called.code == 2
    assert called.err.endswith("did you mean story?\n")


def test_a_file_beside_many_lines_is_refused(bare: Cli) -> None:
    """It would have been passed over in silence."""
    (bare.folder / "a.jsonl").write_text("", encoding="utf-8")

    called = bare("diagnose", "--jsonl", "a.jsonl", "a.py")

    assert (called.code, called.out) == (2, "")
    assert "--jsonl a.jsonl and a.py were both given" in called.err


def test_a_run_that_ended_well_is_not_tried_again(bare: Cli) -> None:
    """Nothing is used up by it."""
    told = dict(bare.good("diagnose", "--exit-code", "0", stdin="all fine").cells)

    assert told["retry"] == "nothing to try again: the run succeeded"
