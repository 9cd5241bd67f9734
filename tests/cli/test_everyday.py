"""What people meet in everyday use, through the command line, on both databases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Cli
from tests.postgres_server import Server

CATEGORIES = ("transient", "code_error", "test_failure", "dependency_missing", "timeout", "unknown")
QUICK = "\n".join(f'[policy.ladder.{name}]\ndelays = ["10ms", "20ms", "30ms"]' for name in CATEGORIES)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def everyday(request: pytest.FixtureRequest, bare: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A project with short delays, on each kind of database."""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        monkeypatch.setenv("MEDBAY_STORE", server.url(request.getfixturevalue("database")))
    bare.good("init")
    configure(bare, "")
    return bare


def configure(cli: Cli, more: str) -> None:
    """Set the configuration."""
    (cli.folder / "medbay.toml").write_text(f"{more}\n{QUICK}\n", encoding="utf-8")


def kinds(cli: Cli, task: str) -> list[str]:
    """The diagnoses of its attempts."""
    return [each["diagnosis"]["category"] for each in shown(cli, task)["attempts"] if each["diagnosis"]]


def shown(cli: Cli, task: str) -> Any:
    """What is known of a task."""
    return cli.good("show", task, "--json").json


@pytest.mark.parametrize("prints", ['echo "$MEDBAY_GUIDANCE"', "env", "set -x; : $MEDBAY_GUIDANCE"])
def test_a_job_that_prints_its_guidance_is_judged_by_its_own_words(everyday: Cli, prints: str) -> None:
    """The network failure of attempt 1 is not found again in what attempt 2 was handed."""
    first = 'echo "connect ECONNREFUSED 10.0.0.7:5432"'
    task = everyday.add(
        "sum", "--run", f'{prints}; [ $MEDBAY_ATTEMPT = 1 ] && {first} || echo "the totals differ"; exit 3'
    )

    assert everyday("up", "--until-idle").code == 75

    found = shown(everyday, task)
    assert [each["diagnosis"]["category"] for each in found["attempts"][:3]] == ["transient", "unknown", "unknown"]
    assert "ECONNREFUSED" not in json.dumps(found["attempts"][2]["diagnosis"])
