"""The command line as a whole: help, global options, errors in one line, exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote

import pytest

from medbay.cli import complaint
from medbay.cli.commands import BY_NAME, SYNONYMS, TABLE
from medbay.errors import ConfigError
from tests.cli.calling import COMMAND, Cli

LOADED_BY_LIST = "import sys; from medbay.cli.main import main; main(['list']); print(*sys.modules, file=sys.stderr)"
LOADED_BY_HELP = "import sys; from medbay.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"


def test_the_first_view_has_twelve_commands(bare: Cli) -> None:
    """What is enough for a week, in the order it is needed; the rest is one command away."""
    told = bare.good("--help").out

    listed = re.findall(r"^  ([a-z]+) +\S", told.partition("Commands:")[2].partition("Options:")[0], re.MULTILINE)
    assert listed == "demo init run add up list show log inbox answer doctor explain".split()
    assert "medbay help --all" in told


def test_help_all_lists_every_command_by_section(bare: Cli) -> None:
    """Each with one line."""
    told = bare.good("help", "--all").out

    for entry in TABLE:
        assert entry.help in told
    assert told.index("Start:") < told.index("View:") < told.index("Act:")


def test_help_of_a_command_is_its_own_help(bare: Cli) -> None:
    """Of a subcommand too, and what does not exist gets a guess."""
    assert bare.good("help", "add").out == bare.good("add", "--help").out
    assert bare.good("help", "breaker", "open").out == bare.good("breaker", "open", "--help").out
    assert bare("help", "brek").err == 'medbay: there is no command "brek"; did you mean breaker?\n'
    assert bare("help", "breaker", "opn").err == 'medbay: there is no command "opn"; did you mean open?\n'
    assert bare("help", "list", "x").code == 2


@pytest.mark.parametrize(("word", "meant"), [*SYNONYMS.items()])
def test_a_word_of_another_tool_gets_a_guess(bare: Cli, word: str, meant: str) -> None:
    """`status`, `stop`, `rm`, `ps` and their like."""
    assert meant in BY_NAME
    assert bare(word).err == f'medbay: there is no command "{word}"; did you mean {meant}?\n'


def test_no_arguments_give_the_help(bare: Cli) -> None:
    """A first call is no mistake."""
    assert bare.good().out == bare.good("--help").out == bare.good("-h").out


@pytest.mark.parametrize("name", ["policy", "patterns", "breaker", "db", "lifecycle"])
def test_a_group_alone_shows_what_it_has(bare: Cli, name: str) -> None:
    """Wrong usage, but in lines that can be read."""
    called = bare(name)

    assert (called.code, called.out) == (2, "")
    assert called.err == bare.good(name, "--help").out
    assert max(map(len, called.err.splitlines())) <= 100


def test_help_imports_no_command(bare: Cli) -> None:
    """That is what keeps it fast."""
    ran = subprocess.run([sys.executable, "-c", LOADED_BY_HELP], capture_output=True, text=True, timeout=60)
    loaded = set(ran.stderr.split())

    assert ran.returncode == 0
    assert not loaded & {f"medbay.cli.{entry.module}" for entry in TABLE}
    assert not loaded & {"medbay.bay", "medbay.core.model", "msgspec", "sqlite3", "rich"}


def test_a_list_loads_no_engine_and_no_rules(bare: Cli) -> None:
    """It is asked for all the time: what starts work or decides about it is loaded by the commands that do."""
    bare.good("init")
    words = [sys.executable, "-c", LOADED_BY_LIST]
    ran = subprocess.run(words, cwd=bare.folder, capture_output=True, text=True, timeout=60)
    loaded = set(ran.stderr.split())

    assert "medbay.service.listing" in loaded, ran.stderr
    heavy = {"medbay.wiring", "medbay.engine", "medbay.core.rules", "medbay.core.policy.forecast", "yaml", "logging"}
    assert not loaded & heavy


def test_help_answers_within_a_fifth_of_a_second() -> None:
    """Of computing, so that a busy machine does not count: the best of five, with room for a slow one."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    taken = []
    for _ in range(5):
        process = subprocess.Popen([COMMAND, "--help"], stdout=subprocess.DEVNULL, env=env)
        _, process.returncode, used = os.wait4(process.pid, 0)
        taken.append(used.ru_utime + used.ru_stime)

    assert min(taken) < 0.35


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "simulate"])
def test_every_command_has_help_with_an_example(bare: Cli, name: str) -> None:
    """`medbay COMMAND --help` works for all of the table."""
    told = bare.good(name, "--help").out

    assert "--store" in told
    assert told.startswith("Usage: medbay " + name)


def test_the_version_is_one_line(bare: Cli) -> None:
    """Name and number."""
    assert bare.good("--version").out.startswith("medbay 0.")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["lsit"], 'medbay: there is no command "lsit"; did you mean list?\n'),
        (["frobnicate"], 'medbay: there is no command "frobnicate"; medbay help --all lists them\n'),
        (["list", "--stauts", "x"], "medbay: there is no option --stauts; did you mean --status?\n"),
        (["--frob"], "medbay: there is no option --frob; medbay --help lists what there is\n"),
        (["policy", "shwo"], 'medbay: there is no command "shwo"; did you mean show?\n'),
        (["show"], "medbay: missing argument 'ID'; medbay show --help says how\n"),
        (["list", "--store", ""], "medbay: --store is empty; leave it out, or name what is meant\n"),
        (["list", "--limit", "x"], None),
        (["list", "--limit", "0"], None),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(cli: Cli, words: list[str], line: str | None) -> None:
    """With what was meant, or where to look."""
    called = cli(*words)

    assert called.code == 2
    assert called.out == ""
    assert called.err.count("\n") == 1
    assert called.err.startswith("medbay: ")
    assert line is None or called.err == line


def test_no_store_is_exit_3_and_says_how_to_make_one(bare: Cli) -> None:
    """The most likely first mistake."""
    called = bare("list")

    assert called.code == 3
    assert called.err == "medbay: no store here or above; medbay init makes one, --store names one\n"


def test_with_json_an_error_is_data_as_well(cli: Cli) -> None:
    """On stderr, after the line for people."""
    called = cli("show", "zzzz", "--json")
    line, data = called.err.splitlines()

    assert called.code == 3
    assert line.startswith('medbay: there is no task "zzzz"')
    assert json.loads(data)["error"] == {
        "code": 3,
        "message": 'there is no task "zzzz"',
        "hint": "medbay list --all shows them",
    }


def test_json_that_cannot_be_parsed_as_a_flag_still_gets_its_error(cli: Cli) -> None:
    """Also wrong usage is data."""
    called = cli("list", "--json", "--stauts", "x")

    assert json.loads(called.err.splitlines()[1])["error"]["code"] == 2


def test_options_may_stand_before_or_after_the_command(bare: Cli, tmp_path: Path) -> None:
    """`--store` and `--json` in both places."""
    url = f"sqlite:///{tmp_path / 'other.db'}"
    bare.good("--store", url, "add", "a", "--run", "true")

    before = bare.good("--store", url, "--json", "list")
    after = bare.good("list", "--store", url, "--json")

    assert before.json == after.json
    assert [row["title"] for row in after.json] == ["a"]


def test_the_store_is_found_upward_and_by_its_variable(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A subdirectory of a project belongs to it; MEDBAY_STORE wins."""
    task_id = cli.add("a")
    below = tmp_path / "deep" / "down"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert cli.good("list").cells[0][0] == task_id

    monkeypatch.setenv("MEDBAY_STORE", f"sqlite:///{tmp_path / 'none.db'}")
    assert cli("list").code == 3


def test_a_broken_configuration_names_file_and_line(cli: Cli) -> None:
    """The line starts with the position, as of a compiler."""
    (cli.folder / "medbay.toml").write_text("[engine]\nworkers = 4\nworkres = 3\n")

    called = cli("list")

    assert called.code == 2
    assert called.err == 'medbay.toml:3: unknown key "workres" in [engine]; did you mean "workers"?\n'


def test_a_file_that_is_no_store_is_said_plainly(bare: Cli) -> None:
    """One line, no traceback."""
    (bare.folder / "text.db").write_text("this is no database, only a long enough text to be looked at\n" * 50)

    called = bare("list", "--store", f"sqlite:///{bare.folder / 'text.db'}")

    assert called.code == 1
    assert called.err.count("\n") == 1
    assert "Traceback" not in called.err


def test_an_unexpected_error_is_one_line_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--debug` shows the traceback."""
    monkeypatch.setattr("medbay.areas.notifications.Notifications.inbox", lambda self: 1 / 0)

    short, long = cli("inbox"), cli("inbox", "--debug")

    assert short.code == long.code == 1
    assert short.err == (
        "medbay: internal error: ZeroDivisionError: division by zero; --debug shows the traceback; please report it\n"
    )
    assert "Traceback" in long.err


def test_an_error_cannot_control_the_terminal(cli: Cli) -> None:
    """What was typed is echoed escaped."""
    called = cli("show", "\x1b[2J")

    assert called.code == 3
    assert "\x1b" not in called.err


def test_a_store_of_another_machine_needs_trust(cli: Cli) -> None:
    """Its tasks would run here."""
    from medbay.store import meta

    with cli.bay().store.write() as tx:
        meta.put(tx, "machine_id", "elsewhere")

    refused = cli("list")
    assert refused.code == 4
    assert refused.err.endswith("--trust takes it over\n")
    assert cli("list", "--trust").code == 0
    assert cli("list").code == 0


def test_a_reader_that_goes_away_is_no_error(cli: Cli) -> None:
    """`medbay events | head -1` ends quietly."""
    for number in range(30):
        cli.add(f"task {number} {'x' * 400}")
    ran = subprocess.run(
        f"{quote(str(COMMAND))} events --json | head -n 1",
        shell=True,
        cwd=cli.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert json.loads(ran.stdout)["seq"] == 1
    assert ran.stderr == ""


@pytest.mark.parametrize(("redirect", "code"), [(">&-", 0), ("2>&-", 0), ("> /dev/full", 1)])
def test_streams_that_cannot_be_written_are_no_internal_error(cli: Cli, redirect: str, code: int) -> None:
    """Closed ones are taken for nobody; a full one is said plainly."""
    cli.add("a")
    command = f"{quote(str(COMMAND))} list {redirect}"
    ran = subprocess.run(command, shell=True, cwd=cli.folder, capture_output=True, text=True, timeout=60)

    assert ran.returncode == code
    assert "internal error" not in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("ignored", ["", "INT"])
def test_ctrl_c_ends_quietly_with_130(cli: Cli, ignored: str) -> None:
    """No traceback when following is ended by hand, also as the background job of a script."""
    cli.add("first")
    with following(cli, ignored) as process:
        process.send_signal(signal.SIGINT)

        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err.strip()) == (130, "", "")


def test_under_nohup_a_background_job_is_left_alone(cli: Cli) -> None:
    """Both signals are ignored then, and whoever asked for that meant it."""
    cli.add("first")
    with following(cli, "INT HUP") as process:
        process.send_signal(signal.SIGINT)
        second = cli.add("second")

        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["task"] == second


@contextmanager
def following(cli: Cli, ignored: str) -> Iterator[subprocess.Popen[str]]:
    """`events -f`, started by a caller who ignores these signals, once it has shown the first event."""
    trap = f"trap '' {ignored}; " if ignored else ""
    start = f"{trap}exec {quote(str(COMMAND))} events -f --json"
    with subprocess.Popen(
        ["env", "--default-signal=HUP", "sh", "-c", start],  # whatever the caller of the tests ignores
        cwd=cli.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["name"] == "task:created"
            yield process
        finally:
            process.kill()


def test_a_configuration_error_without_a_file_is_said_as_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """Only a position stands at the beginning of a line."""
    code = complaint.complain(ConfigError("environment X: there is no such setting"), as_json=False, debug=False)

    assert code == 2
    assert capsys.readouterr().err.startswith("medbay: environment X")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(bare: Cli, shell: str) -> None:
    """The script on stdout, how to use it on stderr."""
    called = bare.good("completion", shell)

    assert "_MEDBAY_COMPLETE" in called.out
    assert "to use it" in called.err


def test_the_script_completes_commands(bare: Cli) -> None:
    """The shell asks the command itself."""
    env = {"_MEDBAY_COMPLETE": "bash_complete", "COMP_WORDS": "medbay expl", "COMP_CWORD": "1"}

    assert bare.process(env=env).out == "plain,explain\n"


def test_an_unknown_shell_is_wrong_usage(bare: Cli) -> None:
    """With the shells there are."""
    called = bare("completion", "csh")

    assert called.code == 2
    assert "fish" in called.err
