"""An engine that serves the store: what is said of it, and its JSON."""

from __future__ import annotations

from typing import Any, Final

from medbay.core.snapshot import ObservedWorker
from medbay.views import glyphs, moments
from medbay.views.glyphs import Token

LOOKS: Final[dict[str, tuple[str, Token]]] = {
    "alive": (glyphs.RUNNING, "run"),
    "expired": (glyphs.LOST, "wait"),
    "stopped": (glyphs.CANCELLED, "idle"),
    "lost": (glyphs.LOST, "idle"),
    "crashed": (glyphs.FAILED, "fail"),
}


def as_json(each: ObservedWorker, now: int) -> dict[str, Any]:
    """Return one engine as data, with what it runs."""
    of = each.worker
    left_ms = of.lease_until - now if of.stopped_at is None else None
    return {
        "id": of.id,
        "state": each.state(now),
        "host": of.host,
        "pid": of.pid,
        "slots": of.slots,
        "queues": list(of.queues),
        "running": [
            {"task": run.task_id, "attempt": run.number, "started_at": moments.iso(run.started_at)}
            for run in each.running
        ],
        "started_at": moments.iso(of.started_at),
        "beat_at": moments.iso(of.beat_at),
        "lease_until": moments.iso(of.lease_until),
        "lease_left_s": moments.seconds(left_ms),
        "policy": of.policy_hash,
        "stopped_at": moments.iso(of.stopped_at),
    }


def lease(each: ObservedWorker, now: int) -> str:
    """Return how long its lease lasts, or since when it is over."""
    worker, state = each.worker, each.state(now)
    if worker.stopped_at is not None:
        return f"{state} {moments.ago(worker.stopped_at, now)}"
    if state == "expired":
        return f"lease expired {moments.ago(worker.lease_until, now)}"
    return f"lease {moments.short(worker.lease_until - now)}"


def slots(each: ObservedWorker) -> str:
    """Return how many of its slots are busy; of one that stopped, how many it had."""
    total = each.worker.slots
    return f"{len(each.running)} of {total} slots" if each.worker.stopped_at is None else f"{total} slots"


def running(each: ObservedWorker) -> list[str]:
    """Return what it runs: `k7f2#3`."""
    return [f"{attempt.task_id}#{attempt.number}" for attempt in each.running]


def since(each: ObservedWorker, now: int) -> str:
    """Return when it started and under which policy."""
    started = moments.clock(each.worker.started_at, now, seconds=False)
    return f"since {started}, policy {each.worker.policy_hash}"
