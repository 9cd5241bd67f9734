"""The other end of a place: what runs here the attempts of engines elsewhere. It needs settings, but no store."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from medbay import app, wiring
from medbay.config.fields import Config
from medbay.engine.errand import Errand
from medbay.engine.guardian import Guardian
from medbay.engine.identity import this_host
from medbay.env import Ids, SystemClock
from medbay.errors import NotFound
from medbay.places.orders import read_order
from medbay.places.protocol import Launch
from medbay.places.temporal_worker import TemporalWorker


def build_worker(config: Config, name: str, *, slots: int | None, notice: Callable[[str], None]) -> TemporalWorker:
    """A worker of the place with this name, ready to run."""
    if name not in config.places:
        known = ", ".join(config.places) or "none"
        raise NotFound(f"no place is called {name}; there is {known}", hint=f"[places.{name}] in medbay.toml makes one")
    cluster, clock, guard, host = config.places[name], SystemClock(), Ids().store(), this_host().name
    slots = slots or config.engine.workers
    here = wiring.build_here(config, workers=slots, guard=guard, passes=None)
    folder = app.state_folder(os.environ) / "places" / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    redaction = app.redaction_of(config, os.environ)

    def begin(launch: Launch) -> Errand:
        now_s = clock.monotonic_s()
        return Errand(launch, here, host=host, redaction=redaction, now_ms=clock.now_ms, monotonic_s=now_s)

    return TemporalWorker(
        cluster,
        read=partial(read_order, folder=folder),
        begin=begin,
        guard=Guardian(guard, lease_ms=cluster.heartbeat_ms),
        slots=slots,
        folder=folder,
        host=host,
        clock=clock,
        notice=notice,
        close=here.close,
    )
