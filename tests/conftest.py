"""What all tests share: Hypothesis without deadlines (the machines are noisy), stores to test on, and a clean end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from medbay.env import Clock
from medbay.store.database import Store
from medbay.store.postgres import PostgresStore
from medbay.store.sqlite import SqliteStore
from tests import leftovers, properties
from tests.postgres_server import CHEAP, Server
from tests.worlds import ManualClock

# A script's background job starts with SIGINT ignored, and so would every child of the tests: what they show about
# Ctrl-C must not depend on who started them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

TEMPLATE = "medbay_template"
OpenStore = Callable[[], Store]
LEFT = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session", autouse=True)
def own_data(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Decisions that tests take are not those of the person who runs them."""
    os.environ["XDG_DATA_HOME"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still until a test moves it."""
    return ManualClock()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for all tests of a process, with an empty store to copy."""
    server = Server({**CHEAP, "autovacuum": "off"})  # no plan may depend on whether it came by
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


@pytest.fixture
def own_database(postgres: Server, database: str) -> str:
    """The same with an identity of its own: engines end what is left of their store, and other tests run beside."""
    with postgres.connect(database) as connection:
        connection.execute("UPDATE meta SET value = %s WHERE key = 'store_id'", (database,))
    return database


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


def pytest_configure() -> None:
    """Before the workers are started, and before any test is read."""
    properties.load_profile()
    leftovers.mark_this_run()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A fixture cannot say which of its parameters are long for one test."""
    for item in items:
        if item.get_closest_marker("long_on_postgres") and item.get_closest_marker("postgres"):
            item.add_marker(pytest.mark.long)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """After the workers are gone: a run that leaves a process behind has failed."""
    if hasattr(session.config, "workerinput"):
        return
    session.config.stash[LEFT] = left = leftovers.end_leftovers(leftovers.PATIENCE_S)
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name what was left."""
    for line in config.stash.get(LEFT, []):
        terminalreporter.write_line(f"LEFT BEHIND by these tests, now killed: {line}", red=True)
