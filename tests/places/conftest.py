"""One Temporal server for all tests of a process, and a project beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places.cluster import Fleet, Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of a process."""
    made = Server(tmp_path_factory.mktemp("temporal"))
    made.start()
    yield made
    made.kill()


@pytest.fixture
def fleet(tmp_path: Path, server: Server) -> Iterator[Fleet]:
    """A project beside the server."""
    home = tmp_path / f"project-{os.getpid()}-{tmp_path.name}"
    home.mkdir()
    made = Fleet(home, server, tmp_path / "state")
    yield made
    made.close()
