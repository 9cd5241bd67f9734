"""Deliveries: made from the event log, taken in hand by one engine at a time, recorded when they ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from medbay.core import delivery as rules
from medbay.core.budget import Budget
from medbay.core.delivery import DIGEST, KEPT_MS, Arrived, Channel, ChannelState, Delivery, Later, MessageFacts
from medbay.core.model import Event
from medbay.service import links
from medbay.store import breakers, budgets, effects, history, messages, questions
from medbay.store import tasks as task_rows
from medbay.store.apply import write_events
from medbay.store.database import Tx
from medbay.store.messages import SentMessage

READ_AT_ONCE: Final = 5_000  # events
_ASKED_MAX: Final = 100  # questions that a digest counts
_NO_BUDGET: Final = Budget()
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
    events = effects.events_between(tx, after, until, channel.heard) if until > after else []
    return [each for each in events if not channel.is_narrow or _concerns(tx, channel, each)], until


def _concerns(tx: Tx, channel: Channel, event: Event) -> bool:
    """Whether a channel for some tasks is told of an event: of theirs, and of what is about no task at all."""
    ids = [event.task_id] if event.task_id else []
    if not ids and (held := breakers.get(tx, str(event.data.get("key", "")))):
        ids = [*held.data.get("tasks", ())]
    return not ids or any(map(channel.concerns, task_rows.many(tx, ids)))


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


def begin(
    tx: Tx, channels: Mapping[str, Channel], *, owner: str, room: int, budget: Budget = _NO_BUDGET
) -> list[Delivery]:
    """Take the next deliveries in hand, each until its time limit and a little longer.

    Messages get what they say of the present; one that has nothing to say any more is over.
    """
    tx.serialise(_LOCK)
    begun = []
    for found in effects.next_ones(tx, sorted(channels), room):
        until = tx.now + channels[found.channel].lease_ms
        if not effects.begin(tx, found, owner=owner, lease_until=until):
            continue
        each = replace(found, tries=found.tries + 1, owner=owner, lease_until=until)
        if each.kind != "command":
            facts = facts_of(tx, each.event, budget)
            if facts.question is not None and channels[each.channel].page:
                facts = replace(facts, link=links.signed(tx, facts.question.id, each.channel))
            each = replace(each, facts=_with_places(tx, each, facts))
        if each.facts is not None and _is_moot(each, channels[each.channel]):
            effects.save(tx, rules.on_ended(each, "", tx.now))
        else:
            begun.append(each)
    return begun


def _with_places(tx: Tx, each: Delivery, facts: MessageFacts) -> MessageFacts:
    """Where the messages about a question that is over can be changed."""
    asked = facts.question
    if each.event.name not in rules.OVER or asked is None or asked.status == "open":
        return facts
    sent = [one for one in messages.of_questions(tx, [asked.id]) if one.channel == each.channel]
    return replace(facts, places=tuple(place for one in sent for place in one.place.split()))


def _is_moot(each: Delivery, channel: Channel) -> bool:
    assert each.facts is not None
    return rules.is_moot(each.event, each.facts) or (channel.only_changes(each.event) and not each.facts.places)


def facts_of(tx: Tx, event: Event, budget: Budget) -> MessageFacts:
    """What a message about an event says of the present."""
    data, task_id = event.data, event.task_id or ""
    held = breakers.get(tx, str(data.get("key", "")))
    question_id = str(data.get("question") or "")
    facts = MessageFacts(
        now=tx.now,
        task=task_rows.get(tx, task_id) if task_id else None,
        question=questions.get(tx, question_id) if question_id else None,
        breaker=held,
        held=task_rows.count_held(tx, held.key) if held else 0,
        behind=len(task_rows.dependents(tx, task_id)) if task_id else 0,
        daily_cost=budget.daily_cost,
    )
    if event.name != DIGEST:
        return facts
    done, healed = effects.completed_since(tx, int(data["since"]))
    waiting, cost = tuple(questions.open_questions(tx, _ASKED_MAX)), budgets.day(tx, budget.day_of(tx.now)).used.cost
    return replace(facts, done=done, healed=healed, waiting=waiting, cost=cost)


def record(tx: Tx, delivery: Delivery, error: str) -> bool:
    """Record how a try ended, and how its channel is doing; False when the delivery was taken over meanwhile."""
    ended = rules.on_ended(delivery, error, tx.now)
    if not effects.save(tx, ended):
        return False
    _remember_message(tx, delivery, error)
    if isinstance(error, Later):
        effects.hold_channel(tx, delivery.channel, tx.now + error.wait_ms)
    tx.serialise(f"{_LOCK} {delivery.channel}")  # going down and coming back are reported once
    before = effects.state(tx, delivery.channel)
    failing = effects.any_failing(tx, delivery.channel)
    after, told = rules.on_channel(before, ended, tx.now, others_failing=failing)
    effects.put_state(tx, after)
    write_events(tx, (told,) if told else ())
    return True


def _remember_message(tx: Tx, delivery: Delivery, error: str) -> None:
    """Remember where the message about a question is until its end is written into it."""
    asked = delivery.facts.question if delivery.facts is not None else None
    if error or asked is None:
        return
    if delivery.event.name in rules.OVER:
        messages.forget(tx, delivery.channel, asked.id)
    elif delivery.event.name == "question:asked":
        place = error.place if isinstance(error, Arrived) else ""
        messages.add(tx, SentMessage(delivery.key, delivery.channel, asked.id, place, tx.now))


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
