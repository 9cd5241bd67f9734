"""The promises hold in small worlds full of faults: new seeds, and every seed that once broke one."""

from __future__ import annotations

import pytest

from medbay.sim.many import described, run_seed
from medbay.sim.regressions import PLACES_SINCE, REGRESSIONS
from medbay.store.postgres import PostgresStore
from tests.postgres_server import Server

SEEDS = [*range(1, 6), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 25))]
# What the worlds with a second place have found is held by quicker tests too, in tests/engine.
FOUND = [pytest.param(*each, marks=pytest.mark.long if each[0] >= PLACES_SINCE else ()) for each in REGRESSIONS]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_world_with_faults_keeps_every_promise(seed: int) -> None:
    """Crashes, two engines, outages, people at random; then everything ends."""
    report = run_seed(seed)

    assert report.broken is None, "\n" + described(report)
    assert set(report.statuses) <= {"completed", "cancelled"}


@pytest.mark.parametrize(("seed", "wrong"), FOUND)
def test_what_was_wrong_once_stays_right(seed: int, wrong: str) -> None:
    """A seed that found a bug is run for ever."""
    report = run_seed(seed, places=seed >= PLACES_SINCE)

    assert report.broken is None, f"{wrong}\n{described(report)}"


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_promises_hold_on_postgresql_too(seed: int, postgres: Server, database: str) -> None:
    """The same worlds, the same virtual clock, another database."""
    url = postgres.url(database)

    report = run_seed(seed, open_store=lambda clock: PostgresStore(url, clock, new_store_id="simulated", notify=False))

    assert report.broken is None, "\n" + described(report)
    assert set(report.statuses) <= {"completed", "cancelled"}
