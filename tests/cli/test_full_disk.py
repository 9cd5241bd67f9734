"""A full disk: every command says so, where and how much is needed; `up` waits; nothing is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from medbay.cli.up import when_there_is_room
from medbay.errors import StoreFull
from tests.cli.calling import COMMAND

SCRIPT = """
set -e
mount -t tmpfs -o size=3m tmpfs "$1"; cd "$1"; medbay="$2"
"$medbay" init >/dev/null 2>&1; "$medbay" add kept --run true >/dev/null
dd if=/dev/zero of=fill bs=4k 2>/dev/null || true
for words in "list" "add more --run true" "inbox" "doctor"; do echo "== $words"; "$medbay" $words 2>&1 || true; done
echo "== up"
(while ! grep -q waiting "$3"; do sleep 0.05; done; rm fill) &
"$medbay" up --until-idle 2>"$3"
echo "== after"; "$medbay" list
"""


def test_every_command_says_that_no_space_is_left_and_up_waits_for_some(tmp_path: Path) -> None:
    """On a disk of its own, in a namespace of its own."""
    disk, said = tmp_path / "disk", tmp_path / "said"
    disk.mkdir()
    said.touch()
    called = subprocess.run(
        ["unshare", "-rm", "bash", "-c", SCRIPT, "-", disk, COMMAND, said], capture_output=True, text=True, timeout=100
    )
    if "unshare" in called.stderr or "mount" in called.stderr:
        pytest.skip(f"no namespace can be made here: {called.stderr[:100]}")

    assert called.returncode == 0, called
    parts = dict(part.split("\n", 1) for part in called.stdout.split("== ")[1:])
    for words in ("list", "add more --run true", "inbox", "doctor"):
        assert f"no space is left for the store {disk}" in parts[words]
        assert "MB are needed" in parts[words] and "nothing is lost" in parts[words]
        assert "restore" not in parts[words] and "init" not in parts[words].replace("unit", "")
    assert "waiting for it" in said.read_text(encoding="utf-8")
    assert "completed" in parts["after"]


def test_waiting_for_room_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """However often it looks."""
    tries = iter([StoreFull("full"), StoreFull("full"), None])

    def make() -> str:
        if (error := next(tries)) is not None:
            raise error
        return "made"

    assert when_there_is_room(make, lambda seconds: None) == "made"
    assert capsys.readouterr().err.count("full") == 1
