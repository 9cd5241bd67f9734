"""What leaves the store: which events a channel wants, in which order they are delivered, when they are tried again.

A delivery is made at least once and known by its key. Deliveries about the same thing (a task, a question, a breaker)
follow each other; those about different things never wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from medbay.core.model import Event

Status = Literal["pending", "done", "given_up"]

ON: Final = ("question:asked", "question:answered", "incident:opened", "incident:closed", "budget:warning")
"""What a channel wants unless it says otherwise; a question that is asked again is asked."""

HEARTBEAT: Final = "heartbeat"  # what a channel hears at every period of its own; never an event of the store
TIMEOUT_MS: Final = 30_000
LEASE_BEYOND_MS: Final = 15_000  # how much longer than its time limit a delivery belongs to the engine that began it
FIRST_WAIT_MS: Final = 5_000
LONGEST_WAIT_MS: Final = 15 * 60_000
GIVEN_UP_AFTER_MS: Final = 72 * 3_600_000
KEPT_MS: Final = 7 * 24 * 3_600_000  # how long a delivery that is over is remembered, so that none is made twice
ERROR_MAX: Final = 2_000  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One way out, as it is configured: `[notify.NAME]`."""

    name: str
    kind: str  # what delivers for it: the module of this name in `medbay.integrations`
    target: Any  # what that delivers to: of the kind `command` its words
    on: tuple[str, ...] = ON
    timeout_ms: int = TIMEOUT_MS
    heartbeat_ms: int | None = None

    @property
    def filter(self) -> str:
        """The names it wants, as one text: a cursor belongs to a channel and its filter."""
        return " ".join(sorted(set(self.on)))

    @property
    def lease_ms(self) -> int:
        """How long a delivery belongs to the engine that began it."""
        return self.timeout_ms + LEASE_BEYOND_MS

    def wants(self, event: Event) -> bool:
        """Whether it is to hear of this; never of its own failures, which could not be delivered."""
        return event.name in self.on and not (event.name.startswith("delivery:") and event.data["channel"] == self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event on its way out through one channel. A field here is a column of the store."""

    key: str
    kind: str
    channel: str
    lane: str  # in which deliveries follow each other
    seq: int  # of the event
    event: Event
    status: Status = "pending"
    tries: int = 0  # counted when one begins
    due_at: int = 0
    created_at: int = 0
    error: str = ""  # of the last try
    owner: str = ""  # the engine that began the last try
    lease_until: int = 0
    ended_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelState:
    """How a channel is doing."""

    name: str
    delivered_at: int | None = None  # the last one that arrived
    failing_since: int | None = None
    error: str = ""


def channel(
    *,
    name: str,
    on: tuple[str, ...] = ON,
    timeout_ms: int = TIMEOUT_MS,
    heartbeat_ms: int | None = None,
    **ways: Any,
) -> Channel:
    """The channel of a table: the one way out that it names (`command`) is its kind."""
    ((kind, target),) = ways.items()
    return Channel(name=name, kind=kind, target=target, on=on, timeout_ms=timeout_ms, heartbeat_ms=heartbeat_ms)


def made(channel: Channel, events: Iterable[Event], *, store_id: str, now: int) -> list[Delivery]:
    """The deliveries of the events that a channel wants."""
    return [
        Delivery(
            key=f"{store_id}:{channel.name}:{event.seq}",
            kind=channel.kind,
            channel=channel.name,
            lane=f"{channel.name}/{subject(event)}",
            seq=event.seq,
            event=event,
            due_at=now,
            created_at=now,
        )
        for event in events
        if channel.wants(event)
    ]


def subject(event: Event) -> str:
    """What an event is about; those about the same thing are delivered in their order."""
    data = event.data
    return str(event.task_id or data.get("key") or data.get("question") or event.name.partition(":")[0])


def on_ended(delivery: Delivery, error: str, now: int) -> Delivery:
    """A delivery after a try; without an error it arrived. What failed for three days is given up."""
    if not error:
        return replace(delivery, status="done", error="", ended_at=now, lease_until=0)
    failed = replace(delivery, error=error[:ERROR_MAX], lease_until=0)
    if now - delivery.created_at >= GIVEN_UP_AFTER_MS:
        return replace(failed, status="given_up", ended_at=now)
    return replace(failed, due_at=now + wait_ms(delivery.tries))


def wait_ms(tries: int) -> int:
    """How long to wait after so many tries that failed."""
    return min(FIRST_WAIT_MS << min(tries - 1, 20), LONGEST_WAIT_MS)


def on_channel(
    state: ChannelState, ended: Delivery, now: int, *, others_failing: bool
) -> tuple[ChannelState, Event | None]:
    """How a channel is doing after a try, and the event about it: once when it goes down, once when it is back.

    It is back when something arrived and nothing else still waits to be tried again.
    """
    if ended.error:
        down = replace(state, error=ended.error, failing_since=state.failing_since or now)
        told = {"channel": state.name, "why": ended.error, "key": ended.key}
        return down, None if state.failing_since is not None else Event(name="delivery:failed", data=told)
    if state.failing_since is None or others_failing:
        return replace(state, delivered_at=now), None
    down_s = max(0, now - state.failing_since) // 1000
    back = Event(name="delivery:restored", data={"channel": state.name, "down_s": down_s})
    return ChannelState(name=state.name, delivered_at=now), back
