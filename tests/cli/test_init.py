"""`medbay init` makes a project and never overwrites."""

from __future__ import annotations

import os
import re
import stat

import pytest

from medbay.config.load import check_text
from tests.cli.calling import Cli


def test_init_makes_a_private_folder_and_a_commented_file(bare: Cli) -> None:
    """Both are ready to use at once."""
    called = bare.good("init")

    folder = bare.folder / ".medbay"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"
    assert (folder / "medbay.db").is_file()
    assert called.lines[1] == "medbay.toml created, with examples commented out"
    assert bare.good("policy", "check", "medbay.toml").code == 0


def test_the_first_file_is_short_and_says_where_the_rest_is(bare: Cli) -> None:
    """Fifteen lines; uncommented they are right but for the programs they name as examples."""
    bare.good("init")
    written = (bare.folder / "medbay.toml").read_text()
    uncommented = re.sub(r"(?m)^# ([a-z_]+ = |\[)", r"\1", written)

    assert len(written.splitlines()) == 15
    assert max(map(len, written.splitlines())) <= 120
    assert "docs/reference/configuration.md" in written
    assert "# workers = 4" in written
    assert check_text(uncommented, "f") == ()


def test_every_setting_is_printed_on_request(bare: Cli) -> None:
    """Nothing is created for it."""
    told = bare.good("init", "--print").out

    assert "# failure_backoff_multiplier = " in told
    assert list(bare.folder.iterdir()) == []


def test_init_again_changes_nothing(cli: Cli) -> None:
    """What somebody wrote stays."""
    (cli.folder / "medbay.toml").write_text("[engine]\nworkers = 2\n")
    task_id = cli.add("kept")

    called = cli.good("init")

    assert (cli.folder / "medbay.toml").read_text() == "[engine]\nworkers = 2\n"
    assert "left as it is" in called.out
    assert cli.good("list").cells[0][0] == task_id


def test_init_below_a_project_says_that_there_is_one_above(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is allowed, and it is told."""
    (cli.folder / "sub").mkdir()
    monkeypatch.chdir(cli.folder / "sub")

    assert "has a store too" in cli.good("init").err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_is_not_writable_is_said_plainly(bare: Cli) -> None:
    """One line with what to do."""
    bare.folder.chmod(0o500)
    try:
        called = bare("init")
    finally:
        bare.folder.chmod(0o700)

    assert called.code == 1
    assert called.err.endswith("choose a writable directory\n")


def test_a_store_where_no_file_can_be_is_said_plainly(bare: Cli) -> None:
    """Also for root: below a file there is no directory."""
    (bare.folder / "file").write_text("")

    called = bare("add", "a", "--run", "true", "--store", f"sqlite:///{bare.folder}/file/x.db")

    assert called.code == 1
    assert called.err.count("\n") == 1
