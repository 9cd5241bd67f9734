"""What all tests share: Hypothesis without deadlines (the machines are noisy), and stores to test on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from medbay.env import Clock
from medbay.store.database import Store
from medbay.store.sqlite import SqliteStore
from tests.worlds import ManualClock

settings.register_profile("medbay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("medbay")

OpenStore = Callable[[], Store]


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still until a test moves it."""
    return ManualClock()


@pytest.fixture(params=["sqlite"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[OpenStore]:
    """Opens one and the same store again and again, on every kind of database there is."""
    opened: list[Store] = []

    def open_it() -> Store:
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
