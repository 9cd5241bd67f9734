"""A secret in the output of a command is found nowhere but in its log file, on both databases."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import medbay
from medbay.store.meta import TABLES
from tests.e2e.test_recurring import Up, until
from tests.e2e.test_the_path_of_a_task import Terminal

GITHUB = "ghp_" + "Zx9Qw7Er5Ty3Ui1Op0As8Df6Gh4Jk2Lz0Xc9"
OWN = "ACME-" + "0123456789ab"
SECRETS = (GITHUB, OWN, "just some words", "hunter2hunter2", "secondhunter9")
TELLS = f"""echo "starting with password=secondhunter9"
echo "remote: HTTP 401 Unauthorized, $MY_SECRET and {OWN}"
echo "fatal: Authentication failed for 'https://me:hunter2hunter2@host/x' with {GITHUB}"
echo '{{"outcome": "failed", "summary": "401 Unauthorized, used {GITHUB}"}}' > $MEDBAY_RESULT
exit 1
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def terminal(tmp_path: Path, request: pytest.FixtureRequest) -> Terminal:
    """A project with a pattern of its own, on either database."""
    here = Terminal(tmp_path)
    if request.param == "postgres":
        name = request.getfixturevalue("own_database")
        here.environ["MEDBAY_STORE"] = request.getfixturevalue("postgres").url(name)
    here.environ["MY_SECRET"] = "just some words"
    here.must("init")
    (tmp_path / "medbay.toml").write_text('[runner]\nredact = ["ACME-[0-9a-f]{12}"]\n', encoding="utf-8")
    (tmp_path / "tells").write_text(TELLS, encoding="utf-8")
    return here


def test_what_a_command_printed_is_kept_without_its_secrets(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the record, in what is shown of it, in events and questions; the file stays as it was written."""
    monkeypatch.setenv("MEDBAY_STORE", terminal.environ.get("MEDBAY_STORE", ""))
    task = terminal.must("add", "tells", "--run", "sh tells").strip()
    checked = terminal.must("add", "checked", "--run", "true", "--check", "sh tells").strip()
    missing = terminal.must("add", "no such command", "--", "./tells").strip()
    with Up(terminal):
        for each in (task, checked, missing):
            until(terminal, each, lambda shown: shown["status"] in ("failed", "blocked"))

    told = [
        terminal.must("show", task, "--json"),
        terminal.must("show", checked, "--json"),
        terminal.must("explain", task),
        terminal.must("log", task),
        terminal.must("log", task, "--json"),
        terminal.must("log", task, "-f"),
        terminal.must("log", checked, "--check", "1"),
        terminal.must("events", "--json"),
        terminal.must("inbox", "--json"),
        terminal.must("patterns", "list", "--json"),
        terminal.must("diagnose", "tells", "--json"),
    ]
    assert not [secret for secret in SECRETS if secret in "".join(told) and secret not in told[-1]]
    assert GITHUB not in told[-1] and "hunter2hunter2" not in told[-1]
    assert "[redacted]" in told[0] and "password=[redacted]\n" in told[3]
    with medbay.open(cwd=terminal.home) as bay, bay.store.read() as tx:
        kept = "".join(str(row) for table in TABLES for row in tx.rows(f"SELECT * FROM {table}"))
    assert "401 Unauthorized" in kept and not [secret for secret in SECRETS if secret in kept]
    files = list((terminal.home / ".medbay").glob("medbay.db*"))
    assert not [secret for path in files for secret in SECRETS if secret.encode() in path.read_bytes()]
    log = terminal.home / ".medbay" / "logs" / task / "1.log"
    assert all(secret in log.read_text() for secret in SECRETS)
    assert os.stat(log).st_mode & 0o077 == 0


def test_a_pattern_that_cannot_be_used_is_named_with_its_line(terminal: Terminal) -> None:
    """Nothing starts with half of what somebody asked for."""
    (terminal.home / "medbay.toml").write_text('[runner]\nredact = [\n  "fine",\n  "(a+)+b",\n]\n', encoding="utf-8")
    done = terminal.run("list")
    assert done.returncode == 2
    assert done.stderr.startswith("medbay.toml:4: entry 2 of runner.redact must be a regular expression")
