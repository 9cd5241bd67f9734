"""What all tests share: Hypothesis without deadlines (the machines are noisy), and stores to test on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from medbay.env import Clock
from medbay.store.database import Store
from medbay.store.postgres import PostgresStore
from medbay.store.sqlite import SqliteStore
from tests.postgres_server import Server
from tests.worlds import ManualClock

settings.register_profile("medbay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("medbay")

TEMPLATE = "medbay_template"
OpenStore = Callable[[], Store]


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still until a test moves it."""
    return ManualClock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for all tests of a process, with an empty store to copy."""
    server = Server()
    with server.connect() as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
    PostgresStore(server.url(TEMPLATE), ManualClock(), new_store_id="teststore").close()
    yield server
    server.stop()


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The name of a database with an empty store in it."""
    name = postgres.new_database(TEMPLATE)
    yield name
    postgres.drop(name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[OpenStore]:
    """Opens one and the same store again and again, on every kind of database there is."""
    opened: list[Store] = []
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        url = server.url(request.getfixturevalue("database"))

    def open_it() -> Store:
        store: Store
        if request.param == "postgres":
            store = PostgresStore(url, clock, new_store_id="teststore")
        else:
            store = SqliteStore(tmp_path / "medbay.db", clock, new_store_id="teststore", machine_id="machine")
        opened.append(store)
        return store

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    """A store with nothing in it."""
    return open_store()
