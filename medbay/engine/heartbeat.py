"""The dead man's switch: a channel gets an event at every period while the loop runs, and none when it does not.

A listener misses the heartbeat when the daemon, its machine or the store is gone. Nothing of it is stored.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from medbay.core.delivery import HEARTBEAT, Channel, Delivery
from medbay.core.model import Event
from medbay.integrations.protocol import Sender, Sending

log = logging.getLogger("medbay.engine")


class Pulse:
    """When the loop of a daemon last committed, or read its store and found nothing to do."""

    def __init__(self) -> None:
        self.looked_s: float | None = None


class Heartbeats:
    """Sends the heartbeats of one engine. A stopped loop stays silent, however alive its own thread is."""

    def __init__(
        self, channels: Iterable[Channel], senders: Mapping[str, Sender], pulse: Pulse, *, store_id: str
    ) -> None:
        self._channels = [each for each in channels if each.heartbeat_ms is not None]
        self._senders = senders
        self._pulse = pulse
        self._store_id = store_id
        self._due_s: dict[str, float] = {}
        self._under_way: dict[str, Sending] = {}
        self._failing: set[str] = set()

    def look(self, now_s: float, now_ms: int) -> None:
        """Ask how those under way are, and send what is due; one that fails is not tried again before its time."""
        for channel in self._channels:
            sending = self._under_way.get(channel.name)
            try:
                error = sending.poll(now_s) if sending is not None else None
            except Exception as broken:
                error = str(broken) or type(broken).__name__
            if error is not None:
                del self._under_way[channel.name]
                self._ended(channel, error)
            if channel.name not in self._under_way and self._is_due(channel, now_s):
                self._send(channel, now_s, now_ms)

    def stop(self) -> None:
        """End those under way."""
        for sending in self._under_way.values():
            sending.kill()
        self._under_way.clear()

    def _is_due(self, channel: Channel, now_s: float) -> bool:
        assert channel.heartbeat_ms is not None
        period_s, looked_s = channel.heartbeat_ms / 1000, self._pulse.looked_s
        return now_s >= self._due_s.get(channel.name, now_s) and looked_s is not None and now_s - looked_s <= period_s

    def _send(self, channel: Channel, now_s: float, now_ms: int) -> None:
        assert channel.heartbeat_ms is not None
        self._due_s[channel.name] = now_s + channel.heartbeat_ms / 1000
        event = Event(name=HEARTBEAT, at=now_ms)
        delivery = Delivery(
            key=f"{self._store_id}:{channel.name}:{HEARTBEAT}:{now_ms}",
            kind=channel.kind,
            channel=channel.name,
            lane=f"{channel.name}/{HEARTBEAT}",
            seq=0,
            event=event,
            tries=1,
        )
        try:
            self._under_way[channel.name] = self._senders[channel.kind].start(channel, delivery, now_s)
        except Exception as error:  # whatever a channel breaks on is its failure, not the daemon's
            self._ended(channel, str(error) or type(error).__name__)

    def _ended(self, channel: Channel, error: str) -> None:
        if error and channel.name not in self._failing:
            log.warning("the heartbeat of channel %s did not arrive: %s", channel.name, error)
            self._failing.add(channel.name)
        elif not error:
            self._failing.discard(channel.name)
