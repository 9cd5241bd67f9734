"""What stands in the place of a store, a log or a folder: named plainly, never followed, and nothing is lost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from medbay.core.redaction import MARK
from tests.cli.calling import COMMAND, Cli
from tests.e2e.test_recurring import until
from tests.e2e.test_the_path_of_a_task import Terminal

KEY = "AKIA\\033[1mIOSFODNN7" + "EXAMPLE\\033[0m"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A project of its own."""
    for name in [name for name in os.environ if name.startswith("MEDBAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    made = Cli(tmp_path)
    made.good("init")
    return made


@pytest.mark.parametrize("name", ["null", "folder", "other.db", "text", "pipe"])
def test_what_is_no_store_is_said_plainly_and_left_as_it_is(cli: Cli, name: str) -> None:
    """A device, a directory, a database of another program, a text."""
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE bookmark (id)")
    other.close()
    Path("text").write_text("not a database, but long enough to be looked at as one")
    os.mkfifo("pipe")
    Path("folder").mkdir()
    Path("null").symlink_to(os.devnull)
    before = Path("other.db").read_bytes()

    for words in (["list"], ["add", "a", "--run", "true"], ["doctor"]):
        called = cli(*words, "--store", f"sqlite:///{name}")

        assert called.code == 1
        assert "internal" not in called.out + called.err
        assert "cannot open the store" in called.out + called.err
    assert Path("other.db").read_bytes() == before
    assert not Path(os.devnull).parent.joinpath(".medbay").exists()


def test_a_log_directory_that_is_a_link_is_refused(cli: Cli, tmp_path: Path) -> None:
    """What came with a repository does not say where files are written."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path(".medbay/logs").symlink_to(elsewhere)
    cli.add("a")

    called = cli("up", "--until-idle")

    assert called.code == 4
    assert ".medbay/logs is a link" in called.err
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("put", ["ln -s /etc/passwd", "mkfifo", "mkdir"])
def test_what_a_job_puts_in_place_of_its_log_is_not_opened(cli: Cli, put: str) -> None:
    """A link is not followed, a pipe not waited for."""
    line = f'echo before; log=$(readlink /proc/self/fd/1); rm -f "$log"; {put} "$log"; sleep 0.2; exit 1'
    task = cli.add("a", "--run", line)
    with cli.bay() as bay:
        daemon = bay.daemon()
        daemon.run(until=lambda: bay.get(task).status == "failed")

    shown = cli("log", task)

    assert "root:" not in shown.out + shown.err
    assert cli("log", task, "--json").code == 0


def test_colours_hide_no_secret_anywhere(cli: Cli) -> None:
    """In lists, the inbox, one task, known failures and events; a wrapped one neither."""
    Path("tells").write_text(f"printf 'key {KEY} rejected: HTTP 401 Unauthorized\\\\n'; exit 1")
    task = cli.add("a", "--run", "sh tells")
    cli("up", "--until-idle")

    for words in (["list"], ["inbox"], ["show", task], ["patterns"], ["explain", task], ["events"], ["log", task]):
        for more in ([], ["--json"]):
            called = cli(*words, *more)
            assert "IOSFODNN7" not in called.out + called.err, (words, more)
    assert MARK in cli.good("show", task).out


def test_a_removed_log_of_the_store_is_noticed_and_what_is_added_stays(cli: Cli, tmp_path: Path) -> None:
    """The daemon stops and says why; the task that was added meanwhile, and all before it, are there."""
    before = [cli.add(f"before {number}") for number in range(3)]
    up = subprocess.Popen([COMMAND, "up"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    terminal = Terminal(tmp_path)
    for each in before:
        until(terminal, each, lambda shown: shown["status"] == "completed")

    for end in ("-wal", "-shm"):
        Path(f".medbay/medbay.db{end}").unlink()
    added = [cli.process("add", f"after {number}", "--run", "true").out.strip() for number in range(3)]
    out, _ = up.communicate(timeout=60)

    assert up.returncode == 1
    assert "medbay.db-wal was removed while it was in use" in out
    assert cli.process("up", "--until-idle").code == 0
    assert {each["id"]: each["status"] for each in cli.good("list", "--all", "--json").json}.items() >= {
        (each, "completed") for each in added
    }
    assert cli.good("db", "check").code == 0


def test_a_directory_name_cannot_control_the_terminal(tmp_path: Path) -> None:
    """Neither `init` nor a backup nor a traceback prints it raw."""
    home = tmp_path / "a\x1b]0;owned\x07\x9b2Jb"
    home.mkdir()
    for words in (["init"], ["db", "backup", "copy.db"], ["--debug", "show", "nothing"], ["doctor"]):
        ran = subprocess.run([COMMAND, *words], cwd=home, capture_output=True, text=True, timeout=60)

        assert "\x1b" not in ran.stdout + ran.stderr, words
        assert "\x9b" not in ran.stdout + ran.stderr, words
