"""`medbay add`: one task, many tasks, and every way to get it wrong."""

from __future__ import annotations

import json

import pytest

from tests.cli.calling import Cli

HOSTILE = "\x1b[2J`rm -rf /` $(id) \u202e; 'quote\" two\nlines\ttab"


def test_add_prints_the_id_alone(cli: Cli) -> None:
    """For scripts; nothing else is on stdout."""
    called = cli.good("add", "pull", "--run", "./pull.sh")

    task_id = called.out.removesuffix("\n")
    assert task_id.isalnum()
    assert cli.bay().get(task_id).command == "./pull.sh"


def test_words_after_two_dashes_are_the_command(cli: Cli) -> None:
    """Whatever they look like."""
    task_id = cli.good("add", "pull", "--tag", "x", "--", "./pull.sh", "--all", "--tag", "--").out.strip()

    assert cli.bay().get(task_id).command == ("./pull.sh", "--all", "--tag", "--")


def test_every_option_arrives(cli: Cli) -> None:
    """As the library has them."""
    (cli.folder / "spec.md").write_text("do it well")
    first = cli.add("first")

    options = "--timeout 2m --description why --tag a --tag b --priority 0 --policy ladder --provider anthropic/team"
    (cli.folder / "sub").mkdir()
    more = f"--queue night --at +10m --key k1 --on-conflict refuse --cwd sub --env A=1 --env B=x=y --after {first}"
    limits = "--memory 512M --cpu-time 90s --spec spec.md"
    task_id = cli.add("second", *options.split(), *more.split(), *limits.split())

    shown = cli.good("show", task_id, "--json").json
    assert shown["timeout_s"] == 120
    assert (shown["description"], shown["spec"], shown["key"]) == ("why", "do it well", "k1")
    assert (shown["tags"], shown["priority"], shown["queue"]) == (["a", "b"], 0, "night")
    assert shown["providers"] == ["anthropic/team"]
    assert shown["env"] == {"A": "1", "B": "x=y"}
    assert shown["cwd"] == str(cli.folder / "sub")
    assert (shown["memory_bytes"], shown["cpu_time_s"]) == (512 * 1024**2, 90)
    assert shown["after"] == [first]
    assert shown["next_attempt_at"] is not None


def test_a_function_is_added_with_its_arguments(cli: Cli) -> None:
    """By name, in a process of its own."""
    words = ("--python", "jobs:pull", "--args", '{"day": "monday"}', "--isolated")
    task_id = cli.good("add", "pull", *words).out.strip()

    shown = cli.good("show", task_id, "--json").json
    assert (shown["runner"], shown["python"], shown["run"]) == ("python", "jobs:pull", None)
    assert (shown["args"], shown["isolated"], shown["result"]) == ({"day": "monday"}, True, None)
    assert "jobs:pull" in cli.good("show", task_id).out


def test_the_same_key_gives_the_same_task(cli: Cli) -> None:
    """Unless told to refuse."""
    first = cli.add("a", "--key", "k")

    assert cli.add("a", "--key", "k") == first
    refused = cli("add", "a", "--run", "true", "--key", "k", "--on-conflict", "refuse")
    assert refused.code == 4


def test_a_hostile_title_is_kept_and_never_obeyed(cli: Cli) -> None:
    """Stored as it is, printed escaped, on one line."""
    task_id = cli.add(HOSTILE)

    assert cli.good("show", task_id, "--json").json["title"] == HOSTILE
    assert len(cli.good("list").lines) == 1
    for words in (("list",), ("show", task_id), ("explain", task_id)):
        for columns in (60, 200):
            told = cli.screen(*words, columns=columns, env={"NO_COLOR": "1"})
            assert told.code == 0
            assert "\x1b" not in told.out
            assert "\u202e" not in told.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["add"], 2, "a task needs a title"),
        (["add", "a"], 2, "a task needs something to run"),
        (["add", "", "--run", "true"], 2, "the title is empty"),
        (["add", "a", "--run", " "], 2, "the command is empty"),
        (["add", "a", "--"], 2, "nothing comes after --"),
        (["add", "a", "b"], 2, "unexpected extra argument"),
        (["add", "a", "--run", "x", "--", "y"], 2, "both given"),
        (["add", "a", "--run", "x", "--timeout", "soon"], 2, "is not a duration"),
        (["add", "a", "--run", "x", "--priority", "9"], 2, "priority is 0"),
        (["add", "a", "--run", "x", "--memory", "12"], 2, "too small"),
        (["add", "a", "--run", "x", "--env", "novalue"], 2, "NAME=VALUE"),
        (["add", "a", "--run", "x", "--env", "MEDBAY_X=1"], 2, "set by Medbay itself"),
        (["add", "a", "--run", "x", "--at", "tomorrow"], 2, "is not a time"),
        (["add", "a", "--run", "x", "--at", "9999-12-31T23:59:59-14:00"], 2, "is too far away"),
        (["add", "a", "--run", "x", "--at", "0001-01-01T00:00:00+14:00"], 2, "is too far away"),
        (["add", "a", "--run", "x", "--after", "zzzz"], 3, 'no task "zzzz"'),
        (["add", "a", "--run", "x", "--spec", "none.md"], 3, "there is no file none.md"),
        (["add", "a", "--run", "x", "--policy", "hope"], 2, 'no policy "hope"'),
        (["add", "a", "--run", "x", "--on-conflict", "cry"], 2, "on-conflict"),
        (["add", "a", "--python", "pull"], 2, "names no function"),
        (["add", "a", "--python", "m:f", "--args", "[1"], 2, "args is not JSON"),
        (["add", "a", "--python", "m:f", "--run", "x"], 2, "both given"),
        (["add", "a", "--run", "x", "--isolated"], 2, "both given"),
        (["add", "a", "--file", "x.jsonl"], 2, "--file stands alone"),
        (["add", "--file", "none.jsonl"], 3, "there is no file none.jsonl"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_added(cli: Cli, words: list[str], code: int, said: str) -> None:
    """One line, the right code, an empty store."""
    called = cli(*words)

    assert called.code == code
    assert said in called.err
    assert called.err.count("\n") == 1
    assert cli.good("list", "--json").json == []


def test_many_come_from_a_file_and_may_follow_each_other(cli: Cli) -> None:
    """One id per line, in the order of the lines; blank lines are skipped."""
    lines = [
        {"title": "one", "run": "true", "tag": ["x"], "key": "one"},
        {"title": "two", "run": ["echo", "a b"], "after": ["one"], "timeout": "30s", "priority": 1},
    ]
    (cli.folder / "tasks.jsonl").write_text("\n\n".join(map(json.dumps, lines)) + "\n")

    first, second = cli.good("add", "--file", "tasks.jsonl").lines

    assert cli.bay().get(second).command == ("echo", "a b")
    assert cli.good("show", second, "--json").json["after"] == [first]


def test_many_come_from_stdin(cli: Cli) -> None:
    """`-` reads what is piped in."""
    told = cli.good("add", "--file", "-", stdin='{"title": "a", "run": "true"}\n' * 3)

    assert len(set(told.lines)) == 3


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("{", "is not JSON"),
        ("[1]", "is not a JSON object"),
        ('{"title": "a"}', "needs something to run"),
        ('{"title": "a", "run": "true", "colour": "red"}', 'unknown field "colour"'),
        ('{"title": "a", "run": "true", "after": "zzzz"}', 'no task "zzzz"'),
        ('{"title": "a", "run": "true", "key": "taken", "on_conflict": "refuse"}', "taken"),
        ('{"title": "a", "run": 5}', "run is a command line"),
    ],
)
def test_a_bad_line_names_itself_and_nothing_is_added(cli: Cli, bad: str, said: str) -> None:
    """All or none."""
    cli.add("known", "--key", "taken")
    good = '{"title": "good", "run": "true"}'

    called = cli("add", "--file", "-", stdin=f"{good}\n{bad}\n{good}\n")

    assert called.code in (2, 3, 4)
    assert called.err.startswith("stdin:2: ")
    assert said in called.err
    assert [row["title"] for row in cli.good("list", "--json").json] == ["known"]


def test_a_line_that_is_no_text_names_itself(cli: Cli) -> None:
    """Bytes that are not UTF-8."""
    called = cli("add", "--file", "-", stdin=b'{"title": "\xff", "run": "true"}\n')

    assert called.err.startswith("stdin:1: is not UTF-8")


def test_added_tasks_can_be_data(cli: Cli) -> None:
    """With the fields of a list."""
    told = cli.good("add", "a", "--run", "true", "--json").json

    assert [row["title"] for row in told] == ["a"]


def test_a_terminal_is_told_when_nothing_runs_tasks(cli: Cli) -> None:
    """The next command to type."""
    assert "medbay up" in cli.screen("add", "a", "--run", "true").out


@pytest.mark.parametrize("given", ["0", "1.01", "-0.5", "nan"])
def test_a_threshold_is_a_share_of_the_checks(cli: Cli, given: str) -> None:
    """Above 0 and at most 1."""
    called = cli("add", "build", "--run", "make", "--check", "true", "--check-threshold", given)

    assert called.code == 2
    assert "check_threshold is a number above 0 and at most 1" in called.err


def test_a_threshold_is_added_edited_shown_and_exported(cli: Cli) -> None:
    """Under one name everywhere; the default is all of the checks."""
    plain = cli.add("plain", "--check", "true")
    half = cli.add("half", "--check", "true", "--check", "false", "--check-threshold", "0.5")
    (from_line,) = cli.good(
        "add", "--file", "-", stdin='{"title": "x", "run": "true", "check_threshold": 0.25}\n'
    ).lines
    cli.good("edit", plain, "--check-threshold", "0.75")

    shares = [cli.good("show", each, "--json").json["check_threshold"] for each in (plain, half, from_line)]
    exported = [json.loads(line).get("check_threshold") for line in cli.good("export").lines]

    assert shares == [0.75, 0.5, 0.25]
    assert exported == [0.75, 0.5, None]  # without checks nothing is said of them


def test_an_option_with_one_value_is_accepted_and_not_in_the_help(cli: Cli) -> None:
    """`--policy` comes back to the help with its second value."""
    cli.add("laddered", "--policy", "ladder")

    assert "--policy" not in cli.good("add", "--help").out
    assert "--policy" not in cli.good("edit", "--help").out


def test_a_time_beyond_the_calendar_in_the_store_is_shown_as_its_last_day(cli: Cli) -> None:
    """Whoever wrote it there: nobody else's list fails."""
    task_id = cli.add("a", "--at", "9000-01-01")
    with cli.bay().store.write() as tx:
        tx.execute("UPDATE task SET due_at = ? WHERE id = ?", (10**17, task_id))

    for zone in ("UTC", "Pacific/Kiritimati"):
        for command in ("list", "explain", "show"):
            words = [command] if command == "list" else [command, task_id]
            assert cli.screen(*words, env={"TZ": zone}).code == 0
            assert cli(*words, "--json", env={"TZ": zone}).code == 0


def test_a_directory_that_does_not_exist_is_refused(cli: Cli) -> None:
    """At once, and not as a failed attempt at night; a line of a file is named, and nothing is added."""
    called = cli("add", "x", "--run", "true", "--cwd", "/no/such/place")
    assert called.code == 2
    assert called.err == ("medbay: there is no directory /no/such/place; create it, or name another with --cwd\n")

    lines = '{"title": "a", "run": "true"}\n{"title": "b", "run": "true", "cwd": "/no/such/place"}\n'
    called = cli("add", "--file", "-", stdin=lines)
    assert (called.code, called.err) == (
        2,
        "stdin:2: there is no directory /no/such/place; nothing was added\n",
    )
    assert cli.good("list", "--json").json == []
    assert cli("run", "--cwd", "/no/such/place", "--", "true").code == 2


def test_variables_are_read_when_an_attempt_starts_and_never_stored(cli: Cli) -> None:
    """From a file and from the daemon, also what is kept from others; a missing one names itself."""
    (cli.folder / "medbay.toml").write_text('[runner]\nsecrets = ["*_TOKEN"]\n')
    secrets = cli.folder / "job.env"
    secrets.write_text("# of the job\nexport A_KEY='one two'\nPLAIN=3\n")
    line = "echo \"$A_KEY|$PLAIN|$API_TOKEN|$OTHER_TOKEN\" | tr 'a-z' 'A-Z' > seen"
    task = cli.good("add", "a", "--run", line, "--env-file", "job.env", "--env-from", "API_TOKEN").out.strip()
    secrets.write_text(secrets.read_text().replace("one two", "newer value"))

    assert cli("up", "--until-idle", env={"API_TOKEN": "tik", "OTHER_TOKEN": "tok"}).code == 0

    assert (cli.folder / "seen").read_text() == "NEWER VALUE|3|TIK|\n"
    stored = cli.good("export", "--all").out + cli.good("show", task, "--json").out
    assert "job.env" in stored
    assert not any(value in stored for value in ("one two", "newer value", '"tik"'))
    called = cli("add", "b", "--run", "true", "--env-file", "none.env")
    assert (called.code, "there is no file" in called.err) == (2, True)


def test_a_variable_that_the_daemon_lacks_is_named(cli: Cli) -> None:
    """The attempt does not start without it."""
    task = cli.good("add", "a", "--run", "true", "--env-from", "NOT_THERE").out.strip()

    cli.bay().daemon(workers=1).run(until=lambda: cli.bay().get(task).attempts > 0 and not cli.bay().get(task).live)

    assert "NOT_THERE is not set" in cli.good("show", task).out
