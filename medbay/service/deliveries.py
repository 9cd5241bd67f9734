"""Deliveries: made from the event log, taken in hand by one engine at a time, recorded when they ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from medbay.core import delivery as rules
from medbay.core.delivery import KEPT_MS, Channel, ChannelState, Delivery
from medbay.core.model import Event
from medbay.store import effects, history
from medbay.store.apply import write_events
from medbay.store.database import Tx

READ_AT_ONCE: Final = 5_000  # events
_LOCK: Final = "deliveries"  # two engines at the same moment make and begin each delivery once


def begin_reading(tx: Tx, channel: Channel) -> int:
    """Where a channel reads on. A new one begins now; with another filter it goes on where it was."""
    at = effects.cursor(tx, channel.name, channel.filter)
    if at is None:
        before = effects.furthest(tx, channel.name)
        at = history.last_event_seq(tx) if before is None else before
        effects.move_cursor(tx, channel.name, channel.filter, at)
    return at


def read_on(tx: Tx, channel: Channel, after: int) -> tuple[list[Event], int]:
    """The next events that a channel wants, and how far it has read with them."""
    until = effects.readable_until(tx, after, READ_AT_ONCE)
    return (effects.events_between(tx, after, until, channel.on) if until > after else []), until


def has_more(tx: Tx, after: int) -> bool:
    """Whether there are events that a channel has not read."""
    return effects.readable_until(tx, after, 1) > after


def make(tx: Tx, channel: Channel, events: Iterable[Event], until: int) -> None:
    """Make the deliveries of what a channel has read, as far as no other engine has made them."""
    tx.serialise(_LOCK)
    at = effects.cursor(tx, channel.name, channel.filter) or 0
    if until > at:
        fresh = [event for event in events if event.seq > at]
        effects.add(tx, rules.made(channel, fresh, store_id=tx.store_id, now=tx.now))
        effects.move_cursor(tx, channel.name, channel.filter, until)


def are_due(tx: Tx, channels: Sequence[str]) -> bool:
    """Whether something can be delivered now."""
    return bool(channels) and bool(effects.next_ones(tx, channels, 1))


def begin(tx: Tx, channels: Mapping[str, Channel], *, owner: str, room: int) -> list[Delivery]:
    """Take the next deliveries in hand, each until its time limit and a little longer."""
    tx.serialise(_LOCK)
    begun = []
    for each in effects.next_ones(tx, sorted(channels), room):
        until = tx.now + channels[each.channel].lease_ms
        if effects.begin(tx, each, owner=owner, lease_until=until):
            begun.append(replace(each, tries=each.tries + 1, owner=owner, lease_until=until))
    return begun


def record(tx: Tx, delivery: Delivery, error: str) -> bool:
    """Record how a try ended, and how its channel is doing; False when the delivery was taken over meanwhile."""
    ended = rules.on_ended(delivery, error, tx.now)
    if not effects.save(tx, ended):
        return False
    tx.serialise(f"{_LOCK} {delivery.channel}")  # going down and coming back are reported once
    before = effects.state(tx, delivery.channel)
    failing = effects.any_failing(tx, delivery.channel)
    after, told = rules.on_channel(before, ended, tx.now, others_failing=failing)
    effects.put_state(tx, after)
    write_events(tx, (told,) if told else ())
    return True


def hand_back(tx: Tx, begun: Iterable[Delivery]) -> None:
    """Let go of deliveries that were ended before it was known whether they arrived."""
    for each in begun:
        effects.hand_back(tx, each)


def forget_old(tx: Tx) -> int:
    """Forget deliveries that were over long ago."""
    return effects.forget(tx, tx.now - KEPT_MS)


def states(tx: Tx, channels: Iterable[str]) -> list[tuple[ChannelState, int]]:
    """How each channel is doing, and how many deliveries wait."""
    return [(effects.state(tx, name), effects.count_pending(tx, name)) for name in channels]
