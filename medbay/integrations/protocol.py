"""What the outbox needs of a way out: start a delivery, ask how it is, end it. The simulator implements the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from medbay.core.delivery import Channel, Delivery
from medbay.core.redaction import Redaction
from medbay.places.protocol import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderMeans:
    """What a way out may use. A module of this package that is one has a function `sender` of these."""

    runner: Runner  # of commands
    folder: Path  # of medbay.toml
    files: Path  # for what is read and printed while a delivery is under way
    redaction: Redaction  # of what is sent about a failure


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
