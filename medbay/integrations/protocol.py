"""What the outbox needs of a way out: start a delivery, ask how it is, end it. The simulator implements the same."""

from __future__ import annotations

from typing import Protocol

from medbay.core.delivery import Channel, Delivery


class Sending(Protocol):
    """One delivery under way."""

    def poll(self, monotonic_s: float) -> str | None:
        """Enforce its time limit; why it did not arrive, empty when it did, None while it is under way."""
        ...

    def kill(self) -> None:
        """End it at once, and do not wait for it."""
        ...


class Sender(Protocol):
    """Delivers for the channels of one kind."""

    def start(self, channel: Channel, delivery: Delivery, monotonic_s: float) -> Sending:
        """Begin a delivery without waiting for it; raises SpawnFailed when it cannot begin."""
        ...
