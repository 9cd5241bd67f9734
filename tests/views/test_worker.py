"""Engines that serve the store, from records alone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from medbay.core.model import Worker
from medbay.core.snapshot import ObservedWorker
from medbay.views import worker as view
from tests.views.records import MINUTE, NOW, failed, worker


@pytest.mark.parametrize(
    ("each", "state", "lease", "slots"),
    [
        (worker(), "alive", "lease 1m", "1 of 4 slots"),
        (worker(lease_until=NOW - MINUTE), "expired", "lease expired 1m ago", "1 of 4 slots"),
        (worker(stopped_at=NOW - MINUTE, how="stopped"), "stopped", "stopped 1m ago", "4 slots"),
        (worker(stopped_at=NOW, how="crashed"), "crashed", "crashed 0s ago", "4 slots"),
    ],
)
def test_a_worker_says_how_long_it_lives(each: Worker, state: str, lease: str, slots: str) -> None:
    """Its lease while it is there, its end afterwards."""
    seen = ObservedWorker(each, (replace(failed(3), outcome=None),))

    assert (seen.state(NOW), view.lease(seen, NOW), view.slots(seen)) == (state, lease, slots)
    assert view.as_json(seen, NOW)["state"] == state
    assert state in view.LOOKS


def test_what_it_runs_is_named_by_task_and_attempt() -> None:
    """`k7f2#3`."""
    assert view.running(ObservedWorker(worker(), (failed(3),))) == ["k7f2#3"]
