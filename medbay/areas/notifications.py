"""Channels: which there are, how each is doing, and a test message through one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from medbay import app, wiring
from medbay.core.delivery import TEST, Channel, ChannelState, Delivery, MessageFacts
from medbay.core.model import Event, Question
from medbay.errors import NotFound, SpawnFailed
from medbay.service import deliveries, teaching
from medbay.store import messages, questions
from medbay.store.messages import SentMessage

if TYPE_CHECKING:
    from medbay.bay import Bay

_POLL_S: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredChannel:
    """A channel with how it is doing."""

    channel: Channel
    state: ChannelState
    waiting: int  # deliveries


class Notifications:
    """The channels of one store."""

    def __init__(self, bay: Bay) -> None:
        self._bay = bay

    def list(self) -> list[ConfiguredChannel]:
        """The configured channels, in the order of the file."""
        channels = app.channels_of(self._bay.place.config)
        with self._bay.store.read() as tx:
            found = deliveries.states(tx, [each.name for each in channels])
        return [
            ConfiguredChannel(channel=each, state=state, waiting=waiting)
            for each, (state, waiting) in zip(channels, found, strict=True)
        ]

    def inbox(self) -> tuple[Sequence[Question], dict[str, tuple[SentMessage, ...]]]:
        """Return the questions that wait for a person, and the messages about them by question, as of one moment."""
        with self._bay.store.read() as tx:
            asked = teaching.offered(tx, questions.open_questions(tx))
            found = messages.of_questions(tx, [each.id for each in asked])
        made: dict[str, tuple[SentMessage, ...]] = {}
        for each in found:
            made[each.question_id] = (*made.get(each.question_id, ()), each)
        return asked, made

    def named(self, name: str | None = None) -> tuple[Channel, ...]:
        """The channel of a name, or all of them; raises NotFound where there is none."""
        channels = app.channels_of(self._bay.place.config)
        if not channels:
            raise NotFound("no channel is configured", hint='write [notify.NAME] with url = "..." into medbay.toml')
        found = tuple(each for each in channels if name in (None, each.name))
        if not found:
            known = ", ".join(each.name for each in channels)
            raise NotFound(f'there is no channel "{name}"', hint=f"there are: {known}")
        return found

    def test(self, channel: Channel) -> str:
        """Send a test message now and wait for it; why it did not arrive, empty when it did."""
        now, store_id = self._bay.now(), self._bay.store.store_id
        delivery = Delivery(
            key=f"{store_id}:{channel.name}:{TEST}:{now}",
            kind=channel.kind,
            channel=channel.name,
            lane=f"{channel.name}/{TEST}",
            seq=now,
            event=Event(name=TEST, at=now),
            tries=1,
            facts=MessageFacts(now=now),
        )
        senders = wiring.build_senders(self._bay.place, [channel], guard=self._bay.ids.store())
        begun_s = time.monotonic()
        try:
            sending = senders[channel.kind].start(channel, delivery, begun_s)
        except SpawnFailed as error:
            return str(error)
        try:
            while (why := sending.poll(time.monotonic())) is None:
                time.sleep(_POLL_S)
        except BaseException:
            sending.kill()
            raise
        return str(why)
