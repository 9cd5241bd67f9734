"""`medbay import --crontab`: each job once, what cannot be taken over named, what is taken over runs as cron ran it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.cli.calling import Cli

EXAMPLE = Path(__file__).parents[2] / "examples" / "crontab"
TEXT = """\
SHELL=/bin/bash
MAILTO=ops@example.org
GREETING="good day"
15 2 * * * echo nightly
0 4 * * * cat; echo "$GREETING from $BASH_VERSION"%one%two
@reboot echo up
61 * * * * x
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def here(bare: Cli, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A project on either database, with a home of its own."""
    monkeypatch.setenv("HOME", str(bare.folder))
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").url(request.getfixturevalue("database"))
        monkeypatch.setenv("MEDBAY_STORE", url)
    bare.good("init")
    (bare.folder / "crontab").write_text(TEXT, encoding="utf-8")
    return bare


def program(cli: Cli, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name, found before all others."""
    path = cli.folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")


def test_the_same_crontab_twice_adds_nothing_twice(here: Cli) -> None:
    """The second time every job is there already; a new line is the only one that is added."""
    first = here("import", "--crontab", "crontab")
    assert first.code == 1 and len(first.lines) == 3
    assert 'crontab:7: not taken over: "61 * * * *" is not a cron expression: bad minute' in first.err
    assert "crontab: 3 added, 1 left out" in first.err

    second = here("import", "--crontab", "crontab")
    assert (second.code, second.out) == (1, "")
    assert "crontab: 3 there already, 1 left out" in second.err

    (here.folder / "crontab").write_text("# moved down\n" + TEXT.replace("61 *", "6 *"), encoding="utf-8")
    third = here("import", "--crontab", "crontab")
    assert third.code == 0 and len(third.lines) == 1
    assert len(here.good("list", "--json").json) == 4


def test_what_was_added_is_what_the_lines_said(here: Cli) -> None:
    """Schedule, shell, variables, directory and tag."""
    here("import", "--crontab", "crontab")
    nightly, *_ = (each for each in here.good("export").out.splitlines() if "echo nightly" in each)

    for said in (
        '"cron": "15 2 * * *"',
        '"zone": "UTC"',
        '["/bin/bash", "-o", "pipefail", "-c", "echo nightly"]',
        '"tag": ["crontab"]',
    ):
        assert said in nightly
    assert f'"cwd": "{here.folder}"' in nightly
    assert '"GREETING": "good day"' in nightly


def test_a_job_runs_with_its_shell_its_variables_and_its_input(here: Cli) -> None:
    """As under cron."""
    here("import", "--crontab", "crontab")
    (task,) = (each["id"] for each in here.good("list", "--json").json if "cat;" in each["title"])

    here.good("retry", task)
    here.good("up", "--until-idle")

    first, second, greeting = here.good("log", task).lines
    assert (first, second) == ("one", "two")
    assert greeting.startswith("good day from ") and greeting != "good day from "
    assert here.good("show", task, "--json").json["status"] == "pending"


def test_a_dry_run_shows_each_line_and_adds_nothing(here: Cli) -> None:
    """What it becomes, or why not."""
    shown = here("import", "--crontab", "crontab", "--dry-run")

    assert [cells[:3] for cells in shown.cells] == [
        ["4", "added", "15 2 * * *"],
        ["5", "added", "0 4 * * *"],
        ["6", "added", "@reboot"],
        ["7", "left out", ""],
    ]
    assert "by /bin/bash" in shown.cells[0][4] and "with its input" in shown.cells[1][4]
    assert "nothing was added" in shown.err
    assert here.good("list", "--json").json == []


def test_json_has_every_line(cli: Cli) -> None:
    """With the id of what was added."""
    called = cli("import", "--crontab", "-", "--json", stdin="@daily a\nnonsense\n")

    first, second = called.json
    assert first["action"] == "add" and first["id"] == cli.good("list", "--json").json[0]["id"]
    assert (second["line"], second["action"], second["id"]) == (2, "refuse", None)
    assert "does not have a schedule" in second["why"]


def test_without_a_file_it_is_the_users_own(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `crontab -l` prints it."""
    program(cli, "crontab", "test \"$1\" = -l && echo '@hourly mine'", monkeypatch)
    assert len(cli.good("import", "--crontab").lines) == 1
    assert cli.good("import", "--crontab").lines == []

    program(cli, "crontab", "echo no crontab for ada >&2; exit 1", monkeypatch)
    none = cli("import", "--crontab")
    assert none.code == 3 and "no crontab for ada" in none.err


def test_the_form_of_the_system_names_a_user(cli: Cli) -> None:
    """Told by an option, or by the place of the file; who is not this user is named."""
    called = cli("import", "--crontab", "-", "--system", "--json", stdin="@daily no-such-user x\n")

    assert called.code == 1
    assert "no-such-user" in called.json[0]["why"]


@pytest.mark.skipif(not Path("/etc/crontab").exists(), reason="this machine has no /etc/crontab")
def test_the_crontab_of_the_machine_is_in_the_form_of_the_system(cli: Cli) -> None:
    """Its jobs are read, whoever runs them."""
    called = cli("import", "--crontab", "/etc/crontab", "--dry-run", "--json")

    assert all("user root" not in (row["title"] or "") for row in called.json)
    assert not any((row["title"] or "").startswith("root ") for row in called.json)


def test_mail_is_named_where_there_is_no_sendmail(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its line."""
    monkeypatch.setattr("medbay.cli.crontab._SENDMAIL", ())
    monkeypatch.setattr("medbay.cli.crontab.shutil.which", lambda name: None)

    called = cli.good("import", "--crontab", "-", stdin="MAILTO=ops@example.org\n@daily x\n")

    assert "stdin:1: MAILTO=ops@example.org is not taken over: there is no sendmail" in called.err


def test_mail_becomes_a_channel_as_text_or_in_the_file(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written once."""
    program(cli, "sendmail", "true", monkeypatch)
    text = "MAILTO=ops@example.org\n@daily x\n"

    shown = cli.good("import", "--crontab", "-", "--dry-run", stdin=text)
    assert "[notify.mail-ops]" in shown.err and "sendmail" in shown.err

    config = cli.folder / "medbay.toml"
    for _ in range(2):
        written = cli("import", "--crontab", "-", "--write-config", stdin=text)
    assert written.code == 0
    assert config.read_text(encoding="utf-8").count("[notify.mail-ops]") == 1
    cli.good("policy", "check")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--crontab", "-", "--key", "k"], "for the lines of an export"),
        (["--system", "x"], "--system goes with --crontab"),
        (["--dry-run", "x"], "--dry-run goes with --crontab"),
        ([], "name a file"),
        (["--crontab", "missing"], "there is no file missing"),
    ],
)
def test_what_does_not_go_together_is_refused(cli: Cli, words: list[str], said: str) -> None:
    """In one line."""
    called = cli("import", *words)

    assert called.code in (2, 3)
    assert said in called.err


def test_inside_an_attempt_nothing_is_imported(cli: Cli) -> None:
    """It is a person's command."""
    for words in (["--crontab", "-"], ["-"]):
        called = cli("import", *words, env={"MEDBAY_ATTEMPT_KEY": "x"}, stdin="@daily x\n")
        assert called.code == 4


def test_the_example_is_imported_whole(cli: Cli) -> None:
    """Twelve jobs, and nothing is left out."""
    called = cli.good("import", "--crontab", str(EXAMPLE))

    assert len(called.lines) == 12
    (closing,) = (each["id"] for each in cli.good("list", "--json").json if "close-of-day" in each["title"])
    assert cli.good("show", closing, "--json").json["zone"] == "America/New_York"


def test_what_runs_once_per_boot_says_so(cli: Cli) -> None:
    """Where it stands, why, and what comes next."""
    task = cli.add("warm up", "--cron", "@reboot")

    assert cli.good("list").cells[0][1:3] == ["pending", "waits for boot"]
    assert "at every boot" in cli.good("show", task).out
    explained = cli.good("explain", task).out
    assert "waits for the next boot of its machine" in explained
    assert "when an engine sees that its machine was started again" in explained
    cli.good("up", "--until-idle")
    assert cli.good("show", task, "--json").json["attempts"] == []
    assert "standstill" not in cli("doctor").out.replace("no standstill", "")


def test_a_copy_of_a_systems_crontab_is_read_as_one(cli: Cli) -> None:
    """Every job names a user: else `root` would be taken for a command."""
    (cli.folder / "copy").write_text("17 * * * * root echo hourly\n25 6 * * * root echo daily\n", encoding="utf-8")
    (cli.folder / "own").write_text("17 * * * * root echo hourly\n25 6 * * * echo daily\n", encoding="utf-8")

    copied = cli("import", "--crontab", "copy", "--dry-run")
    own = cli("import", "--crontab", "own", "--dry-run")

    assert "read as a system's crontab" in copied.err and "read as a system" not in own.err


def test_a_shell_that_is_no_command_is_named(cli: Cli) -> None:
    """Before the first night, not in it."""
    (cli.folder / "odd").write_text("SHELL=/no/such/shell\n0 1 * * * echo x\n", encoding="utf-8")

    called = cli("import", "--crontab", "odd")

    assert called.code == 1 and "its SHELL /no/such/shell is no command" in called.err
