"""The short form of the fault harness: real daemons under real faults on both databases, then every promise checked."""

from __future__ import annotations

import pytest

from chaos.play import play
from chaos.scenarios import SCENARIOS

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
SEED = 11
FED = 20


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
@pytest.mark.parametrize(("name", "faults"), [("kills", 8), ("poison", 1)])
@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_promise_holds_under(name: str, faults: int, database: str) -> None:
    """What was done and seen is in the line that a failure shows, with the seed to play it again."""
    told = play(BY_NAME[name], database, kills=faults, seed=SEED, fed=FED)

    assert not told.broken, told.line()


@pytest.mark.postgres
@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_promise_holds_when_the_server_dies_and_comes_back() -> None:
    """Every process of it at once; the daemons stay."""
    told = play(BY_NAME["server_killed"], "postgres", kills=20, seed=SEED, fed=FED)

    assert not told.broken, told.line()


@pytest.mark.parametrize(("name", "faults"), [("disk_full", 1), ("logs_unwritable", 1), ("redeploys", 20)])
@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_promise_holds_also_under(name: str, faults: int) -> None:
    """A few of each, on SQLite; only root can mount a small and a read-only disk."""
    told = play(BY_NAME[name], "sqlite", kills=faults, seed=SEED, fed=FED)

    if "SKIPPED" in told.done:
        pytest.skip(told.done)
    assert not told.broken, told.line()
