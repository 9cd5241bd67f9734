"""The threads beside a daemon: whatever they break on is told once, and they go on with growing waits."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any, cast

import pytest

import medbay
from medbay.areas import beside
from medbay.areas.beside import CycleThread
from medbay.engine import deliver
from medbay.engine.deliver import Deliverer, DeliveryThread
from medbay.env import SystemClock
from medbay.errors import StoreError
from medbay.store.database import Store
from tests.waiting import wait_for


class Breaks:
    """A deliverer whose first rounds raise."""

    under_way = False
    is_done = True

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.rounds = 0

    def begin(self) -> None:
        """Nothing to prepare."""

    def stop(self) -> None:
        """Nothing to end."""

    def deliver(self) -> None:
        """Raise the next error, if there is one."""
        self.rounds += 1
        if self.errors:
            raise self.errors.pop(0)


def test_a_cycle_that_breaks_is_told_once_and_comes_again(tmp_path: Path) -> None:
    """By an error of ours or by any other; after each failure in a row it waits longer."""
    errors: list[Exception] = [ValueError("odd"), ValueError("odd"), StoreError("away", hint="wait")]
    said: list[str] = []
    cycles: list[int] = []

    def cycle(bay: object) -> list[str]:
        cycles.append(1)
        if len(cycles) > 1 and errors:
            raise errors.pop(0)
        return []

    thread = CycleThread("intake", lambda: medbay.open(f"sqlite:///{tmp_path}/a.db"), cycle, said.append, every_s=0.001)
    thread.start()
    wait_for(lambda: len(cycles) > 6)
    thread.stop()

    assert [each.partition(";")[0] for each in said] == ["intake: ValueError: odd", "intake: away"]


def test_waits_grow_and_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the usual one to five minutes."""
    thread = CycleThread("x", cast(Any, None), lambda bay: [], lambda words: None, every_s=2.0)
    waits: list[float | None] = []
    monkeypatch.setattr(thread, "_stopped", type("Never", (), {"wait": lambda self, s: waits.append(s)})())

    for _ in range(12):
        thread._wait(["away"])

    assert waits[:3] == [4.0, 8.0, 16.0] and waits[-1] == beside.LONGEST_WAIT_S


def test_deliveries_that_break_are_told_once_and_go_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever a sender or the store raises."""
    monkeypatch.setattr(deliver, "LOOK_EVERY_S", 0.001)
    fake = Breaks(ValueError("odd"), ValueError("odd"), StoreError("away", hint="wait"))
    store = cast(Store, type("OwnStore", (), {"sibling": lambda self: self})())
    thread = DeliveryThread(lambda _: cast(Deliverer, fake), SystemClock())

    with caplog.at_level(logging.WARNING):
        thread.start(store)
        wait_for(lambda: fake.rounds > 5)
        thread.finish(5)

    assert [each.getMessage() for each in caplog.records] == [
        "deliveries failed, and are tried again: ValueError('odd')"
    ]


def test_the_lease_is_renewed_after_a_beat_that_broke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Without its thread the lease would run out, and with it everything that runs."""
    with medbay.open(f"sqlite:///{tmp_path}/a.db") as bay:
        daemon = bay.daemon()
        beats: list[str] = []

        def beat(store: object) -> bool:
            beats.append("beat")
            if len(beats) < 3:
                raise RuntimeError("odd")
            return True

        monkeypatch.setattr(daemon, "_beat_interval_s", lambda: 0.001)
        monkeypatch.setattr(daemon.engine.lease, "beat", beat)
        with caplog.at_level(logging.ERROR):
            daemon.run(until=lambda: len(beats) > 4)

    assert [each.getMessage() for each in caplog.records] == [
        "the lease failed, and is tried again: RuntimeError('odd')"
    ]


def test_a_first_cycle_that_hangs_keeps_nothing_waiting(tmp_path: Path) -> None:
    """It is made beside the daemon, at once and not only after the first wait."""
    begun, release = threading.Event(), threading.Event()

    def cycle(bay: object) -> list[str]:
        begun.set()
        release.wait(30)
        return []

    store = f"sqlite:///{tmp_path}/a.db"
    thread = CycleThread("tracker", lambda: medbay.open(store), cycle, lambda words: None, every_s=3600.0)
    thread.start(ahead=False)
    assert begun.wait(30)
    assert not release.is_set()

    release.set()
    thread.stop()
