"""One Temporal server for all tests of a process, and a project beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places.cluster import Fleet, Server, project
from tests.postgres_server import Server as Postgres


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
    made = project(tmp_path, server)
    yield made
    made.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.long])])
def both(request: pytest.FixtureRequest, tmp_path: Path, server: Server) -> Iterator[Fleet]:
    """A project beside the server, its store on each kind of database."""
    store = ""
    if request.param == "postgres":
        database: Postgres = request.getfixturevalue("postgres")
        store = database.url(request.getfixturevalue("own_database"))
    made = project(tmp_path, server, store=store)
    yield made
    made.close()
