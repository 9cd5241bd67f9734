"""`medbay service`: a unit that systemd accepts, written and removed; without systemd it says so."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from medbay.integrations import systemd
from medbay.integrations.systemd import Unit, unit_text
from tests.cli.calling import Cli

FAKE = """\
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in
*show-environment*) exit "${NO_BUS:-0}" ;;
*show-user*) echo "Linger=${LINGER:-no}" ;;
*"show medbay.service"*) printf '%s\\n' ActiveState=active SubState=running UnitFileState=enabled NRestarts=2 ;;
*restart*) exit "${NO_START:-0}" ;;
esac
"""


@pytest.fixture
def home(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose user has a home of its own, on a machine that systemd does not run."""
    monkeypatch.setenv("HOME", str(cli.folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(systemd, "RUNNING", cli.folder / "no-systemd")
    return cli.folder


@pytest.fixture
def calls(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that systemd runs: what is asked of it is written into this file."""
    programs = home / "bin"
    programs.mkdir()
    for name in ("systemctl", "loginctl"):
        (programs / name).write_text(f"#!/bin/sh\n{FAKE}", encoding="utf-8")
        (programs / name).chmod(stat.S_IRWXU)
    (home / "systemd").mkdir()
    monkeypatch.setattr(systemd, "RUNNING", home / "systemd")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(home / "calls"))
    return home / "calls"


def unit_at(home: Path, name: str = "medbay") -> Path:
    """Where the unit of a user is."""
    return home / ".config" / "systemd" / "user" / f"{name}.service"


def values(text: str) -> dict[str, str]:
    """The settings of a unit."""
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


def test_the_unit_fits_this_store(cli: Cli, home: Path) -> None:
    """Absolute paths, the store, a stop that outlasts the grace period; nothing is written by --print."""
    (home / "medbay.toml").write_text('[engine]\ngrace = "25s"\n', encoding="utf-8")

    told = values(cli.good("service", "install", "--print", "--workers", "2", "--queue", "a,b").out)

    program = Path(sys.executable).parent / "medbay"
    assert told["ExecStart"] == f"{program} --store sqlite:///{home}/.medbay/medbay.db up --workers 2 --queue a,b"
    assert told["WorkingDirectory"] == str(home)
    assert told["EnvironmentFile"] == f"-{home}/.medbay/service.env"
    assert told["TimeoutStopSec"] == "35s"
    assert (told["KillMode"], told["Restart"], told["WantedBy"]) == ("mixed", "on-failure", "default.target")
    assert told["Environment"].startswith("PATH=")
    assert not unit_at(home).exists()


def test_a_unit_of_the_machine_runs_as_the_owner_of_the_store(cli: Cli, home: Path) -> None:
    """Or as who is named."""
    told = values(cli.good("service", "install", "--system", "--print").out)
    named = values(cli.good("service", "install", "--system", "--print", "--user", "ada").out)

    assert (told["User"], told["WantedBy"]) == (home.owner(), "multi-user.target")
    assert named["User"] == "ada"


def test_the_command_of_the_unit_runs(cli: Cli, home: Path) -> None:
    """As it stands in ExecStart, from anywhere."""
    task = cli.add("hello", "--run", "echo hello")
    words = values(cli.good("service", "install", "--print").out)["ExecStart"].split()

    ran = subprocess.run([*words, "--until-idle"], cwd="/", capture_output=True, timeout=60)

    assert ran.returncode == 0, ran.stderr
    assert cli.good("show", task, "--json").json["status"] == "completed"


def test_without_systemd_the_unit_is_written_and_it_is_said(cli: Cli, home: Path) -> None:
    """With the command that starts it later; twice is as good as once."""
    for _ in range(2):
        called = cli.good("service", "install")
    assert called.out.strip() == str(unit_at(home))
    assert re.search(
        "systemd is not (running|installed) here; the unit is written; systemctl --user enable", called.err
    )
    env_file = home / ".medbay" / "service.env"
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600
    assert cli("service", "status").code == 1

    assert "removed" in cli.good("service", "uninstall").out
    assert not unit_at(home).exists() and env_file.exists()
    assert cli("service", "status").code == 3
    assert cli("service", "uninstall").code == 3


def test_with_systemd_it_is_started_and_starts_by_itself(cli: Cli, calls: Path) -> None:
    """And removing it stops it first."""
    called = cli.good("service", "install")
    told = cli.good("service", "status", "--json").json
    cli.good("service", "uninstall")

    asked = calls.read_text(encoding="utf-8").splitlines()
    wanted = ["daemon-reload", "enable medbay.service", "restart medbay.service", "disable --now medbay.service"]
    assert [each for each in wanted if f"systemctl --user --no-pager {each}" in asked] == wanted
    assert "loginctl enable-linger" in called.err
    assert (told["active"], told["enabled"], told["restarts"], told["linger"]) == (True, True, 2, False)
    assert told["state"] == "active (running)"


def test_lingering_is_asked_for(cli: Cli, calls: Path) -> None:
    """So that it starts with the machine."""
    called = cli.good("service", "install", "--linger")

    assert "loginctl enable-linger" in calls.read_text(encoding="utf-8")
    assert "lingers now" in called.err


def test_what_systemd_refuses_is_said(cli: Cli, calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit stays; a user without a session is told."""
    monkeypatch.setenv("NO_START", "1")
    assert "systemctl restart medbay.service failed" in cli("service", "install").err
    assert cli("service", "install").code == 1

    monkeypatch.setenv("NO_BUS", "1")
    assert "systemd runs nothing for this user here" in cli.good("service", "install").err


def test_a_unit_of_another_store_is_not_overwritten(cli: Cli, home: Path) -> None:
    """Another name makes another unit."""
    cli.good("service", "install")
    text = unit_at(home).read_text(encoding="utf-8").replace(f"WorkingDirectory={home}", "WorkingDirectory=/elsewhere")
    unit_at(home).write_text(text, encoding="utf-8")

    refused = cli("service", "install")

    assert refused.code == 4 and "serves another store" in refused.err
    cli.good("service", "install", "--name", "second")
    assert unit_at(home, "second").exists()


def test_a_password_stays_out_of_the_unit(cli: Cli, home: Path) -> None:
    """It stands in the private file of variables."""
    url = "postgresql://ada:s3cret@db.example/medbay"
    shown = cli.good("service", "install", "--print", "--store", url)
    assert "s3cret" not in shown.out

    cli.good("service", "install", "--store", url)

    assert "s3cret" not in unit_at(home).read_text(encoding="utf-8")
    assert f'MEDBAY_STORE="{url}"' in (home / ".medbay" / "service.env").read_text(encoding="utf-8")


def test_other_systems_and_attempts_are_refused(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do instead; the unit can be shown everywhere."""
    assert cli("service", "install", env={"MEDBAY_ATTEMPT_KEY": "x"}).code == 4
    assert cli("service", "uninstall", env={"MEDBAY_ATTEMPT_KEY": "x"}).code == 4
    monkeypatch.setattr("medbay.cli.service.sys.platform", "darwin")

    refused = cli("service", "install")

    assert refused.code == 4 and "which darwin does not have" in refused.err
    cli.good("service", "install", "--print")


@pytest.mark.parametrize(
    "words", [["--name", "a/b"], ["--user", "ada"], ["--system", "--linger"], ["--queue", "a,,b"]], ids=" ".join
)
def test_what_does_not_fit_is_refused(cli: Cli, home: Path, words: list[str]) -> None:
    """As wrong usage."""
    assert cli("service", "install", *words).code == 2


@pytest.mark.parametrize("scope", ["user", "system"])
def test_systemd_accepts_the_unit(tmp_path: Path, scope: systemd.Scope) -> None:
    """Also with the oddest paths; checked by systemd-analyze where that is installed."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed: the unit was not verified")
    folder = tmp_path / 'an odd % $HOME "folder" \\ here'
    folder.mkdir()
    unit = Unit(
        name="medbay",
        scope=scope,
        description="100 % of the tasks",
        folder=folder,
        command=(sys.executable, "-c", "print('$HOME %h \"x\" \\\\ ;')", str(folder)),
        env_file=folder / "service.env",
        stop_s=20,
        path="/usr/bin:/bin:/odd dir",
        user="root" if scope == "system" else "",
    )
    path = tmp_path / unit.file_name
    path.write_text(unit_text(unit), encoding="utf-8")

    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(["--user"] if scope == "user" else []), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )

    mine = [line for line in ran.stderr.splitlines() if "medbay" in line]
    assert (ran.returncode, mine) == (0, []), ran.stderr
