"""What the tests of the command line share: a project of its own, without the caller's environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calling import Cli


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """The command line in an empty directory."""
    for name in [name for name in os.environ if name.startswith("MEDBAY_")] + ["NO_COLOR", "LC_ALL"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("MEDBAY_WEB_ENABLED", "false")  # the page has tests of its own
    monkeypatch.chdir(tmp_path)
    made = Cli(tmp_path)
    yield made
    made.close()


@pytest.fixture
def cli(bare: Cli) -> Cli:
    """The command line in a project with a store."""
    bare.good("init")
    return bare
