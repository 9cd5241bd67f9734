"""What the screens are made of: the few things a snapshot works out of its own records."""

from __future__ import annotations

from typing import Any

import pytest

from medbay.core.model import Worker
from medbay.core.snapshot import ObservedWorker, StoreReport, TaskList
from tests.core.builders import NOW


def worker(**values: Any) -> Worker:
    """An engine whose lease lasts for a second."""
    named = {"id": "w-1", "host": "h", "machine_id": "m", "boot_id": "b", "queues": ("default",)}
    numbers = {"pid": 1, "pid_start": 1, "slots": 1, "started_at": NOW, "beat_at": NOW, "lease_until": NOW + 1_000}
    return Worker(**{**named, **numbers, **values})


def test_the_queues_that_are_served_are_those_of_all_engines() -> None:
    """Each once."""
    serving = (worker(queues=("a", "b")), worker(id="w-2", queues=("b", "c")))

    assert TaskList(now=NOW, tasks=(), total=0, serving=serving).served == {"a", "b", "c"}
    assert TaskList(now=NOW, tasks=(), total=0).served == frozenset()


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({}, "alive"),
        ({"lease_until": NOW}, "expired"),
        ({"stopped_at": NOW, "how": "crashed"}, "crashed"),
        ({"stopped_at": NOW, "how": "lost"}, "lost"),
        ({"stopped_at": NOW, "how": "stopped"}, "stopped"),
    ],
)
def test_a_worker_is_alive_until_its_lease_ends_or_it_stops(values: dict[str, Any], state: str) -> None:
    """How it ended counts more than its lease."""
    assert ObservedWorker(worker(**values)).state(NOW) == state


@pytest.mark.parametrize(
    ("found", "sound"),
    [({}, True), ({"damage": ("x",)}, False), ({"standstills": (("t", "x"),)}, False)]
    + [({"contradictions": (("t", "x"),)}, False)],
)
def test_a_store_is_sound_when_nothing_was_found(found: dict[str, Any], sound: bool) -> None:
    """One of the three lists is enough to say no."""
    nothing: dict[str, Any] = {"damage": (), "standstills": (), "contradictions": ()}

    assert StoreReport(kind="sqlite", tasks={}, rows={}, **{**nothing, **found}).sound == sound
