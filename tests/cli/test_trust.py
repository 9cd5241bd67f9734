"""What a repository brings along starts nothing and connects to nothing before a person agreed."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from medbay.config.rows import ROWS
from medbay.config.trust import _PLAIN_KEYS, _PLAIN_SECTIONS
from tests.cli.calling import Cli

AGENT = '[agents.a]\ncommand = ["touch", "{prompt_file}", "started"]\n'
CHANNEL = '[notify.n]\ncommand = ["touch", "started"]\n'
COMMANDS = ("list", "up --until-idle", "doctor", "inbox", "events", "export", "workers", "db check", "add x --run true")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")


@pytest.fixture(autouse=True)
def data(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for decisions that no other test has written to."""
    made = tmp_path_factory.mktemp("decisions")
    monkeypatch.setenv("XDG_DATA_HOME", str(made))
    return made / "medbay"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that notices whether anybody came."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(0.05)
        yield made


def clone(bare: Cli, text: str) -> None:
    """A repository as it arrives: with settings, and with a `.medbay/` that was added by force."""
    (bare.folder / ".git").mkdir()
    (bare.folder / ".medbay").mkdir()
    (bare.folder / ".medbay" / "home").write_text("own 0123456789abcdef\n")
    settings(bare, text)


def settings(cli: Cli, text: str) -> None:
    """Write the file of settings."""
    (cli.folder / "medbay.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("line", COMMANDS)
def test_a_cloned_store_address_is_never_connected_to(bare: Cli, listener: socket.socket, line: str) -> None:
    """Neither reading nor writing sends a password to a server that a file names."""
    clone(bare, f'[store]\nurl = "postgresql://127.0.0.1:{listener.getsockname()[1]}/x"\n')

    called = bare(*line.split(), env={"PGPASSWORD": "sesame", "PGCONNECT_TIMEOUT": "2"})

    with pytest.raises(TimeoutError):
        listener.accept()
    assert called.code == (1 if line == "doctor" else 4)
    assert "medbay trust" in called.out + called.err


@pytest.mark.parametrize("text", [AGENT, CHANNEL, '[triage]\nevaluate = "./x"\n', '[triage]\ncommand = ["./x"]\n'])
def test_a_cloned_command_needs_one_decision_for_its_content(bare: Cli, text: str) -> None:
    """Agreed to once it is used, and every change of it asks again."""
    clone(bare, text)
    assert bare("list").code == 4

    assert bare.good("trust").lines[0].startswith("allowed\t")
    bare.good("init")
    settings(bare, text + "# changed\n")
    refused = bare("list")

    assert refused.code == 4
    assert refused.err.count("\n") == 1
    assert "nobody has allowed that yet; medbay trust shows and allows it" in refused.err


def test_what_one_made_oneself_just_works(bare: Cli) -> None:
    """`medbay init`, edit, `medbay up`: nobody is asked, however often the file changes."""
    bare.good("init")
    settings(bare, CHANNEL + 'on = ["task:completed"]\n')
    bare.add("a")

    assert bare("up", "--until-idle").code == 0
    assert (bare.folder / "started").exists()
    settings(bare, AGENT)
    bare.good("list")


def test_init_over_a_file_that_was_there_asks_for_a_decision(bare: Cli) -> None:
    """Without a terminal it is refused in one line and nothing is made; the flag decides for this content."""
    settings(bare, AGENT)

    refused = bare("init")
    assert (refused.code, refused.err.count("\n")) == (4, 1)
    assert not (bare.folder / ".medbay").exists()

    bare.good("init", "--trust-file")
    bare.good("list")


def test_run_makes_no_project_of_a_file_that_nobody_allowed(bare: Cli) -> None:
    """The same for the command that makes a store where there is none."""
    settings(bare, AGENT)

    assert bare("run", "--", "true").code == 4
    assert not (bare.folder / ".medbay").exists()
    assert bare("run", "--", "true", env={"MEDBAY_TRUST": "1"}).code == 0


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 4), ("", 130)])
def test_init_on_a_terminal_shows_what_it_would_allow_and_asks(bare: Cli, typed: str, code: int) -> None:
    """Only a yes makes the project."""
    settings(bare, AGENT)

    called = bare.screen("init", typed=typed)

    assert called.code == code
    assert 'agents.a.command = ["touch", "{prompt_file}", "started"]  (medbay.toml:2)' in called.out
    assert (bare.folder / ".medbay").exists() == (code == 0)


def test_the_variable_decides_where_nobody_can_be_asked(bare: Cli) -> None:
    """A script says it once for all its calls; the decision is kept for the same content."""
    clone(bare, AGENT)

    assert bare("init", env={"MEDBAY_TRUST": "1"}).code == 0
    assert bare("list").code == 0
    settings(bare, CHANNEL)
    assert bare("list").code == 4


def test_plain_settings_need_no_decision(bare: Cli) -> None:
    """Numbers and delays of a stranger do no harm."""
    clone(bare, '[engine]\nworkers = 2\n[triage]\nagent = "rules"\n[store]\nurl = "sqlite:///.medbay/medbay.db"\n')

    bare.good("init")
    bare.add("a")
    bare.good("up", "--until-idle")


def test_commands_that_come_with_a_pull_are_asked_about(bare: Cli) -> None:
    """A file that was part of the repository before the project was made is not the person's own."""
    clone(bare, "[engine]\nworkers = 2\n")
    bare.good("init")

    settings(bare, AGENT)

    assert bare("up", "--until-idle").code == 4
    assert bare("trust", "--show").code == 4


def test_a_clone_in_the_place_of_a_project_is_not_that_project(cli: Cli) -> None:
    """The path alone proves nothing."""
    shutil.rmtree(cli.folder / ".medbay")
    clone(cli, AGENT)

    assert cli("list").code == 4


def test_a_store_of_an_earlier_version_goes_on(cli: Cli, data: Path) -> None:
    """It has no mark; that it was made on this machine, it says itself."""
    shutil.rmtree(data)
    (cli.folder / ".medbay" / "home").unlink()
    settings(cli, AGENT)
    cli.good("list")

    with sqlite3.connect(cli.folder / ".medbay" / "medbay.db") as store:
        store.execute("UPDATE meta SET value = 'elsewhere' WHERE key = 'machine_id'")
    store.close()
    assert cli("list").code == 4


def test_a_home_directory_that_cannot_be_written_is_no_obstacle(bare: Cli, data: Path) -> None:
    """Then the store itself says that it was made here."""
    data.write_text("a file where the folder would be")

    bare.good("init")
    settings(bare, AGENT)

    bare.good("list")
    assert bare("trust").err.startswith("medbay: the decision cannot be kept in ")


def test_a_store_without_a_machine_is_foreign(cli: Cli) -> None:
    """Neither a missing nor an empty name of its machine lets a store in."""
    for sql in ("DELETE FROM meta WHERE key = 'machine_id'", "INSERT INTO meta VALUES ('machine_id', '')"):
        with sqlite3.connect(cli.folder / ".medbay" / "medbay.db") as store:
            store.execute(sql)
        store.close()

        refused = cli("up", "--until-idle")

        assert refused.code == 4
        assert "came from another machine" in refused.err


@as_root
@pytest.mark.parametrize("name", ["medbay.toml", ".medbay/medbay.db"])
def test_what_another_user_owns_is_refused(cli: Cli, name: str) -> None:
    """As git does; a person may decide otherwise."""
    os.chown(cli.folder / name, 12345, 12345)

    refused = cli("list")

    assert refused.code == 4
    assert "belongs to another user (uid 12345)" in refused.err
    assert cli("list", env={"MEDBAY_TRUST": "1"}).code == 0
    assert cli("list", env={"SUDO_UID": "12345"}).code == 0


def test_decisions_are_private_and_can_be_taken_back(bare: Cli, data: Path) -> None:
    """They are files of their owner only, outside of the project."""
    clone(bare, AGENT)
    bare.good("trust")

    kept = next((data / "files").iterdir())
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE((data / "files").stat().st_mode) == 0o700
    assert bare.good("trust", "--show", "--json").json["allowed"]
    assert bare.good("trust", "--revoke").lines[0].startswith("not allowed")
    assert bare("list").code == 4


def test_a_pinned_project_asks_at_every_change(cli: Cli) -> None:
    """For a repository that several people change."""
    settings(cli, AGENT)
    cli.good("trust", "--pin")
    cli.good("list")

    settings(cli, CHANNEL)

    assert cli("list").code == 4


def test_decisions_are_for_people(cli: Cli) -> None:
    """No attempt may take one."""
    inside = {"MEDBAY_ATTEMPT_KEY": "s:t:1"}
    for line in ("trust", "list --trust", "list --trust-file", "import -", "add a --run x --on-conflict replace"):
        called = cli(*line.split(), env=inside)

        assert called.code == 4, line
        assert "inside an attempt" in called.err
    lines = '{"title": "a", "run": "true", "key": "k", "on_conflict": "replace"}\n'
    assert cli("add", "--file", "-", env=inside, stdin=lines).code == 4
    assert cli("add", "a", "--run", "true", "--key", "k", env=inside).code == 0


def test_every_setting_is_plain_or_needs_a_decision() -> None:
    """Whoever adds a setting decides which; without a word it needs one."""
    asked = {path for path in ROWS if path.partition(".")[0] not in _PLAIN_SECTIONS and path not in _PLAIN_KEYS}

    assert {"store.url", "triage.command", "triage.evaluate", "agents.NAME.command", "notify.NAME.command"} <= asked
    assert not {path for path in asked if path.startswith(("engine", "policy", "budget"))}
