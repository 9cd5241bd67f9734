"""The second place of the simulator: its faults happen, and what they would break is noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import pytest

from medbay.engine.lease import KILL_AT
from medbay.places.protocol import AttemptKey
from medbay.places.temporal_worker import BEATS, CUT_OFF_AT
from medbay.service import workers
from medbay.sim import cluster_worker
from medbay.sim.cluster import SimCluster
from medbay.sim.many import described, run_seed

FAULTS = {
    "answer lost",
    "engine cut off",
    "engine died asking",
    "engine died at a start",
    "engine died taking up",
    "engine gone while a check ran",
    "engine gone while it ran",
    "engine killed while it waited",
    "no worker in time",
    "place away",
    "question lost",
    "result late",
    "result lost",
    "result refused",
    "result twice",
    "start after its engine was gone",
    "start late",
    "start lost",
    "start not answered",
    "start sealed",
    "taken up",
    "taken up with its result",
    "worker cut",
    "worker cut off",
    "worker killed at work",
    "worker killed by its work",
    "worker silent too long",
    "worker stopped for a while",
    "worker stopped past its heartbeat",
    "worker told to stop",
}
SEEDS = range(8300000, 8300040)


def test_a_worker_ends_what_it_runs_before_the_cluster_gives_it_up() -> None:
    """The cluster counts from the last heartbeat, the guardian from the last answer."""
    assert CUT_OFF_AT < KILL_AT
    assert KILL_AT + 2 * BEATS < 1


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_every_fault_is_met_and_every_promise_holds() -> None:
    """Over some worlds each of them happened, and nothing came of it."""
    met: Counter[str] = Counter()
    for seed in SEEDS:
        report = run_seed(seed)
        assert report.broken is None, "\n" + described(report)
        met.update(report.faults)

    assert set(met) >= FAULTS, sorted(FAULTS - set(met))


def first_broken(seeds: Collection[int]) -> str:
    """The first promise that breaks in these worlds."""
    return next((found for seed in seeds if (found := run_seed(seed).broken)), "")


def test_a_result_that_is_thrown_away_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where recovery takes nothing up."""
    monkeypatch.setattr(workers, "_take_up", lambda *_: None)

    assert "elsewhere: " in first_broken((8300001, 8300002, 8300003, 8300004))


def test_a_tree_that_outlives_its_attempt_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no guardian ends what a worker that stands still was running."""
    monkeypatch.setattr(cluster_worker, "GUARD_AT", 100.0)

    assert "elsewhere: over is over" in first_broken((8310031, 8310003))


def test_an_attempt_that_is_started_twice_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server gives an id to every start that names it."""
    start = SimCluster.start

    def start_again(self: SimCluster, key: AttemptKey, order: bytes) -> object:
        known = self.entries.get(key)
        if known is not None and known.over:
            del self.entries[key]
        return start(self, key, order)

    monkeypatch.setattr(SimCluster, "start", start_again)

    assert "elsewhere: " in first_broken((8310121, 8310031))
