"""A cluster on which attempts run elsewhere: how it is reached, and what is expected of its workers. Data alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from medbay.core.model import Worker

TEMPORAL: Final = "temporal"
SAID_WITHIN_MS: Final = 60_000  # an engine knows by then which of its places it reaches


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The settings of one place."""

    name: str
    kind: Literal["temporal"]
    address: str = "127.0.0.1:7233"
    namespace: str = "default"
    task_queue: str = "medbay"
    tls: bool = False
    server_ca: str = ""  # files
    client_cert: str = ""
    client_key: str = ""
    api_key_env: str | None = None  # the name of the variable that has it
    slots: int = 100
    heartbeat_ms: int = 30_000  # a worker that is silent for this long is lost
    start_within_ms: int = 600_000  # what no worker takes within this time comes back


def away(place: str, serving: Iterable[Worker], now: int) -> str | None:
    """Why no engine that would start an attempt can do so at its place; None where one can, or has not said yet.

    An engine without any place never says a thing: it is taken to have none once it had the time to say so.
    """
    known = [dict(each.places) for each in serving if each.places or now - each.started_at >= SAID_WITHIN_MS]
    if not place or not known:
        return None
    there = [each[place] for each in known if place in each]
    if not there:
        return f'no engine has the place "{place}" configured'
    return f'the place "{place}" is away: {there[0]}' if all(there) else None
