"""`medbay apply`: the store follows the file, all or none; a second time changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Cli

JOBS = """\
[jobs.backup]
command = "./backup.sh"
cron = "0 3 * * *"
zone = "Europe/Berlin"
timeout = "10m"
tags = ["nightly", "db"]
env = { TARGET = "s3", LEVEL = "9" }

[jobs.prepare]
run = ["sh", "-c", "exit 0"]

[jobs.publish]
run = "true"
after = "prepare"
title = "publish the docs"
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def here(bare: Cli, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A project with a file of jobs, on either database."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").url(request.getfixturevalue("database"))
        monkeypatch.setenv("MEDBAY_STORE", url)
    bare.good("init")
    write(bare, JOBS)
    return bare


def write(cli: Cli, text: str, name: str = "jobs.toml") -> Path:
    """The file as it is now."""
    path = cli.folder / name
    path.write_text(text, encoding="utf-8")
    return path


def actions(cli: Cli, *words: str) -> dict[str, str]:
    """What became of each job."""
    return {each["name"]: each["action"] for each in cli.good("apply", "jobs.toml", *words, "--json").json}


def ids(cli: Cli) -> dict[str, str]:
    """The open task of each title."""
    return {each["title"]: each["id"] for each in cli.good("list", "--json").json if each["status"] != "cancelled"}


def test_jobs_are_added_once(here: Cli) -> None:
    """With every field, in the directory of the file; then nothing changes."""
    assert set(actions(here).values()) == {"add"}
    before = here.bay().last_seq()

    assert set(actions(here, "--prune").values()) == {"keep"}

    assert here.bay().last_seq() == before
    backup = here.good("show", ids(here)["backup"], "--json").json
    assert (backup["cron"], backup["zone"], backup["timeout_s"]) == ("0 3 * * *", "Europe/Berlin", 600)
    assert backup["cwd"] == str(here.folder)
    publish = here.good("show", ids(here)["publish the docs"], "--json").json
    assert publish["after"] == [ids(here)["prepare"]]


def test_a_changed_field_is_an_edit_of_the_same_task(here: Cli) -> None:
    """From its next attempt on; what a removed field held goes back to its default."""
    actions(here)
    known = ids(here)["backup"]
    write(here, JOBS.replace('"10m"', '"20m"').replace('tags = ["nightly", "db"]\n', "").replace('"9"', '"1"'))

    (changed,) = (each for each in here.good("apply", "jobs.toml", "--json").json if each["name"] == "backup")

    assert (changed["action"], changed["id"], changed["changed"]) == ("change", known, ["env", "tag", "timeout"])
    shown = here.good("show", known, "--json").json
    assert (shown["timeout_s"], shown["tags"]) == (1200, [])
    assert set(actions(here).values()) == {"keep"}


def test_the_way_a_job_recurs_can_change(here: Cli) -> None:
    """By a clock, every so often, and back."""
    for schedule in ('every = "60s"', 'cron = "5 * * * *"', 'cron = "@reboot"', 'every = "2m"\nmax_iterations = 3'):
        write(here, f'[jobs.a]\nrun = "true"\n{schedule}\n')
        assert actions(here)["a"] in ("add", "change")
        assert actions(here)["a"] == "keep"


def test_a_dry_run_says_what_would_change_and_changes_nothing(here: Cli) -> None:
    """Value by value; of variables only the names, which may be secret."""
    assert [cells[:3] for cells in here.good("apply", "jobs.toml", "--dry-run").cells] == [
        ["added", "backup", ""],
        ["added", "prepare", ""],
        ["added", "publish", ""],
    ]
    assert here.good("list", "--json").json == []
    actions(here)
    write(here, '[jobs.backup]\nrun = "./b2.sh"\ncron = "0 3 * * *"\nzone = "Europe/Berlin"\nenv = { TARGET = "s4" }\n')
    before = here.bay().last_seq()

    told = here.good("apply", "jobs.toml", "--prune", "--dry-run")

    details = told.cells[0][3]
    assert "run ./backup.sh -> ./b2.sh" in details and "timeout 10m -> none" in details
    assert "env LEVEL, TARGET" in details and "s4" not in details
    assert sorted(cells[:2] for cells in told.cells[1:]) == [["cancelled", "prepare"], ["cancelled", "publish"]]
    assert "1 changed, 2 cancelled (dry run: nothing was changed)" in told.err
    assert here.bay().last_seq() == before


def test_pruning_cancels_what_is_gone_from_this_file_alone(here: Cli) -> None:
    """Not what others added; nobody is asked about what came after it; what comes back is added again."""
    actions(here)
    other = here.add("by hand", "--key", "mine")
    write(here, '[jobs.far]\nrun = "true"\nat = 2030-01-01T00:00:00Z\n', "other.toml")
    here.good("apply", "other.toml")
    write(here, JOBS.partition("[jobs.prepare]")[0])

    assert actions(here) == {"backup": "keep"}
    assert actions(here, "--prune") == {"backup": "keep", "prepare": "cancel", "publish": "cancel"}

    assert set(ids(here)) == {"backup", "by hand", "far"}
    assert here.good("inbox", "--json").json == []
    assert here.good("show", other, "--json").json["status"] == "pending"
    write(here, JOBS)
    assert actions(here, "--prune") == {"backup": "keep", "prepare": "add", "publish": "add"}


@pytest.mark.parametrize(
    ("line", "number", "said"),
    [
        ('tmeout = "3s"', 4, 'unknown field "tmeout"; did you mean "timeout"?'),
        ('timeout = "soon"', 4, "soon"),
        ("priority = 9", 4, "priority is 0"),
        ('key = "k"', 4, "the name of a job is its key"),
        ('every = "1m"', 2, "cron and every were both given"),
        ('agent = "nobody"', 4, "nobody"),
        ('after = "nothing"', 2, 'there is no task "nothing"'),
        ('after = "bad"', 2, "a job cannot come after itself"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_nothing_is_done(cli: Cli, line: str, number: int, said: str) -> None:
    """Not even the jobs that are right."""
    write(cli, f'jobs.good.run = "true"\n[jobs.bad]\ncron = "@daily"\n{line}\nrun = "true"\n')

    called = cli("apply", "jobs.toml")

    assert called.code in (2, 3)
    assert called.err.startswith(f"jobs.toml:{number}: ") and said in called.err
    assert cli.good("list", "--json").json == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[jobs\n", "jobs.toml: is not TOML"),
        ("[job.a]\nrun = 'x'\n", 'jobs.toml:1: unknown key "job"'),
        ("jobs = 3\n", "jobs.toml:1: jobs is a table of tables"),
        ("[jobs]\na = 3\n", 'jobs.toml:2: "a" is not a table'),
        ("[jobs.'a:b']\nrun = 'x'\n", "jobs.toml:1: the name of a job"),
        ("name = 3\n", "jobs.toml:1: name is text"),
    ],
)
def test_a_text_that_is_no_file_of_jobs_is_refused(cli: Cli, text: str, said: str) -> None:
    """In one line."""
    write(cli, text)

    called = cli("apply", "jobs.toml")

    assert called.code == 2 and called.err.startswith(said)


def test_what_cannot_be_edited_is_named(here: Cli) -> None:
    """A job that ended, one that recurs and is to run once, and what it comes after; nothing else is done either."""
    actions(here)
    write(here, JOBS.replace('cron = "0 3 * * *"\nzone = "Europe/Berlin"\n', "").replace("exit 0", "exit 1"))
    once = here("apply", "jobs.toml")
    assert once.code == 4 and once.err.startswith("jobs.toml:1: backup: ") and "runs once" in once.err
    assert "refused" in here("apply", "jobs.toml", "--dry-run").out

    write(here, JOBS.replace('after = "prepare"\n', ""))
    loose = here("apply", "jobs.toml")
    assert loose.code == 4 and "cannot be changed" in loose.err

    here.good("up", "--until-idle")
    write(here, JOBS.replace("exit 0", "exit 1"))
    done = here("apply", "jobs.toml")
    assert done.code == 4 and "has completed" in done.err
    write(here, JOBS)
    assert set(actions(here).values()) == {"keep"}


def test_a_file_with_a_name_is_known_wherever_it_lies(cli: Cli) -> None:
    """As a new checkout of it does; stdin needs one."""
    text = 'name = "billing"\n[jobs.a]\nrun = "true"\n'
    write(cli, text)
    cli.good("apply", "jobs.toml")

    (same,) = cli.good("apply", "-", "--json", stdin=text.replace("true", "false")).json
    unnamed = cli("apply", "-", stdin="[jobs.a]\nrun = 'x'\n")

    assert same["action"] == "change"
    assert unnamed.code == 2 and "need a name" in unnamed.err


def test_inside_an_attempt_nothing_is_applied(cli: Cli) -> None:
    """It is a person's command."""
    write(cli, JOBS)

    assert cli("apply", "jobs.toml", env={"MEDBAY_ATTEMPT_KEY": "x"}).code == 4
    assert cli("apply", "missing.toml").code == 3


def test_on_a_terminal_it_reads_like_a_difference(cli: Cli) -> None:
    """Signs in front, what did not change left out."""
    write(cli, JOBS)
    assert "+  backup" in cli.screen("apply", "jobs.toml").out
    write(cli, JOBS.replace('"10m"', '"20m"'))

    shown = cli.screen("apply", "jobs.toml").out

    assert "timeout 10m -> 20m" in shown and "~  backup" in shown
    assert "jobs.toml: 1 changed, 2 unchanged" in shown
