"""`medbay doctor --bundle`: what a bug report needs is in it, and no secret is."""

from __future__ import annotations

import json
import stat
import tarfile
from pathlib import Path

import pytest

from tests.cli.calling import Cli

TOKEN = "ghp_" + "Zx9Qw7Er5Ty3Ui1Op0As8Df6Gh4Jk2Lz0Xc9"
SECRETS = (TOKEN, "hunter2hunter2", "just some words", "typedbyhand99")


def read(path: Path) -> dict[str, str]:
    """The members of an archive by their names."""
    with tarfile.open(path) as archive:
        found = {each.name: archive.extractfile(each) for each in archive.getmembers()}
        return {name.partition("/")[2]: file.read().decode() for name, file in found.items() if file is not None}


@pytest.fixture
def project(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A project with a failure, full of secrets."""
    monkeypatch.setenv("MY_SECRET", "just some words")
    told = f'[engine]\nworkers = 3\n[notify.desk]\ncommand = ["./hook.sh", "--token", "{TOKEN}"]\n'
    (cli.folder / "medbay.toml").write_text(told + '[policy.ladder.unknown]\ndelays = ["1h"]\n', encoding="utf-8")
    script = f'echo "it went wrong: $MY_SECRET, password=hunter2hunter2, {TOKEN}, $OWN_TOKEN"; exit 3'
    (cli.folder / "fails").write_text(script, encoding="utf-8")
    task = cli.add("fails", "--run", "sh fails", "--env", "OWN_TOKEN=typedbyhand99")
    with cli.bay() as bay:
        daemon = bay.daemon()
        daemon.run(until=lambda: bay.get(task).status in ("failed", "blocked"))
    return cli


def test_a_bundle_has_what_a_report_needs_and_no_secret(project: Cli) -> None:
    """Versions, settings with their sources, events, and how attempts ended."""
    called = project("doctor", "--bundle", "bundle.tar.gz")

    members = read(project.folder / "bundle.tar.gz")
    assert called.code in (0, 1)
    assert "bundle.tar.gz" in called.err
    assert set(members) == {
        *("README", "versions.json", "doctor.json", "configuration.json", "medbay.toml"),
        *("events.jsonl", "attempts.jsonl"),
    }
    whole = "".join(members.values())
    assert [secret for secret in SECRETS if secret in whole] == []
    (attempt,) = map(json.loads, members["attempts.jsonl"].splitlines())
    assert (attempt["task"]["title"], attempt["exit_code"]) == ("fails", 3)
    assert "it went wrong: [redacted]" in attempt["end_of_output"]
    assert "sh fails" not in members["attempts.jsonl"]
    assert {"task:created", "task:failed"} <= {
        json.loads(line)["name"] for line in members["events.jsonl"].splitlines()
    }
    assert {"key": "engine.workers", "value": "3", "source": "medbay.toml:2"} in json.loads(
        members["configuration.json"]
    )
    versions = json.loads(members["versions.json"])
    assert {"medbay", "python", "platform", "packages", "store", "tasks"} <= versions.keys()
    assert versions["store"]["kind"] == "sqlite"


def test_a_bundle_is_private_and_overwrites_nothing(cli: Cli) -> None:
    """One file, for its owner."""
    cli("doctor", "--bundle", "b.tgz")
    before = (cli.folder / "b.tgz").read_bytes()

    refused = cli("doctor", "--bundle", "b.tgz")

    assert stat.S_IMODE((cli.folder / "b.tgz").stat().st_mode) == 0o600
    assert (refused.code, refused.err.count("\n")) == (4, 1)
    assert (cli.folder / "b.tgz").read_bytes() == before
    assert cli("doctor", "--bundle", "no/such/place/b.tgz").code == 1


def test_a_bundle_is_made_without_a_store_too(cli: Cli) -> None:
    """A store that cannot be opened is why somebody asks."""
    (cli.folder / ".medbay" / "medbay.db").write_text("this is no database, and it is long enough to be looked at")

    cli("doctor", "--bundle", "b.tgz")

    members = read(cli.folder / "b.tgz")
    assert set(members) == {"README", "versions.json", "doctor.json"}
    assert "cannot open the store" in members["doctor.json"]
